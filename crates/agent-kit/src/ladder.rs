//! The extraction ladder: turns an agent's answer into a value that is valid under the role's schema. The rungs are tried in turn, and each
//! result is recorded, including every failure.
//!
//! | rung | input |
//! |---|---|
//! | `submit` | a value from the agent: through the submit tool, or as its whole answer |
//! | `frontmatter`, `json`, `text` | the answer's text, in the requested form |
//! | `feedback` | the replies of the agent's own session to feedback |
//! | `llm` | the values that a model extracts from the text, unless the text gives a wrong or an unclear value |
//!
//! A rung that fails twice with the same errors is not tried again, because the same feedback a third time would not help.

use json_cas::{CompiledSchema, SchemaViolation, Store};
use serde_json::{Map, Value};
use uwf_core::config::ExtractRungs;
use uwf_core::extract::{self, Extraction, ExtractionFailure};
use uwf_core::node::{ExtractedBy, RungResult as RungRecord};
use uwf_core::prompt::AnswerForm;
use uwf_core::workflow::is_text;
use uwf_engine::attempt::agents::HUMAN;
use uwf_engine::error::Result;

use crate::answer::AgentAnswer;
use crate::context::AgentContext;
use crate::failure_notice;
use crate::output_check;

/// The rungs of the ladder. Lower rungs are tried only if those above them have failed.
#[derive(Default)]
pub struct ExtractionLadder<'f, 'e> {
    /// Which rungs are tried, and how often.
    pub rungs: ExtractRungs,
    /// Sends feedback to the session of the answer and returns its reply; `Ok(None)` if there is no session to continue.
    pub feedback: Option<&'f mut Feedback<'f>>,
    /// The model that extracts a value if all other rungs fail.
    pub extractor: Option<&'e mut (dyn ValueExtractor + 'e)>,
}

/// See [`ExtractionLadder::feedback`].
pub type Feedback<'a> = dyn FnMut(&str) -> Result<Option<AgentAnswer>> + 'a;

/// A model that extracts a value from a text.
pub trait ValueExtractor {
    /// Extracts the value. Returns the value as the answer's `value`, with the turns and tokens of the call. An answer without a `value`
    /// has the reason as its `raw` text. `Ok(None)` means that no model is configured.
    ///
    /// # Errors
    /// `NotExtractable` if the text does not contain the value, other errors if the model can't be called. None of them ends the thread;
    /// they are recorded with the rung.
    fn extract(&mut self, unread: &UnreadableAnswer<'_>) -> Result<Option<AgentAnswer>>;
}

/// An answer from which no value could be read.
#[derive(Debug, Clone, Copy)]
pub struct UnreadableAnswer<'a> {
    /// The agent's text.
    pub raw: &'a str,
    /// Schema of the value.
    pub schema: &'a CompiledSchema,
    /// Errors of the previous rung.
    pub errors: &'a [String],
}

/// A valid value and its origin.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LadderResult {
    /// The role's output.
    pub(crate) value: Value,
    /// Always-allowed keys that the schema does not have.
    pub(crate) extras: Map<String, Value>,
    /// The rung that produced it.
    pub(crate) by: ExtractedBy,
    /// All rungs that were tried.
    pub(crate) rungs: Vec<RungRecord>,
}

/// A value with the rung that found it, or the errors of the last rung.
pub(crate) type Tried = std::result::Result<(extract::ExtractedAnswer, ExtractedBy), ExtractionFailure>;

/// One answer's way down the ladder.
pub struct LadderDescent<'a> {
    schema: &'a CompiledSchema,
    form: AnswerForm,
    /// The agent's prompt. Text that only repeats the prompt is not an answer.
    prompt: &'a dyn Fn() -> String,
    /// Store that must contain the nodes that a value references.
    store: Option<&'a Store>,
    /// Whether a person answers.
    is_human: bool,
    /// All rungs tried so far.
    pub rungs: Vec<RungRecord>,
    /// Number of turns at the end that belong to the extraction model.
    pub(crate) read_turns: usize,
}

impl<'a> LadderDescent<'a> {
    /// A climb for a text without a thread.
    pub fn new(form: AnswerForm, schema: &'a CompiledSchema) -> LadderDescent<'a> {
        LadderDescent {
            schema,
            form,
            prompt: &String::new,
            store: None,
            is_human: false,
            rungs: Vec::new(),
            read_turns: 0,
        }
    }

    /// A climb for an answer of the context's role.
    pub fn for_context(context: &'a AgentContext<'_>, form: AnswerForm) -> LadderDescent<'a> {
        let is_human = context.attempt().is_some_and(|attempt| attempt.opened.agent.is_built_in(HUMAN));
        let store = Some(context.thread().home().store());
        LadderDescent { store, is_human, ..LadderDescent::new(form, context.schema()) }
    }

    /// Marks the answer as a person's, whose remarks may contradict the values.
    #[must_use]
    pub fn of_person(self) -> LadderDescent<'a> {
        LadderDescent { is_human: true, ..self }
    }

    /// Sets the prompt, which is built only if it is needed for comparison.
    pub(crate) fn to(self, prompt: &'a dyn Fn() -> String) -> LadderDescent<'a> {
        LadderDescent { prompt, ..self }
    }

    /// Tries the first rung: the submitted value, or the text in its form.
    pub fn first(&mut self, answer: &AgentAnswer, rungs: &ExtractRungs) -> Tried {
        let (name, by) = match (&answer.value, self.form) {
            (Some(_), _) => ("submit", ExtractedBy::Submit),
            (None, AnswerForm::Json) => ("json", ExtractedBy::Submit),
            (None, AnswerForm::Frontmatter) if self.is_text() => ("text", ExtractedBy::Submit),
            (None, AnswerForm::Frontmatter) => ("frontmatter", ExtractedBy::Frontmatter),
        };
        let read = self.read(answer, rungs);
        self.record(name, &read);
        found(read, by)
    }

    /// Tries the rungs below the first. Their turns and tokens are added to the answer's.
    pub fn lower(
        &mut self,
        answer: &mut AgentAnswer,
        failure: ExtractionFailure,
        ladder: ExtractionLadder<'_, '_>,
    ) -> Tried {
        let header = failure.header.clone();
        let is_final = failure.is_final;
        let failure = match ladder.feedback {
            Some(ask) => match self.feedback(answer, failure, &ladder.rungs, ask) {
                // A model reads the first text, whatever the replies were.
                Err(failure) => ExtractionFailure { is_final: failure.is_final || is_final, ..failure },
                found => return found,
            },
            None => failure,
        };
        match ladder.extractor {
            Some(extractor) if !answer.raw.trim().is_empty() && !self.is_text() && !failure.is_final => {
                let (mut found, by) = self.llm(answer, failure, &ladder.rungs, extractor)?;
                // The model reads only the output. The header from the agent still counts.
                found.extras.extend(header);
                Ok((found, by))
            }
            _ => Err(failure),
        }
    }

    fn feedback(
        &mut self,
        answer: &mut AgentAnswer,
        mut failure: ExtractionFailure,
        rungs: &ExtractRungs,
        ask: &mut Feedback<'_>,
    ) -> Tried {
        let reads_text = self.reads_text(rungs);
        // Don't pay for a reply that no rung would read.
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
            if let Some(notice) = failure_notice::find_failure(&reply) {
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
        answer: &mut AgentAnswer,
        mut failure: ExtractionFailure,
        rungs: &ExtractRungs,
        extractor: &mut dyn ValueExtractor,
    ) -> Tried {
        for round in 0..rungs.llm {
            let unread = UnreadableAnswer { raw: &answer.raw, schema: self.schema, errors: &failure.errors };
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
            let contrary =
                reply.value.as_ref().and_then(|value| extract::contradiction_of(&answer.raw, value, self.schema));
            answer.absorb_reading(reply);
            if let Some(why) = contrary {
                self.unread(&mut failure, why);
                break;
            }
            self.record("llm", &read);
            match found(read, ExtractedBy::Llm) {
                Err(next) if round > 0 && next.errors == failure.errors => return Err(next),
                Err(next) => failure = next,
                found => return found,
            }
        }
        Err(failure)
    }

    /// Records that the extraction model gave no value.
    fn unread(&mut self, failure: &mut ExtractionFailure, why: String) {
        failure.errors.push(format!("the extraction model: {why}"));
        self.rungs.push(record("llm", vec![why], Vec::new()));
    }

    /// Reads a value that can be stored. A reference to a missing node, or a number that the store would round, is an error here, so that
    /// the agent can correct it.
    fn read(&self, answer: &AgentAnswer, rungs: &ExtractRungs) -> Extraction {
        let read = self.read_value(answer, rungs);
        let Extraction::Found(found) = &read else { return read };
        let unstorable = output_check::unstorable_parts(self.schema, self.store, &found.value);
        if unstorable.is_empty() { read } else { unfit(&unstorable) }
    }

    /// Whether an answer lacks only nodes that its output references. No other way of reading it finds them.
    pub(crate) fn lacks_nodes(&self, answer: &AgentAnswer, rungs: &ExtractRungs) -> bool {
        let (Extraction::Found(found), Some(store)) = (self.read_value(answer, rungs), self.store) else {
            return false;
        };
        !output_check::broken_references(self.schema, store, &found.value).is_empty()
    }

    fn read_value(&self, answer: &AgentAnswer, rungs: &ExtractRungs) -> Extraction {
        match (&answer.value, self.form) {
            (Some(value), form) => match submitted(value, self.schema) {
                Extraction::Found(found) => match self.contradiction_beside(answer, value, form) {
                    Some(error) => Extraction::Failed(ExtractionFailure {
                        errors: vec![error],
                        candidates: 1,
                        is_final: true,
                        ..ExtractionFailure::default()
                    }),
                    None => Extraction::Found(found),
                },
                failed => failed,
            },
            (None, _) if !self.reads_text(rungs) => {
                let error = "no value was submitted, and reading frontmatter is switched off".to_owned();
                Extraction::Failed(ExtractionFailure { errors: vec![error], ..ExtractionFailure::default() })
            }
            (None, form) => extract::read(&answer.raw, form, self.schema, self.prompt),
        }
    }

    /// Why the text beside a submitted value contradicts it. A person confirms each value, and the text is what was refused before.
    fn contradiction_beside(&self, answer: &AgentAnswer, value: &Value, form: AnswerForm) -> Option<String> {
        if self.is_human || answer.is_made_by_uwf || answer.raw.trim().is_empty() {
            return None;
        }
        extract::contradiction_beside(&answer.raw, value, form, self.schema, self.prompt)
    }

    /// Whether a text can be an answer. For an agent that prints JSON, one object is the whole answer and needs no frontmatter.
    fn reads_text(&self, rungs: &ExtractRungs) -> bool {
        rungs.frontmatter || self.form == AnswerForm::Json || self.is_text()
    }

    /// Whether the whole answer is the output.
    fn is_text(&self) -> bool {
        self.form == AnswerForm::Frontmatter && is_text(self.schema.value())
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

/// A submitted value is accepted unchanged or not at all.
fn submitted(value: &Value, schema: &CompiledSchema) -> Extraction {
    let violations = schema.violations(value);
    if violations.is_empty() { Extraction::Found(value.clone().into()) } else { unfit(&violations) }
}

fn unfit(violations: &[SchemaViolation]) -> Extraction {
    Extraction::Failed(ExtractionFailure {
        errors: violations.iter().map(ToString::to_string).collect(),
        candidates: 1,
        ..ExtractionFailure::default()
    })
}

fn record(rung: &str, errors: Vec<String>, fixes: Vec<String>) -> RungRecord {
    RungRecord { rung: rung.to_owned(), errors, fixes }
}

impl AgentAnswer {
    /// Adds the turns and costs of a reply. The answer keeps the agent's first text, because it describes the work.
    fn absorb(&mut self, reply: AgentAnswer) {
        let before = self.tokens.take();
        // If one of the costs is unknown, the sum is unknown.
        let both = before.zip(reply.tokens.as_ref()).map(|(before, more)| before.plus(more));
        self.extend(reply);
        self.tokens = both;
    }

    /// Adds the turns and costs of the extraction model. The agent's own usage stays known even if the model's tokens or cost are unknown,
    /// because limits must count it.
    fn absorb_reading(&mut self, reply: AgentAnswer) {
        let read = reply.tokens.clone().unwrap_or_default();
        self.tokens = self.tokens.take().map(|own| own.plus_known(&read));
        self.extend(reply);
    }

    fn extend(&mut self, reply: AgentAnswer) {
        self.turns.extend(reply.turns);
        self.duration_ms = self.duration_ms.saturating_add(reply.duration_ms);
    }
}
