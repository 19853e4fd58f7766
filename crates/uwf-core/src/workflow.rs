//! Workflow files: reading them (today's form and older ones), checking them, drawing them.

mod graph;
mod model;
mod older;
mod payload;
mod position;
mod reader;
mod routes;
mod shape;
mod validate;
mod ways;

pub use graph::{mermaid, role_order};
pub use model::{END, Meta, NamedCondition, PayloadError, Role, RoleDraft, START, Transition, Workflow, WorkflowDraft};
pub use shape::{Parsed, check, check_with, parse};
pub use validate::validate;
pub use ways::endless_roles;
