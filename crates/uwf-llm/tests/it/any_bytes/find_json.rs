//! JSON in what a model wrote around it: what is found stands there, and one that is accepted is preferred.

use serde_json::Value;
use uwf_llm::find_json;
use uwf_testing::Subject;

pub(crate) const SUBJECT: Subject = Subject {
    name: "find JSON",
    samples: &[
        b"Sure! Here it is:\n```json\n{\"verdict\": \"good {x}\", \"n\": [1, {\"a\": 2}]}\n```\nAnything else?",
        b"The form is {\"verdict\": ...}. So: {\"verdict\": 1} (see [1] and {})",
        b"[1, 2.50, \"caf\xc3\xa9\", null]",
    ],
    words: &[
        "```",
        "```json\n",
        "{",
        "}",
        "[",
        "]",
        "\"verdict\"",
        ":",
        ",",
        "\"",
        "\\",
        "\n",
        "1e999",
        "\u{feff}",
        "null",
        "é",
    ],
    check,
};

fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let is_wanted = |value: &Value| value.get("verdict").is_some();
    let any = find_json(&text, &|_| true);
    let wanted = find_json(&text, &is_wanted);
    assert_eq!(any.is_some(), wanted.is_some(), "if there is any, it is given");
    if let Some(value) = &wanted {
        let printed = value.to_string();
        assert_eq!(find_json(&printed, &is_wanted), wanted, "what was found is found again: {printed}");
    }
    if any.as_ref().is_some_and(is_wanted) {
        assert!(wanted.as_ref().is_some_and(is_wanted), "{wanted:?}");
    }
}
