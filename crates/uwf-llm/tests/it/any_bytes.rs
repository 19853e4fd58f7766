//! Whatever a provider may send. The checks are those that libFuzzer runs too (`fuzz/`).

mod sse;
mod whole_json;

#[test]
fn sse() {
    sse::SUBJECT.feed(6_000);
}

#[test]
fn whole_json() {
    whole_json::SUBJECT.feed(4_000);
}
