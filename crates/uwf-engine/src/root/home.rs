//! The storage root: nodes, heads and configuration, and, in `files`, all its paths.

mod files;
mod peers;

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use json_cas::{
    FsHeads, FsObjects, HeadBackend, HeadsFiles, HoldGuard, ObjectBackend, RemovalJournal, Store, StoreError,
};
use uwf_core::config::UwfConfig;
use uwf_core::document::FileProblem;
use uwf_core::foreign;
use uwf_core::thread::ThreadId;

use self::peers::NoPeers;
pub(crate) use self::peers::{NamesPlace, StorePeers};
use crate::error::{AtPath, Error, Result};
use crate::root::broker_link::BrokerLink;
use crate::root::config_text;
use crate::root::received_keys;
use crate::root::shared_store::SharedStore;

/// Environment variables that name the storage root; the first one that is set wins.
pub const ROOT_VARIABLES: [&str; 2] = ["UNCAGED_WORKFLOW_STORAGE_ROOT", "WORKFLOW_STORAGE_ROOT"];

/// Permissions of a storage root that uwf creates.
const ROOT_MODE: u32 = 0o700;

/// The key with the thread's id in a line of the history.
const HISTORY_KEY: &str = "thread";

/// The attempt that a process belongs to.
#[derive(Debug, Clone, Copy)]
pub struct AttemptId<'a> {
    /// The thread.
    pub thread: &'a str,
    /// Id of the attempt.
    pub attempt: &'a str,
}

/// A storage root: the place of nodes, heads, configuration and the records of running threads.
pub struct Home {
    root: PathBuf,
    bin: PathBuf,
    store: Store,
    heads: Arc<dyn HeadBackend>,
    journal: Arc<dyn RemovalJournal>,
    index: Option<FsHeads>,
    files: Option<FsObjects>,
    peers: Arc<dyn StorePeers>,
}

impl Home {
    /// Opens a storage root in which everything is a file. Reads and creates nothing. `bin` is the `uwf` program for
    /// the keepers and agents of this home.
    pub fn open(root: impl Into<PathBuf>, bin: impl Into<PathBuf>) -> Home {
        let root = root.into();
        let index = FsHeads::new(HeadsFiles {
            index: files::index_file(&root),
            journal: files::history_file(&root),
            lock: files::heads_lock(&root),
            name_key: HISTORY_KEY.to_owned(),
        });
        let files = FsObjects::new(files::objects_dir(&root));
        let over = Home::over(root, bin, Arc::new(files.clone()), Arc::new(index.clone()));
        Home { index: Some(index), files: Some(files), ..over }
    }

    /// A storage root whose nodes and heads are kept elsewhere. This machine's own data stays in files below `root`:
    /// locks, records and settings of threads, configuration, caches.
    pub fn over<H>(
        root: impl Into<PathBuf>,
        bin: impl Into<PathBuf>,
        objects: Arc<dyn ObjectBackend>,
        heads: Arc<H>,
    ) -> Home
    where
        H: HeadBackend + RemovalJournal + 'static,
    {
        let store = Store::new(objects).with_known(foreign::known_schema);
        let (journal, root, bin) = (heads.clone(), root.into(), bin.into());
        let peers = Arc::new(NoPeers::new());
        Home { root, bin, store, heads, journal, index: None, files: None, peers }
    }

    /// A storage root whose nodes, heads and workflow names are in a store that other machines also use.
    pub fn sharing(root: impl Into<PathBuf>, bin: impl Into<PathBuf>, shared: SharedStore) -> Home {
        let store = Store::new(Arc::clone(&shared.objects)).with_known(foreign::known_schema);
        let (heads, journal) = (Arc::clone(&shared.heads), Arc::clone(&shared.journal));
        let (root, bin) = (root.into(), bin.into());
        Home { root, bin, store, heads, journal, index: None, files: None, peers: Arc::new(shared) }
    }

    /// The same storage root again, without anything that was read.
    #[must_use]
    pub fn again(&self) -> Home {
        match self.shared() {
            Some(shared) => Home::sharing(&self.root, &self.bin, shared.clone()),
            None => Home::open(&self.root, &self.bin),
        }
    }

    /// Opens the root that the environment names, `~/.uncaged/workflow` if it names none.
    ///
    /// # Errors
    /// `Config` when neither a root variable nor `HOME` is set, `Io` when this program's own path is unknown.
    pub fn from_environment() -> Result<Home> {
        Home::open_root(&root_from_environment()?)
    }

    /// Opens a given root, with this program as its `uwf`.
    ///
    /// # Errors
    /// `Io` when this program's own path or the current directory is unknown.
    pub fn open_root(root: &Path) -> Result<Home> {
        let bin = std::env::current_exe()
            .map_err(|error| Error::io(format!("cannot find the path of uwf itself: {error}")))?;
        let root = std::path::absolute(root).path_context("make absolute", root)?;
        Ok(match SharedStore::open_configured(&files::config_file(&root), &files::cached_nodes(&root)) {
            Some(shared) => Home::sharing(root, bin, shared),
            None => Home::open(root, bin),
        })
    }

    /// Opens a root for an agent's process, which reaches a shared store through the attempt's broker: the broker has
    /// the keys. Without `root` or `attempt`, uses those from the environment. Outside of an attempt, opens the root
    /// like any other process.
    pub fn of_agent(root: Option<&Path>, attempt: Option<AttemptId<'_>>) -> Result<Home> {
        let home = root.map_or_else(Home::from_environment, Home::open_root)?;
        // A process of uwf itself in an attempt, such as the process for a role played by a workflow.
        if received_keys::are_received() {
            return Ok(home);
        }
        let [thread, id] = ["UWF_THREAD", "UWF_ATTEMPT"].map(|name| std::env::var(name).unwrap_or_default());
        let attempt = attempt.unwrap_or(AttemptId { thread: &thread, attempt: &id });
        Ok(match (home.shared(), home.socket(attempt.attempt)) {
            (Some(shared), Some(socket)) => {
                let link = BrokerLink::new(attempt.thread, shared.name(), socket);
                Home::sharing(home.root.clone(), home.bin.clone(), shared.clone().through(link))
            }
            _ => home,
        })
    }

    /// The directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The `uwf` program.
    pub fn bin(&self) -> &Path {
        &self.bin
    }

    /// Nodes.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Keeps every node from being removed until the value is dropped. Hold this from storing or finding a node until a
    /// head, a record, a name or the history references it. Then a process that removes nodes sees all of the change or
    /// nothing.
    ///
    /// # Errors
    /// `Busy` when another process removes nodes for too long, `Io`.
    pub fn hold_nodes(&self) -> Result<HoldGuard> {
        self.make_root()?;
        Ok(self.store.objects().hold()?)
    }

    /// Heads of active threads.
    pub fn heads(&self) -> &dyn HeadBackend {
        &*self.heads
    }

    /// The history: the lines of finished threads.
    pub fn journal(&self) -> &dyn RemovalJournal {
        &*self.journal
    }

    /// Index and history, if they are files of this root: their sizes and times show every change.
    pub(crate) fn index(&self) -> Option<&FsHeads> {
        self.index.as_ref()
    }

    /// Nodes as files, for packing.
    ///
    /// # Errors
    /// `Usage` when they are kept elsewhere.
    pub(crate) fn files(&self) -> Result<&FsObjects> {
        self.files.as_ref().ok_or_else(|| match self.shared().and_then(SharedStore::fault) {
            Some(fault) => StoreError::Remote(fault).into(),
            None => Error::usage("this storage root keeps its nodes in a shared store: there is nothing to pack"),
        })
    }

    /// The configuration; defaults if the file is missing.
    pub fn config(&self) -> Result<UwfConfig> {
        self.checked_config().map(|(config, _)| config)
    }

    /// The configuration and its warnings.
    pub fn checked_config(&self) -> Result<(UwfConfig, Vec<FileProblem>)> {
        let path = self.config_file();
        let text = config_text::read(&path)?;
        let (config, problems) = UwfConfig::parse(&text, &path.display().to_string());
        if problems.iter().any(FileProblem::is_error) {
            let errors: Vec<FileProblem> = problems.into_iter().filter(FileProblem::is_error).collect();
            return Err(config_text::invalid(&errors));
        }
        Ok((config, problems))
    }

    /// The place of the nodes, for people.
    pub fn place(&self) -> String {
        self.shared().map_or_else(|| self.objects_dir().display().to_string(), |shared| shared.name().to_owned())
    }

    /// Whether the directory for nodes exists, so that nodes are or were kept in files.
    pub(crate) fn has_objects_dir(&self) -> Result<bool> {
        let dir = self.objects_dir();
        dir.try_exists().path_context("look at", dir)
    }

    /// Whether the storage root exists.
    ///
    /// # Errors
    /// `Io` when that cannot be determined.
    pub fn exists(&self) -> Result<bool> {
        self.root.try_exists().path_context("look at", &self.root)
    }

    /// Threads that have a record.
    pub(crate) fn recorded_threads(&self) -> Result<BTreeSet<ThreadId>> {
        let dir = self.threads_dir();
        let entries = match std::fs::read_dir(&dir) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
            other => other.path_context("list", &dir)?,
        };
        let mut threads = BTreeSet::new();
        for entry in entries {
            let name = entry.path_context("list", &dir)?.file_name();
            let id = name.to_str().and_then(|name| name.strip_suffix(files::RECORD_SUFFIX));
            threads.extend(id.and_then(|id| id.parse::<ThreadId>().ok()));
        }
        Ok(threads)
    }

    /// Creates a missing storage root for its owner only, because prompts and answers may be private. To share a root,
    /// create its directory beforehand: an existing directory is left unchanged.
    ///
    /// # Errors
    /// `Io` when it cannot be created.
    pub fn make_root(&self) -> Result<()> {
        if self.exists()? {
            return Ok(());
        }
        std::fs::DirBuilder::new().recursive(true).mode(ROOT_MODE).create(&self.root).path_context("create", &self.root)
    }

    /// Creates the directory of a thread.
    ///
    /// # Errors
    /// `Io` when it cannot be created.
    pub fn make_thread_dir(&self, thread: &ThreadId) -> Result<PathBuf> {
        let dir = self.thread_dir(thread);
        std::fs::create_dir_all(&dir).path_context("create", &dir)?;
        Ok(dir)
    }
}

/// The storage root that the environment names, as an absolute path.
///
/// # Errors
/// `Config` if neither a variable nor a home directory names one.
pub fn root_from_environment() -> Result<PathBuf> {
    let named = ROOT_VARIABLES.iter().filter_map(std::env::var_os).find(|value| !value.is_empty());
    if let Some(root) = named {
        let root = PathBuf::from(root);
        return std::path::absolute(&root).path_context("make absolute", &root);
    }
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty()).ok_or_else(|| {
        Error::config("cannot find the storage root: HOME is not set")
            .hint(format!("set {} to a directory", ROOT_VARIABLES[0]))
    })?;
    Ok(PathBuf::from(home).join(".uncaged").join("workflow"))
}
