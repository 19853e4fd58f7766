//! The parser of server-sent events.

use proptest::prelude::*;
use uwf_llm::sse::{ServerSentEvent, SseParser};

fn parse(pieces: &[&[u8]]) -> Vec<ServerSentEvent> {
    let mut parser = SseParser::new();
    let mut events: Vec<ServerSentEvent> = pieces.iter().flat_map(|piece| parser.push(piece)).collect();
    events.extend(parser.finish());
    events
}

fn event(event: &str, data: &str) -> ServerSentEvent {
    ServerSentEvent { event: event.to_owned(), data: data.to_owned() }
}

#[test]
fn fields_are_read_as_the_standard_says() {
    let text = "\u{feff}: a comment\nevent: greet\ndata: one\ndata:two\ndata\nid: 7\nretry: 10\n\n\
        event: nothing\n\ndata:  spaced\r\n\r\ndata: old\r\rdata: torn";
    let expected = [event("greet", "one\ntwo\n"), event("", " spaced"), event("", "old"), event("", "torn")];
    assert_eq!(parse(&[text.as_bytes()]), expected);
}

#[test]
fn a_line_break_across_pieces_is_one() {
    assert_eq!(parse(&[b"data: a\r", b"\n\r", b"\ndata: b\n\n"]), [event("", "a"), event("", "b")]);
}

fn line_break() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["\n", "\r\n", "\r"])
}

proptest! {
    #[test]
    fn any_cutting_gives_the_same_events(bytes in prop::collection::vec(any::<u8>(), 0..300), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20)) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        prop_assert_eq!(parse(&pieces), parse(&[&bytes]));
    }

    #[test]
    fn texts_made_of_its_words_are_cut_alike(words in prop::collection::vec(prop::sample::select(vec!["data", "event", ":", " ", "\n", "\r", "é", "\u{feff}", "x"]), 0..80)) {
        let text = words.concat();
        let single: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        prop_assert_eq!(parse(&single), parse(&[text.as_bytes()]));
    }

    #[test]
    fn written_events_are_read_back(written in prop::collection::vec(("[a-z]{0,5}", "[^\r\n]{0,20}", "[^\r\n]{0,20}"), 0..6), end in line_break()) {
        let text: String = written.iter().map(|(kind, one, two)| format!("event: {kind}{end}data: {one}{end}data: {two}{end}{end}")).collect();
        let expected: Vec<ServerSentEvent> = written.iter().map(|(kind, one, two)| event(kind, &format!("{one}\n{two}"))).collect();
        prop_assert_eq!(parse(&[text.as_bytes()]), expected);
    }
}
