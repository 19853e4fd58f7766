//! Typed access to nodes.

mod copy;
mod get;
mod layers;
mod prefix;
mod put;
mod reach;
mod verify;
mod walk;

pub use copy::NodeCopyStats;
pub use layers::NodeLayers;
pub use reach::{MissingNodePolicy, ReachFailure, ReachableNodes};
pub use verify::{ProblemKind, StoreProblem, VerifyReport};
pub use walk::{NodeWalk, WalkOptions};

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;

use crate::fs::FsObjects;
use crate::hash::NodeHash;
use crate::memory::MemoryObjects;
use crate::objects::ObjectBackend;
use crate::schema::{CompiledSchema, ReferenceFinder};

/// Nodes over any [`ObjectBackend`]. Cloning is cheap and shares objects and compiled schemas.
///
/// ```
/// use json_cas::{NodeDraft, Store, StoreError};
/// use serde_json::json;
///
/// let dir = tempfile::tempdir()?;
/// let store = Store::open_fs(dir.path().join("nodes"));
/// let word = store.put_schema(json!({ "title": "word", "type": "string" }))?;
/// let hello = store.put(&NodeDraft::new(word, json!("hello"))?)?;
///
/// // Another store over the same files has the same nodes.
/// let again = Store::open_fs(dir.path().join("nodes"));
/// assert_eq!(again.get(hello)?.payload, "hello");
/// let error = again.put(&NodeDraft::new(word, json!(7))?).unwrap_err();
/// assert!(matches!(error, StoreError::Invalid { title, .. } if title == "word"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Store {
    objects: Arc<dyn ObjectBackend>,
    types: Arc<Mutex<HashMap<NodeHash, CachedType>>>,
    clock: fn() -> u64,
    known: fn(NodeHash) -> Option<serde_json::Value>,
}

/// A cached type.
#[derive(Clone)]
enum CachedType {
    /// Read, for its references.
    Read(Arc<ReferenceFinder>),
    /// Read and compiled.
    Compiled(Arc<CompiledSchema>),
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}

impl Store {
    /// The nodes in `objects`. Does no I/O.
    pub fn new(objects: Arc<dyn ObjectBackend>) -> Store {
        Store { objects, types: Arc::default(), clock: unix_millis, known: |_| None }
    }

    /// An empty store that lives as long as the value.
    pub fn memory() -> Store {
        Store::new(Arc::new(MemoryObjects::new()))
    }

    /// The store in the files of a directory, which need not exist yet. Does no I/O.
    pub fn open_fs(dir: impl Into<PathBuf>) -> Store {
        Store::new(Arc::new(FsObjects::new(dir)))
    }

    /// The same store with another clock (Unix milliseconds), for tests.
    #[must_use]
    pub fn with_clock(self, clock: fn() -> u64) -> Store {
        Store { clock, ..self }
    }

    /// The same store with schemas that stand in for missing types. For types of other programs, so that their nodes can be followed and
    /// checked even if the schema was never stored.
    #[must_use]
    pub fn with_known(self, known: fn(NodeHash) -> Option<serde_json::Value>) -> Store {
        Store { known, ..self }
    }

    /// The backend.
    pub fn objects(&self) -> &dyn ObjectBackend {
        &*self.objects
    }
}

fn unix_millis() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
