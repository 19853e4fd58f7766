//! Server-sent events: wherever the bytes are cut, the same events come out, and none of them holds what was not sent.

use uwf_llm::sse::{ServerSentEvent, SseParser};
use uwf_testing::FuzzTarget;

pub(crate) const SUBJECT: FuzzTarget = FuzzTarget {
    name: "SSE",
    samples: &[
        b"\xef\xbb\xbf: a comment\nevent: greet\ndata: one\ndata:two\ndata\nid: 7\nretry: 10\n\nevent: nothing\n\ndata:  spaced\r\n\r\ndata: old\r\rdata: torn",
        b"data: {\"choices\":[{\"delta\":{\"content\":\"caf\xc3\xa9\"}}]}\n\ndata: [DONE]\n\n",
        b"event: message_start\r\ndata: {\"type\":\"message_start\"}\r\n\r\nevent: ping\r\ndata: {}\r\n\r\n",
    ],
    words: &["data", "event", "data: ", "event: ", "data:", ":", " ", "\n", "\r", "\r\n", "\n\n", "\u{feff}", "é", "\0", "id"],
    check,
};

fn check(bytes: &[u8]) {
    let whole = events([bytes]);
    assert_eq!(events(bytes.chunks(1)), whole, "byte by byte");
    // One place in each input, which is another in the next.
    let (before, after) =
        bytes.split_at(bytes.iter().fold(0, |sum, byte| sum + usize::from(*byte)) % (bytes.len() + 1));
    assert_eq!(events([before, after]), whole, "cut at {}", before.len());
    assert_eq!(events([before, b"", after]), whole, "with nothing in between");
    // What is no UTF-8 becomes marks of three bytes.
    let size: usize = whole.iter().map(|event| event.event.len() + event.data.len()).sum();
    assert!(size <= 3 * bytes.len());
    for event in &whole {
        assert!(!event.event.contains(['\n', '\r']) && !event.data.contains('\r'), "{event:?}");
    }
    assert_eq!(events([written(&whole).as_bytes()]), whole, "written again");
}

fn events<'b>(pieces: impl IntoIterator<Item = &'b [u8]>) -> Vec<ServerSentEvent> {
    let mut parser = SseParser::new();
    let mut events: Vec<ServerSentEvent> = pieces.into_iter().flat_map(|piece| parser.push(piece)).collect();
    events.extend(parser.finish());
    events
}

fn written(events: &[ServerSentEvent]) -> String {
    let event = |event: &ServerSentEvent| {
        let data: String = event.data.split('\n').map(|line| format!("data: {line}\n")).collect();
        format!("event: {}\n{data}\n", event.event)
    };
    events.iter().map(event).collect()
}
