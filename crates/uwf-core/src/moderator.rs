//! The moderator chooses the next role from the graph, the conditions and the history alone.
//!
//! Nothing here does I/O or reads a clock. A condition whose syntax bounds its cost ([`ConditionClass::Plain`]) is evaluated in process. Any other
//! condition is returned as [`DecisionState::Evaluate`], and the shell runs it under limits.
//!
//! Typical use: create a moderator with [`Moderator::for_position`], ask [`Moderator::reads`] what to load, fill a [`ThreadHistory`], call
//! [`Moderator::decide`], and call [`PendingDecision::answer`] for each expression to evaluate.

mod analysis;
mod condition;
mod decide;
mod history;
mod jsonata;
mod payload;
mod reads;
mod truth;

pub(crate) use analysis::FieldTest;
pub(crate) use analysis::SourceField;
pub(crate) use analysis::ValueShape;
pub(crate) use analysis::WILDCARD;
pub use analysis::{ComparisonSubject, ConditionClass, ConditionError, FieldRead, LiteralComparison};
pub use condition::CompiledCondition;
pub use decide::{
    CompiledTransition, DecisionState, END, EndReason, EvaluationRequest, MatchReason, Moderator, ModeratorDecision,
    ModeratorError, NextAction, PendingDecision, TriedTransition, evaluate, present,
};
pub use history::{ThreadHistory, context};
pub use jsonata::EvalError;
pub(crate) use jsonata::KnownSteps;
pub use payload::{PAYLOAD_VARIABLES, PayloadEvaluation, PayloadExpression, evaluate_payload};
pub use reads::HistoryReads;
pub use truth::truth;
