//! Usage of a reply, as the provider counted it.

use std::fmt;

use serde_json::Value;

/// Token counts of a reply. Unreported counts are `None`, never guessed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LlmUsage {
    /// Input tokens, including cached ones.
    pub input: Option<u64>,
    /// Output tokens, including reasoning.
    pub output: Option<u64>,
    /// Part of `input` read from a cache.
    pub cached: Option<u64>,
    /// Part of `input` written to a cache.
    pub cache_write: Option<u64>,
    /// Part of `output` spent on reasoning.
    pub reasoning: Option<u64>,
    /// US dollars, if the provider reports them.
    pub cost: Option<f64>,
}

impl LlmUsage {
    /// Parses `usage` of an OpenAI-compatible reply; `None` if it has no known field.
    pub fn openai(usage: &Value) -> Option<LlmUsage> {
        known(LlmUsage {
            input: count(usage, "/prompt_tokens"),
            output: count(usage, "/completion_tokens"),
            // DeepSeek uses a different name.
            cached: count(usage, "/prompt_tokens_details/cached_tokens")
                .or_else(|| count(usage, "/prompt_cache_hit_tokens")),
            cache_write: None,
            reasoning: count(usage, "/completion_tokens_details/reasoning_tokens"),
            // OpenRouter.
            cost: usage.get("cost").and_then(Value::as_f64),
        })
    }

    /// Parses `usage` of an Anthropic reply, whose `input_tokens` exclude everything cached.
    pub fn anthropic(usage: &Value) -> Option<LlmUsage> {
        let read = count(usage, "/cache_read_input_tokens");
        let written = count(usage, "/cache_creation_input_tokens");
        let input = count(usage, "/input_tokens")
            .map(|new| new.saturating_add(read.unwrap_or(0)).saturating_add(written.unwrap_or(0)));
        let output = count(usage, "/output_tokens");
        known(LlmUsage { input, output, cached: read, cache_write: written, ..LlmUsage::default() })
    }

    /// The sum; a count missing in either is missing in the sum.
    #[must_use]
    pub fn plus(self, other: LlmUsage) -> LlmUsage {
        let sum = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a.saturating_add(b));
        LlmUsage {
            input: sum(self.input, other.input),
            output: sum(self.output, other.output),
            cached: sum(self.cached, other.cached),
            cache_write: sum(self.cache_write, other.cache_write),
            reasoning: sum(self.reasoning, other.reasoning),
            cost: self.cost.zip(other.cost).map(|(a, b)| a + b),
        }
    }
}

impl fmt::Display for LlmUsage {
    /// For people: the known counts, such as `300 tokens read (200 cached), 40 written (12 reasoning), $0.002`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |count: Option<u64>| count.map_or_else(|| "?".to_owned(), |count| count.to_string());
        let part = |count: Option<u64>, what| count.map(|count| format!(" ({count} {what})")).unwrap_or_default();
        write!(f, "{} tokens read{}, ", shown(self.input), part(self.cached, "cached"))?;
        write!(f, "{} written{}", shown(self.output), part(self.reasoning, "reasoning"))?;
        match self.cost {
            Some(cost) => write!(f, ", ${cost}"),
            None => Ok(()),
        }
    }
}

fn known(usage: LlmUsage) -> Option<LlmUsage> {
    (usage != LlmUsage::default()).then_some(usage)
}

fn count(usage: &Value, pointer: &str) -> Option<u64> {
    usage.pointer(pointer).and_then(Value::as_u64)
}
