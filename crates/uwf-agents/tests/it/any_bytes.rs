//! Whatever an agent may say or leave behind. The checks are those that libFuzzer runs too (`fuzz/`).

mod acp;
mod trace;

#[test]
fn acp() {
    acp::SUBJECT.feed(3_000);
}

#[test]
fn trace() {
    trace::SUBJECT.feed(600);
}
