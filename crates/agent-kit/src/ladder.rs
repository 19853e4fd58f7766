//! The extraction ladder: from an agent's answer to a value that is valid under the role's schema. Each rung is tried
//! in turn and recorded; a failure keeps everything.
//!
//! | rung | what it reads |
//! |---|---|
//! | `submit` | a value the agent gave as such, through the submit tool or as its whole answer |
//! | `frontmatter`, `json` | the answer's text, by the form it was asked for in |
//! | `feedback` | what the agent's own session says when it gets feedback |
//! | `llm` | what a model finds in the text |
//!
//! A rung that fails twice with the same errors is not tried again: saying the same a third time helps nobody.

use json_cas::{Schema, Store, Violation};
use serde_json::{Map, Value};
use uwf_core::config::ExtractRungs;
use uwf_core::extract::{self, Extraction, Failure};
use uwf_core::node::{ExtractedBy, Rung as RungRecord};
use uwf_core::prompt::AnswerForm;
use uwf_engine::error::Result;

use crate::answer::Answer;
use crate::context::AgentContext;
use crate::failure_notice;
use crate::output_check;

/// What the ladder is made of. The lower rungs are asked only when those above them have failed.
#[derive(Default)]
pub struct Ladder<'f, 'e> {
    /// Which rungs are tried, and how often.
    pub rungs: ExtractRungs,
    /// Tells the session of the answer what is wrong with it and returns what it says then; `Ok(None)` when there is no
    /// session to continue with.
    pub feedback: Option<&'f mut Feedback<'f>>,
    /// The model that reads what nobody else could.
    pub extractor: Option<&'e mut (dyn Extractor + 'e)>,
}

/// See [`Ladder::feedback`].
pub type Feedback<'a> = dyn FnMut(&str) -> Result<Option<Answer>> + 'a;

/// A model that reads a value out of a text.
pub trait Extractor {
    /// Reads the value, or says why it is not there: `NotExtractable` when the text does not hold it, other errors when
    /// the model could not be asked. `Ok(None)` when no model is configured. The answer's `value` is what was found;
    /// its turns and tokens are those of the call. Without a value, its `raw` text says why there is none.
    ///
    /// # Errors
    /// As said; none of them ends the thread, they are recorded with the rung.
    fn extract(&mut self, unread: &Unread<'_>) -> Result<Option<Answer>>;
}

/// An answer that could not be read.
#[derive(Debug, Clone, Copy)]
pub struct Unread<'a> {
    /// The agent's text.
    pub raw: &'a str,
    /// Schema of the value.
    pub schema: &'a Schema,
    /// What was wrong at the rung before.
    pub errors: &'a [String],
}

/// A valid value and where it came from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Extracted {
    /// The role's output.
    pub(crate) value: Value,
    /// Always-allowed keys the schema lacks.
    pub(crate) extras: Map<String, Value>,
    /// The rung that gave it.
    pub(crate) by: ExtractedBy,
    /// Every rung tried.
    pub(crate) rungs: Vec<RungRecord>,
}

/// A value found and the rung that found it, or what was wrong at the last one.
pub(crate) type Tried = std::result::Result<(extract::Found, ExtractedBy), Failure>;

/// The way down the ladder for one answer.
pub struct Climb<'a> {
    schema: &'a Schema,
    form: AnswerForm,
    /// The agent's prompt. Text that repeats it is not an answer.
    prompt: &'a dyn Fn() -> String,
    /// Store that must have the nodes a value references.
    store: Option<&'a Store>,
    /// Every rung tried so far.
    pub rungs: Vec<RungRecord>,
    /// Number of turns at the end that belong to the extraction model.
    pub(crate) read_turns: usize,
}

impl<'a> Climb<'a> {
    /// A climb for a text that belongs to no thread.
    pub fn new(form: AnswerForm, schema: &'a Schema) -> Climb<'a> {
        Climb { schema, form, prompt: &String::new, store: None, rungs: Vec::new(), read_turns: 0 }
    }

    /// A climb for an answer of the context's role.
    pub fn of(context: &'a AgentContext<'_>, form: AnswerForm) -> Climb<'a> {
        Climb { store: Some(context.thread().home().store()), ..Climb::new(form, context.schema()) }
    }

    /// Sets the prompt. It is built only when it is compared.
    pub(crate) fn to(self, prompt: &'a dyn Fn() -> String) -> Climb<'a> {
        Climb { prompt, ..self }
    }

    /// The first rung: the value given as such, else the text by its form.
    ///
    /// # Errors
    /// What is wrong with the answer.
    pub fn first(&mut self, answer: &Answer, rungs: &ExtractRungs) -> Tried {
        let (name, by) = match (&answer.value, self.form) {
            (Some(_), _) => ("submit", ExtractedBy::Submit),
            (None, AnswerForm::Json) => ("json", ExtractedBy::Submit),
            (None, AnswerForm::Frontmatter) => ("frontmatter", ExtractedBy::Frontmatter),
        };
        let read = self.read(answer, rungs);
        self.record(name, &read);
        found(read, by)
    }

    /// The rungs below the first. What they say is added to the answer's turns and tokens.
    ///
    /// # Errors
    /// What was wrong at the last rung.
    pub fn lower(&mut self, answer: &mut Answer, failure: Failure, ladder: Ladder<'_, '_>) -> Tried {
        let header = failure.header.clone();
        let failure = match ladder.feedback {
            Some(ask) => match self.feedback(answer, failure, &ladder.rungs, ask) {
                Err(failure) => failure,
                found => return found,
            },
            None => failure,
        };
        match ladder.extractor {
            Some(extractor) if !answer.raw.trim().is_empty() => {
                let (mut found, by) = self.llm(answer, failure, &ladder.rungs, extractor)?;
                // The model reads the output only. The header that the agent wrote still counts.
                found.extras.extend(header);
                Ok((found, by))
            }
            _ => Err(failure),
        }
    }

    fn feedback(
        &mut self,
        answer: &mut Answer,
        mut failure: Failure,
        rungs: &ExtractRungs,
        ask: &mut Feedback<'_>,
    ) -> Tried {
        let reads_text = self.reads_text(rungs);
        // A reply that nobody would read is not worth its price.
        let rounds = if reads_text || rungs.submit { rungs.feedback } else { 0 };
        for _ in 0..rounds {
            let text = if reads_text { failure.feedback(self.schema, self.form) } else { failure.feedback_by_tool() };
            let reply = match ask(&text) {
                Ok(None) => break,
                Ok(Some(reply)) => reply,
                Err(error) => {
                    self.rungs.push(record("feedback", vec![error.message], Vec::new()));
                    break;
                }
            };
            if let Some(notice) = failure_notice::of(&reply) {
                self.rungs.push(record("feedback", vec![notice.to_owned()], Vec::new()));
                answer.absorb(reply);
                break;
            }
            let read = self.read(&reply, rungs);
            answer.absorb(reply);
            self.record("feedback", &read);
            match found(read, ExtractedBy::Feedback) {
                Err(next) if next.errors == failure.errors => return Err(next),
                Err(next) => failure = next,
                found => return found,
            }
        }
        Err(failure)
    }

    fn llm(
        &mut self,
        answer: &mut Answer,
        mut failure: Failure,
        rungs: &ExtractRungs,
        extractor: &mut dyn Extractor,
    ) -> Tried {
        for round in 0..rungs.llm {
            let unread = Unread { raw: &answer.raw, schema: self.schema, errors: &failure.errors };
            let reply = match extractor.extract(&unread) {
                Ok(None) => break,
                Ok(Some(reply)) => reply,
                Err(error) => {
                    self.unread(&mut failure, error.message);
                    break;
                }
            };
            self.read_turns += reply.turns.len();
            if reply.value.is_none() {
                self.unread(&mut failure, reply.raw.clone());
                answer.absorb_reading(reply);
                break;
            }
            let read = self.read(&reply, rungs);
            answer.absorb_reading(reply);
            self.record("llm", &read);
            match found(read, ExtractedBy::Llm) {
                Err(next) if round > 0 && next.errors == failure.errors => return Err(next),
                Err(next) => failure = next,
                found => return found,
            }
        }
        Err(failure)
    }

    /// The model that reads gave no value.
    fn unread(&mut self, failure: &mut Failure, why: String) {
        failure.errors.push(format!("the extraction model: {why}"));
        self.rungs.push(record("llm", vec![why], Vec::new()));
    }

    /// Reads a value that can be stored. A reference to a node that is missing makes it unfit, so that the agent gets to correct it: the
    /// store would refuse it.
    fn read(&self, answer: &Answer, rungs: &ExtractRungs) -> Extraction {
        let read = self.read_value(answer, rungs);
        let (Extraction::Found(found), Some(store)) = (&read, self.store) else { return read };
        let broken = output_check::broken_references(self.schema, store, &found.value);
        if broken.is_empty() { read } else { unfit(&broken) }
    }

    fn read_value(&self, answer: &Answer, rungs: &ExtractRungs) -> Extraction {
        match (&answer.value, self.form) {
            (Some(value), _) => submitted(value, self.schema),
            (None, _) if !self.reads_text(rungs) => {
                let error = "no value was submitted, and reading frontmatter is switched off".to_owned();
                Extraction::Failed(Failure { errors: vec![error], ..Failure::default() })
            }
            (None, form) => extract::read(&answer.raw, form, self.schema, self.prompt),
        }
    }

    /// Whether a text can be an answer. One JSON object is the whole answer of an agent that prints such, which is no
    /// frontmatter.
    fn reads_text(&self, rungs: &ExtractRungs) -> bool {
        rungs.frontmatter || self.form == AnswerForm::Json
    }

    fn record(&mut self, rung: &str, read: &Extraction) {
        self.rungs.push(match read {
            Extraction::Found(found) => record(rung, Vec::new(), found.fixes.clone()),
            Extraction::Failed(failure) => record(rung, failure.errors.clone(), Vec::new()),
        });
    }
}

fn found(read: Extraction, by: ExtractedBy) -> Tried {
    match read {
        Extraction::Found(found) => Ok((found, by)),
        Extraction::Failed(failure) => Err(failure),
    }
}

/// A value given as such is taken as it is, or not at all.
fn submitted(value: &Value, schema: &Schema) -> Extraction {
    let violations = schema.violations(value);
    if violations.is_empty() { Extraction::Found(value.clone().into()) } else { unfit(&violations) }
}

fn unfit(violations: &[Violation]) -> Extraction {
    Extraction::Failed(Failure {
        errors: violations.iter().map(ToString::to_string).collect(),
        candidates: 1,
        ..Failure::default()
    })
}

fn record(rung: &str, errors: Vec<String>, fixes: Vec<String>) -> RungRecord {
    RungRecord { rung: rung.to_owned(), errors, fixes }
}

impl Answer {
    /// Adds what a lower rung said and cost. The text stays the agent's first: its work is in there.
    fn absorb(&mut self, reply: Answer) {
        let before = self.tokens.take();
        // If one cost is unknown, so is the sum.
        let both = before.zip(reply.tokens.as_ref()).map(|(before, more)| before.plus(more));
        self.extend(reply);
        self.tokens = both;
    }

    /// Adds what a model said and cost that read the answer. What the agent itself used stays known even if the reading's tokens
    /// or cost are not: a limit must count it.
    fn absorb_reading(&mut self, reply: Answer) {
        let read = reply.tokens.clone().unwrap_or_default();
        self.tokens = self.tokens.take().map(|own| own.plus_known(&read));
        self.extend(reply);
    }

    fn extend(&mut self, reply: Answer) {
        self.turns.extend(reply.turns);
        self.duration_ms = self.duration_ms.saturating_add(reply.duration_ms);
    }
}
