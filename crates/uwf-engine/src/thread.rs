//! Reading threads: from a head to its nodes, the chain of steps, and the moderator's next decision.

pub(crate) mod branches;
pub mod chain;
pub(crate) mod children;
pub mod closure;
pub mod digest;
pub mod ending;
pub mod evaluate;
pub mod load;
pub mod message;
pub mod moderate;
pub mod nodes;
pub(crate) mod runs;
pub mod state;
pub mod steps;
pub mod usage;
