//! Reading the storage root from asynchronous code.

use std::sync::Arc;

use uwf_engine::root::home::Home;

use crate::failure::Failure;

/// A storage root for reading. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Reader(Arc<Home>);

impl Reader {
    /// Reads this storage root.
    pub(crate) fn of(home: &Home) -> Reader {
        Reader(Arc::new(home.again()))
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
    ///
    /// # Errors
    /// The error of `work`.
    pub(crate) async fn read<T, W>(&self, work: W) -> Result<T, Failure>
    where
        T: Send + 'static,
        W: FnOnce(&Home) -> Result<T, Failure> + Send + 'static,
    {
        let reader = self.clone();
        let read = move || work(&reader.0.again());
        tokio::task::spawn_blocking(read).await.unwrap_or_else(|panic| Err(Failure::internal(panic)))
    }
}
