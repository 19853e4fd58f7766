//! The pure parts of the built-in agents.

mod acp;
mod traces;
