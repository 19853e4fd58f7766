//! Lines out of a stream.

use agent_kit::json_rpc::{MessageLine, MessageLines};
use proptest::prelude::*;

fn whole(text: &str) -> MessageLine {
    MessageLine::Whole(text.as_bytes().to_vec())
}

#[test]
fn lines_survive_any_chunk_boundary() {
    let mut lines = MessageLines::new(100);
    assert_eq!(lines.push(b"one\r\ntw"), [whole("one")]);
    assert_eq!(lines.push(b"o\n\nthr"), [whole("two"), whole("")]);
    assert_eq!(lines.push(b""), []);
    assert_eq!(lines.finish(), Some(whole("thr")));
    assert_eq!(lines.finish(), None);
}

#[test]
fn overlong_lines_are_counted_but_dropped() {
    let mut lines = MessageLines::new(4);
    assert_eq!(lines.push(b"abcd\nabcde\nab"), [whole("abcd"), MessageLine::TooLong(5)]);
    assert_eq!(lines.push(b"cdef"), []);
    assert_eq!(lines.push(b"gh\nok\n"), [MessageLine::TooLong(8), whole("ok")]);
    assert_eq!(lines.push(b"12345"), []);
    assert_eq!(lines.finish(), Some(MessageLine::TooLong(5)));
}

proptest! {
    #[test]
    fn chunking_does_not_affect_lines(bytes: Vec<u8>, cuts: Vec<prop::sample::Index>, cap in 0usize..40) {
        let all = |pieces: &[&[u8]]| {
            let mut lines = MessageLines::new(cap);
            let mut found: Vec<MessageLine> = pieces.iter().flat_map(|piece| lines.push(piece)).collect();
            found.extend(lines.finish());
            found
        };
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        places.extend([0, bytes.len()]);
        places.sort_unstable();
        let pieces: Vec<&[u8]> = places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        prop_assert_eq!(all(&pieces), all(&[&bytes]));
    }
}
