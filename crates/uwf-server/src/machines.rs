//! What a gateway knows of its machines: their tokens ([`tokens`]), which are all that it keeps, and while it runs who is
//! connected, since when, and what each said last of its threads.

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

/// How often the tokens are looked at: a machine whose token was revoked is gone after that time.
const TOKENS_EVERY: Duration = Duration::from_secs(2);

/// Most machines in the menu: it is a header of each request, too.
const MOST_IN_MENU: usize = 100;

/// A gateway.
pub(crate) struct Gateway {
    tokens: MachineTokens,
    machines: Mutex<BTreeMap<MachineName, Machine>>,
    /// Number of connections so far, which tells them apart.
    dials: AtomicU64,
    /// Number of changes so far of what machines say and of who is connected.
    changes: watch::Sender<u64>,
    /// Whether somebody asks the machines again and again for those who listen to the changes.
    is_followed: Mutex<bool>,
}

/// A machine that is connected, or was since the gateway was started.
struct Machine {
    link: Option<Link>,
    /// Number of its last connection.
    dial: u64,
    /// Unix milliseconds of its last connection or its end.
    since: u64,
    about: About,
    summary: Arc<Summary>,
}

/// What a machine says of itself when it dials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct About {
    /// Version of its program.
    pub(crate) version: String,
    /// Whether it lets nobody change anything.
    pub(crate) read_only: bool,
}

/// What a machine says of its threads.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Summary {
    /// How many there are in each state, finished ones too.
    pub(crate) counts: BTreeMap<String, u64>,
    /// Those that have not ended, newest first, as `uwf thread list` reports them.
    pub(crate) threads: Vec<Value>,
}

/// The connection of a machine.
struct Link {
    requests: SendRequest<Body>,
    farewell: oneshot::Sender<Farewell>,
    /// Hash of the token it dialled with.
    token: String,
}

/// A machine as others see it.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) name: MachineName,
    pub(crate) is_connected: bool,
    /// Unix milliseconds since when it is, or is not; `None` when it has not been since the gateway was started.
    pub(crate) since: Option<u64>,
    pub(crate) about: Option<About>,
    /// What it said last of its threads.
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
    /// A machine that has not dialled yet.
    fn never(name: MachineName) -> Seen {
        Seen { name, is_connected: false, since: None, about: None, summary: Arc::default() }
    }
}

impl Gateway {
    pub(crate) fn new(tokens: MachineTokens) -> Gateway {
        let (machines, dials, changes) = (Mutex::default(), AtomicU64::new(0), watch::Sender::default());
        Gateway { tokens, machines, dials, changes, is_followed: Mutex::default() }
    }

    /// Listens to changes of what machines say and of who is connected. The second value is whether nobody follows the machines
    /// yet, so that whoever asks has to.
    pub(crate) fn listen(&self) -> (watch::Receiver<u64>, bool) {
        let mut is_followed = self.is_followed.lock();
        let is_first = !std::mem::replace(&mut *is_followed, true);
        (self.changes.subscribe(), is_first)
    }

    /// Whether somebody listens still; if not, whoever followed the machines is to stop.
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
            // It may have ended in this moment.
            let _ = link.farewell.send(Farewell::Replaced);
        }
        self.tell();
        dial
    }

    /// Notes that a connection has ended, unless another one has taken its place.
    pub(crate) fn gone(&self, name: &MachineName, dial: u64) {
        if let Some(machine) = self.machines.lock().get_mut(name).filter(|machine| machine.dial == dial) {
            machine.link = None;
            machine.since = ids::now_ms();
            self.tell();
        }
    }

    /// The way to a machine that is connected.
    pub(crate) fn requests(&self, name: &MachineName) -> Option<SendRequest<Body>> {
        self.machines.lock().get(name)?.link.as_ref().map(|link| link.requests.clone())
    }

    /// Keeps what a machine says of its threads, to be shown when it is away.
    pub(crate) fn keep(&self, name: &MachineName, summary: Summary) {
        if let Some(machine) = self.machines.lock().get_mut(name).filter(|machine| *machine.summary != summary) {
            machine.summary = Arc::new(summary);
            self.tell();
        }
    }

    /// The machines that have a token, or had one since the gateway was started and are still connected.
    ///
    /// # Errors
    /// Those of the tokens' file.
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

    /// The first of them, for a menu.
    pub(crate) fn menu(&self) -> Vec<(MachineName, bool)> {
        let mut names = self.names();
        names.truncate(MOST_IN_MENU);
        names
    }

    /// The hash of each machine's token.
    ///
    /// # Errors
    /// Those of the file.
    pub(crate) async fn read_tokens(&self) -> Result<BTreeMap<MachineName, String>, Failure> {
        let tokens = self.tokens.clone();
        let read = tokio::task::spawn_blocking(move || tokens.all()).await.map_err(Failure::internal)?;
        let all = read.map_err(|error| Failure::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
        Ok(all.into_iter().filter_map(|(name, kept)| Some((name.parse().ok()?, kept.hash))).collect())
    }

    /// Ends the connections of machines whose token is not valid any more, until the gateway ends.
    pub(crate) async fn watch_tokens(self: Arc<Gateway>) {
        loop {
            tokio::time::sleep(TOKENS_EVERY).await;
            // As long as the file cannot be read, nobody new is let in, and who was stays.
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
