//! A key that is never printed.

use std::fmt;

/// Replacement of a redacted key.
const HIDDEN: &str = "***";

/// Shorter keys are not real (local servers take any word), and redacting them would only garble texts.
const SHORTEST_HIDDEN: usize = 6;

/// An API key. `Debug` and the errors of this crate never show it; only [`LlmApiKey::reveal`] returns it.
#[derive(Clone, PartialEq, Eq)]
pub struct LlmApiKey(String);

impl LlmApiKey {
    /// Takes a key without surrounding white space, such as the newline of a key file.
    pub fn new(key: &str) -> LlmApiKey {
        LlmApiKey(key.trim().to_owned())
    }

    /// The key itself, for the header of a request.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// A text with the key redacted.
    pub fn redact(&self, text: &str) -> String {
        if self.0.len() < SHORTEST_HIDDEN { text.to_owned() } else { text.replace(&self.0, HIDDEN) }
    }
}

impl fmt::Debug for LlmApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

impl fmt::Display for LlmApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}
