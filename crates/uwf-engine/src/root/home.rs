//! The storage root. This is the one place that knows the paths.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use json_cas::{FsHeads, FsObjects, Heads, HeadsFiles, Hold, Journal, Notes, Objects, Store};
use uwf_core::config::Config;
use uwf_core::document::Problem;
use uwf_core::foreign;
use uwf_core::thread::ThreadId;

use crate::root::config_text;
use crate::root::error::{AtPath, Result, RootError};
use crate::root::shared_store::SharedStore;

/// Environment variables that name the storage root, the first that is set wins.
pub const ROOT_VARIABLES: [&str; 2] = ["UNCAGED_WORKFLOW_STORAGE_ROOT", "WORKFLOW_STORAGE_ROOT"];

/// Permissions of a storage root that uwf creates.
const ROOT_MODE: u32 = 0o700;

/// The key that has the id of a thread in its line in the history.
const HISTORY_KEY: &str = "thread";

/// What the name of a record ends with, after the id of its thread.
const RECORD_SUFFIX: &str = ".jsonl";

/// What the name of the file ends with that says where the worktree of a thread was made from.
const ORIGIN_SUFFIX: &str = ".from";

/// What follows the id of a thread in the name of the file that says which repository has refs of it.
const REFS_LEFT_SUFFIX: &str = ".refs";

/// A storage root: where nodes, heads, configuration and the records of running threads are.
pub struct Home {
    root: PathBuf,
    bin: PathBuf,
    store: Store,
    heads: Arc<dyn Heads>,
    journal: Arc<dyn Journal>,
    index: Option<FsHeads>,
    files: Option<FsObjects>,
    shared: Option<SharedStore>,
}

impl Home {
    /// Opens a storage root in which everything is a file. Nothing is read or created. `bin` is the `uwf` program that
    /// keepers and agents of this home are started from.
    pub fn open(root: impl Into<PathBuf>, bin: impl Into<PathBuf>) -> Home {
        let root = root.into();
        let index = FsHeads::new(HeadsFiles {
            index: index_file(&root),
            journal: history_file(&root),
            lock: heads_lock(&root),
            name_key: HISTORY_KEY.to_owned(),
        });
        let files = FsObjects::new(objects_dir(&root));
        let over = Home::over(root, bin, Arc::new(files.clone()), Arc::new(index.clone()));
        Home { index: Some(index), files: Some(files), ..over }
    }

    /// A storage root whose nodes and heads are kept elsewhere. What belongs to this machine stays in files below `root`:
    /// locks, records and settings of threads, configuration, caches.
    pub fn over<H>(root: impl Into<PathBuf>, bin: impl Into<PathBuf>, objects: Arc<dyn Objects>, heads: Arc<H>) -> Home
    where
        H: Heads + Journal + 'static,
    {
        let store = Store::new(objects).with_known(foreign::known_schema);
        let (journal, root, bin) = (heads.clone(), root.into(), bin.into());
        Home { root, bin, store, heads, journal, index: None, files: None, shared: None }
    }

    /// A storage root whose nodes, heads and names of workflows are in a store that other machines use, too.
    pub fn sharing(root: impl Into<PathBuf>, bin: impl Into<PathBuf>, shared: SharedStore) -> Home {
        let store = Store::new(Arc::clone(&shared.objects)).with_known(foreign::known_schema);
        let (heads, journal) = (Arc::clone(&shared.heads), Arc::clone(&shared.journal));
        let (root, bin) = (root.into(), bin.into());
        Home { root, bin, store, heads, journal, index: None, files: None, shared: Some(shared) }
    }

    /// The same storage root once more, with nothing of it read.
    #[must_use]
    pub fn again(&self) -> Home {
        match &self.shared {
            Some(shared) => Home::sharing(&self.root, &self.bin, shared.clone()),
            None => Home::open(&self.root, &self.bin),
        }
    }

    /// Opens the root the environment names, `~/.uncaged/workflow` when it names none.
    ///
    /// # Errors
    /// `Config` when neither a root variable nor `HOME` is set, `Internal` when this program's own path is unknown.
    pub fn from_environment() -> Result<Home> {
        Home::at(&root_from_environment()?)
    }

    /// Opens a root that was named, with this program as its `uwf`.
    ///
    /// # Errors
    /// `Internal` when this program's own path is unknown, `Io` when there is no current directory to begin at.
    pub fn at(root: &Path) -> Result<Home> {
        let bin = std::env::current_exe().map_err(RootError::OwnProgram)?;
        let root = std::path::absolute(root).at("make absolute", root)?;
        Ok(match SharedStore::of(&config_file(&root), &cached_nodes(&root)) {
            Some(shared) => Home::sharing(root, bin, shared),
            None => Home::open(root, bin),
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

    /// Keeps every node from being removed until the value is dropped. Whoever stores or finds a node and then lets a head, a
    /// record, a name or the history lead to it holds meanwhile. Whoever removes nodes then sees all of it or nothing.
    ///
    /// # Errors
    /// `Busy` when somebody removes nodes for too long, `Io`.
    pub fn hold_nodes(&self) -> Result<Hold> {
        self.make_root()?;
        Ok(self.store.objects().hold()?)
    }

    /// Heads of active threads.
    pub fn heads(&self) -> &dyn Heads {
        &*self.heads
    }

    /// The history: what is left of the heads of finished threads.
    pub fn journal(&self) -> &dyn Journal {
        &*self.journal
    }

    /// What machines that share the store say to each other; `None` when nobody shares it.
    pub(crate) fn notes(&self) -> Option<&Arc<dyn Notes>> {
        Some(&self.shared.as_ref()?.notes)
    }

    /// Index and history as files, for whoever makes a broken index anew.
    ///
    /// # Errors
    /// `Usage` when they are kept elsewhere.
    pub(crate) fn index(&self) -> Result<&FsHeads> {
        self.index.as_ref().ok_or_else(|| self.kept_elsewhere(RootError::NoIndex))
    }

    /// Nodes as files, for whoever packs them.
    ///
    /// # Errors
    /// `Usage` when they are kept elsewhere.
    pub(crate) fn files(&self) -> Result<&FsObjects> {
        self.files.as_ref().ok_or_else(|| self.kept_elsewhere(RootError::NoFiles))
    }

    /// Why there are no files: they are kept elsewhere, or nobody can tell where.
    fn kept_elsewhere(&self, refusal: fn(PathBuf) -> RootError) -> RootError {
        match self.shared.as_ref().and_then(SharedStore::fault) {
            Some(fault) => RootError::Store(fault.into()),
            None => refusal(self.root.clone()),
        }
    }

    /// The configuration; defaults when there is no file.
    ///
    /// # Errors
    /// `Config` with every problem of the file that is an error.
    pub fn config(&self) -> Result<Config> {
        self.checked_config().map(|(config, _)| config)
    }

    /// The configuration and its warnings.
    ///
    /// # Errors
    /// As [`Home::config`].
    pub fn checked_config(&self) -> Result<(Config, Vec<Problem>)> {
        let path = self.config_file();
        let text = config_text::read(&path)?;
        let (config, problems) = Config::parse(&text, &path.display().to_string());
        if problems.iter().any(Problem::is_error) {
            return Err(RootError::Config(problems.into_iter().filter(Problem::is_error).collect()));
        }
        Ok((config, problems))
    }

    /// The secret of the pages and the HTTP API, for its owner only.
    pub fn dashboard_token(&self) -> PathBuf {
        self.root.join("dashboard.token")
    }

    /// Hashes of the tokens by which machines connect to the gateway of this root, for its owner only.
    pub fn gateway_tokens(&self) -> PathBuf {
        self.root.join("gateway.json")
    }

    /// Lock of whoever changes these tokens.
    pub fn gateway_lock(&self) -> PathBuf {
        self.root.join("gateway.lock")
    }

    /// Where nodes are, in words for people.
    pub fn place(&self) -> String {
        self.shared.as_ref().map_or_else(|| self.objects_dir().display().to_string(), |shared| shared.name().to_owned())
    }

    /// The store that other machines use, too, if nodes and heads are in one.
    pub fn shared(&self) -> Option<&SharedStore> {
        self.shared.as_ref()
    }

    /// `config.yaml`.
    pub fn config_file(&self) -> PathBuf {
        config_file(&self.root)
    }

    /// `threads.yaml`, the index of active threads.
    pub fn index_file(&self) -> PathBuf {
        index_file(&self.root)
    }

    /// `history.jsonl`, a line per finished thread.
    pub fn history_file(&self) -> PathBuf {
        history_file(&self.root)
    }

    /// Lock of index and history.
    pub fn heads_lock(&self) -> PathBuf {
        heads_lock(&self.root)
    }

    /// What is edited in place of `config.yaml`, until it is valid.
    pub fn config_draft(&self) -> PathBuf {
        self.root.join("config.draft.yaml")
    }

    /// Lock of whoever changes the configuration.
    pub(crate) fn config_lock(&self) -> PathBuf {
        self.root.join("config.lock")
    }

    /// Configurations of projects that somebody trusts: path and content of each.
    pub(crate) fn trusted_file(&self) -> PathBuf {
        self.root.join("trusted.json")
    }

    /// `.env`.
    pub fn env_file(&self) -> PathBuf {
        self.root.join(".env")
    }

    /// `registry.yaml`.
    pub fn registry_file(&self) -> PathBuf {
        self.root.join("registry.yaml")
    }

    /// `workflows.yaml` of an older store.
    pub(crate) fn older_registry_file(&self) -> PathBuf {
        self.root.join("workflows.yaml")
    }

    /// `workflow.yaml`, in which a still older store has its names below `workflows`.
    pub(crate) fn oldest_registry_file(&self) -> PathBuf {
        self.root.join("workflow.yaml")
    }

    /// Lock of the registry.
    pub fn registry_lock(&self) -> PathBuf {
        self.root.join("registry.lock")
    }

    /// Held by whoever removes or packs nodes.
    pub(crate) fn gc_lock(&self) -> PathBuf {
        self.root.join("gc.lock")
    }

    /// Directory of the nodes' files; missing in a root whose nodes are kept elsewhere.
    pub fn objects_dir(&self) -> PathBuf {
        objects_dir(&self.root)
    }

    /// Whether nodes are kept in files, and were ever.
    ///
    /// # Errors
    /// `Io` when it cannot be told.
    pub(crate) fn has_objects_dir(&self) -> Result<bool> {
        let dir = self.objects_dir();
        dir.try_exists().at("look at", dir)
    }

    /// Whether the storage root is there.
    ///
    /// # Errors
    /// `Io` when it cannot be told.
    pub fn exists(&self) -> Result<bool> {
        self.root.try_exists().at("look at", &self.root)
    }

    /// Directory of packs of nodes.
    pub(crate) fn packs_dir(&self) -> PathBuf {
        self.objects_dir().join("packs")
    }

    /// Directory of all threads' local records.
    pub fn threads_dir(&self) -> PathBuf {
        self.root.join("threads")
    }

    /// Directory of one thread's lock, logs, and what there is of it while it works. No name in it is made
    /// durable, so nothing in it is counted on after a power cut: what is to last is in [`Home::record_file`].
    pub fn thread_dir(&self, thread: &ThreadId) -> PathBuf {
        self.threads_dir().join(thread.as_str())
    }

    /// Held by whoever steps the thread.
    pub(crate) fn thread_lock(&self, thread: &ThreadId) -> PathBuf {
        self.thread_dir(thread).join("lock")
    }

    /// What is known of the thread on this machine: its settings, and what became of its newest attempts.
    pub fn record_file(&self, thread: &ThreadId) -> PathBuf {
        self.threads_dir().join(format!("{thread}{RECORD_SUFFIX}"))
    }

    /// Directory of the attempts' output files.
    pub fn attempts_dir(&self, thread: &ThreadId) -> PathBuf {
        self.thread_dir(thread).join("attempts")
    }

    /// Names of the thread's child threads.
    pub(crate) fn children_dir(&self, thread: &ThreadId) -> PathBuf {
        self.thread_dir(thread).join("children")
    }

    /// Log of the thread.
    pub(crate) fn log_file(&self, thread: &ThreadId) -> PathBuf {
        self.thread_dir(thread).join("log.jsonl")
    }

    /// Directory of the git worktrees that threads have of their own.
    pub(crate) fn worktrees_dir(&self) -> PathBuf {
        self.root.join("worktrees")
    }

    /// The git worktree of a thread.
    pub(crate) fn worktree_dir(&self, thread: &ThreadId) -> PathBuf {
        self.worktrees_dir().join(thread.as_str())
    }

    /// Which directory the worktree of a thread was made from.
    pub(crate) fn worktree_origin(&self, thread: &ThreadId) -> PathBuf {
        self.worktrees_dir().join(format!("{thread}{ORIGIN_SUFFIX}"))
    }

    /// Which repository has refs to the files of a thread whose worktree was removed.
    pub(crate) fn refs_left(&self, thread: &ThreadId) -> PathBuf {
        self.worktrees_dir().join(format!("{thread}{REFS_LEFT_SUFFIX}"))
    }

    /// The thread that such a file is about, from its name.
    pub(crate) fn thread_of_refs_left(name: &str) -> Option<ThreadId> {
        name.strip_suffix(REFS_LEFT_SUFFIX)?.parse().ok()
    }

    /// Where git has an index of its own while the worktree of a thread is made.
    pub(crate) fn worktree_scratch(&self, thread: &ThreadId) -> PathBuf {
        self.worktrees_dir().join(format!("{thread}.index"))
    }

    /// State marks of all threads.
    pub(crate) fn marks_dir(&self) -> PathBuf {
        self.root.join("marks")
    }

    /// Chain cache of a thread.
    pub fn chain_file(&self, thread: &ThreadId) -> PathBuf {
        self.cache_dir().join("chains").join(thread.as_str())
    }

    /// What the steps of a thread used, as far as it was summed up, by a table of prices or without one.
    pub(crate) fn usage_file(&self, thread: &ThreadId, is_priced: bool) -> PathBuf {
        self.cache_dir().join(if is_priced { "usage-priced" } else { "usage" }).join(thread.as_str())
    }

    /// What the heads of many active threads said the last time.
    pub fn active_heads_cache(&self) -> PathBuf {
        self.cache_dir().join("active-heads")
    }

    /// What the heads of many finished threads said the last time.
    pub(crate) fn finished_heads_cache(&self) -> PathBuf {
        self.cache_dir().join("finished-heads")
    }

    /// What the notes of a shared store said of the newest attempts the last time; `None` when nobody shares one.
    pub(crate) fn claims_cache(&self) -> Option<PathBuf> {
        let name = json_cas::xxh64(self.shared()?.name().as_bytes()).to_string();
        Some(self.cache_dir().join("claims").join(name))
    }

    /// Which type each node has.
    pub fn type_index(&self) -> PathBuf {
        self.cache_dir().join("types")
    }

    /// In which way each model gives structured output.
    pub fn model_modes(&self) -> PathBuf {
        self.cache_dir().join("model-modes.json")
    }

    /// That a shared store had the types of uwf's own nodes; `None` when nodes are files of the root.
    pub(crate) fn seen_types_file(&self) -> Option<PathBuf> {
        let name = json_cas::xxh64(self.shared()?.name().as_bytes()).to_string();
        Some(self.cache_dir().join("seen-types").join(name))
    }

    /// Where nodes of a shared store are kept that were read.
    pub fn cached_nodes(&self) -> PathBuf {
        cached_nodes(&self.root)
    }

    /// What can be derived and may be deleted.
    pub fn cache_dir(&self) -> PathBuf {
        cache_dir(&self.root)
    }

    /// Threads that have a record.
    ///
    /// # Errors
    /// `Io` when the directory cannot be listed.
    pub(crate) fn recorded_threads(&self) -> Result<BTreeSet<ThreadId>> {
        let dir = self.threads_dir();
        let entries = match std::fs::read_dir(&dir) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
            other => other.at("list", &dir)?,
        };
        let mut threads = BTreeSet::new();
        for entry in entries {
            let name = entry.at("list", &dir)?.file_name();
            let id = name.to_str().and_then(|name| name.strip_suffix(RECORD_SUFFIX));
            threads.extend(id.and_then(|id| id.parse::<ThreadId>().ok()));
        }
        Ok(threads)
    }

    /// Directories in which files are written under a temporary name first.
    pub(crate) fn dirs_with_temporary_files(&self) -> [PathBuf; 5] {
        [self.root().to_owned(), self.objects_dir(), self.packs_dir(), self.threads_dir(), self.cache_dir()]
    }

    /// Creates the storage root if it is missing, for its owner alone: prompts and answers may be anything. Whoever wants
    /// to share a root creates it beforehand; it is left as it is.
    ///
    /// # Errors
    /// `Io` when it cannot be created.
    pub fn make_root(&self) -> Result<()> {
        if self.exists()? {
            return Ok(());
        }
        std::fs::DirBuilder::new().recursive(true).mode(ROOT_MODE).create(&self.root).at("create", &self.root)
    }

    /// Creates the directory of a thread.
    ///
    /// # Errors
    /// `Io` when it cannot be created.
    pub fn make_thread_dir(&self, thread: &ThreadId) -> Result<PathBuf> {
        let dir = self.thread_dir(thread);
        std::fs::create_dir_all(&dir).at("create", &dir)?;
        Ok(dir)
    }
}

fn objects_dir(root: &Path) -> PathBuf {
    root.join("cas")
}

fn cached_nodes(root: &Path) -> PathBuf {
    cache_dir(root).join("nodes")
}

fn cache_dir(root: &Path) -> PathBuf {
    root.join("cache")
}

fn config_file(root: &Path) -> PathBuf {
    root.join("config.yaml")
}

fn index_file(root: &Path) -> PathBuf {
    root.join("threads.yaml")
}

fn history_file(root: &Path) -> PathBuf {
    root.join("history.jsonl")
}

fn heads_lock(root: &Path) -> PathBuf {
    root.join("threads.lock")
}

fn root_from_environment() -> Result<PathBuf> {
    let named = ROOT_VARIABLES.iter().filter_map(std::env::var_os).find(|value| !value.is_empty());
    if let Some(root) = named {
        let root = PathBuf::from(root);
        return std::path::absolute(&root).at("make absolute", &root);
    }
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty()).ok_or(RootError::NoRoot)?;
    Ok(PathBuf::from(home).join(".uncaged").join("workflow"))
}
