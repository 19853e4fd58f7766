//! The moderator chooses the next role from the graph, the conditions and the history alone.
//!
//! Nothing here does I/O or reads a clock. A condition whose syntax bounds its cost ([`Class::Plain`]) is evaluated in process. Any other
//! condition is returned as [`Progress::Evaluate`], and the shell runs it under limits.
//!
//! Typical use: create a moderator with [`Moderator::at`], ask [`Moderator::reads`] what to load, fill a [`History`], call
//! [`Moderator::decide`], and call [`Pending::answer`] for each expression to evaluate.

mod analysis;
mod condition;
mod decide;
mod history;
mod jsonata;
mod reads;
mod truth;

pub(crate) use analysis::FieldTest;
pub use analysis::{Class, Compared, Comparison, ConditionError, FieldRead};
pub use condition::Condition;
pub use decide::{
    Considered, Decision, END, Edge, EndReason, Evaluate, Moderator, ModeratorError, Next, Note, Pending, Progress,
    evaluate, present,
};
pub use history::{History, context};
pub use jsonata::EvalError;
pub use reads::Reads;
pub use truth::truth;
