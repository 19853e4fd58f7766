//! Reads the data of pages and reports. Code here changes nothing.

pub mod branches;
pub mod cost;
pub mod course;
pub mod decisions;
pub mod figures;
pub mod forks;
pub mod groups;
pub(crate) mod left_child;
pub mod list;
pub mod live;
pub mod log;
pub mod overview;
pub mod pages;
pub mod ps;
pub mod read;
pub mod referrers;
pub mod show;
pub mod signs;
pub mod step_at;
pub mod step_details;
pub mod steps;
pub mod thread_now;
pub(crate) mod thread_state;
pub mod timeline;
pub mod why;
pub mod workflow_names;
