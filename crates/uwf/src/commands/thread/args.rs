//! Arguments that several commands share.

pub(super) mod agents;
pub(crate) mod chosen_id;
pub(super) mod expect_attempt;
pub(super) mod expect_head;
pub(crate) mod filter;
pub(super) mod label;
pub(super) mod limits;
pub(crate) mod no_ask;
pub(crate) mod on;
pub(crate) mod selection;
pub(crate) mod thread_input;
pub(super) mod thread_or_node;
pub(crate) mod which;
