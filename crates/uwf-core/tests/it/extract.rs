//! Extraction: answers as agents write them.

mod bounds;
mod choosing;
mod contradictions;
mod corpus;
mod failing;
mod json_output;
mod keys;
mod shape_of_the_answer;
mod standing_alone;
mod texts;
mod typed_by_a_person;
mod types;

use json_cas::schema::CompiledSchema;
use proptest::prelude::*;
use serde_json::{Value, json};
use uwf_core::extract::{self, ExtractedAnswer, Extraction, ExtractionFailure};
use uwf_core::prompt::AnswerForm;

fn frontmatter(raw: &str, schema: &CompiledSchema) -> Extraction {
    extract::read(raw, AnswerForm::Frontmatter, schema, &String::new)
}

fn json_rung(raw: &str, schema: &CompiledSchema) -> Extraction {
    extract::read(raw, AnswerForm::Json, schema, &String::new)
}

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
    frontmatter(raw, &CompiledSchema::compile(schema).expect("a valid schema"))
}

fn found_in(raw: &str, schema: &Value) -> ExtractedAnswer {
    match read(raw, schema) {
        Extraction::Found(found) => found,
        Extraction::Failed(failure) => panic!("no answer in {raw:?}: {failure:#?}"),
    }
}

fn found(raw: &str) -> ExtractedAnswer {
    found_in(raw, &task_schema())
}

fn value(raw: &str) -> Value {
    found(raw).value
}

fn failed(raw: &str) -> ExtractionFailure {
    match read(raw, &task_schema()) {
        Extraction::Failed(failure) => failure,
        Extraction::Found(found) => panic!("taken for an answer: {found:#?}"),
    }
}

fn done() -> Value {
    json!({"status": "done", "plan": "p"})
}
