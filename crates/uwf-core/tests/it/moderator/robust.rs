//! No text, however odd, brings the engine down.

use uwf_core::moderator::{CompiledCondition, ConditionClass};

use super::{decide, edge, history, thread};

fn survives(expression: &str) {
    let Ok(condition) = CompiledCondition::compile(expression) else {
        return;
    };
    for text in condition.field_reads().iter().map(|read| &read.text) {
        assert!(!text.is_empty());
    }
    for warning in condition.warnings() {
        assert!(!warning.is_empty());
    }
    if condition.class() == ConditionClass::Plain {
        // An error is fine, a panic is not.
        let _ = decide(vec![edge("a", Some(expression)), edge("b", None)], &thread());
        let _ = decide(vec![edge("a", Some(expression)), edge("b", None)], &history(&[]));
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
