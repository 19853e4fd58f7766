//! Texts are kept as they were written.

use super::*;

fn plan(written: &str) -> Value {
    value(&format!("---\nstatus: done\nplan: {written}\nok: true\n---\nbody"))["plan"].clone()
}

#[test]
fn a_hash_sign_does_not_cut_it() {
    assert_eq!(plan("Fix #42"), json!("Fix #42"));
    assert_eq!(plan("Fix #42 # login"), json!("Fix #42 # login"));
    assert_eq!(plan("#42 is fixed"), json!("#42 is fixed"));
}

#[test]
fn lines_that_are_comments_are_none_of_it() {
    let found = found("---\n# the status\nstatus: done\n  # indented\nplan: p\n# end\n---\n");
    assert_eq!((found.value, found.fixes), (done(), vec![]));
}

#[test]
fn comment_after_enum_value_is_dropped() {
    let found = found("---\nstatus: done # one of done, failed\nplan: p\n---\n");
    assert_eq!(found.value, done());
    assert_eq!(found.fixes, ["`status`: left out a comment"]);
}

#[test]
fn colons_signs_and_brackets_are_text() {
    for text in [
        "fix: the bug",
        "see http://a.invalid/x: here",
        "@bob did it",
        "*.rs and *.toml",
        "[WIP] login",
        "[WIP]",
        "%5 of it",
        "`code` first",
        "!important",
        "&co",
        "{x} y",
        "- dash",
        "? why",
        "> more",
        "| pipe",
        "a: b: c",
        "\"quoted\" start",
        "'it''s' x",
        "100%: yes",
        ", comma",
        "ends with colon:",
    ] {
        assert_eq!(plan(text), json!(text), "{text}");
    }
}

#[test]
fn quotes_around_it_are_none_of_it() {
    assert_eq!(plan("\"a: #b\""), json!("a: #b"));
    assert_eq!(plan("'it''s'"), json!("it's"));
    assert_eq!(plan("\"he said \"hi\" there\""), json!("he said \"hi\" there"));
}

#[test]
fn blocks_of_text_keep_their_lines() {
    assert_eq!(plan("|\n  one: two\n\n  # three"), json!("one: two\n\n# three\n"));
    assert_eq!(plan(">-\n  one\n  two"), json!("one two"));
}

#[test]
fn several_lines_without_any_mark() {
    assert_eq!(plan("one\n  two\n  three"), json!("one two three"));
    assert_eq!(plan("one\nTwo more.\nThree: four"), json!("one\nTwo more.\nThree: four"));
    assert_eq!(plan("\n  one: two\n  three"), json!("one: two\nthree"));
}

#[test]
fn digits_stay_text() {
    for digits in
        ["1234567890123", "12345678901E5", "0000000000000", "1.10", "0x1F", "1_000", "no", "true", "2026-11-21"]
    {
        assert_eq!(plan(digits), json!(digits), "{digits}");
    }
}

#[test]
fn bullets_under_a_text() {
    assert_eq!(plan("\n  - one\n  - two: three"), json!("- one\n- two: three"));
}
