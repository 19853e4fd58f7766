//! Answers of models: a value that is valid, or errors they can act on; and the same text always says the same.

use std::sync::OnceLock;

use json_cas::schema::CompiledSchema;
use serde_json::json;
use uwf_core::extract::{self, Extraction};
use uwf_core::prompt::AnswerForm;
use uwf_testing::FuzzTarget;

pub(crate) const SUBJECT: FuzzTarget = FuzzTarget {
    name: "frontmatter",
    samples: &[
        b"---\nstatus: done\nplan: Fix #42, all of it\nok: yes\nscore: 1.50\nfiles:\n  - a.rs\n  - '*.md'\nowner:\n  name: Zo\xc3\xab\n---\nIt is done.\n",
        b"\xef\xbb\xbfWarning: x\n\n```yaml\nstatus: in-progress\nplan: |\n  one\n   two\nphases:\n- hash: 1234567890123\n  title: t\n- {hash: 12345678901E5}\n```\n",
        b"Here it is: {\"status\": \"failed\", \"plan\": \"\\u00e9\", \"note\": null, \"count\": 3, \"files\": [\"a\"]} and that is all.",
        b"\x1b[1m---\x1b[0m\r\n**status:** done\r\nplan = [WIP] @x\r\ncount: \"7\"\r\n...\r\n",
        b"---\nstatus: <one of done, failed>\nplan: <text>\n---\n---\nstatus: done\nplan: p\nfilesChanged: a.rs, b.rs\n---\n",
    ],
    words: &[
        "---\n", "...\n", "```", "```yaml\n", "```json\n", "status", "plan", "files", "phases", "owner", "count", "score", ": ",
        " = ", "- ", "\n", "\n\n", "  ", "\t", "# c", "{", "}", "[", "]", ",", "\"", "'", "|\n", ">-\n", "&a", "*a", "!t", "@",
        "<text>", "null", "~", "1.10", "yes", "0x1F", "1e400", "done", "é", "\u{feff}", "\u{1b}[0m", "\r", "\u{85}", "\u{2028}",
        "?", "\\", "**", "\\ud800", "1234567890123", "\0",
    ],
    check,
};

fn check(bytes: &[u8]) {
    let answer = String::from_utf8_lossy(bytes);
    for form in [AnswerForm::Frontmatter, AnswerForm::Json] {
        let read = |text: &str| extract::read(text, form, schema(), &String::new);
        let extraction = read(&answer);
        assert_eq!(read(&answer), extraction);
        match extraction {
            Extraction::Found(found) => {
                assert!(schema().is_valid(&found.value), "{}", found.value);
                // Written as JSON, which leaves nothing to be tolerated, it says the same.
                let Extraction::Found(again) = read(&found.value.to_string()) else {
                    panic!("{} is not read again", found.value);
                };
                assert_eq!(again.value, found.value);
            }
            Extraction::Failed(failure) => {
                assert!(!failure.errors.is_empty() && failure.errors.iter().all(|error| !error.is_empty()));
                assert!(failure.feedback(schema(), form).len() < 4_000 + 20 * bytes.len());
            }
        }
    }
}

/// A role's schema with keys of every kind.
fn schema() -> &'static CompiledSchema {
    static SCHEMA: OnceLock<CompiledSchema> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let schema = json!({
            "type": "object",
            "properties": {
                "status": { "type": "string", "enum": ["done", "in-progress", "failed"] },
                "plan": { "type": "string" },
                "ok": { "type": "boolean" },
                "score": { "type": "number" },
                "count": { "type": "integer", "minimum": 0 },
                "files": { "type": "array", "items": { "type": "string" } },
                "filesChanged": { "type": "array", "items": { "type": "string" } },
                "note": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
                "owner": { "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] },
                "phases": { "type": "array", "items": {
                    "type": "object", "properties": { "hash": { "type": "string" }, "title": { "type": "string" } }, "required": ["hash"],
                } },
            },
            "required": ["status", "plan"],
        });
        CompiledSchema::compile(&schema).expect("it is a schema")
    })
}
