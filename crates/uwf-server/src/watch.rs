//! Watching: what is announced to whoever listens, without a request.
//!
//! Nobody tells the server anything. While somebody listens, one task for each thing that is listened to looks again and again
//! at the signs of its files ([`uwf_engine::verbs::signs`]), and everybody who listens to it gets the same bytes. What nobody
//! listens to is not looked at.

mod list;
mod stream;
mod thread;

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use tokio::sync::watch as channel;
use uwf_core::thread::ThreadId;

use self::list::Lists;
pub(crate) use self::stream::BEAT;
use self::thread::Threads;
pub(crate) use self::thread::{END, Wish};
use crate::failure::Failure;
use crate::reader::Reader;

/// Time between two looks. A page shows a step within half a second of its end, drawing included.
const PACE: Duration = Duration::from_millis(200);

/// Everything that is listened to, and what is read for it. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Watch {
    reader: Reader,
    watched: Arc<Watched>,
}

/// Everything that is listened to.
#[derive(Default)]
struct Watched {
    list: Lists,
    threads: Threads,
}

impl Watch {
    /// Nobody listens yet.
    pub(crate) fn of(reader: Reader) -> Watch {
        Watch { reader, watched: Arc::default() }
    }

    /// Listens to the list of threads; `seen` is the version that the client has seen last.
    ///
    /// # Errors
    /// A bug.
    pub(crate) async fn list(&self, seen: Option<&str>) -> Result<Response, Failure> {
        self.watched.list.listen(self, seen).await
    }

    /// Listens to the list of threads, and to other changes beside it.
    ///
    /// # Errors
    /// A bug.
    pub(crate) async fn list_and(&self, others: channel::Receiver<u64>) -> Result<Response, Failure> {
        self.watched.list.listen_and(self, others).await
    }

    /// Listens to a thread.
    ///
    /// # Errors
    /// Those of the thread.
    pub(crate) async fn thread(&self, thread: ThreadId, wish: Wish) -> Result<Response, Failure> {
        self.watched.threads.listen(self, thread, wish).await
    }
}
