//! No text, however odd, brings the engine down.

use proptest::prelude::*;
use proptest::sample::select;
use uwf_core::moderator::{Class, Condition};

use super::{decide, edge, history, thread};

fn survives(expression: &str) {
    let Ok(condition) = Condition::compile(expression) else {
        return;
    };
    for text in condition.field_reads().iter().map(|read| &read.text) {
        assert!(!text.is_empty());
    }
    for warning in condition.warnings() {
        assert!(!warning.is_empty());
    }
    if condition.class() == Class::Plain {
        // An error is fine, a panic is not.
        let _ = decide(vec![edge("a", Some(expression)), edge("b", None)], &thread());
        let _ = decide(vec![edge("a", Some(expression)), edge("b", None)], &history(&[]));
    }
}

proptest! {
    #[test]
    fn any_text(text in "\\PC{0,60}") {
        survives(&text);
    }

    #[test]
    fn any_tokens(tokens in proptest::collection::vec(select(vec![
        "steps", "$steps", "$", "$$", "output", "role", "'coder'", "0", "-1", "1e300", ".", "[", "]", "(", ")", "{", "}",
        ",", ";", ":", ":=", "?", "??", "?:", "=", "!=", "<", ">=", "+", "-", "*", "/", "%", "**", "&", "and", "or",
        "in", "~>", "@", "#", "^", "|", "..", "$count(", "$not(", "$last(", "$string(", "function($x){", "/a/", "true",
        "null", "`b c`", "$contains(", "$round(", "$number(", "$lookup(", "$extractedBy(",
    ]), 0..14)) {
        survives(&tokens.join(" "));
        survives(&tokens.concat());
    }
}

#[test]
fn nesting_is_limited_on_a_small_stack_too() {
    for (open, inside, close) in [
        ("(", "1", ")"),
        ("[", "1", "]"),
        ("-", "1", ""),
        ("a[", "1", "]"),
        ("$not(", "1", ")"),
        ("{'a':", "1", "}"),
        ("1+", "1", ""),
        ("a.", "a", ""),
        ("function(){", "1", "}"),
        ("a?", "1", ":1"),
    ] {
        for depth in [100, 900, 5000] {
            let text = format!("{}{inside}{}", open.repeat(depth), close.repeat(depth));
            std::thread::Builder::new().stack_size(1 << 20).spawn(move || survives(&text)).unwrap().join().unwrap();
        }
    }
}
