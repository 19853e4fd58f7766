//! Messages about texts without an answer.

use super::*;

#[test]
fn an_answer_with_nothing_to_read_fails() {
    assert_eq!(failed("  \n").errors, ["the answer is empty"]);
    let failure = failed("I have finished the work.");
    assert_eq!(failure.errors, ["the header is missing: the answer must begin with `---`, the keys, and `---` again"]);
    assert_eq!(failure.candidates, 0);
}

#[test]
fn header_with_other_keys_is_not_reported_missing() {
    let failure = failed("---\ntitle: Ducks\nauthor: me\n---\nText.\n");
    assert!(failure.errors[0].starts_with("the header has none of the keys that are asked for: "), "{failure:#?}");
    assert!(failure.errors[0].contains("count"), "{failure:#?}");
}

#[test]
fn errors_name_key_and_found_value() {
    let failure = failed("---\nstatus: almost\ncount: many\n---\n");
    let about =
        |key: &str, found: &str| failure.errors.iter().any(|error| error.contains(key) && error.contains(found));
    assert!(about("plan", ""), "{failure:#?}");
    assert!(about("`status`", "almost"), "{failure:#?}");
    assert!(about("`count`", "many"), "{failure:#?}");
    assert_eq!((failure.errors.len(), failure.candidates), (3, 1));
}

#[test]
fn feedback_asks_for_the_header_only() {
    let schema = json!({"type": "object", "properties": {"ok": {"type": "boolean"}, "why": {"type": "string"}}});
    let compiled = CompiledSchema::compile(&schema).unwrap();
    let errors = vec!["`ok`: expected true or false, found `perhaps`".to_owned()];
    let failure = ExtractionFailure { errors, candidates: 1, ..ExtractionFailure::default() };
    insta::assert_snapshot!(failure.feedback(&compiled, AnswerForm::Frontmatter), @r#"
    Your answer was received, but its header is not valid:

    - `ok`: expected true or false, found `perhaps`

    Do not do the work again and do not repeat the text. Reply with the corrected header only, in this form:

    ```yaml
    ---
    ok: <true or false>
    why: <text>
    ---
    ```

    Fill in what you found when you did the work. If you do not know a value, say so instead of making one up.
    "#);
}

#[test]
fn too_long_an_answer_is_refused() {
    let failure = failed(&"x".repeat((128 << 20) + 1));
    assert_eq!(failure.errors, ["the answer has 134217729 bytes, the limit is 134217728"]);
}

/// An object with some of the keys may be quoted from elsewhere. A model may still read the text around it.
#[test]
fn only_meant_answers_are_final_failures() {
    let schema = json!({
        "type": "object",
        "properties": { "version": { "type": "string" }, "breaking": { "type": "boolean" } },
        "required": ["version", "breaking"],
    });
    let schema = CompiledSchema::compile(&schema).expect("a valid schema");
    for (object, is_final) in [
        (r#"{"name": "shop", "version": "1.2.0"}"#, false),
        (r#"{"name": "shop", "private": true}"#, false),
        (r#"{"version": "1.2.0"}"#, true),
        (r#"{"version": "1.2.0", "breaking": "perhaps", "note": "see above"}"#, true),
        (r#"{"version": "1.2.0", "breaking": "#, true),
    ] {
        for raw in [format!("I released it.\n\n{object}"), format!("I released it.\n\n```json\n{object}\n```\n")] {
            let Extraction::Failed(failure) = frontmatter(&raw, &schema) else { panic!("{raw}") };
            assert_eq!(failure.is_final, is_final, "{raw}: {:?}", failure.errors);
        }
    }
}
