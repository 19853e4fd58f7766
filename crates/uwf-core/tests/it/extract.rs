//! Extraction: answers as agents write them.

use json_cas::schema::Schema;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use uwf_core::extract::{Extraction, Failure, Found, frontmatter, json as json_rung};

/// A role's schema with one key of each kind.
fn task_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "status": {"type": "string", "enum": ["done", "in-progress", "failed"]},
            "plan": {"type": "string"},
            "ok": {"type": "boolean"},
            "score": {"type": "number"},
            "count": {"type": "integer"},
            "files": {"type": "array", "items": {"type": "string"}},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "caveat": {"type": "string"},
            "filesChanged": {"type": "array", "items": {"type": "string"}},
            "owner": {"type": "object", "properties": {"name": {"type": "string"}, "team": {"type": "string"}}, "required": ["name"]},
            "phases": {"type": "array", "items": {
                "type": "object", "properties": {"hash": {"type": "string"}, "title": {"type": "string"}}, "required": ["hash"],
            }},
        },
        "required": ["status", "plan"],
    })
}

fn read(raw: &str, schema: &Value) -> Extraction {
    frontmatter(raw, &Schema::compile(schema).unwrap())
}

fn found_in(raw: &str, schema: &Value) -> Found {
    match read(raw, schema) {
        Extraction::Found(found) => found,
        Extraction::Failed(failure) => panic!("no answer in {raw:?}: {failure:#?}"),
    }
}

fn found(raw: &str) -> Found {
    found_in(raw, &task_schema())
}

fn value(raw: &str) -> Value {
    found(raw).value
}

fn failed(raw: &str) -> Failure {
    match read(raw, &task_schema()) {
        Extraction::Failed(failure) => failure,
        Extraction::Found(found) => panic!("taken for an answer: {found:#?}"),
    }
}

fn done() -> Value {
    json!({"status": "done", "plan": "p"})
}

mod shape_of_the_answer {
    use super::*;

    #[test]
    fn as_asked_for_it_needs_no_fix() {
        let found = found("---\nstatus: done\nplan: p\n---\n\n# Report\n\ntext\n");
        let expected = Found { value: done(), extras: Map::new(), fixes: vec![], body: "# Report\n\ntext".to_owned() };
        assert_eq!(found, expected);
    }

    #[test]
    fn leading_newlines() {
        assert_eq!(found("\n\n  \n---\nstatus: done\nplan: p\n---\n").fixes, Vec::<String>::new());
    }

    #[test]
    fn byte_order_mark() {
        assert_eq!(value("\u{feff}---\nstatus: done\nplan: p\n---\nx"), done());
    }

    #[test]
    fn windows_line_ends() {
        let found = found("---\r\nstatus: done\r\nplan: p\r\n---\r\nbody\r\nmore\r\n");
        assert_eq!((found.value, found.body), (done(), "body\nmore".to_owned()));
    }

    #[test]
    fn colours() {
        assert_eq!(value("\u{1b}[2m---\u{1b}[0m\n\u{1b}[32mstatus\u{1b}[0m: done\nplan: p\n---\n"), done());
    }

    #[test]
    fn a_warning_line_before_it() {
        let raw = "  ⚠ security scanner enabled but not available\n---\nstatus: done\nplan: p\n---\nbody";
        let found = found(raw);
        assert_eq!(found.value, done());
        assert_eq!(found.fixes, ["there was text before the header"]);
        assert_eq!(found.body, "body");
    }

    #[test]
    fn chatter_before_and_nothing_behind_is_the_body() {
        assert_eq!(found("I did it all.\n\n---\nstatus: done\nplan: p\n---\n").body, "I did it all.");
    }

    #[test]
    fn a_yaml_fence_around_the_keys() {
        for lang in ["yaml", "yml", "", "YAML"] {
            assert_eq!(value(&format!("```{lang}\nstatus: done\nplan: p\n```\nbody")), done());
        }
    }

    #[test]
    fn a_fence_around_header_and_rules() {
        let found = found("```yaml\n---\nstatus: done\nplan: p\n---\n```\n\nbody");
        assert_eq!(found.value, done());
        assert_eq!(found.fixes, ["the answer stood in a code block"]);
    }

    #[test]
    fn a_markdown_fence_around_the_whole_answer() {
        let found = found("```markdown\n---\nstatus: done\nplan: p\n---\n# Body\n\n```rust\nfn x() {}\n```\nend\n```\n");
        assert_eq!((found.value, found.body), (done(), "# Body\n\n```rust\nfn x() {}\n```\nend".to_owned()));
    }

    #[test]
    fn a_fence_inside_the_rules() {
        assert_eq!(value("---\n```yaml\nstatus: done\nplan: p\n```\n---\nbody"), done());
    }

    #[test]
    fn a_fenced_block_behind_chatter() {
        let found = found("Here is the result:\n\n```yaml\nstatus: done\nplan: p\n```\nThanks.");
        assert_eq!((found.value, found.body), (done(), "Thanks.".to_owned()));
    }

    #[test]
    fn not_closed() {
        let found = found("---\nstatus: done\nplan: p\n\n# Report\n\ntext\n");
        assert_eq!((found.value, found.body), (done(), "# Report\n\ntext".to_owned()));
    }

    #[test]
    fn not_closed_behind_chatter() {
        let found = found("Note\n---\nstatus: done\nplan: p\n\nThe text.\n");
        assert_eq!((found.value, found.body), (done(), "The text.".to_owned()));
        assert_eq!(found.fixes, ["the header was not closed"]);
    }

    #[test]
    fn not_closed_with_rules_in_the_body() {
        let found = found("---\nstatus: done\nplan: p\n\n# Report\n\none: two: three\n\n---\n\nmore\n\n---\n");
        assert_eq!(found.value, done());
        assert_eq!(found.body, "# Report\n\none: two: three\n\n---\n\nmore\n\n---");
    }

    #[test]
    fn closed_with_dots() {
        let found = found("---\nstatus: done\nplan: p\n...\nbody");
        assert_eq!((found.value, found.body), (done(), "body".to_owned()));
    }

    #[test]
    fn keys_without_any_rules() {
        let found = found("status: done\nplan: p\n\nSome text.");
        assert_eq!((found.value, found.body), (done(), "Some text.".to_owned()));
    }

    #[test]
    fn keys_closed_but_not_opened() {
        let found = found("status: done\nplan: p\n---\nSome text.");
        assert_eq!((found.value, found.body), (done(), "Some text.".to_owned()));
    }

    #[test]
    fn keys_without_rules_behind_chatter() {
        let found = found("All finished.\n\nstatus: done\nplan: p\n");
        assert_eq!(found.value, done());
        assert_eq!(found.fixes, ["the header had no `---` lines"]);
    }

    #[test]
    fn bare_json() {
        let found = found("{\"status\": \"done\", \"plan\": \"p\"}");
        assert_eq!((found.value, found.body), (done(), String::new()));
    }

    #[test]
    fn fenced_json() {
        assert_eq!(value("```json\n{\n  \"status\": \"done\",\n  \"plan\": \"p\"\n}\n```"), done());
        assert_eq!(value("Here:\n```json\n{\"status\": \"done\", \"plan\": \"p\"}\n```\nBye"), done());
    }

    #[test]
    fn json_within_text() {
        assert_eq!(value("The result is {\"status\": \"done\", \"plan\": \"p\"} as asked."), done());
    }

    #[test]
    fn json_between_rules() {
        assert_eq!(value("---\n{\"status\": \"done\", \"plan\": \"p\"}\n---\nbody"), done());
    }

    #[test]
    fn almost_json() {
        assert_eq!(value("{'status': 'done', plan: 'p',}"), done());
    }

    #[test]
    fn an_indented_rule_belongs_to_a_text() {
        let found = found("---\nplan: |\n  a\n  ---\n  b\nstatus: done\n---\n");
        assert_eq!(found.value, json!({"plan": "a\n---\nb", "status": "done"}));
    }
}

mod texts {
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
    fn a_comment_behind_a_word_of_a_list_is_none_of_it() {
        let found = found("---\nstatus: done # one of done, failed\nplan: p\n---\n");
        assert_eq!(found.value, done());
        assert_eq!(found.fixes, ["`status`: left out a comment"]);
    }

    #[test]
    fn colons_signs_and_brackets_are_text() {
        for text in [
            "fix: the bug", "see http://a.invalid/x: here", "@bob did it", "*.rs and *.toml", "[WIP] login", "[WIP]",
            "%5 of it", "`code` first", "!important", "&co", "{x} y", "- dash", "? why", "> more", "| pipe", "a: b: c",
            "\"quoted\" start", "'it''s' x", "100%: yes", ", comma", "ends with colon:",
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
    fn blocks() {
        assert_eq!(plan("|\n  one: two\n\n  # three"), json!("one: two\n\n# three"));
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
        for digits in ["1234567890123", "12345678901E5", "0000000000000", "1.10", "0x1F", "1_000", "no", "true", "2026-11-21"] {
            assert_eq!(plan(digits), json!(digits), "{digits}");
        }
    }

    #[test]
    fn bullets_under_a_text() {
        assert_eq!(plan("\n  - one\n  - two: three"), json!("- one\n- two: three"));
    }
}

mod types {
    use super::*;

    fn with(lines: &str) -> Found {
        found(&format!("---\nstatus: done\nplan: p\n{lines}\n---\n"))
    }

    fn of(lines: &str, key: &str) -> Value {
        with(lines).value[key].clone()
    }

    #[test]
    fn booleans() {
        for (written, expected) in [("true", true), ("no", false), ("Yes", true), ("'false'", false), ("off", false)] {
            assert_eq!(of(&format!("ok: {written}"), "ok"), json!(expected), "{written}");
        }
        assert_eq!(with("ok: no").fixes, ["`ok`: read `no` as false"]);
    }

    #[test]
    fn numbers() {
        assert_eq!(of("score: '0.9'", "score"), json!(0.9));
        assert_eq!(of("score: 1", "score"), json!(1));
        assert_eq!(of("count: 3.0", "count"), json!(3));
        assert_eq!(of("count: \"7\"", "count"), json!(7));
        assert_eq!(of("count: 5 # five", "count"), json!(5));
    }

    #[test]
    fn lists() {
        assert_eq!(of("files: src/a.rs", "files"), json!(["src/a.rs"]));
        assert_eq!(of("files: a.rs, b.rs", "files"), json!(["a.rs", "b.rs"]));
        assert_eq!(of("files: First, do this", "files"), json!(["First, do this"]));
        assert_eq!(of("files: [a.rs, \"b c\"]", "files"), json!(["a.rs", "b c"]));
        assert_eq!(of("files: '[\"a\", \"b\"]'", "files"), json!(["a", "b"]));
        assert_eq!(of("files:\n- a\n- b", "files"), json!(["a", "b"]));
        assert_eq!(of("files:\n  1. a\n  2. b: c", "files"), json!(["a", "b: c"]));
        assert_eq!(of("files:\n  * a\n  * b", "files"), json!(["a", "b"]));
        assert_eq!(of("files:\n  - *.rs\n  - @x\n  - [WIP] y\n  - fix: z\n  - #42\n  - `q`", "files"),
            json!(["*.rs", "@x", "[WIP] y", "fix: z", "#42", "`q`"]));
        assert_eq!(of("files:", "files"), json!([]));
        assert_eq!(of("files: []", "files"), json!([]));
    }

    #[test]
    fn members_that_look_like_objects_are_text_where_text_is_wanted() {
        assert_eq!(of("files:\n  - fix: the bug\n  - Fix #3 too", "files"), json!(["fix: the bug", "Fix #3 too"]));
    }

    #[test]
    fn words_of_a_list_are_matched_when_only_one_is_meant() {
        for written in ["In progress", "IN_PROGRESS", "\"in-progress\"", "`in-progress`", "**in-progress**", "in-progress."] {
            let raw = format!("---\nstatus: {written}\nplan: p\n---\n");
            assert_eq!(value(&raw)["status"], json!("in-progress"), "{written}");
        }
        assert!(failed("---\nstatus: almost\nplan: p\n---\n").errors[0].contains("status"));
    }

    #[test]
    fn null() {
        for written in ["null", "~", ""] {
            assert_eq!(of(&format!("note: {written}"), "note"), json!(null), "{written:?}");
        }
        assert_eq!(of("note: some", "note"), json!("some"));
        assert_eq!(of("note: 'null'", "note"), json!("null"));
    }

    #[test]
    fn null_for_an_optional_key_leaves_it_out() {
        let found = with("caveat: null");
        assert_eq!((found.value, found.fixes), (done(), vec!["`caveat`: left out, since nothing was written".to_owned()]));
    }

    #[test]
    fn null_for_a_required_key_is_an_error() {
        assert!(failed("---\nstatus: done\nplan:\n---\n").errors[0].contains("plan"));
    }

    #[test]
    fn objects() {
        assert_eq!(of("owner:\n  name: @bob\n  team: a: b", "owner"), json!({"name": "@bob", "team": "a: b"}));
        assert_eq!(of("owner: {name: x, team: y}", "owner"), json!({"name": "x", "team": "y"}));
        assert_eq!(of("owner: '{\"name\": \"x\"}'", "owner"), json!({"name": "x"}));
    }

    #[test]
    fn lists_of_objects() {
        let lines = "phases:\n  - hash: 1234567890123\n    title: Fix #1: login\n  - hash: 0000000000000\n    title: `two`";
        assert_eq!(
            of(lines, "phases"),
            json!([{"hash": "1234567890123", "title": "Fix #1: login"}, {"hash": "0000000000000", "title": "`two`"}])
        );
    }

    #[test]
    fn tabs_as_indentation() {
        assert_eq!(of("owner:\n\tname: x\n\tteam: y", "owner"), json!({"name": "x", "team": "y"}));
        assert_eq!(of("files:\n\t- a\n\t-\tb\ncount:\t4", "files"), json!(["a", "b"]));
    }

    #[test]
    fn keys_in_other_case() {
        let found = with("files_changed: [a]\nScore: 1");
        assert_eq!(found.value, json!({"status": "done", "plan": "p", "filesChanged": ["a"], "score": 1}));
        assert_eq!(found.fixes, ["read the key `files_changed` as `filesChanged`", "read the key `Score` as `score`"]);
    }

    #[test]
    fn keys_with_equals_signs_and_emphasis() {
        assert_eq!(value("---\nstatus = done\nplan = p\n---\n"), done());
        assert_eq!(value("---\n**status:** done\n**plan**: p\n---\n"), done());
        assert_eq!(value("---\nstatus:done\nplan:p\n---\n"), done());
    }

    #[test]
    fn a_key_written_twice() {
        assert_eq!(with("plan: p").value, done());
        let failure = failed("---\nstatus: done\nplan: p\nplan: q\n---\n");
        assert_eq!(failure.errors, ["`plan` is written twice, with different values: keep one"]);
    }

    #[test]
    fn alternatives_are_told_apart_by_what_fits() {
        let schema = json!({"type": "object", "required": ["result"], "properties": {"result": {"oneOf": [
            {"type": "object", "properties": {"kind": {"const": "ok"}, "value": {"type": "integer"}}, "required": ["kind", "value"]},
            {"type": "object", "properties": {"kind": {"const": "error"}, "message": {"type": "string"}}, "required": ["kind", "message"]},
        ]}}});
        let read = |raw| found_in(raw, &schema).value;
        assert_eq!(read("---\nresult:\n  kind: ok\n  value: '4'\n---\n"), json!({"result": {"kind": "ok", "value": 4}}));
        assert_eq!(read("---\nresult:\n  kind: error\n  message: 12\n---\n"), json!({"result": {"kind": "error", "message": "12"}}));
    }

    #[test]
    fn recursive_schemas() {
        let schema = json!({"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}}});
        let found = found_in("---\nname: 1\nchildren:\n  - name: 2\n    children: {name: 3}\n---\n", &schema);
        assert_eq!(found.value, json!({"name": "1", "children": [{"name": "2", "children": [{"name": "3"}]}]}));
    }
}

mod keys {
    use super::*;

    #[test]
    fn always_allowed_keys_the_schema_lacks_go_beside() {
        let found = found("---\nstatus: done\nplan: p\nnext: reviewer\nconfidence: 0.9\nartifacts: [a.rs]\nscope: all\n---\n");
        assert_eq!(found.value, done());
        assert_eq!(Value::Object(found.extras), json!({"next": "reviewer", "confidence": 0.9, "artifacts": ["a.rs"], "scope": "all"}));
        assert_eq!(found.fixes, Vec::<String>::new());
    }

    #[test]
    fn they_do_not_fail_a_closed_schema() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
        let found = found_in("---\na: x\nstatus: done\nother: y\n---\n", &schema);
        assert_eq!(found.value, json!({"a": "x"}));
        assert_eq!(Value::Object(found.extras), json!({"status": "done"}));
        assert_eq!(found.fixes, ["`other`: left out, the schema has no such key"]);
    }

    #[test]
    fn an_open_schema_keeps_what_it_allows() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "integer"}});
        assert_eq!(found_in("---\na: 1\nb: '2'\n---\n", &schema).value, json!({"a": "1", "b": 2}));
        let schema = json!({"type": "object"});
        assert_eq!(found_in("---\nx: 1\nstatus: done\n---\n", &schema).value, json!({"x": 1, "status": "done"}));
    }
}

mod choosing {
    use super::*;

    #[test]
    fn an_example_with_other_keys_is_no_answer() {
        let raw = "The form is:\n---\ntitle: x\n---\nand mine:\n---\nstatus: done\nplan: p\n---\nbody";
        assert_eq!(value(raw), done());
    }

    #[test]
    fn placeholders_are_no_answer() {
        let raw = "The form is:\n---\nstatus: done\nplan: <string>\n---\nand mine:\n\nstatus: done\nplan: p\n";
        assert_eq!(value(raw), done());
        let failure = failed("---\nstatus: done\nplan: <text>\n---\n");
        assert_eq!(failure.errors, ["`plan`: still the placeholder `<text>`"]);
    }

    #[test]
    fn an_example_quoted_before_the_answer() {
        let raw = "You asked for:\n\n---\nstatus: failed\nplan: an example\n---\n\nMy answer:\n\n---\nstatus: done\nplan: p\n---\n\nText.";
        let found = found(raw);
        assert_eq!((found.value, found.body), (done(), "Text.".to_owned()));
    }

    #[test]
    fn the_answer_first_and_an_example_in_the_text() {
        let raw = "---\nstatus: done\nplan: p\n---\nIt prints:\n\n---\nstatus: failed\nplan: other\n---\n\n```yaml\nstatus: failed\nplan: x\n```\n";
        assert_eq!(value(raw), done());
    }

    #[test]
    fn rules_and_headings_of_the_text_are_text() {
        let raw = "---\nstatus: done\nplan: p\n---\n\nTitle\n---\n\ntext\n\n---\n\nPlan: what: ever\n\n---\n";
        let found = found(raw);
        assert_eq!(found.value, done());
        assert_eq!(found.body, "Title\n---\n\ntext\n\n---\n\nPlan: what: ever\n\n---");
    }

    #[test]
    fn rules_before_the_answer() {
        assert_eq!(value("Summary\n---\n\nI did this.\n\n---\n\n---\nstatus: done\nplan: p\n---\n"), done());
    }

    #[test]
    fn a_clean_answer_is_preferred_to_text_that_could_be_read_as_one() {
        let schema = json!({"type": "object", "properties": {"summary": {"type": "string"}}, "required": ["summary"]});
        let raw = "Done.\n---\nsummary: the answer\n---\n\nSummary: not: this\n\n---\n";
        assert_eq!(found_in(raw, &schema).value, json!({"summary": "the answer"}));
    }

    #[test]
    fn code_blocks_of_other_languages_are_no_answer() {
        failed("```rust\nstatus: done\n```\n");
    }
}

mod failing {
    use super::*;

    #[test]
    fn nothing_to_read() {
        assert_eq!(failed("  \n").errors, ["the answer is empty"]);
        let failure = failed("I have finished the work.");
        assert_eq!(failure.errors, ["there is no header: the answer must begin with `---`, the keys, and `---` again"]);
        assert_eq!(failure.candidates, 0);
    }

    #[test]
    fn every_error_is_told_with_key_and_what_was_found() {
        let failure = failed("---\nstatus: almost\ncount: many\n---\n");
        let about = |key: &str, found: &str| failure.errors.iter().any(|error| error.contains(key) && error.contains(found));
        assert!(about("plan", ""), "{failure:#?}");
        assert!(about("`status`", "almost"), "{failure:#?}");
        assert!(about("`count`", "many"), "{failure:#?}");
        assert_eq!((failure.errors.len(), failure.candidates), (3, 1));
    }

    #[test]
    fn feedback_asks_for_the_header_only() {
        let schema = json!({"type": "object", "properties": {"ok": {"type": "boolean"}, "why": {"type": "string"}}});
        let compiled = Schema::compile(&schema).unwrap();
        let errors = vec!["`ok`: expected true or false, found `perhaps`".to_owned()];
        let failure = Failure { errors, candidates: 1 };
        insta::assert_snapshot!(failure.feedback(&compiled), @"");
    }

    #[test]
    fn too_long_an_answer_is_refused() {
        let failure = failed(&"x".repeat((16 << 20) + 1));
        assert_eq!(failure.errors, ["the answer has 16777217 bytes, the limit is 16777216"]);
    }
}

mod json_output {
    use super::*;

    fn json_in(raw: &str, schema: &Value) -> Extraction {
        json_rung(raw, &Schema::compile(schema).unwrap())
    }

    fn value(raw: &str) -> Value {
        match json_in(raw, &task_schema()) {
            Extraction::Found(found) => found.value,
            Extraction::Failed(failure) => panic!("no JSON in {raw:?}: {failure:#?}"),
        }
    }

    #[test]
    fn the_whole_output() {
        let extraction = json_in("{\"status\": \"done\", \"plan\": \"p\", \"more\": 1}\n", &task_schema());
        let value = json!({"status": "done", "plan": "p", "more": 1});
        assert_eq!(extraction, Extraction::Found(Found { value, extras: Map::new(), fixes: vec![], body: String::new() }));
    }

    #[test]
    fn other_values_than_objects() {
        let found = |raw, schema| match json_in(raw, &schema) {
            Extraction::Found(found) => found.value,
            Extraction::Failed(failure) => panic!("{failure:#?}"),
        };
        assert_eq!(found("[1, 2]", json!({"type": "array", "items": {"type": "integer"}})), json!([1, 2]));
        assert_eq!(found("log\n[1, 2]\n", json!({"type": "array", "items": {"type": "integer"}})), json!([1, 2]));
        assert_eq!(found("7", json!({"type": "integer"})), json!(7));
    }

    #[test]
    fn dressing_and_chatter_around_it() {
        assert_eq!(value("\u{feff}\u{1b}[1m{\"status\": \"done\", \"plan\": \"p\"}\u{1b}[0m\r\n"), done());
        assert_eq!(value("{\"level\": \"info\"}\nstarting {x}\n{\"status\": \"done\", \"plan\": \"p\"}\ndone.\n"), done());
        assert_eq!(value("Here:\n```json\n{\"status\": \"done\", \"plan\": \"p\"}\n```\n"), done());
    }

    #[test]
    fn the_last_valid_one_counts() {
        assert_eq!(value("{\"status\": \"failed\", \"plan\": \"x\"}\n{\"status\": \"done\", \"plan\": \"p\"}\n{\"a\": 1}"), done());
    }

    #[test]
    fn values_are_typed_by_the_schema() {
        assert_eq!(value("{\"status\": \"DONE\", \"plan\": \"p\", \"ok\": \"yes\", \"count\": \"3\"}"),
            json!({"status": "done", "plan": "p", "ok": true, "count": 3}));
        assert_eq!(value("{'status': 'done', 'plan': 'p', 'ok': True}"), json!({"status": "done", "plan": "p", "ok": true}));
    }

    #[test]
    fn no_json_is_said() {
        let errors = |raw| match json_in(raw, &task_schema()) {
            Extraction::Failed(failure) => failure.errors,
            Extraction::Found(found) => panic!("{found:#?}"),
        };
        assert_eq!(errors(""), ["the output is empty"]);
        assert_eq!(errors("all fine"), ["the output is not JSON"]);
        assert_eq!(errors("{\"status\": \"done\", \"plan\": \"p\", \"plan\": \"q\"}"), ["`plan` is written twice, with different values: keep one"]);
    }
}

mod bounds {
    use super::*;

    /// Texts built to make a reader look again and again. Each is read within the test runner's patience, which a
    /// quadratic reader would not be.
    #[test]
    fn hostile_texts_are_read_in_linear_time() {
        let long = 1 << 20;
        for unit in ["---\n", "---\nstatus: done\n", "{\"status\":", "```\n", "status: done\n\n", "{", "[", "\u{1b}]", "- ", "status: x #", "\"", "é: ", "  - status:\n"] {
            let raw = unit.repeat(long / unit.len());
            read(&raw, &task_schema());
            json_rung(&raw, &Schema::compile(&task_schema()).unwrap());
        }
    }

    fn fragments() -> impl Strategy<Value = String> {
        let pieces = prop::sample::select(vec![
            "---\n", "...\n", "```", "```yaml\n", "status", "plan", "files", "phases", "owner", ": ", ":", "=", "- ", "\n", "\n\n", "  ",
            "\t", "#", " # c", "{", "}", "[", "]", ",", "\"", "'", "|", ">", "&a", "*a", "!t", "@", "`", "%", "<text>", "null", "~", "1.10",
            "yes", "é", "\u{feff}", "\u{1b}[0m", "\r", "\u{85}", "\u{2028}", "?", "\\", "done", "**",
        ]);
        prop::collection::vec(pieces, 0..60).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(raw in any::<String>()) {
            read(&raw, &task_schema());
            json_rung(&raw, &Schema::compile(&task_schema()).unwrap());
        }

        #[test]
        fn no_mix_of_marks_makes_it_panic_and_what_is_found_is_valid(raw in fragments()) {
            let schema = Schema::compile(&task_schema()).unwrap();
            for extraction in [frontmatter(&raw, &schema), json_rung(&raw, &schema)] {
                match extraction {
                    Extraction::Found(found) => prop_assert!(schema.is_valid(&found.value)),
                    Extraction::Failed(failure) => prop_assert!(!failure.errors.is_empty()),
                }
            }
        }

        #[test]
        fn a_text_in_one_line_is_read_back(text in "[ -~äß→]{1,60}") {
            let text = text.trim();
            prop_assume!(!text.is_empty() && !text.starts_with(['"', '\'', '|', '>', '#', '~', '<']) && text != "null");
            let raw = format!("---\nplan: {text}\nstatus: done\n---\nbody\n");
            prop_assert_eq!(&found(&raw).value["plan"], &json!(text));
        }
    }
}
