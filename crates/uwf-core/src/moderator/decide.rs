//! The decision itself, as a state machine: what can't be evaluated here is asked for.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::analysis::shown;
use super::jsonata::{EvalError, EvaluationSession};
use super::{Class, Condition, ConditionError, History, Reads, truth};

/// Where a transition leads that ends the thread.
pub const END: &str = "$END";

/// One transition, its condition compiled.
#[derive(Debug)]
pub struct Edge {
    /// The role to run next, or `$END`.
    pub role: String,
    /// Name and condition; `None` always matches.
    pub condition: Option<(String, Condition)>,
}

/// The transitions of one position of a workflow's graph, ready to decide which is taken.
#[derive(Debug)]
pub struct Moderator {
    edges: Vec<Edge>,
}

/// What comes next in a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Next {
    /// This role runs.
    Role(String),
    /// The thread ends.
    End(EndReason),
}

/// Why a thread ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndReason {
    /// A transition to `$END` matched.
    Graph,
    /// No transition matched, which the author of the workflow probably did not mean.
    NoMatch,
}

/// Where a thread goes, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Where.
    pub next: Next,
    /// Every transition that was looked at, in order; the last one is the one taken unless none matched.
    pub trace: Vec<Considered>,
}

/// One transition that was looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Considered {
    /// The role it leads to, or `$END`.
    pub role: String,
    /// Name of its condition; absent for one that always matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// The condition's expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expression: Option<String>,
    /// What the expression gave; absent when that was a missing value.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// Whether it was taken.
    pub matched: bool,
    /// How `matched` came about.
    pub note: Note,
}

/// Reads a value that is there, `null` included; serde would take `null` for an absent one.
///
/// # Errors
/// Those of the deserializer.
pub fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// How a transition came to match or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Note {
    /// It has no condition.
    Unconditional,
    /// The expression gave true or false.
    Boolean,
    /// The expression gave another value, which counts as true or false by JSONata's `$boolean`.
    Counted,
    /// The expression gave nothing, which counts as false.
    Missing,
}

/// How far a decision has got.
#[derive(Debug)]
pub enum Progress<'h> {
    /// It is made.
    Decided(Decision),
    /// It depends on an expression that must be evaluated under limits.
    Evaluate {
        /// What to evaluate; see [`evaluate`].
        request: Evaluate,
        /// Takes the answer.
        resume: Pending<'h>,
    },
}

/// A decision waiting for the value of one condition.
#[derive(Debug)]
pub struct Pending<'h> {
    edges: Vec<Edge>,
    at: usize,
    trace: Vec<Considered>,
    history: &'h History,
}

/// An expression to evaluate elsewhere, with all it needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluate {
    /// The expression.
    pub expression: String,
    /// A serialised [`History`], as much as the expression reads.
    pub context: Value,
}

/// Why no decision was reached. None of these is ever taken for "the condition is false".
#[derive(Debug, thiserror::Error)]
pub enum ModeratorError {
    /// The graph has no entry for the position.
    #[error("the workflow's graph has no transitions for `{position}`")]
    NoPosition {
        /// A role or `$START`.
        position: String,
    },
    /// A transition names a condition the workflow does not define.
    #[error("the transition from `{position}` to `{role}` names the condition `{condition}`, which is not defined")]
    UnknownCondition {
        /// Where the transition starts.
        position: String,
        /// Where it leads.
        role: String,
        /// The name.
        condition: String,
    },
    /// A condition does not compile.
    #[error("the condition `{condition}` can't be used: {source}")]
    Compile {
        /// The condition's name.
        condition: String,
        /// What is wrong with it.
        source: Box<ConditionError>,
    },
    /// Evaluating a condition failed.
    #[error("the condition `{condition}` could not be evaluated: {message}, in `{}`", shown(expression))]
    Evaluate {
        /// The condition's name.
        condition: String,
        /// Its expression.
        expression: String,
        /// What went wrong.
        message: String,
    },
}

impl Moderator {
    /// A moderator over transitions, tried in order.
    #[must_use]
    pub fn new(edges: Vec<Edge>) -> Moderator {
        Moderator { edges }
    }

    /// What to load before deciding: what the conditions up to the first unconditional transition read.
    #[must_use]
    pub fn reads(&self) -> Reads {
        reads(&self.edges)
    }

    /// Tries the transitions in order until one matches or an expression must be evaluated elsewhere.
    ///
    /// # Errors
    /// A condition fails to evaluate.
    pub fn decide(self, history: &History) -> Result<Progress<'_>, ModeratorError> {
        Pending { edges: self.edges, at: 0, trace: Vec::new(), history }.proceed()
    }
}

fn reads(edges: &[Edge]) -> Reads {
    let mut reads = Reads::none();
    for (_, condition) in edges.iter().map_while(|edge| edge.condition.as_ref()) {
        reads.union(condition.reads());
    }
    reads
}

impl<'h> Pending<'h> {
    /// Goes on with the value of the requested expression (`None` is a missing value), or with why there is
    /// none.
    ///
    /// # Errors
    /// The evaluation failed, or a later condition does.
    pub fn answer(mut self, answer: Result<Option<Value>, String>) -> Result<Progress<'h>, ModeratorError> {
        let edge = &self.edges[self.at];
        let value = answer.map_err(|message| failed(edge, message))?;
        let considered = considered(edge, value);
        match self.consider(considered) {
            Some(decision) => Ok(Progress::Decided(decision)),
            None => self.proceed(),
        }
    }

    fn proceed(mut self) -> Result<Progress<'h>, ModeratorError> {
        let mut session = None;
        while let Some(edge) = self.edges.get(self.at) {
            let value = match &edge.condition {
                None => None,
                Some((_, condition)) => match condition.class() {
                    Class::Bounded => {
                        let request = Evaluate::new(condition.source(), self.history);
                        return Ok(Progress::Evaluate { request, resume: self });
                    }
                    Class::Plain => session
                        .get_or_insert_with(|| EvaluationSession::new(self.history, &reads(&self.edges)))
                        .run(condition.program())
                        .map_err(|error| failed(edge, error.to_string()))?,
                },
            };
            let considered = considered(edge, value);
            if let Some(decision) = self.consider(considered) {
                return Ok(Progress::Decided(decision));
            }
        }
        Ok(Progress::Decided(Decision { next: Next::End(EndReason::NoMatch), trace: self.trace }))
    }

    /// Books a transition; if it matched, the decision is made.
    fn consider(&mut self, considered: Considered) -> Option<Decision> {
        self.at += 1;
        let next = considered.matched.then(|| match considered.role.as_str() {
            END => Next::End(EndReason::Graph),
            role => Next::Role(role.to_owned()),
        });
        self.trace.push(considered);
        next.map(|next| Decision { next, trace: std::mem::take(&mut self.trace) })
    }
}

fn considered(edge: &Edge, value: Option<Value>) -> Considered {
    let (note, matched) = match (&edge.condition, &value) {
        (None, _) => (Note::Unconditional, true),
        (Some(_), None) => (Note::Missing, false),
        (Some(_), Some(Value::Bool(value))) => (Note::Boolean, *value),
        (Some(_), Some(value)) => (Note::Counted, truth(Some(value))),
    };
    Considered {
        role: edge.role.clone(),
        condition: edge.condition.as_ref().map(|(name, _)| name.clone()),
        expression: edge.condition.as_ref().map(|(_, condition)| condition.source().to_owned()),
        value,
        matched,
        note,
    }
}

fn failed(edge: &Edge, message: String) -> ModeratorError {
    let (condition, expression) = match &edge.condition {
        Some((name, condition)) => (name.clone(), condition.source().to_owned()),
        None => (String::new(), String::new()),
    };
    ModeratorError::Evaluate { condition, expression, message }
}

impl Evaluate {
    /// A request to evaluate an expression on a history.
    #[must_use]
    pub fn new(expression: &str, history: &History) -> Evaluate {
        let context = serde_json::to_value(history).expect("a history has only text keys and JSON values");
        Evaluate { expression: expression.to_owned(), context }
    }
}

/// Carries out a request: what the child process does, and `thread eval`. `None` is a missing value.
///
/// No limits apply here; the caller sets them for its process.
///
/// # Errors
/// The expression does not compile or fails, or the context is not a serialised [`History`].
pub fn evaluate(request: &Evaluate) -> Result<Option<Value>, EvalError> {
    let condition = Condition::compile(&request.expression)
        .map_err(|error| EvalError { message: error.to_string(), code: error.code })?;
    let history = History::deserialize(&request.context)
        .map_err(|error| EvalError { message: format!("the context can't be read: {error}"), code: None })?;
    EvaluationSession::new(&history, condition.reads()).run(condition.program())
}
