//! Workflow files: reading them (today's form and older ones), checking them, drawing them.

mod graph;
mod model;
mod older_forms;
mod parse;
mod payload;
mod position;
mod reachability;
mod reader;
mod transitions;
mod validate;

pub use graph::{Course, Drawing, role_order};
pub use model::{END, Meta, NamedCondition, PayloadError, Role, RoleDraft, START, Transition, Workflow, WorkflowDraft};
pub use parse::{Parsed, check, check_with, parse};
pub use reachability::endless_roles;
pub use validate::validate;
