//! Which of several candidates is the answer.

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
fn an_example_that_fits_before_the_answer() {
    let raw = "You asked for:\n\n---\nstatus: failed\nplan: an example\n---\n\nMy answer:\n\n---\nstatus: done\nplan: p\n---\n\nText.";
    assert_eq!(failed(raw).errors.len(), 1, "nobody can tell which of them counts");
}

#[test]
fn answer_beats_later_example_in_text() {
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
fn clean_answer_beats_repairable_text() {
    let schema = json!({"type": "object", "properties": {"summary": {"type": "string"}}, "required": ["summary"]});
    let raw = "Done.\n---\nsummary: the answer\n---\n\nSummary: not: this\n\n---\n";
    assert_eq!(found_in(raw, &schema).value, json!({"summary": "the answer"}));
}

#[test]
fn code_blocks_of_other_languages_are_no_answer() {
    failed("```rust\nstatus: done\n```\n");
}
