//! Where an answer stands and how it is marked.

use super::*;

#[test]
fn as_asked_for_it_needs_no_fix() {
    let found = found("---\nstatus: done\nplan: p\n---\n\n# Report\n\ntext\n");
    let expected = ExtractedAnswer { body: "# Report\n\ntext".to_owned(), ..ExtractedAnswer::from(done()) };
    assert_eq!(found, expected);
}

#[test]
fn leading_newlines_are_skipped() {
    assert_eq!(found("\n\n  \n---\nstatus: done\nplan: p\n---\n").fixes, Vec::<String>::new());
}

#[test]
fn a_byte_order_mark_is_skipped() {
    assert_eq!(value("\u{feff}---\nstatus: done\nplan: p\n---\nx"), done());
}

#[test]
fn line_ends_of_windows_are_read() {
    let found = found("---\r\nstatus: done\r\nplan: p\r\n---\r\nbody\r\nmore\r\n");
    assert_eq!((found.value, found.body), (done(), "body\nmore".to_owned()));
}

#[test]
fn colours_of_a_terminal_are_removed() {
    assert_eq!(value("\u{1b}[2m---\u{1b}[0m\n\u{1b}[32mstatus\u{1b}[0m: done\nplan: p\n---\n"), done());
}

#[test]
fn a_warning_line_before_it() {
    let raw = "  ⚠ security scanner enabled but not available\n---\nstatus: done\nplan: p\n---\nbody";
    let found = found(raw);
    assert_eq!(found.value, done());
    assert_eq!(found.fixes, ["there was text before the header"]);
    assert_eq!(found.body, "  ⚠ security scanner enabled but not available\n\nbody");
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
    assert_eq!((found.value, found.body), (done(), "Here is the result:\n\nThanks.".to_owned()));
}

#[test]
fn a_header_that_is_not_closed_is_read() {
    let found = found("---\nstatus: done\nplan: p\n\n# Report\n\ntext\n");
    assert_eq!((found.value, found.body), (done(), "# Report\n\ntext".to_owned()));
}

#[test]
fn not_closed_behind_chatter() {
    let found = found("Note\n---\nstatus: done\nplan: p\n\nThe text.\n");
    assert_eq!((found.value, found.body), (done(), "Note\n\nThe text.".to_owned()));
    assert_eq!(found.fixes, ["the header was not closed"]);
}

#[test]
fn not_closed_with_rules_in_the_body() {
    let found = found("---\nstatus: done\nplan: p\n\n# Report\n\none: two: three\n\n---\n\nmore\n\n---\n");
    assert_eq!(found.value, done());
    assert_eq!(found.body, "# Report\n\none: two: three\n\n---\n\nmore\n\n---");
}

#[test]
fn a_header_may_be_closed_with_dots() {
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
fn bare_json_is_read() {
    let found = found("{\"status\": \"done\", \"plan\": \"p\"}");
    assert_eq!((found.value, found.body), (done(), String::new()));
}

#[test]
fn fenced_json_is_read() {
    assert_eq!(value("```json\n{\n  \"status\": \"done\",\n  \"plan\": \"p\"\n}\n```"), done());
    assert_eq!(value("Here:\n```json\n{\"status\": \"done\", \"plan\": \"p\"}\n```\nBye"), done());
}

#[test]
fn json_within_a_line_is_talked_about() {
    failed("The result is {\"status\": \"done\", \"plan\": \"p\"} as asked.");
}

#[test]
fn json_between_rules_is_read() {
    assert_eq!(value("---\n{\"status\": \"done\", \"plan\": \"p\"}\n---\nbody"), done());
}

#[test]
fn nearly_valid_json_is_read() {
    assert_eq!(value("{'status': 'done', plan: 'p',}"), done());
}

#[test]
fn an_indented_rule_belongs_to_a_text() {
    let found = found("---\nplan: |\n  a\n  ---\n  b\nstatus: done\n---\n");
    assert_eq!(found.value, json!({"plan": "a\n---\nb\n", "status": "done"}));
}

#[test]
fn other_rules_open_a_header_too() {
    for (open, close) in [("---yaml", "---"), ("-----", "-----"), ("--- ", "---  ")] {
        let found = found(&format!("{open}\nstatus: done\nplan: p\n{close}\nbody"));
        assert_eq!((found.value, found.body), (done(), "body".to_owned()), "{open}");
    }
    assert_eq!(value("+++\nstatus = \"done\"\nplan = \"p\"\nfiles = [\"a\"]\n+++\n")["files"], json!(["a"]));
}

#[test]
fn indented_as_a_whole() {
    assert_eq!(value("    ---\n    status: done\n    plan: p\n    ---\n    body\n"), done());
}

#[test]
fn a_draft_before_the_answer() {
    let raw = "<think>\n---\nstatus: failed\nplan: draft\n---\n</think>\n---\nstatus: done\nplan: p\n---\nbody";
    assert_eq!(value(raw), done());
}
