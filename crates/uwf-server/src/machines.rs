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
use crate::failure::HttpFailure;
use crate::tunnel::TunnelFarewell;

/// How often the tokens are checked: a revoked machine is disconnected within this time.
const TOKENS_EVERY: Duration = Duration::from_secs(2);

/// Most machines in the menu. The menu is also a header of each request.
const MOST_IN_MENU: usize = 100;

/// A gateway.
pub(crate) struct MachineGateway {
    tokens: MachineTokens,
    machines: Mutex<BTreeMap<MachineName, MachineEntry>>,
    /// Number of connections so far; identifies a connection.
    dials: AtomicU64,
    /// Number of changes so far of machines' reports and connections.
    changes: watch::Sender<u64>,
    /// Whether a task follows the machines for the listening clients.
    is_followed: Mutex<bool>,
}

/// A machine that is connected, or was since the gateway started.
struct MachineEntry {
    link: Option<MachineLink>,
    /// Number of its last connection.
    dial: u64,
    /// Start or end of its last connection, in Unix milliseconds.
    since: u64,
    about: MachineProfile,
    summary: Arc<MachineSummary>,
}

/// Data that a machine sends about itself when it connects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MachineProfile {
    /// Version of its program.
    pub(crate) version: String,
    /// Whether it rejects all changes.
    pub(crate) read_only: bool,
}

/// A machine's report about its threads.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct MachineSummary {
    /// Number of threads in each state, including finished ones.
    pub(crate) counts: BTreeMap<String, u64>,
    /// Number of threads that its list of each state shows, without the branches of groups. An older machine does not send it.
    #[serde(default)]
    pub(crate) shown: BTreeMap<String, u64>,
    /// Threads that have not ended, newest first, as `uwf thread list` reports them.
    pub(crate) threads: Vec<Value>,
}

/// The connection of a machine.
struct MachineLink {
    requests: SendRequest<Body>,
    farewell: oneshot::Sender<TunnelFarewell>,
    /// Hash of the token it connected with.
    token: String,
}

/// A snapshot of a machine.
#[derive(Debug, Clone)]
pub(crate) struct MachineSnapshot {
    pub(crate) name: MachineName,
    pub(crate) is_connected: bool,
    /// Start of the connection or disconnection, in Unix milliseconds; `None` if it has not connected since the gateway started.
    pub(crate) since: Option<u64>,
    pub(crate) about: Option<MachineProfile>,
    /// Its last report about its threads.
    pub(crate) summary: Arc<MachineSummary>,
}

impl MachineEntry {
    fn seen(&self, name: &MachineName) -> MachineSnapshot {
        MachineSnapshot {
            name: name.clone(),
            is_connected: self.link.is_some(),
            since: Some(self.since),
            about: Some(self.about.clone()),
            summary: self.summary.clone(),
        }
    }
}

impl MachineSnapshot {
    /// A machine that has not connected yet.
    fn never(name: MachineName) -> MachineSnapshot {
        MachineSnapshot { name, is_connected: false, since: None, about: None, summary: Arc::default() }
    }
}

impl MachineGateway {
    pub(crate) fn new(tokens: MachineTokens) -> MachineGateway {
        let (machines, dials, changes) = (Mutex::default(), AtomicU64::new(0), watch::Sender::default());
        MachineGateway { tokens, machines, dials, changes, is_followed: Mutex::default() }
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

    fn announce_change(&self) {
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// Takes a new connection of a machine, which `farewell` ends; the one before is ended. Returns its number.
    pub(crate) fn connected(
        &self,
        name: &MachineName,
        about: MachineProfile,
        token: String,
        requests: SendRequest<Body>,
        farewell: oneshot::Sender<TunnelFarewell>,
    ) -> u64 {
        let mut machines = self.machines.lock();
        let before = machines.remove(name);
        let dial = self.dials.fetch_add(1, Ordering::Relaxed);
        let summary = before.as_ref().map(|before| before.summary.clone()).unwrap_or_default();
        let link = Some(MachineLink { requests, farewell, token });
        machines.insert(name.clone(), MachineEntry { link, dial, since: ids::now_ms(), about, summary });
        if let Some(link) = before.and_then(|before| before.link) {
            // The previous connection may have just ended.
            let _ = link.farewell.send(TunnelFarewell::Replaced);
        }
        self.announce_change();
        dial
    }

    /// Records that a connection has ended, unless another one has replaced it.
    pub(crate) fn gone(&self, name: &MachineName, dial: u64) {
        if let Some(machine) = self.machines.lock().get_mut(name).filter(|machine| machine.dial == dial) {
            machine.link = None;
            machine.since = ids::now_ms();
            self.announce_change();
        }
    }

    /// Sends requests to a machine; `None` if it is not connected.
    pub(crate) fn requests(&self, name: &MachineName) -> Option<SendRequest<Body>> {
        self.machines.lock().get(name)?.link.as_ref().map(|link| link.requests.clone())
    }

    /// Keeps a machine's report about its threads, which is also shown while the machine is disconnected.
    pub(crate) fn keep(&self, name: &MachineName, summary: MachineSummary) {
        if let Some(machine) = self.machines.lock().get_mut(name).filter(|machine| *machine.summary != summary) {
            machine.summary = Arc::new(summary);
            self.announce_change();
        }
    }

    /// The machines that have a token, and those that are still connected without one.
    pub(crate) async fn all(self: &Arc<MachineGateway>) -> Result<Vec<MachineSnapshot>, HttpFailure> {
        let known = self.read_tokens().await?;
        let mut all: BTreeMap<MachineName, MachineSnapshot> =
            known.into_keys().map(|name| (name.clone(), MachineSnapshot::never(name))).collect();
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
    pub(crate) async fn read_tokens(&self) -> Result<BTreeMap<MachineName, String>, HttpFailure> {
        let tokens = self.tokens.clone();
        let read = tokio::task::spawn_blocking(move || tokens.all()).await.map_err(HttpFailure::internal)?;
        let all = read.map_err(|error| HttpFailure::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
        Ok(all.into_iter().filter_map(|(name, kept)| Some((name.parse().ok()?, kept.hash))).collect())
    }

    /// Disconnects machines whose token is no longer valid, until the gateway ends.
    pub(crate) async fn watch_tokens(self: Arc<MachineGateway>) {
        loop {
            tokio::time::sleep(TOKENS_EVERY).await;
            // While the file can't be read, no new machine is let in, and connected ones stay.
            let Ok(valid) = self.read_tokens().await else { continue };
            let mut machines = self.machines.lock();
            for (name, machine) in machines.iter_mut() {
                if let Some(link) = machine.link.take_if(|link| valid.get(name) != Some(&link.token)) {
                    machine.since = ids::now_ms();
                    let _ = link.farewell.send(TunnelFarewell::Revoked);
                    self.announce_change();
                }
            }
            machines.retain(|name, _| valid.contains_key(name));
        }
    }
}
