//! The requests that a broker serves.

use std::io::BufReader;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use json_cas::{HoldGuard, NodeHash, StoreError};
use parking_lot::Mutex;

use super::bounds::AttemptAccessLimits;
use crate::attempt::recorded::{self, AttemptOpening};
use crate::attempt::redactor::{SecretRedactor, own_environment};
use crate::error::{Error, Result};
use crate::root::broker_link::wire::{self, BrokerFailure, BrokerReply, BrokerRequest};
use crate::root::env_file;
use crate::root::home::Home;

/// Most connections at a time. An agent needs one for each process of uwf that it starts.
const MAX_CONNECTIONS: usize = 64;

/// Most holds per connection.
const MAX_HOLDS: usize = 8;

/// How long a connection may hold the nodes without a request, because `gc` waits for it. New nodes are safe without
/// the hold.
const HOLD_LIMIT: Duration = Duration::from_mins(1);

/// Pause when no connection can be accepted, for example at the limit of open files.
const PAUSE: Duration = Duration::from_millis(100);

type Answer = std::result::Result<(BrokerReply, Vec<Vec<u8>>), BrokerFailure>;

/// The store, for the processes of one attempt.
pub(super) struct BrokerService {
    home: Home,
    opened: AttemptOpening,
    redactor: SecretRedactor,
    /// Computed on first use: the store is not read before.
    bounds: Mutex<Option<Arc<AttemptAccessLimits>>>,
    connections: AtomicUsize,
}

impl BrokerService {
    pub(super) fn new(home: Home, opened: AttemptOpening) -> Result<BrokerService> {
        let env_file = env_file::read(&home.env_file())?;
        let redactor = SecretRedactor::knowing(opened.secrets.clone(), &env_file, &own_environment());
        Ok(BrokerService { home, opened, redactor, bounds: Mutex::default(), connections: AtomicUsize::new(0) })
    }

    pub(super) fn home(&self) -> &Home {
        &self.home
    }

    /// Computes the attempt's access limits while its agent starts. The first request reports a failure again.
    pub(super) fn prepare(&self) {
        let _ = self.bounds();
    }

    /// Serves each connection in its own thread.
    pub(super) fn accept(self: &Arc<BrokerService>, listener: &UnixListener) {
        loop {
            match listener.accept() {
                Ok((stream, _)) => {
                    if self.connections.fetch_add(1, Ordering::SeqCst) < MAX_CONNECTIONS {
                        let serving = Arc::clone(self);
                        let served = std::thread::Builder::new().spawn(move || {
                            serving.serve(stream);
                            serving.connections.fetch_sub(1, Ordering::SeqCst);
                        });
                        if served.is_ok() {
                            continue;
                        }
                    }
                    self.connections.fetch_sub(1, Ordering::SeqCst);
                }
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    }

    fn serve(&self, stream: UnixStream) {
        let mut stream = BufReader::with_capacity(wire::BUFFER, stream);
        let mut holds = Vec::new();
        loop {
            let limit = (!holds.is_empty()).then_some(HOLD_LIMIT);
            let asked = stream.get_ref().set_read_timeout(limit).and_then(|()| wire::receive(&mut stream));
            let Ok(Some((request, parts))) = asked else { return };
            let (reply, parts) = self
                .answer(request, &parts, &mut holds)
                .unwrap_or_else(|failure| (BrokerReply::Failed(failure), Vec::new()));
            if wire::send(stream.get_mut(), &reply, &parts).is_err() {
                return;
            }
        }
    }

    fn answer(&self, request: BrokerRequest, parts: &[Vec<u8>], holds: &mut Vec<HoldGuard>) -> Answer {
        let reply = match request {
            BrokerRequest::Get { hashes } => return self.get(&hashes),
            BrokerRequest::Has { hash } => {
                self.bounds()?.check_read(&[hash])?;
                BrokerReply::Is { so: self.home.store().objects().contains(hash)? }
            }
            BrokerRequest::Put { hashes } => {
                let bounds = self.bounds()?;
                let drafts = bounds.drafts(&hashes, parts)?;
                self.home.store().put_all(&drafts)?;
                bounds.stored(&drafts);
                BrokerReply::Done
            }
            BrokerRequest::Sync { hashes } => {
                self.bounds()?.check_read(&hashes)?;
                self.home.store().objects().sync(&hashes)?;
                BrokerReply::Done
            }
            BrokerRequest::Hold if holds.len() < MAX_HOLDS => {
                holds.push(self.home.store().objects().hold()?);
                BrokerReply::Done
            }
            BrokerRequest::Hold => return Err(BrokerFailure::refused("too many holds")),
            BrokerRequest::Release => {
                holds.pop();
                BrokerReply::Done
            }
            BrokerRequest::Head => self.head()?,
            BrokerRequest::Tell => {
                recorded::update_claim(&self.home, &self.opened.thread);
                BrokerReply::Done
            }
            BrokerRequest::Redact { value } => BrokerReply::Value { value: self.redactor.value(&value) },
        };
        Ok((reply, Vec::new()))
    }

    fn get(&self, hashes: &[NodeHash]) -> Answer {
        let bounds = self.bounds()?;
        bounds.check_read(hashes)?;
        let found = self.home.store().objects().get_all(hashes)?;
        for (hash, bytes) in hashes.iter().zip(&found) {
            if let Some(bytes) = bytes {
                bounds.opened(self.home.store(), *hash, bytes);
            }
        }
        let are_there = found.iter().map(Option::is_some).collect();
        Ok((BrokerReply::Nodes { are_there }, found.into_iter().flatten().collect()))
    }

    fn head(&self) -> std::result::Result<BrokerReply, BrokerFailure> {
        let head = self.home.heads().read(self.opened.thread.as_str());
        let head = head.map_err(|error| match error {
            json_cas::HeadsError::Remote(remote) => BrokerFailure::from(StoreError::Remote(remote)),
            error => BrokerFailure::refused(error.to_string()),
        })?;
        Ok(BrokerReply::Head { head: head.map(|head| (head.hash, head.version.token().to_owned())) })
    }

    fn bounds(&self) -> std::result::Result<Arc<AttemptAccessLimits>, BrokerFailure> {
        let mut bounds = self.bounds.lock();
        if let Some(bounds) = &*bounds {
            return Ok(Arc::clone(bounds));
        }
        let made = Arc::new(AttemptAccessLimits::for_planned_attempt(&self.home, &self.opened).map_err(failure)?);
        *bounds = Some(Arc::clone(&made));
        Ok(made)
    }
}

/// A thread that cannot be read, as a failure of the store.
fn failure(error: Error) -> BrokerFailure {
    match error.source.and_then(|source| source.downcast::<StoreError>().ok()) {
        Some(source) => BrokerFailure::from(*source),
        None => BrokerFailure::refused(error.message),
    }
}
