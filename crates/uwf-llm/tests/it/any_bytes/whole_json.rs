//! Replies that may be one JSON value.

use uwf_llm::whole_json;
use uwf_testing::FuzzTarget;

pub(crate) const SUBJECT: FuzzTarget = FuzzTarget {
    name: "whole JSON",
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
    if let Some(value) = whole_json(&text) {
        let printed = value.to_string();
        assert_eq!(whole_json(&printed), Some(value), "a value is read again: {printed}");
    }
}
