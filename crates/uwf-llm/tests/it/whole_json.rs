//! Replies that are JSON and nothing else.

use proptest::prelude::*;
use serde_json::json;
use uwf_llm::whole_json;

#[test]
fn value_is_whole_text_or_only_block() {
    let value = json!({ "verdict": "good {x}", "n": [1, { "a": 2 }] });
    let compact = value.to_string();
    for text in [
        compact.clone(),
        format!("\u{feff}  {compact}\n"),
        format!("```json\n{value:#}\n```\n"),
        format!("```\n{compact}\n```"),
    ] {
        assert_eq!(whole_json(&text), Some(value.clone()), "{text}");
    }
}

#[test]
fn value_within_other_text_is_not_read() {
    let approved = r#"{"approved": true}"#;
    for text in [
        format!("I do not approve. The API must return {approved} for valid users."),
        format!("No. `{approved}` is what the bot says."),
        format!("> {approved}\n\nI reject."),
        format!("<think>\n{approved}\n</think>\nI reject."),
        format!("{{\"approved\": false}}\n\n{approved}"),
        format!("Sure! Here it is:\n```json\n{approved}\n```\nAnything else?"),
        format!("```json\n{approved}\n```\n```json\n{approved}\n```"),
        format!("```python\n{approved}\n```"),
        String::new(),
        "no".to_owned(),
        "{".to_owned(),
        "```json\n{\"a\": \n```".to_owned(),
        "{'a': 1}".to_owned(),
    ] {
        assert_eq!(whole_json(&text), None, "{text}");
    }
}

proptest! {
    #[test]
    fn anything_at_all_is_survived(text in "\\PC{0,200}") {
        whole_json(&text);
    }

    #[test]
    fn value_between_words_is_never_read(before in "[a-z .,é]{0,40}", after in "[a-z .,é]{0,40}", inner in "\\PC{0,20}") {
        let value = json!({ "verdict": inner });
        let is_alone = before.trim().is_empty() && after.trim().is_empty();
        prop_assert_eq!(whole_json(&format!("{before}{value}{after}")), is_alone.then_some(value));
    }
}
