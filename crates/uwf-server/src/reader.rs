//! Reading the storage root from asynchronous code.

use std::sync::Arc;

use uwf_engine::root::home::Home;

use crate::failure::HttpFailure;

/// A storage root for reading. Cheap to clone.
#[derive(Clone)]
pub(crate) struct RootReader(Arc<Home>);

impl RootReader {
    /// Reads this storage root.
    pub(crate) fn for_root(home: &Home) -> RootReader {
        RootReader(Arc::new(home.again()))
    }

    /// The storage root.
    pub(crate) fn root(&self) -> &std::path::Path {
        self.0.root()
    }

    /// The `uwf` program.
    pub(crate) fn bin(&self) -> &std::path::Path {
        self.0.bin()
    }

    /// Runs `work` on a thread that may block on files.
    pub(crate) async fn read<T, W>(&self, work: W) -> Result<T, HttpFailure>
    where
        T: Send + 'static,
        W: FnOnce(&Home) -> Result<T, HttpFailure> + Send + 'static,
    {
        let reader = self.clone();
        let read = move || work(&reader.0.again());
        tokio::task::spawn_blocking(read).await.unwrap_or_else(|panic| Err(HttpFailure::internal(panic)))
    }
}
