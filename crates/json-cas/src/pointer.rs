//! JSON pointers (RFC 6901), which name a place in a JSON value.

/// The path from the root to a value, kept on the stack, so that it is free until it is written out.
#[derive(Copy, Clone)]
pub(crate) enum ValueTrail<'a> {
    Root,
    Key(&'a ValueTrail<'a>, &'a str),
    Index(&'a ValueTrail<'a>, usize),
}

impl ValueTrail<'_> {
    /// The JSON pointer: "" for the root, otherwise `/key/0/…`.
    pub(crate) fn pointer(&self) -> String {
        match self {
            ValueTrail::Root => String::new(),
            ValueTrail::Key(parent, key) => join(&parent.pointer(), key),
            ValueTrail::Index(parent, index) => format!("{}/{index}", parent.pointer()),
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
