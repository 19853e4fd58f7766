//! Token counts, as far as an agent reports them and their meaning is known.

use serde_json::Value;
use uwf_core::node::TokenCounts;
use uwf_core::number;

/// The counts in the reply to a prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AcpTokenCounts {
    input: u64,
    output: u64,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    thought: Option<u64>,
    total: Option<u64>,
}

impl AcpTokenCounts {
    /// Reads the counts in a reply; `None` if it lacks the input or output tokens.
    pub fn read(reply: &Value) -> Option<AcpTokenCounts> {
        reply.get("usage").and_then(AcpTokenCounts::of_usage).or_else(|| AcpTokenCounts::of_quota(reply))
    }

    /// The counts as gemini has them in its reply.
    fn of_quota(reply: &Value) -> Option<AcpTokenCounts> {
        let counts = reply.pointer("/_meta/quota/token_count")?;
        let count = |key: &str| counts.get(key).and_then(number::count);
        let (input, output) = (count("input_tokens")?, count("output_tokens")?);
        Some(AcpTokenCounts { input, output, ..AcpTokenCounts::default() })
    }

    fn of_usage(usage: &Value) -> Option<AcpTokenCounts> {
        let count = |key: &str| usage.get(key).and_then(number::count);
        Some(AcpTokenCounts {
            input: count("inputTokens")?,
            output: count("outputTokens")?,
            cache_read: count("cachedReadTokens"),
            cache_write: count("cachedWriteTokens"),
            thought: count("thoughtTokens"),
            total: count("totalTokens"),
        })
    }

    /// The counts since an earlier count of the same session; `None` if they do not add up.
    pub fn since(self, before: AcpTokenCounts) -> Option<AcpTokenCounts> {
        let part = |now: Option<u64>, before: Option<u64>| match (now, before) {
            (Some(now), before) => now.checked_sub(before.unwrap_or(0)).map(Some),
            (None, _) => Some(None),
        };
        Some(AcpTokenCounts {
            input: self.input.checked_sub(before.input)?,
            output: self.output.checked_sub(before.output)?,
            cache_read: part(self.cache_read, before.cache_read)?,
            cache_write: part(self.cache_write, before.cache_write)?,
            thought: part(self.thought, before.thought)?,
            total: part(self.total, before.total)?,
        })
    }

    /// The counts as the store defines them: input includes cached tokens, output includes reasoning. Some agents count these separately,
    /// which their total shows.
    pub fn tokens(self) -> TokenCounts {
        let cached = self.cache_read.unwrap_or(0).saturating_add(self.cache_write.unwrap_or(0));
        let thought = self.thought.unwrap_or(0);
        let plain = self.input.saturating_add(self.output);
        let apart = [(false, false), (true, false), (false, true), (true, true)].into_iter().find(|apart| {
            let cached = if apart.0 { cached } else { 0 };
            let thought = if apart.1 { thought } else { 0 };
            self.total == Some(plain.saturating_add(cached).saturating_add(thought))
        });
        let (cache_apart, thought_apart) = apart.unwrap_or((cached > self.input, thought > self.output));
        TokenCounts {
            input: Some(self.input.saturating_add(if cache_apart { cached } else { 0 })),
            output: Some(self.output.saturating_add(if thought_apart { thought } else { 0 })),
            cached: self.cache_read,
            cache_write: self.cache_write,
            reasoning: self.thought,
            cost: None,
        }
        .in_range()
    }
}

/// The model of all calls of a prompt, as gemini has it in its reply.
pub fn only_model(reply: &Value) -> Option<&str> {
    match reply.pointer("/_meta/quota/model_usage").and_then(Value::as_array).map(Vec::as_slice) {
        Some([only]) => only.get("model").and_then(Value::as_str),
        _ => None,
    }
}

/// Cost of the session so far in US dollars, from a `usage_update`.
pub fn dollars(update: &Value) -> Option<f64> {
    let cost = update.get("cost")?;
    let is_dollars = cost.get("currency").and_then(Value::as_str) == Some("USD");
    cost.get("amount").filter(|_| is_dollars).and_then(number::money)
}
