//! The text that a person types is never searched.

use super::*;

fn typed(text: &str) -> Result<Value, String> {
    let schema = json!({"type": "object", "properties": {"approved": {"type": "boolean"}, "comment": {"type": "string"}}, "required": ["approved"]});
    match extract::read_typed(text, &CompiledSchema::compile(&schema).expect("a schema")) {
        Extraction::Found(found) => Ok(found.value),
        Extraction::Failed(failure) => Err(failure.errors.join("; ")),
    }
}

#[test]
fn values_for_keys_are_taken() {
    for text in [
        "---\napproved: no\n---\nThe tests are missing.",
        "approved: no",
        "{\"approved\": false}",
        "approved: no\n\nThe API must return {\"approved\": true}.",
        "```yaml\napproved: no\n```\n",
    ] {
        assert_eq!(typed(text), Ok(json!({"approved": false})), "{text}");
    }
}

#[test]
fn prose_is_refused_with_the_reason() {
    let says = Err(
        "expected values, not prose: begin with `approved: …`, `comment: …`, or put such lines between two `---` lines"
            .to_owned(),
    );
    for text in [
        "I do not approve. The API must return {\"approved\": true} for valid users.",
        "I do not approve.\n\n{\"approved\": true}\n",
        "I do not approve.\n\n```json\n{\"approved\": true}\n```\n",
        "I do not approve.\n\n---\napproved: true\n---\n",
        "I do not approve.\n\napproved: true\n",
        "no",
    ] {
        assert_eq!(typed(text), says, "{text}");
    }
    assert!(typed("---\napproved: maybe\n---\n{\"approved\": true}").is_err());
}
