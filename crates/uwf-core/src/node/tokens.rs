//! Token counts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::number;

/// Token counts of a turn or a session; `None` is "unknown".
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TokenCounts {
    /// Input tokens.
    #[serde(default, with = "number::known")]
    #[schemars(with = "Option<u64>")]
    pub input: Option<u64>,
    /// Output tokens.
    #[serde(default, with = "number::known")]
    #[schemars(with = "Option<u64>")]
    pub output: Option<u64>,
    /// Part of `input` that came from a cache.
    #[serde(default, skip_serializing_if = "number::known::is_unknown", with = "number::known")]
    #[schemars(with = "Option<u64>")]
    pub cached: Option<u64>,
    /// Part of `input` that was written to a cache, which some providers charge more for. Turns don't have it.
    #[serde(default, rename = "cacheWrite", skip_serializing_if = "number::known::is_unknown", with = "number::known")]
    #[schemars(with = "Option<u64>")]
    pub cache_write: Option<u64>,
    /// Part of `output` spent on reasoning.
    #[serde(default, skip_serializing_if = "number::known::is_unknown", with = "number::known")]
    #[schemars(with = "Option<u64>")]
    pub reasoning: Option<u64>,
    /// US dollars as the provider reported them.
    #[serde(default, skip_serializing_if = "number::known_money::is_unknown", with = "number::known_money")]
    #[schemars(with = "Option<f64>")]
    pub cost: Option<f64>,
}

impl TokenCounts {
    /// Returns the counts with out-of-range values as unknown. Every count that another program reports passes through this function or
    /// [`number::count`].
    #[must_use]
    pub fn in_range(self) -> TokenCounts {
        let known = |count: Option<u64>| count.filter(|count| *count <= number::MAX_WHOLE);
        TokenCounts {
            input: known(self.input),
            output: known(self.output),
            cached: known(self.cached),
            cache_write: known(self.cache_write),
            reasoning: known(self.reasoning),
            cost: self.cost.filter(|cost| number::is_money(*cost)),
        }
    }

    /// Adds both counts. A kind is unknown if either lacks it.
    #[must_use]
    pub fn plus(&self, other: &TokenCounts) -> TokenCounts {
        let sum = |one: Option<u64>, other: Option<u64>| one.zip(other).map(|(one, other)| number::sum(one, other));
        TokenCounts {
            input: sum(self.input, other.input),
            output: sum(self.output, other.output),
            cached: sum(self.cached, other.cached),
            cache_write: sum(self.cache_write, other.cache_write),
            reasoning: sum(self.reasoning, other.reasoning),
            cost: self.cost.zip(other.cost).map(|(one, other)| (one + other).min(number::MAX_MONEY)),
        }
    }

    /// Adds the known counts of `other`. A kind that `self` lacks stays unknown.
    #[must_use]
    pub fn plus_known(&self, other: &TokenCounts) -> TokenCounts {
        let known = |count: Option<u64>| Some(count.unwrap_or(0));
        self.plus(&TokenCounts {
            input: known(other.input),
            output: known(other.output),
            cached: known(other.cached),
            cache_write: known(other.cache_write),
            reasoning: known(other.reasoning),
            cost: Some(other.cost.unwrap_or(0.0)),
        })
    }

    /// Adds both counts. A known cost counts even if the other cost is unknown, because limits must include it.
    #[must_use]
    pub fn at_least(&self, other: &TokenCounts) -> TokenCounts {
        let known = [self.cost, other.cost].into_iter().flatten().reduce(|one, other| one + other);
        TokenCounts { cost: known.map(|cost| cost.min(number::MAX_MONEY)), ..self.plus(other) }
    }

    /// Whether tokens were written to a cache.
    pub(super) fn writes_cache(tokens: Option<&TokenCounts>) -> bool {
        tokens.and_then(|tokens| tokens.cache_write).is_some_and(|written| written > 0)
    }

    /// The counts without tokens written to a cache, as older types of nodes have them.
    pub(super) fn without_cache_writes(tokens: Option<TokenCounts>) -> Option<TokenCounts> {
        tokens.map(|tokens| TokenCounts { cache_write: None, ..tokens })
    }

    /// Sum of input and output tokens; `None` if one of them is unknown.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        self.input.zip(self.output).map(|(input, output)| number::sum(input, output))
    }
}
