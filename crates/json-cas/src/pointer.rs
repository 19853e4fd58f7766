//! Where in a JSON value something is, as an RFC 6901 JSON pointer.

/// The way from the root to a value, kept on the stack so that it costs nothing until it is written out.
#[derive(Copy, Clone)]
pub(crate) enum Trail<'a> {
    Root,
    Key(&'a Trail<'a>, &'a str),
    Index(&'a Trail<'a>, usize),
}

impl Trail<'_> {
    /// The JSON pointer: "" for the root, else `/key/0/…`.
    pub(crate) fn pointer(&self) -> String {
        match self {
            Trail::Root => String::new(),
            Trail::Key(parent, key) => join(&parent.pointer(), key),
            Trail::Index(parent, index) => format!("{}/{index}", parent.pointer()),
        }
    }
}

/// `pointer` extended by one key, escaped.
pub(crate) fn join(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// One segment of a pointer as the key it stands for.
pub(crate) fn unescape(segment: &str) -> String {
    segment.replace("~1", "/").replace("~0", "~")
}
