//! The layout of a storage root. No other module knows its paths.

use std::path::{Path, PathBuf};

use json_cas::NodeHash;
use uwf_core::thread::ThreadId;

use super::Home;

/// Suffix of a record's file name, after the id of its thread.
pub(super) const RECORD_SUFFIX: &str = ".jsonl";

/// Suffix of the file that names the directory a thread's worktree was created from.
const ORIGIN_SUFFIX: &str = ".from";

/// Suffix, after the id of a thread, of the file that names the repository with refs of that thread.
const REFS_LEFT_SUFFIX: &str = ".refs";

impl Home {
    /// The secret of the pages and the HTTP API, for its owner only.
    pub fn dashboard_token(&self) -> PathBuf {
        self.root.join("dashboard.token")
    }

    /// Hashes of the tokens with which machines connect to the gateway of this root, for its owner only.
    pub fn gateway_tokens(&self) -> PathBuf {
        self.root.join("gateway.json")
    }

    /// Lock for changes to these tokens.
    pub fn gateway_lock(&self) -> PathBuf {
        self.root.join("gateway.lock")
    }

    /// The files of messages to people, for their owner only: questions that were sent, and answers that were received.
    pub(crate) fn messages_dir(&self) -> PathBuf {
        self.root.join("messages")
    }

    /// The replies that are not recorded yet.
    pub(crate) fn message_inbox(&self) -> PathBuf {
        self.messages_dir().join("inbox")
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

    /// The draft that is edited instead of `config.yaml` until it is valid.
    pub fn config_draft(&self) -> PathBuf {
        self.root.join("config.draft.yaml")
    }

    /// Lock for changes to the configuration.
    pub(crate) fn config_lock(&self) -> PathBuf {
        self.root.join("config.lock")
    }

    /// Trusted configurations of projects: path and content of each.
    pub(crate) fn trusted_file(&self) -> PathBuf {
        self.root.join("trusted.json")
    }

    /// Hashes of workflows whose commands may run on this machine.
    pub(crate) fn trusted_workflows_file(&self) -> PathBuf {
        self.root.join("trusted-workflows")
    }

    /// Schedules of this machine, for its owner only: they contain tasks.
    pub(crate) fn schedules_file(&self) -> PathBuf {
        self.root.join("schedules.json")
    }

    /// Lock for changes to the schedules.
    pub(crate) fn schedules_lock(&self) -> PathBuf {
        self.root.join("schedules.lock")
    }

    /// Notes of deliveries that have answered a thread.
    pub(crate) fn deliveries_dir(&self) -> PathBuf {
        self.root.join("deliveries")
    }

    /// Lock for new notes of deliveries.
    pub(crate) fn deliveries_lock(&self) -> PathBuf {
        self.root.join("deliveries.lock")
    }

    /// Lock of the delivery that is giving its answer.
    pub(crate) fn answers_lock(&self) -> PathBuf {
        self.root.join("answers.lock")
    }

    /// The note of a delivery.
    pub(crate) fn delivery_file(&self, delivery: &ThreadId) -> PathBuf {
        self.deliveries_dir().join(format!("{delivery}.json"))
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

    /// `workflow.yaml`, in which a still older store keeps its names below `workflows`.
    pub(crate) fn oldest_registry_file(&self) -> PathBuf {
        self.root.join("workflow.yaml")
    }

    /// Lock of the registry.
    pub fn registry_lock(&self) -> PathBuf {
        self.root.join("registry.lock")
    }

    /// Lock for removing or packing nodes.
    pub(crate) fn gc_lock(&self) -> PathBuf {
        self.root.join("gc.lock")
    }

    /// Directory of the nodes' files; missing in a root whose nodes are kept elsewhere.
    pub fn objects_dir(&self) -> PathBuf {
        objects_dir(&self.root)
    }

    /// Directory of packs of nodes.
    pub(crate) fn packs_dir(&self) -> PathBuf {
        self.objects_dir().join("packs")
    }

    /// Directory of all threads' local records.
    pub fn threads_dir(&self) -> PathBuf {
        self.root.join("threads")
    }

    /// Directory of one thread's lock, logs and working files. Its names are not synced, so nothing in it is relied on
    /// after a power cut: durable data is in [`Home::record_file`].
    pub fn thread_dir(&self, thread: &ThreadId) -> PathBuf {
        self.threads_dir().join(thread.as_str())
    }

    /// Lock for stepping the thread.
    pub(crate) fn thread_lock(&self, thread: &ThreadId) -> PathBuf {
        self.thread_dir(thread).join("lock")
    }

    /// Mark of the process that holds the lock, on a system that does not show open files.
    pub(crate) fn thread_holder(&self, thread: &ThreadId) -> PathBuf {
        self.thread_dir(thread).join("holder")
    }

    /// This machine's record of the thread: its settings, and its newest attempts.
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

    /// Output of the commands that prepared the worktree of a thread.
    pub(crate) fn prepare_output(&self, thread: &ThreadId) -> PathBuf {
        self.thread_dir(thread).join("prepare.log")
    }

    /// Directory of the threads' own git worktrees.
    pub(crate) fn worktrees_dir(&self) -> PathBuf {
        self.root.join("worktrees")
    }

    /// The git worktree of a thread.
    pub(crate) fn worktree_dir(&self, thread: &ThreadId) -> PathBuf {
        self.worktrees_dir().join(thread.as_str())
    }

    /// File that names the directory a thread's worktree was created from.
    pub(crate) fn worktree_origin(&self, thread: &ThreadId) -> PathBuf {
        self.worktrees_dir().join(format!("{thread}{ORIGIN_SUFFIX}"))
    }

    /// File that names the repository with refs to the files of a thread whose worktree was removed.
    pub(crate) fn refs_left(&self, thread: &ThreadId) -> PathBuf {
        self.worktrees_dir().join(format!("{thread}{REFS_LEFT_SUFFIX}"))
    }

    /// The thread of such a file, from its name.
    pub(crate) fn thread_of_refs_left(name: &str) -> Option<ThreadId> {
        name.strip_suffix(REFS_LEFT_SUFFIX)?.parse().ok()
    }

    /// Git's separate index while the worktree of a thread is created.
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

    /// Usage of a thread's steps, as far as it was summed up, for conditions or for limits.
    pub(crate) fn usage_file(&self, thread: &ThreadId, is_for_conditions: bool) -> PathBuf {
        self.cache_dir().join(if is_for_conditions { "usage" } else { "usage-priced" }).join(thread.as_str())
    }

    /// Cached heads of many active threads.
    pub fn active_heads_cache(&self) -> PathBuf {
        self.cache_dir().join("active-heads-3")
    }

    /// Cached heads of many finished threads.
    pub(crate) fn finished_heads_cache(&self) -> PathBuf {
        self.cache_dir().join("finished-heads-3")
    }

    /// Cached labels and places of many threads.
    pub(crate) fn recorded_facts_cache(&self) -> PathBuf {
        self.cache_dir().join("recorded-facts")
    }

    /// Cached chains of many active threads, for examinations.
    pub(crate) fn read_chains_cache(&self) -> PathBuf {
        self.cache_dir().join("read-chains")
    }

    /// Cached claims of a shared store; `None` without one.
    pub(crate) fn claims_cache(&self) -> Option<PathBuf> {
        let name = json_cas::xxh64(self.shared()?.name().as_bytes()).to_string();
        Some(self.cache_dir().join("claims").join(name))
    }

    /// Cached type of each node.
    pub fn type_index(&self) -> PathBuf {
        self.cache_dir().join("types")
    }

    /// Cached version from a program's description.
    pub(crate) fn described_version(&self, program: NodeHash) -> PathBuf {
        self.cache_dir().join("versions").join(program.to_string())
    }

    /// How each model gives structured output.
    pub fn model_modes(&self) -> PathBuf {
        self.cache_dir().join("model-modes.json")
    }

    /// Records that a shared store had the types of uwf's own nodes; `None` when nodes are files of the root.
    pub(crate) fn seen_types_file(&self) -> Option<PathBuf> {
        let name = json_cas::xxh64(self.shared()?.name().as_bytes()).to_string();
        Some(self.cache_dir().join("seen-types").join(name))
    }

    /// Cached nodes of a shared store.
    pub fn cached_nodes(&self) -> PathBuf {
        cached_nodes(&self.root)
    }

    /// Sockets of the brokers of attempts.
    pub(crate) fn sockets_dir(&self) -> PathBuf {
        self.root().join("sockets")
    }

    /// The socket of an attempt's broker; `None` for a text that cannot be an attempt's id.
    pub(crate) fn socket(&self, attempt: &str) -> Option<PathBuf> {
        let is_id = !attempt.is_empty() && attempt.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        is_id.then(|| self.sockets_dir().join(attempt))
    }

    /// Directory of the lock files of agents at work.
    pub(crate) fn slots_dir(&self) -> PathBuf {
        self.root().join("slots")
    }

    /// Directory of the usage limits that agents have reached.
    pub(crate) fn limits_dir(&self) -> PathBuf {
        self.root().join("limits")
    }

    /// Directory of derived data, which may be deleted.
    pub fn cache_dir(&self) -> PathBuf {
        cache_dir(&self.root)
    }

    /// Directories in which files are first written under a temporary name.
    pub(crate) fn dirs_with_temporary_files(&self) -> [PathBuf; 8] {
        let [messages, inbox] = [self.messages_dir(), self.message_inbox()];
        let dirs = [self.objects_dir(), self.packs_dir(), self.threads_dir(), self.cache_dir(), self.deliveries_dir()];
        let [objects, packs, threads, cache, deliveries] = dirs;
        [self.root().to_owned(), objects, packs, threads, cache, deliveries, messages, inbox]
    }
}

pub(super) fn objects_dir(root: &Path) -> PathBuf {
    root.join("cas")
}

pub(super) fn cached_nodes(root: &Path) -> PathBuf {
    cache_dir(root).join("nodes")
}

pub(super) fn cache_dir(root: &Path) -> PathBuf {
    root.join("cache")
}

pub(super) fn config_file(root: &Path) -> PathBuf {
    root.join("config.yaml")
}

pub(super) fn index_file(root: &Path) -> PathBuf {
    root.join("threads.yaml")
}

pub(super) fn history_file(root: &Path) -> PathBuf {
    root.join("history.jsonl")
}

pub(super) fn heads_lock(root: &Path) -> PathBuf {
    root.join("threads.lock")
}
