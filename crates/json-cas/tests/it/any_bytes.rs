//! Every file of a store, with anything in it. The checks are those that libFuzzer runs too (`fuzz/`).

mod cbor;
mod history_file;
mod node_file;
mod pack_file;
mod threads_file;

#[test]
fn cbor() {
    cbor::SUBJECT.feed(30_000);
}

#[test]
fn node_file() {
    node_file::SUBJECT.feed(8_000);
}

#[test]
fn pack_file() {
    pack_file::SUBJECT.feed(3_000);
}

#[test]
fn threads_file() {
    threads_file::SUBJECT.feed(4_000);
}

#[test]
fn history_file() {
    history_file::SUBJECT.feed(1_000);
}
