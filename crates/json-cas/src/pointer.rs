//! JSON pointers (RFC 6901), which name a place in a JSON value.

/// The path from the root to a value, kept on the stack, so that it is free until it is written out.
#[derive(Copy, Clone)]
pub(crate) enum Trail<'a> {
    Root,
    Key(&'a Trail<'a>, &'a str),
    Index(&'a Trail<'a>, usize),
}

impl Trail<'_> {
    /// The JSON pointer: "" for the root, otherwise `/key/0/…`.
    pub(crate) fn pointer(&self) -> String {
        match self {
            Trail::Root => String::new(),
            Trail::Key(parent, key) => join(&parent.pointer(), key),
            Trail::Index(parent, index) => format!("{}/{index}", parent.pointer()),
        }
    }
}

/// The pointer of `key` below `pointer`.
#[must_use]
pub fn join(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// The key in one segment of a pointer.
#[must_use]
pub fn unescape(segment: &str) -> String {
    segment.replace("~1", "/").replace("~0", "~")
}
