//! Workflow files: reading them (today's form and older ones), checking them, drawing them.

mod build;
mod document;
pub(crate) mod fields;
mod graph;
mod model;
pub mod nearest;
mod older;
mod payload;
mod positions;
mod problem;
mod routes;
mod shape;
pub(crate) mod source;
mod source_json;
pub(crate) mod tree;
mod validate;
mod ways;

pub use document::Document;
pub use graph::{mermaid, role_order};
pub use model::{END, Meta, NamedCondition, PayloadError, Role, RoleDraft, START, Transition, Workflow, WorkflowDraft};
pub use positions::Positions;
pub(crate) use problem::{Position, Problems};
pub use problem::{Problem, Severity};
pub use shape::{Parsed, check, parse};
pub use validate::validate;
pub use ways::endless_roles;
