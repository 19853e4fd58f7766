//! Required behaviour of backends: run these suites in the tests of a backend.
//!
//! A suite calls `make` for every case; each call must return a new, empty backend. A failing case panics with its reason.

mod heads;
mod notes;
mod objects;

pub use heads::heads_suite;
pub use notes::notes_suite;
pub use objects::{objects_suite, objects_suite_of_one_writer};
