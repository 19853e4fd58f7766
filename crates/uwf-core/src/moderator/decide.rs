//! The decision as a state machine. It returns expressions that it can't evaluate itself.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::analysis::shown;
use super::jsonata::{EvalError, EvaluationSession};
use super::{CompiledCondition, ConditionClass, ConditionError, HistoryReads, ThreadHistory, truth};
use crate::outcome;

/// The target of a transition that ends the thread.
pub const END: &str = "$END";

/// One transition, its condition compiled.
#[derive(Debug)]
pub struct CompiledTransition {
    /// The role to run next, or `$END`.
    pub role: String,
    /// Name and condition; `None` always matches.
    pub condition: Option<(String, CompiledCondition)>,
    /// For `$END`: the outcome; `None` is `succeeded`.
    pub outcome: Option<String>,
}

/// The transitions of one position of a workflow's graph.
#[derive(Debug)]
pub struct Moderator {
    edges: Vec<CompiledTransition>,
}

/// The next action of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NextAction {
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
    /// No transition matched, which is probably a mistake in the workflow.
    NoMatch,
}

/// The next role of a thread, and the reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModeratorDecision {
    /// The next role, or the end.
    pub next: NextAction,
    /// Every transition that was tried, in order. The last one was taken, unless none matched.
    pub trace: Vec<TriedTransition>,
}

impl ModeratorDecision {
    /// The outcome, if the thread ends.
    #[must_use]
    pub fn outcome(&self) -> Option<&str> {
        match self.next {
            NextAction::Role(_) => None,
            NextAction::End(EndReason::NoMatch) => Some(outcome::NO_MATCH),
            NextAction::End(EndReason::Graph) => {
                Some(self.taken().and_then(|taken| taken.outcome.as_deref()).unwrap_or(outcome::SUCCEEDED))
            }
        }
    }

    /// The transition that was taken; `None` if none matched.
    #[must_use]
    pub fn taken(&self) -> Option<&TriedTransition> {
        self.trace.last().filter(|last| last.matched)
    }
}

/// One transition that was tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TriedTransition {
    /// The next role, or `$END`.
    pub role: String,
    /// The outcome that a transition to the end names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Name of its condition; absent if it always matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// The condition's expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expression: Option<String>,
    /// The value of the expression; absent if it is missing.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// Whether it was taken.
    pub matched: bool,
    /// Why `matched` is true or false.
    pub note: MatchReason,
}

/// Reads a value that is present, including `null`, which serde would read as an absent value.
pub fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// Why a transition matched or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MatchReason {
    /// The transition has no condition.
    Unconditional,
    /// The value is true or false.
    Boolean,
    /// The value is not a boolean and was converted by JSONata's `$boolean`.
    Counted,
    /// The value is missing, which counts as false.
    Missing,
}

/// The state of a decision.
#[derive(Debug)]
pub enum DecisionState<'h> {
    /// The decision.
    Decided(ModeratorDecision),
    /// The decision depends on an expression that must be evaluated under limits.
    Evaluate {
        /// The expression to evaluate; see [`evaluate`].
        request: EvaluationRequest,
        /// Takes the result.
        resume: PendingDecision<'h>,
    },
}

/// A decision waiting for the value of one condition.
#[derive(Debug)]
pub struct PendingDecision<'h> {
    edges: Vec<CompiledTransition>,
    at: usize,
    trace: Vec<TriedTransition>,
    history: &'h ThreadHistory,
}

/// An expression to evaluate elsewhere, with the data it needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EvaluationRequest {
    /// The expression.
    pub expression: String,
    /// A serialised [`ThreadHistory`] with everything the expression reads.
    pub context: Value,
}

/// Why no decision was reached. None of these errors counts as a false condition.
#[derive(Debug, thiserror::Error)]
pub enum ModeratorError {
    /// The graph has no entry for the position.
    #[error("the workflow's graph has no transitions for `{position}`")]
    NoPosition {
        /// A role or `$START`.
        position: String,
    },
    /// A transition names a condition that the workflow does not define.
    #[error("the transition from `{position}` to `{role}` names the condition `{condition}`, which is not defined")]
    UnknownCondition {
        /// The position of the transition.
        position: String,
        /// Its target.
        role: String,
        /// The name.
        condition: String,
    },
    /// A condition does not compile.
    #[error("the condition `{condition}` can't be used: {source}")]
    Compile {
        /// The condition's name.
        condition: String,
        /// The compile error.
        source: Box<ConditionError>,
    },
    /// Evaluating a condition failed.
    #[error("the condition `{condition}` could not be evaluated: {message}, in `{}`", shown(expression))]
    Evaluate {
        /// The condition's name.
        condition: String,
        /// Its expression.
        expression: String,
        /// The error message.
        message: String,
    },
}

impl Moderator {
    /// Creates a moderator from transitions, which it tries in order.
    #[must_use]
    pub fn new(edges: Vec<CompiledTransition>) -> Moderator {
        Moderator { edges }
    }

    /// The part of the history to load before deciding: everything that conditions read, up to the first unconditional transition.
    #[must_use]
    pub fn reads(&self) -> HistoryReads {
        reads(&self.edges)
    }

    /// Tries the transitions in order until one matches or an expression must be evaluated elsewhere.
    ///
    /// # Errors
    /// A condition fails to evaluate.
    pub fn decide(self, history: &ThreadHistory) -> Result<DecisionState<'_>, ModeratorError> {
        PendingDecision { edges: self.edges, at: 0, trace: Vec::new(), history }.proceed()
    }
}

fn reads(edges: &[CompiledTransition]) -> HistoryReads {
    let mut reads = HistoryReads::none();
    for (_, condition) in edges.iter().map_while(|edge| edge.condition.as_ref()) {
        reads.union(condition.reads());
    }
    reads
}

impl<'h> PendingDecision<'h> {
    /// Continues with the value of the requested expression (`None` is a missing value), or with the reason why it has no value.
    ///
    /// # Errors
    /// The evaluation failed, or a later condition fails.
    pub fn answer(mut self, answer: Result<Option<Value>, String>) -> Result<DecisionState<'h>, ModeratorError> {
        let edge = &self.edges[self.at];
        let value = answer.map_err(|message| failed(edge, message))?;
        let considered = considered(edge, value);
        match self.consider(considered) {
            Some(decision) => Ok(DecisionState::Decided(decision)),
            None => self.proceed(),
        }
    }

    fn proceed(mut self) -> Result<DecisionState<'h>, ModeratorError> {
        let mut session = None;
        while let Some(edge) = self.edges.get(self.at) {
            let value = match &edge.condition {
                None => None,
                Some((_, condition)) => match condition.class() {
                    ConditionClass::Bounded => {
                        let request = EvaluationRequest::new(condition.source(), self.history);
                        return Ok(DecisionState::Evaluate { request, resume: self });
                    }
                    ConditionClass::Plain => session
                        .get_or_insert_with(|| EvaluationSession::new(self.history, &reads(&self.edges)))
                        .run(condition.program())
                        .map_err(|error| failed(edge, error.to_string()))?,
                },
            };
            let considered = considered(edge, value);
            if let Some(decision) = self.consider(considered) {
                return Ok(DecisionState::Decided(decision));
            }
        }
        Ok(DecisionState::Decided(ModeratorDecision { next: NextAction::End(EndReason::NoMatch), trace: self.trace }))
    }

    /// Records a transition. Returns the decision if the transition matched.
    fn consider(&mut self, considered: TriedTransition) -> Option<ModeratorDecision> {
        self.at += 1;
        let next = considered.matched.then(|| match considered.role.as_str() {
            END => NextAction::End(EndReason::Graph),
            role => NextAction::Role(role.to_owned()),
        });
        self.trace.push(considered);
        next.map(|next| ModeratorDecision { next, trace: std::mem::take(&mut self.trace) })
    }
}

fn considered(edge: &CompiledTransition, value: Option<Value>) -> TriedTransition {
    let (note, matched) = match (&edge.condition, &value) {
        (None, _) => (MatchReason::Unconditional, true),
        (Some(_), None) => (MatchReason::Missing, false),
        (Some(_), Some(Value::Bool(value))) => (MatchReason::Boolean, *value),
        (Some(_), Some(value)) => (MatchReason::Counted, truth(Some(value))),
    };
    TriedTransition {
        role: edge.role.clone(),
        outcome: edge.outcome.clone(),
        condition: edge.condition.as_ref().map(|(name, _)| name.clone()),
        expression: edge.condition.as_ref().map(|(_, condition)| condition.source().to_owned()),
        value,
        matched,
        note,
    }
}

fn failed(edge: &CompiledTransition, message: String) -> ModeratorError {
    let (condition, expression) = match &edge.condition {
        Some((name, condition)) => (name.clone(), condition.source().to_owned()),
        None => (String::new(), String::new()),
    };
    ModeratorError::Evaluate { condition, expression, message }
}

impl EvaluationRequest {
    /// Creates a request to evaluate an expression on a history.
    #[must_use]
    pub fn new(expression: &str, history: &ThreadHistory) -> EvaluationRequest {
        let context = serde_json::to_value(history).expect("a history has only text keys and JSON values");
        EvaluationRequest { expression: expression.to_owned(), context }
    }
}

/// Evaluates a request, in the child process and for `thread eval`. `None` is a missing value.
///
/// It applies no limits; the caller sets them for its process.
///
/// # Errors
/// The expression does not compile or fails, or the context is not a serialised [`ThreadHistory`].
pub fn evaluate(request: &EvaluationRequest) -> Result<Option<Value>, EvalError> {
    let condition = CompiledCondition::compile(&request.expression)
        .map_err(|error| EvalError { message: error.to_string(), code: error.code })?;
    let history = ThreadHistory::deserialize(&request.context)
        .map_err(|error| EvalError { message: format!("the context can't be read: {error}"), code: None })?;
    EvaluationSession::new(&history, condition.reads()).run(condition.program())
}
