//! Pieces of a reply.

/// A piece of a reply, as it arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyDelta<'a> {
    /// More text.
    Text(&'a str),
    /// More reasoning.
    Reasoning(&'a str),
    /// More of a tool call. Only its first piece has the name.
    Call {
        /// Name of the tool, or empty.
        name: &'a str,
        /// More of its arguments.
        arguments: &'a str,
    },
    /// The reply broke off and is requested again: ignore the pieces so far.
    Restart,
}
