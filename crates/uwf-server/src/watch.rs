//! Watching: what is announced to whoever listens, without a request.
//!
//! Nobody tells the server anything. While somebody listens, one task for each thing that is listened to looks again and again
//! at the signs of its files ([`uwf_engine::verbs::signs`]), and everybody who listens to it gets the same bytes. What nobody
//! listens to is not looked at.

mod list;
mod stream;
mod thread;

use std::time::Duration;

pub(crate) use list::Lists;
pub(crate) use thread::{END, Threads, Wish};

/// Time between two looks. A page shows a step within half a second of its end, drawing included.
const PACE: Duration = Duration::from_millis(200);

/// Everything that is listened to.
#[derive(Default)]
pub(crate) struct Watched {
    /// The list of threads.
    pub(crate) list: Lists,
    /// Threads.
    pub(crate) threads: Threads,
}
