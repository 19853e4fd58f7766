//! Commands that change the settings of a thread.

pub mod label;
pub mod limit;
pub mod rebind;
