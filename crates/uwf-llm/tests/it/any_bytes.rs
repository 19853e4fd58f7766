//! Whatever a provider may send. The checks are those that libFuzzer runs too (`fuzz/`).

mod find_json;
mod sse;

#[test]
fn sse() {
    sse::SUBJECT.feed(6_000);
}

#[test]
fn find_json() {
    find_json::SUBJECT.feed(4_000);
}
