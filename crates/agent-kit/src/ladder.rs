//! The extraction ladder: from an agent's answer to a value that is valid under the role's schema. Each rung is tried
//! in turn and recorded; a failure keeps everything.

use serde_json::{Map, Value};
use uwf_core::extract::{self, Extraction, Failure};
use uwf_core::node::{ExtractedBy, Rung as RungRecord};
use uwf_core::prompt::AnswerForm;

use json_cas::Schema;

/// What the ladder came to.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// A valid value.
    Found(Extracted),
    /// None of the rungs found one.
    Failed {
        /// Every rung tried.
        rungs: Vec<RungRecord>,
        /// What was wrong at the last rung, in words a model can act on.
        errors: Vec<String>,
    },
}

/// A valid value and where it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Extracted {
    /// The role's output.
    pub value: Value,
    /// Always-allowed keys the schema lacks.
    pub extras: Map<String, Value>,
    /// The rung that gave it.
    pub by: ExtractedBy,
    /// Every rung tried.
    pub rungs: Vec<RungRecord>,
}

/// A rung below frontmatter: feedback to the agent's own session, or a model that reads the text. It is told what the
/// rung above it failed with.
pub trait Rung {
    /// How its values are marked.
    fn by(&self) -> ExtractedBy;
    /// Tries once.
    fn try_once(&mut self, raw: &str, schema: &Schema, failure: &Failure) -> Extraction;
}

/// Climbs down the ladder: a value given as such, else the text by its form, else the further rungs in order.
pub fn extract(
    raw: &str,
    value: Option<&Value>,
    form: AnswerForm,
    schema: &Schema,
    further: &mut [Box<dyn Rung>],
) -> Outcome {
    let mut rungs = Vec::new();
    let mut failure = match first_rung(raw, value, form, schema, &mut rungs) {
        Ok(extracted) => return Outcome::Found(Extracted { rungs, ..extracted }),
        Err(failure) => failure,
    };
    for rung in further {
        let name = name_of(rung.by());
        match rung.try_once(raw, schema, &failure) {
            Extraction::Found(found) => {
                rungs.push(record(name, Vec::new(), found.fixes));
                return Outcome::Found(Extracted { value: found.value, extras: found.extras, by: rung.by(), rungs });
            }
            Extraction::Failed(next) => {
                rungs.push(record(name, next.errors.clone(), Vec::new()));
                failure = next;
            }
        }
    }
    Outcome::Failed { rungs, errors: failure.errors }
}

fn first_rung(
    raw: &str,
    value: Option<&Value>,
    form: AnswerForm,
    schema: &Schema,
    rungs: &mut Vec<RungRecord>,
) -> Result<Extracted, Failure> {
    let (name, by, extraction) = match (value, form) {
        (Some(value), _) => ("submit", ExtractedBy::Submit, submitted(value, schema)),
        (None, AnswerForm::Json) => ("json", ExtractedBy::Submit, extract::json(raw, schema)),
        (None, AnswerForm::Frontmatter) => ("frontmatter", ExtractedBy::Frontmatter, extract::frontmatter(raw, schema)),
    };
    match extraction {
        Extraction::Found(found) => {
            rungs.push(record(name, Vec::new(), found.fixes));
            Ok(Extracted { value: found.value, extras: found.extras, by, rungs: Vec::new() })
        }
        Extraction::Failed(failure) => {
            rungs.push(record(name, failure.errors.clone(), Vec::new()));
            Err(failure)
        }
    }
}

/// A value given as such is taken as it is, or not at all.
fn submitted(value: &Value, schema: &Schema) -> Extraction {
    let errors: Vec<String> = schema.violations(value).iter().map(ToString::to_string).collect();
    if errors.is_empty() {
        Extraction::Found(extract::Found {
            value: value.clone(),
            extras: Map::new(),
            fixes: Vec::new(),
            body: String::new(),
        })
    } else {
        Extraction::Failed(Failure { errors, candidates: 1 })
    }
}

fn record(rung: &str, errors: Vec<String>, fixes: Vec<String>) -> RungRecord {
    RungRecord { rung: rung.to_owned(), errors, fixes }
}

fn name_of(by: ExtractedBy) -> &'static str {
    match by {
        ExtractedBy::Submit => "submit",
        ExtractedBy::Frontmatter => "frontmatter",
        ExtractedBy::Feedback => "feedback",
        ExtractedBy::Llm => "llm",
    }
}
