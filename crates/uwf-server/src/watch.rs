//! Announces changes to clients without a request for each.
//!
//! No process notifies the server of changes. While a thread or the list has clients, one task checks the signs of its files
//! ([`uwf_engine::views::signs`]) at short intervals, and all its clients get the same bytes. Anything without clients is not checked.

mod list;
mod stream;
mod thread;

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use tokio::sync::watch as channel;
use uwf_core::thread::ThreadId;

use self::list::ListFeed;
pub(crate) use self::stream::BEAT;
use self::thread::ThreadFeeds;
pub(crate) use self::thread::{END, EventSelection};
use crate::failure::HttpFailure;
use crate::reader::RootReader;

/// Time between two checks. A page shows a step within half a second after its end, including the time to draw it.
const PACE: Duration = Duration::from_millis(200);

/// The list and threads with clients, and the reader for them. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ChangeWatch {
    reader: RootReader,
    watched: Arc<WatchList>,
}

/// The list and threads with clients.
#[derive(Default)]
struct WatchList {
    list: ListFeed,
    threads: ThreadFeeds,
}

impl ChangeWatch {
    /// A watch without clients.
    pub(crate) fn without_clients(reader: RootReader) -> ChangeWatch {
        ChangeWatch { reader, watched: Arc::default() }
    }

    /// Listens to the list of threads; `seen` is the last version that the client has seen.
    pub(crate) async fn list(&self, seen: Option<&str>) -> Result<Response, HttpFailure> {
        self.watched.list.listen(self, seen).await
    }

    /// Listens to the list of threads and to other changes.
    pub(crate) async fn list_and(&self, others: channel::Receiver<u64>) -> Result<Response, HttpFailure> {
        self.watched.list.listen_and(self, others).await
    }

    /// Listens to a thread.
    pub(crate) async fn thread(&self, thread: ThreadId, wish: EventSelection) -> Result<Response, HttpFailure> {
        self.watched.threads.listen(self, thread, wish).await
    }
}
