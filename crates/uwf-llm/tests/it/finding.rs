//! Finding the JSON in what a model wrote.

use proptest::prelude::*;
use serde_json::{Value, json};
use uwf_llm::find_json;

/// The value found in a text when one with the key `verdict` is wanted.
fn found(text: &str) -> Option<Value> {
    find_json(text, &|value| value.get("verdict").is_some())
}

#[test]
fn a_value_is_found_wherever_it_stands() {
    let value = json!({ "verdict": "good {x}", "n": [1, { "a": 2 }] });
    let compact = value.to_string();
    let texts = [
        compact.clone(),
        format!("\u{feff}  {compact}\n"),
        format!("Sure! Here it is:\n```json\n{value:#}\n```\nAnything else?"),
        format!("```\n{compact}\n```"),
        format!("I would say {compact}, all in all."),
        format!("The form is {{\"verdict\": ...}}. So: {compact}"),
        format!("For example {{\"verdict\": \"bad\"}}, but really\n```json\n{compact}\n```"),
        format!("First {{\"verdict\": 1}}, then rather {compact} (see [1] and {{}})"),
        format!("```json\n{{\"other\": 1}}\n```\nand {compact}"),
    ];
    for text in texts {
        assert_eq!(found(&text), Some(value.clone()), "{text}");
    }
}

#[test]
fn without_the_wanted_keys_the_last_value_is_taken() {
    assert_eq!(found("{\"a\": 1} or {\"b\": 2}"), Some(json!({ "b": 2 })));
    assert_eq!(found("[1, 2]"), Some(json!([1, 2])));
}

#[test]
fn no_value_is_no_value() {
    for text in ["", "no", "{", "}{", "{a: 1}", "```json\n{\"a\": \n```", "{'a': 1}"] {
        assert_eq!(found(text), None, "{text}");
    }
}

#[test]
fn nasty_texts_take_no_time() {
    for unit in ["{", "[", "{\"a\":", "[\"", "{\"a\":[1,{}", "```\n{"] {
        let text = unit.repeat(200_000);
        assert_eq!(found(&text), if unit.ends_with("{}") { Some(json!({})) } else { None }, "{unit}");
    }
}

proptest! {
    #[test]
    fn anything_at_all_is_survived(text in "\\PC{0,200}") {
        found(&text);
    }

    #[test]
    fn a_value_between_words_is_found(before in "[a-z .,é]{0,40}", after in "[a-z .,é]{0,40}", inner in "\\PC{0,20}") {
        let value = json!({ "verdict": inner });
        prop_assert_eq!(found(&format!("{before}{value}{after}")), Some(value));
    }
}
