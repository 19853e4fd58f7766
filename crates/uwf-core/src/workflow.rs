//! Workflow files: reads them (in today's form and older ones), checks them, draws them.

mod file_form;
mod graph;
mod group;
mod group_schema;
mod group_thread;
mod model;
mod older_forms;
mod parse;
mod payload;
mod picker;
mod position;
mod reachability;
mod reader;
mod role_group;
mod role_options;
mod text_role;
mod transitions;
mod validate;

pub use file_form::{file_text, into_file_form};
pub use graph::{CourseBranch, GRAPH_CSS, GraphCourse, GraphDrawing, GraphOnPage, branches_in_words, role_order};
pub(crate) use group::{BRANCH_KEYS, MAX_BRANCHES};
pub(crate) use older_forms::{ROLE_KEYS, TABLE_KEYS};
pub(crate) use parse::{CONDITION_KEYS, WORKFLOW_KEYS};
pub(crate) use role_options::AttemptLimit;
pub(crate) use transitions::TRANSITION_KEYS;
pub(crate) use validate::MAX_NAME;

pub use group_thread::PlannedBranch;
pub use model::{
    CommandShell, DraftSchema, END, INPUT, NamedCondition, PayloadError, Role, RoleCommand, RoleOptions, START,
    Transition, Workflow, WorkflowDraft,
};
pub use parse::{ParsedWorkflow, check, check_with, parse};
pub use picker::{CopyPicker, PERSON_PICKS, RESULTS, WINNER, picked_copy};
pub use reachability::{TransitionGraph, endless_roles, next as next_positions, roles_after};
pub use role_group::{BranchFiles, BranchMerge, GROUP_AGENT, GroupBranch, RoleGroup};
pub use text_role::is_text;
pub use validate::{name_fault, validate};
