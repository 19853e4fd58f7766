//! The gateway's data about its machines. It stores only their tokens ([`tokens`]). While it runs, it also knows which machines are
//! connected, since when, and the last report of each about its threads.

pub(crate) mod name;
pub(crate) mod tokens;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use hyper::client::conn::http2::SendRequest;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::{oneshot, watch};
use uwf_engine::root::ids;

use self::name::MachineName;
use self::tokens::MachineTokens;
use crate::failure::Failure;
use crate::tunnel::Farewell;

/// How often the tokens are checked: a revoked machine is disconnected within this time.
const TOKENS_EVERY: Duration = Duration::from_secs(2);

/// Most machines in the menu. The menu is also a header of each request.
const MOST_IN_MENU: usize = 100;

/// A gateway.
pub(crate) struct Gateway {
    tokens: MachineTokens,
    machines: Mutex<BTreeMap<MachineName, Machine>>,
    /// Number of connections so far; identifies a connection.
    dials: AtomicU64,
    /// Number of changes so far of machines' reports and connections.
    changes: watch::Sender<u64>,
    /// Whether a task follows the machines for the listening clients.
    is_followed: Mutex<bool>,
}

/// A machine that is connected, or was since the gateway started.
struct Machine {
    link: Option<Link>,
    /// Number of its last connection.
    dial: u64,
    /// Start or end of its last connection, in Unix milliseconds.
    since: u64,
    about: About,
    summary: Arc<Summary>,
}

/// Data that a machine sends about itself when it connects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct About {
    /// Version of its program.
    pub(crate) version: String,
    /// Whether it rejects all changes.
    pub(crate) read_only: bool,
}

/// A machine's report about its threads.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Summary {
    /// Number of threads in each state, including finished ones.
    pub(crate) counts: BTreeMap<String, u64>,
    /// Threads that have not ended, newest first, as `uwf thread list` reports them.
    pub(crate) threads: Vec<Value>,
}

/// The connection of a machine.
struct Link {
    requests: SendRequest<Body>,
    farewell: oneshot::Sender<Farewell>,
    /// Hash of the token it connected with.
    token: String,
}

/// A snapshot of a machine.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) name: MachineName,
    pub(crate) is_connected: bool,
    /// Start of the connection or disconnection, in Unix milliseconds; `None` if it has not connected since the gateway started.
    pub(crate) since: Option<u64>,
    pub(crate) about: Option<About>,
    /// Its last report about its threads.
    pub(crate) summary: Arc<Summary>,
}

impl Machine {
    fn seen(&self, name: &MachineName) -> Seen {
        Seen {
            name: name.clone(),
            is_connected: self.link.is_some(),
            since: Some(self.since),
            about: Some(self.about.clone()),
            summary: self.summary.clone(),
        }
    }
}

impl Seen {
    /// A machine that has not connected yet.
    fn never(name: MachineName) -> Seen {
        Seen { name, is_connected: false, since: None, about: None, summary: Arc::default() }
    }
}

impl Gateway {
    pub(crate) fn new(tokens: MachineTokens) -> Gateway {
        let (machines, dials, changes) = (Mutex::default(), AtomicU64::new(0), watch::Sender::default());
        Gateway { tokens, machines, dials, changes, is_followed: Mutex::default() }
    }

    /// Listens to changes of machines' reports and connections. The second value is true if no task follows the machines yet; then the
    /// caller must start one.
    pub(crate) fn listen(&self) -> (watch::Receiver<u64>, bool) {
        let mut is_followed = self.is_followed.lock();
        let is_first = !std::mem::replace(&mut *is_followed, true);
        (self.changes.subscribe(), is_first)
    }

    /// Whether there are still listeners. If not, the task that follows the machines must stop.
    pub(crate) fn is_listened(&self) -> bool {
        let mut is_followed = self.is_followed.lock();
        *is_followed = self.changes.receiver_count() > 0;
        *is_followed
    }

    fn tell(&self) {
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// Takes a new connection of a machine, which `farewell` ends; the one before is ended. Returns its number.
    pub(crate) fn connected(
        &self,
        name: &MachineName,
        about: About,
        token: String,
        requests: SendRequest<Body>,
        farewell: oneshot::Sender<Farewell>,
    ) -> u64 {
        let mut machines = self.machines.lock();
        let before = machines.remove(name);
        let dial = self.dials.fetch_add(1, Ordering::Relaxed);
        let summary = before.as_ref().map(|before| before.summary.clone()).unwrap_or_default();
        let link = Some(Link { requests, farewell, token });
        machines.insert(name.clone(), Machine { link, dial, since: ids::now_ms(), about, summary });
        if let Some(link) = before.and_then(|before| before.link) {
            // The previous connection may have just ended.
            let _ = link.farewell.send(Farewell::Replaced);
        }
        self.tell();
        dial
    }

    /// Records that a connection has ended, unless another one has replaced it.
    pub(crate) fn gone(&self, name: &MachineName, dial: u64) {
        if let Some(machine) = self.machines.lock().get_mut(name).filter(|machine| machine.dial == dial) {
            machine.link = None;
            machine.since = ids::now_ms();
            self.tell();
        }
    }

    /// Sends requests to a machine; `None` if it is not connected.
    pub(crate) fn requests(&self, name: &MachineName) -> Option<SendRequest<Body>> {
        self.machines.lock().get(name)?.link.as_ref().map(|link| link.requests.clone())
    }

    /// Keeps a machine's report about its threads, which is also shown while the machine is disconnected.
    pub(crate) fn keep(&self, name: &MachineName, summary: Summary) {
        if let Some(machine) = self.machines.lock().get_mut(name).filter(|machine| *machine.summary != summary) {
            machine.summary = Arc::new(summary);
            self.tell();
        }
    }

    /// The machines that have a token, and those that are still connected without one.
    ///
    /// # Errors
    /// The tokens can't be read.
    pub(crate) async fn all(self: &Arc<Gateway>) -> Result<Vec<Seen>, Failure> {
        let known = self.read_tokens().await?;
        let mut all: BTreeMap<MachineName, Seen> =
            known.into_keys().map(|name| (name.clone(), Seen::never(name))).collect();
        for (name, machine) in self.machines.lock().iter() {
            if machine.link.is_some() || all.contains_key(name) {
                all.insert(name.clone(), machine.seen(name));
            }
        }
        Ok(all.into_values().collect())
    }

    /// Names of the machines that have connected since the gateway was started, and whether they are connected.
    pub(crate) fn names(&self) -> Vec<(MachineName, bool)> {
        self.machines.lock().iter().map(|(name, machine)| (name.clone(), machine.link.is_some())).collect()
    }

    /// The first of those names, for a menu.
    pub(crate) fn menu(&self) -> Vec<(MachineName, bool)> {
        let mut names = self.names();
        names.truncate(MOST_IN_MENU);
        names
    }

    /// The hash of each machine's token.
    ///
    /// # Errors
    /// The tokens can't be read.
    pub(crate) async fn read_tokens(&self) -> Result<BTreeMap<MachineName, String>, Failure> {
        let tokens = self.tokens.clone();
        let read = tokio::task::spawn_blocking(move || tokens.all()).await.map_err(Failure::internal)?;
        let all = read.map_err(|error| Failure::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
        Ok(all.into_iter().filter_map(|(name, kept)| Some((name.parse().ok()?, kept.hash))).collect())
    }

    /// Disconnects machines whose token is no longer valid, until the gateway ends.
    pub(crate) async fn watch_tokens(self: Arc<Gateway>) {
        loop {
            tokio::time::sleep(TOKENS_EVERY).await;
            // While the file can't be read, no new machine is let in, and connected ones stay.
            let Ok(valid) = self.read_tokens().await else { continue };
            let mut machines = self.machines.lock();
            for (name, machine) in machines.iter_mut() {
                if let Some(link) = machine.link.take_if(|link| valid.get(name) != Some(&link.token)) {
                    machine.since = ids::now_ms();
                    let _ = link.farewell.send(Farewell::Revoked);
                    self.tell();
                }
            }
            machines.retain(|name, _| valid.contains_key(name));
        }
    }
}
