//! What every backend must do, as code: run the suites in the tests of a backend.
//!
//! A suite calls `make` for every case; each call gives a new, empty backend. A case that fails
//! panics with its reason.

mod heads;
mod notes;
mod objects;

pub use heads::heads_suite;
pub use notes::notes_suite;
pub use objects::objects_suite;
