//! Whatever a file of a person or the answer of a model holds. The checks are those that libFuzzer runs too (`fuzz/`).

mod condition;
pub(crate) mod config_file;
mod frontmatter;
pub(crate) mod workflow_file;

#[test]
fn workflow_file() {
    workflow_file::SUBJECT.feed(1_000);
}

#[test]
fn frontmatter() {
    frontmatter::SUBJECT.feed(500);
}

#[test]
fn condition() {
    condition::SUBJECT.feed(600);
}

#[test]
fn config_file() {
    config_file::SUBJECT.feed(600);
}
