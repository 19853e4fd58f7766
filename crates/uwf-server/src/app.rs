//! What every request has at hand: where the storage root is, and how it is read.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use uwf_engine::root::home::Home;

use crate::failure::Failure;
use crate::guard::Guard;
use crate::watch::Watched;

/// The server, as far as requests need it. Cheap to clone.
#[derive(Clone)]
pub(crate) struct App(Arc<Inner>);

struct Inner {
    root: PathBuf,
    bin: PathBuf,
    cwd: PathBuf,
    read_only: bool,
    guard: Guard,
    watched: Watched,
}

impl App {
    /// A server over a storage root. Commands are started by `bin` in `cwd`.
    pub(crate) fn new(home: &Home, cwd: &Path, read_only: bool, guard: Guard) -> App {
        let (root, bin) = (home.root().to_owned(), home.bin().to_owned());
        App(Arc::new(Inner { root, bin, cwd: cwd.to_owned(), read_only, guard, watched: Watched::default() }))
    }

    /// The storage root.
    pub(crate) fn root(&self) -> &Path {
        &self.0.root
    }

    /// The `uwf` program.
    pub(crate) fn bin(&self) -> &Path {
        &self.0.bin
    }

    /// The directory the server was started in: names of workflows are looked up as they are there.
    pub(crate) fn cwd(&self) -> &Path {
        &self.0.cwd
    }

    /// Whether nothing can be changed through this server.
    pub(crate) fn is_read_only(&self) -> bool {
        self.0.read_only
    }

    /// Who may do what.
    pub(crate) fn guard(&self) -> &Guard {
        &self.0.guard
    }

    /// What somebody listens to.
    pub(crate) fn watched(&self) -> &Watched {
        &self.0.watched
    }

    /// Reads the storage root on a thread that may wait for files.
    ///
    /// # Errors
    /// What `work` fails with.
    pub(crate) async fn read<T, W>(&self, work: W) -> Result<T, Failure>
    where
        T: Send + 'static,
        W: FnOnce(&Home) -> Result<T, Failure> + Send + 'static,
    {
        let app = self.clone();
        let read = move || work(&Home::open(app.root(), app.bin()));
        tokio::task::spawn_blocking(read).await.unwrap_or_else(|panic| Err(Failure::internal(panic)))
    }
}
