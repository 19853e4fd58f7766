//! The moderator: which role comes next, decided from the graph, the conditions and the history alone.
//!
//! Nothing here does I/O or reads a clock. A condition whose syntax bounds its cost ([`Class::Plain`]) is
//! evaluated on the spot; any other is handed back as [`Progress::Evaluate`] for the shell to run under limits.
//!
//! The usual round: [`Moderator::at`] a position, ask [`Moderator::reads`] what to load, fill a [`History`],
//! [`Moderator::decide`], and [`Pending::answer`] as long as there is something to evaluate.

mod analysis;
mod condition;
mod decide;
mod history;
mod jsonata;
mod reads;
mod truth;

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
