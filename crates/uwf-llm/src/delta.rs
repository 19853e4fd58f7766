//! A reply while it comes.

/// A piece of a reply, as it comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delta<'a> {
    /// More text.
    Text(&'a str),
    /// More reasoning.
    Reasoning(&'a str),
    /// More of a call of a tool; the name comes with its first piece only.
    Call {
        /// Name of the tool, or empty.
        name: &'a str,
        /// More of its arguments.
        arguments: &'a str,
    },
    /// The reply broke and is asked for again: the pieces so far do not count.
    Restart,
}
