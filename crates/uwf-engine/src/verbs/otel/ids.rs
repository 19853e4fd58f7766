//! Ids of traces and spans, derived from threads and the hashes of nodes.

use json_cas::NodeHash;
use uwf_core::thread::ThreadId;

use super::otlp::{SpanId, TraceId};
use crate::attempt::child_threads;
use crate::root::home::Home;

/// Limit for the walk to the topmost ancestor, in case a record names itself as its parent.
const MAX_ANCESTORS: usize = 64;

/// The trace of a thread: the trace of its topmost ancestor.
pub(super) fn trace_of(home: &Home, thread: &ThreadId) -> TraceId {
    let mut top = thread.clone();
    for _ in 0..MAX_ANCESTORS {
        let Some(parent) = child_threads::parent_of(home, &top) else { break };
        top = parent;
    }
    TraceId(id("trace", &[top.as_str()]))
}

/// Bytes derived from these words; never all zero, which is an invalid id.
fn id<const N: usize>(what: &str, words: &[&str]) -> [u8; N] {
    let mut hasher = blake3::Hasher::new_derive_key("uwf 2026 ids of spans");
    for word in std::iter::once(&what).chain(words) {
        hasher.update(word.as_bytes()).update(b"\n");
    }
    let mut bytes = [0; N];
    hasher.finalize_xof().fill(&mut bytes);
    bytes[0] |= u8::from(bytes == [0; N]);
    bytes
}

pub(super) fn span_id(what: &str, thread: &ThreadId, rest: &[&str]) -> SpanId {
    SpanId(id(what, &[&[thread.as_str()], rest].concat()))
}

/// The span of the step that follows a head.
pub(super) fn step_id(thread: &ThreadId, head: NodeHash) -> SpanId {
    span_id("step", thread, &[&head.to_string()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_pinned_to_match_earlier_spans() {
        let thread: ThreadId = "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap();
        let trace = TraceId(id("trace", &[thread.as_str()]));
        assert_eq!(
            (trace.hex().as_str(), step_id(&thread, NodeHash::from_u64(1)).hex().as_str()),
            ("239b31a37a4ac79f130987213c03cb71", "bc2f52d152a394cc")
        );
    }
}
