//! The state that every request has: the storage root and its readers.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use json_cas::NodeHash;
use parking_lot::Mutex;
use uwf_engine::root::home::Home;
use uwf_engine::verbs::diff::FileSums;
use uwf_engine::views::cost::CostMemory;
use uwf_engine::views::list::ListMemory;
use uwf_engine::views::ps::RunningMemory;

use crate::command_line::CommandLine;
use crate::drawn::DrawnInbox;
use crate::failure::HttpFailure;
use crate::guard::RequestGuard;
use crate::machines::MachineGateway;
use crate::reader::RootReader;
use crate::watch::ChangeWatch;

/// The server, as far as requests need it. Cheap to clone.
#[derive(Clone)]
pub(crate) struct AppState(Arc<AppStateInner>);

struct AppStateInner {
    reader: RootReader,
    cwd: PathBuf,
    read_only: bool,
    commands: LazyLock<CommandLine>,
    door: ServerEntrance,
    gateway: Option<Arc<MachineGateway>>,
    watch: ChangeWatch,
    memory: Arc<ServerCaches>,
}

/// Caches of earlier reads. A restarted server fills them again.
#[derive(Default)]
pub(crate) struct ServerCaches {
    /// By hash, so entries never become stale.
    costs: Mutex<CostMemory>,
    /// Also by hash.
    lists: Mutex<ListMemory>,
    /// By attempt, as long as it runs.
    running: Mutex<RunningMemory>,
    /// By start and head of a thread; `None` if its files are not known.
    files: Mutex<HashMap<(NodeHash, NodeHash), Option<FileSums>>>,
    /// The last first page of each machine of a gateway, by its name.
    inboxes: Mutex<HashMap<String, DrawnInbox>>,
}

/// Most threads whose changed files are kept. Beyond that, the cache is emptied.
const FILES: usize = 2000;

impl ServerCaches {
    /// Adds up costs with the memory, or with an empty one while another request uses it, which may take long.
    pub(crate) fn with_costs<T>(&self, work: impl FnOnce(&mut CostMemory) -> T) -> T {
        with(&self.costs, work)
    }

    /// Lists with the memory, in the same way.
    pub(crate) fn with_lists<T>(&self, work: impl FnOnce(&mut ListMemory) -> T) -> T {
        with(&self.lists, work)
    }

    /// Looks at running agents with the memory. Other requests wait: a look reads little, and without the memory each would read
    /// everything again.
    pub(crate) fn with_running<T>(&self, work: impl FnOnce(&mut RunningMemory) -> T) -> T {
        work(&mut self.running.lock())
    }
}

impl ServerCaches {
    /// Keeps the first page of a machine.
    pub(crate) fn keep_inbox(&self, machine: &str, inbox: DrawnInbox) {
        self.inboxes.lock().insert(machine.to_owned(), inbox);
    }

    /// The last known first page of a machine.
    pub(crate) fn last_inbox(&self, machine: &str) -> Option<DrawnInbox> {
        self.inboxes.lock().get(machine).cloned()
    }

    /// The changed files between the start and the head of a thread; `read` asks git.
    pub(crate) fn with_files(
        &self,
        key: (NodeHash, NodeHash),
        read: impl FnOnce() -> Option<FileSums>,
    ) -> Option<FileSums> {
        if let Some(known) = self.files.lock().get(&key) {
            return *known;
        }
        let sums = read();
        let mut files = self.files.lock();
        if files.len() >= FILES {
            files.clear();
        }
        files.insert(key, sums);
        sums
    }
}

fn with<M: Default, T>(memory: &Mutex<M>, work: impl FnOnce(&mut M) -> T) -> T {
    match memory.try_lock() {
        Some(mut memory) => work(&mut memory),
        None => work(&mut M::default()),
    }
}

/// The way in which requests arrive.
pub(crate) enum ServerEntrance {
    /// An address that is open to all clients.
    Guarded(Box<RequestGuard>),
    /// The tunnel of a gateway, which has checked its secret; or a command of a user with access to the storage root.
    Inside,
}

impl AppState {
    /// A server over a storage root. Commands are started by its program in `cwd`.
    pub(crate) fn new(
        home: &Home,
        cwd: &Path,
        read_only: bool,
        commands: fn() -> CommandLine,
        door: ServerEntrance,
        gateway: Option<Arc<MachineGateway>>,
    ) -> AppState {
        let (cwd, reader) = (cwd.to_owned(), RootReader::for_root(home));
        let watch = ChangeWatch::without_clients(reader.clone());
        AppState(Arc::new(AppStateInner {
            reader,
            cwd,
            read_only,
            commands: LazyLock::new(commands),
            door,
            gateway,
            watch,
            memory: Arc::default(),
        }))
    }

    /// The storage root.
    pub(crate) fn root(&self) -> &Path {
        self.0.reader.root()
    }

    /// The `uwf` program.
    pub(crate) fn bin(&self) -> &Path {
        self.0.reader.bin()
    }

    /// The directory the server was started in: names of workflows are looked up as they are there.
    pub(crate) fn cwd(&self) -> &Path {
        &self.0.cwd
    }

    /// Whether nothing can be changed through this server.
    pub(crate) fn is_read_only(&self) -> bool {
        self.0.read_only
    }

    /// The commands, as their help describes them.
    pub(crate) fn commands(&self) -> &CommandLine {
        &self.0.commands
    }

    /// Who is let in; `None` behind a gateway, which knows.
    pub(crate) fn guard(&self) -> Option<&RequestGuard> {
        match &self.0.door {
            ServerEntrance::Guarded(guard) => Some(guard),
            ServerEntrance::Inside => None,
        }
    }

    /// The machines that are reached through this server, if it is a gateway.
    pub(crate) fn gateway(&self) -> Option<&Arc<MachineGateway>> {
        self.0.gateway.as_ref()
    }

    /// The streams that clients listen to.
    pub(crate) fn watch(&self) -> &ChangeWatch {
        &self.0.watch
    }

    /// Caches of earlier reads.
    pub(crate) fn memory(&self) -> Arc<ServerCaches> {
        Arc::clone(&self.0.memory)
    }

    /// Reads the storage root on a thread that may wait for files.
    pub(crate) async fn read<T, W>(&self, work: W) -> Result<T, HttpFailure>
    where
        T: Send + 'static,
        W: FnOnce(&Home) -> Result<T, HttpFailure> + Send + 'static,
    {
        self.0.reader.read(work).await
    }
}
