//! The built-in agents' pure parts.

mod traces;
