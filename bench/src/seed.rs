//! Big stores in seconds: the library's own nodes, written without waiting for the disk, synced once at the end.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use durable_files::FileError;
use json_cas::{
    FsObjects, HashPrefix, HoldGuard, NodeDraft, NodeHash, ObjectBackend, ObjectMetadata, ObjectPutOutcome, Store,
    StoreError, SweepGuard, xxh64,
};
use serde_json::json;
use uwf_core::node::{AgentNode, ContentNode, ExtractedBy, ReactSession, StartNode, StepNode, TypedPayload};
use uwf_core::thread::ThreadId;
use uwf_core::workflow::Workflow;
use uwf_engine::attempt::bindings::{AgentBindings, AgentReference};
use uwf_engine::attempt::settings::ThreadSettings;
use uwf_engine::root::home::Home;
use uwf_engine::root::{ids, registry};
use uwf_engine::thread::digest::ThreadDigest;
use uwf_engine::thread::load::Thread;
use uwf_engine::thread::nodes;
use uwf_engine::verbs::{put, start};

use crate::error::{Error, Result};
use crate::place::TrivialAgent;

/// Two roles that take turns, and one that is played when the last output asks for it. Every route reads the last
/// step.
const WORKFLOW: &str = include_str!("../workflow.yaml");

/// Nodes handed to the store at a time.
const BATCH: usize = 1_000;

/// Bytes of text in an answer. They are noise of 64 symbols, so they cannot be compressed by more than a quarter, which real texts
/// can.
pub const PAYLOAD: usize = 970;

/// Objects in the files of a store, written without a sync.
struct UnsyncedObjects(FsObjects);

impl ObjectBackend for UnsyncedObjects {
    fn get(&self, hash: NodeHash) -> std::result::Result<Option<Vec<u8>>, StoreError> {
        self.0.get(hash)
    }

    fn contains(&self, hash: NodeHash) -> std::result::Result<bool, StoreError> {
        self.0.contains(hash)
    }

    fn put_all(&self, objects: &[(NodeHash, Vec<u8>)]) -> std::result::Result<Vec<ObjectPutOutcome>, StoreError> {
        let dir = self.0.dir();
        fs::create_dir_all(dir).map_err(|source| FileError { action: "create", path: dir.to_owned(), source })?;
        objects
            .iter()
            .map(|(hash, bytes)| {
                let path = self.0.path(*hash);
                let written = fs::write(&path, bytes);
                written.map_err(|source| FileError { action: "write", path, source })?;
                Ok(ObjectPutOutcome::Published)
            })
            .collect()
    }

    fn replace(&self, hash: NodeHash, bytes: &[u8]) -> std::result::Result<(), StoreError> {
        self.0.replace(hash, bytes)
    }

    fn sync(&self, hashes: &[NodeHash]) -> std::result::Result<(), StoreError> {
        self.0.sync(hashes)
    }

    fn list(&self, prefix: Option<&HashPrefix>) -> std::result::Result<Vec<NodeHash>, StoreError> {
        self.0.list(prefix)
    }

    fn stored(&self, hash: NodeHash) -> std::result::Result<Option<ObjectMetadata>, StoreError> {
        self.0.stored(hash)
    }

    fn refresh(&self, hash: NodeHash) -> std::result::Result<bool, StoreError> {
        self.0.refresh(hash)
    }

    fn hold(&self) -> std::result::Result<HoldGuard, StoreError> {
        self.0.hold()
    }

    fn sweep(&self) -> std::result::Result<SweepGuard, StoreError> {
        self.0.sweep()
    }

    fn remove_all(&self, sweep: &SweepGuard, layers: &[&[NodeHash]]) -> std::result::Result<Vec<bool>, StoreError> {
        self.0.remove_all(sweep, layers)
    }
}

/// A storage root that is being filled.
pub struct SeededRoot<'h> {
    home: &'h Home,
    store: Store,
    workflow: NodeHash,
    roles: Workflow,
    heads: Vec<(ThreadId, NodeHash)>,
    drafts: Vec<NodeDraft>,
    nodes: usize,
    serial: u64,
}

/// The steps of a thread, oldest first, and its start.
pub struct SeededThread {
    /// The `StartNode`.
    pub start: NodeHash,
    /// The step nodes.
    pub steps: Vec<NodeHash>,
}

impl<'h> SeededRoot<'h> {
    /// Begins with the workflow and nothing else.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new(home: &'h Home) -> Result<SeededRoot<'h>> {
        SeededRoot::over(home, Store::new(Arc::new(UnsyncedObjects(FsObjects::new(home.objects_dir())))))
    }

    /// The same with nodes that are put through a store of its own.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn over(home: &'h Home, store: Store) -> Result<SeededRoot<'h>> {
        let roles = workflow(home)?;
        let hash = roles.draft().hash();
        registry::update(home, |registry| {
            registry::name(registry, &roles.name, hash, ids::now_ms());
            Ok::<(), Error>(())
        })?;
        Ok(SeededRoot {
            home,
            store,
            workflow: hash,
            roles,
            heads: Vec::new(),
            drafts: Vec::new(),
            nodes: 0,
            serial: 0,
        })
    }

    /// A `StartNode` of its own.
    ///
    /// # Errors
    /// When the nodes cannot be written.
    pub fn start(&mut self) -> Result<NodeHash> {
        let start = self.next_start();
        start::drafts(&start).into_iter().try_for_each(|draft| self.add(draft).map(drop))?;
        Ok(start.draft().hash())
    }

    /// The same without the text of the task as a node of its own, which nothing leads to as long as no prompt has it.
    ///
    /// # Errors
    /// When the node cannot be written.
    pub fn bare_start(&mut self) -> Result<NodeHash> {
        let start = self.next_start();
        self.add(start.draft())
    }

    fn next_start(&mut self) -> StartNode {
        self.serial += 1;
        let prompt = format!("Task number {} of the benchmark.", self.serial);
        StartNode { workflow: self.workflow, prompt, parent: None, depth: None, input: None }
    }

    /// A thread of `length` steps, `writer` and `reviewer` in turn.
    ///
    /// # Errors
    /// When the nodes cannot be written.
    pub fn line(&mut self, length: usize) -> Result<SeededThread> {
        let start = self.start()?;
        let mut steps: Vec<NodeHash> = Vec::with_capacity(length);
        for index in 0..length {
            let (role, next) = if index % 2 == 0 { ("writer", "reviewer") } else { ("reviewer", "writer") };
            let step = self.step(start, steps.last().copied(), role, next)?;
            steps.push(step);
        }
        Ok(SeededThread { start, steps })
    }

    /// One step as an agent of `output: text` leaves it, but for the prompt.
    ///
    /// # Errors
    /// When the nodes cannot be written.
    pub fn step(&mut self, start: NodeHash, prev: Option<NodeHash>, role: &str, next: &str) -> Result<NodeHash> {
        self.serial += 1;
        let n = self.serial;
        let raw = ContentNode { text: format!("---\nnext: {next}\nn: {n}\n---\n\n{}\n", noise(n)) };
        let raw = self.add(raw.draft())?;
        let agent = AgentNode {
            name: "texter".to_owned(),
            command: "trivial-command".to_owned(),
            args: Vec::new(),
            config: serde_json::Map::new(),
            version: None,
            model: None,
        };
        let agent = self.add(agent.draft())?;
        let meta = self.roles.roles[role].meta;
        let output =
            NodeDraft::new(meta, json!({ "next": next, "n": n })).map_err(|error| Error::Seed(error.to_string()))?;
        let output = self.add(output)?;
        let session = ReactSession {
            agent,
            role: role.to_owned(),
            turns: Vec::new(),
            raw,
            attempts: Vec::new(),
            total_tokens: None,
            tokens: None,
            duration_ms: n,
            source: "stdout".to_owned(),
            extracted_by: ExtractedBy::Frontmatter,
            session_id: None,
            extras: None,
            extraction: Vec::new(),
        };
        let detail = self.add(session.draft())?;
        self.add(StepNode { start, prev, role: role.to_owned(), output, detail, agent: "texter".to_owned() }.draft())
    }

    /// Fills the store up to a number of nodes.
    ///
    /// # Errors
    /// When the nodes cannot be written.
    pub fn fill(&mut self, nodes: usize) -> Result<()> {
        while self.nodes < nodes {
            self.serial += 1;
            self.add(ContentNode { text: format!("filling number {}", self.serial) }.draft())?;
        }
        Ok(())
    }

    /// An active thread at a node. One agent plays all roles.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn thread(&mut self, head: NodeHash, workspace: &Path, player: TrivialAgent) -> Result<ThreadId> {
        let id = ids::new_thread_id();
        let bound =
            AgentBindings { every_role: Some(AgentReference::plain(player.alias())), ..AgentBindings::default() };
        // A thread whose steps uwf made has a digest of them in its record; without one the first step would read them all.
        // No step looks at its value.
        let digest = Some(ThreadDigest::try_from("0".repeat(64))?);
        let settings = ThreadSettings {
            workspace: workspace.to_owned(),
            bound,
            begun_at: Some(head),
            digest,
            ..ThreadSettings::default()
        };
        self.home.make_thread_dir(&id)?;
        let record = self.home.record_file(&id);
        fs::write(&record, settings.text()?).map_err(Error::with_path("write", &record))?;
        self.heads.push((id.clone(), head));
        Ok(id)
    }

    /// Fills the chain cache of a thread, as reading it once does.
    ///
    /// # Errors
    /// When the thread cannot be read.
    pub fn warm(&mut self, id: &ThreadId) -> Result<()> {
        self.flush()?;
        let head = self.heads.iter().find(|(known, _)| known == id).map(|(_, head)| *head);
        let head = head.ok_or_else(|| Error::Seed(format!("thread {id} was not seeded")))?;
        Thread::load_at(self.home, id.clone(), head)?.chain()?;
        Ok(())
    }

    /// Gives a thread the chain cache of another one that it continues from.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn warm_like(&self, id: &ThreadId, other: &ThreadId) -> Result<()> {
        let (from, to) = (self.home.chain_file(other), self.home.chain_file(id));
        fs::copy(&from, &to).map_err(Error::with_path("copy", &from))?;
        Ok(())
    }

    /// Writes the index and waits for the disk.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn finish(mut self) -> Result<()> {
        self.flush()?;
        self.heads.sort();
        let mut index = String::new();
        for (id, head) in &self.heads {
            // Writing to a String never fails.
            let _ = writeln!(index, "{id}: \"{head}\"");
        }
        // A store without a thread has no index.
        if !index.is_empty() {
            let file = self.home.root().join("threads.yaml");
            fs::write(&file, index).map_err(Error::with_path("write", &file))?;
        }
        sync_disk(self.home.root())
    }

    fn add(&mut self, draft: NodeDraft) -> Result<NodeHash> {
        let hash = draft.hash();
        self.drafts.push(draft);
        self.nodes += 1;
        if self.drafts.len() >= BATCH {
            self.flush()?;
        }
        Ok(hash)
    }

    /// Puts what was not put yet.
    ///
    /// # Errors
    /// When the nodes cannot be written.
    pub fn flush(&mut self) -> Result<()> {
        let drafts = std::mem::take(&mut self.drafts);
        self.store.put_all(&drafts).map_err(|error| Error::Seed(error.to_string()))?;
        Ok(())
    }
}

/// [`PAYLOAD`] bytes that no other step has.
fn noise(seed: u64) -> String {
    const SYMBOLS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let numbers = (0_u64..).map(|index| xxh64(&[seed.to_le_bytes(), index.to_le_bytes()].concat()).as_u64());
    let symbols = numbers.flat_map(|number| (0..10).map(move |at| SYMBOLS[(number >> (6 * at)) as usize % 64]));
    symbols.take(PAYLOAD).map(char::from).collect()
}

/// Stores the workflow and all types, as `workflow put` does.
fn workflow(home: &Home) -> Result<Workflow> {
    let draft = uwf_core::workflow::check(WORKFLOW, "workflow.yaml", Some("play-roles")).draft;
    let draft = draft.ok_or_else(|| Error::Seed("the workflow has errors".to_owned()))?;
    let (_, hash) = put::store(home, draft).map_err(|error| Error::Seed(error.to_string()))?;
    nodes::workflow(home.store(), hash).map_err(|error| Error::Seed(error.to_string()))
}

/// Waits until the file system of a directory has written everything, so that nothing of the preparation is paid for
/// by what is measured.
///
/// # Errors
/// When the system refuses.
pub fn sync_disk(dir: &Path) -> Result<()> {
    let handle = fs::File::open(dir).map_err(Error::with_path("open", dir))?;
    #[cfg(target_os = "linux")]
    rustix::fs::syncfs(&handle).map_err(|errno| Error::with_path("sync", dir)(errno.into()))?;
    #[cfg(not(target_os = "linux"))]
    handle.sync_all().map_err(Error::with_path("sync", dir))?;
    Ok(())
}
