//! The engine's own files, with anything in them. The checks are those that libFuzzer runs too (`fuzz/`), but for the chain
//! cache: its checksum notices accidents, and libFuzzer would solve it.

mod chain_file;
mod record_file;
mod registry_file;

#[test]
fn registry_file() {
    registry_file::SUBJECT.feed(1_000);
}

#[test]
fn record_file() {
    record_file::SUBJECT.feed(1_500);
}

#[test]
fn chain_file() {
    chain_file::SUBJECT.feed(1_500);
}
