//! A key that does not show.

use std::fmt;

/// What stands where a key was.
const HIDDEN: &str = "***";

/// A key shorter than this is no key (local servers take any word); blotting it out of texts would only garble them.
const SHORTEST_HIDDEN: usize = 6;

/// An API key. Neither `Debug` nor an error of this crate shows it; [`Secret::reveal`] is the only way to it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a key; white space around it, such as the newline of a key file, is not part of it.
    pub fn new(key: &str) -> Secret {
        Secret(key.trim().to_owned())
    }

    /// The key itself, for the header of a request.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// A text without the key in it.
    pub fn redact(&self, text: &str) -> String {
        if self.0.len() < SHORTEST_HIDDEN { text.to_owned() } else { text.replace(&self.0, HIDDEN) }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}
