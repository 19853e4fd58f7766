//! The store for an agent's process, through the socket of the attempt's broker, which has the keys.

pub(crate) mod wire;

use std::io::{self, BufReader};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use json_cas::{
    HashPrefix, Head, HeadBackend, HeadsError, HoldGuard, NameVersion, NodeHash, ObjectBackend, ObjectMetadata,
    ObjectPutOutcome, RemoteError, RemoteFault, StoreError, SwapOutcome, SweepGuard,
};
use parking_lot::Mutex;
use serde_json::Value;
use uwf_platform::{ShortDirectory, host};

use self::wire::{BrokerFailure, BrokerReply, BrokerRequest};

/// Longest socket path that works on every system.
const MAX_PATH: usize = 100;

/// The error for an operation that a broker has no request for.
const NOT_FOR_AGENTS: &str = "this is not done for the process of an agent";

/// Bytes of nodes sent in one message, unless a single node is larger.
const BATCH: usize = 64 << 20;

/// The connection to the broker of an attempt, opened on first use.
#[derive(Debug)]
pub(crate) struct BrokerLink {
    thread: String,
    store: String,
    socket: PathBuf,
    connection: Mutex<Option<BufReader<UnixStream>>>,
}

/// A path short enough for a socket, and the directory that it needs.
pub(crate) struct ShortPath {
    pub(crate) path: PathBuf,
    _dir: Option<ShortDirectory>,
}

/// A short path to a socket.
///
/// # Errors
/// When its directory cannot be opened.
pub(crate) fn reachable(socket: &Path) -> io::Result<ShortPath> {
    let (Some(dir), Some(name)) = (socket.parent(), socket.file_name()) else {
        return Err(io::ErrorKind::NotFound.into());
    };
    if socket.as_os_str().len() <= MAX_PATH {
        return Ok(ShortPath { path: socket.to_owned(), _dir: None });
    }
    let dir = host().short_directory(dir)?;
    Ok(ShortPath { path: dir.path().join(name), _dir: Some(dir) })
}

impl BrokerLink {
    pub(crate) fn new(thread: &str, store: &str, socket: PathBuf) -> BrokerLink {
        BrokerLink { thread: thread.to_owned(), store: store.to_owned(), socket, connection: Mutex::new(None) }
    }

    /// Notifies the broker that the attempt's record has news for other machines.
    pub(crate) fn announce_news(&self) {
        // If this fails, other machines wait for the lease, as they do when the store is unreachable.
        let _ = self.ask(&BrokerRequest::Tell, &[]);
    }

    /// A value redacted with the secrets that the broker knows; `None` when it does not answer.
    pub(crate) fn redacted(&self, value: &Value) -> Option<Value> {
        match self.ask(&BrokerRequest::Redact { value: value.clone() }, &[]) {
            Ok((BrokerReply::Value { value }, _)) => Some(value),
            _ => None,
        }
    }

    fn ask(&self, request: &BrokerRequest, parts: &[Vec<u8>]) -> Result<(BrokerReply, Vec<Vec<u8>>), StoreError> {
        let mut connection = self.connection.lock();
        let mut said = || -> io::Result<(BrokerReply, Vec<Vec<u8>>)> {
            let stream = match &mut *connection {
                Some(stream) => stream,
                none => {
                    let connected = UnixStream::connect(&reachable(&self.socket)?.path)?;
                    none.insert(BufReader::with_capacity(wire::BUFFER, connected))
                }
            };
            wire::send(stream.get_mut(), request, parts)?;
            wire::receive(stream)?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
        };
        match said() {
            Ok((BrokerReply::Failed(failure), _)) => Err(failure.error(&self.store)),
            Ok(answer) => Ok(answer),
            Err(source) => {
                // A connection that broke within a message is not usable.
                *connection = None;
                Err(self.unreachable(&source))
            }
        }
    }

    fn unreachable(&self, source: &io::Error) -> StoreError {
        let message = format!("the process that holds it for this attempt does not answer: {source}");
        RemoteError { store: self.store.clone(), fault: RemoteFault::Unreachable, message, source: None }.into()
    }

    fn refused<T>(&self) -> Result<T, StoreError> {
        Err(BrokerFailure::refused(NOT_FOR_AGENTS).error(&self.store))
    }

    fn refused_head<T>(&self) -> Result<T, HeadsError> {
        let message = NOT_FOR_AGENTS.to_owned();
        Err(RemoteError { store: self.store.clone(), fault: RemoteFault::Refused, message, source: None }.into())
    }

    fn odd<T>(&self) -> Result<T, StoreError> {
        Err(self.unreachable(&io::ErrorKind::InvalidData.into()))
    }

    fn is_so(&self, request: &BrokerRequest) -> Result<bool, StoreError> {
        match self.ask(request, &[])?.0 {
            BrokerReply::Is { so } => Ok(so),
            _ => self.odd(),
        }
    }

    fn put(&self, objects: &[(NodeHash, Vec<u8>)]) -> Result<(), StoreError> {
        let mut left = objects;
        while !left.is_empty() {
            let mut size = 0;
            let fits = |(_, bytes): &&(NodeHash, Vec<u8>)| {
                size += bytes.len();
                size <= BATCH
            };
            let (batch, rest) = left.split_at(left.iter().take_while(fits).count().max(1));
            let hashes = batch.iter().map(|(hash, _)| *hash).collect();
            let parts: Vec<Vec<u8>> = batch.iter().map(|(_, bytes)| bytes.clone()).collect();
            self.ask(&BrokerRequest::Put { hashes }, &parts)?;
            left = rest;
        }
        Ok(())
    }
}

/// Releases a hold at the broker when dropped.
struct BrokerHold(Arc<BrokerLink>);

impl Drop for BrokerHold {
    fn drop(&mut self) {
        // Without a connection, the hold has already ended.
        let _ = self.0.ask(&BrokerRequest::Release, &[]);
    }
}

/// The nodes and the head of the attempt's own thread, through the broker.
pub(crate) struct BrokerStore(pub(crate) Arc<BrokerLink>);

impl ObjectBackend for BrokerStore {
    fn get(&self, hash: NodeHash) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.get_all(&[hash])?.pop().flatten())
    }

    fn get_all(&self, hashes: &[NodeHash]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        let (reply, parts) = self.0.ask(&BrokerRequest::Get { hashes: hashes.to_vec() }, &[])?;
        let BrokerReply::Nodes { are_there } = reply else { return self.0.odd() };
        let mut parts = parts.into_iter();
        Ok(are_there.into_iter().map(|is_there| if is_there { parts.next() } else { None }).collect())
    }

    fn contains(&self, hash: NodeHash) -> Result<bool, StoreError> {
        self.0.is_so(&BrokerRequest::Has { hash })
    }

    fn put_all(&self, objects: &[(NodeHash, Vec<u8>)]) -> Result<Vec<ObjectPutOutcome>, StoreError> {
        self.0.put(objects)?;
        // The broker has compared existing nodes.
        Ok(vec![ObjectPutOutcome::Published; objects.len()])
    }

    fn is_far(&self) -> bool {
        true
    }

    fn replace(&self, hash: NodeHash, bytes: &[u8]) -> Result<(), StoreError> {
        self.0.put(&[(hash, bytes.to_vec())])
    }

    fn sync(&self, hashes: &[NodeHash]) -> Result<(), StoreError> {
        self.0.ask(&BrokerRequest::Sync { hashes: hashes.to_vec() }, &[]).map(drop)
    }

    fn list(&self, _: Option<&HashPrefix>) -> Result<Vec<NodeHash>, StoreError> {
        self.0.refused()
    }

    fn stored(&self, _: NodeHash) -> Result<Option<ObjectMetadata>, StoreError> {
        self.0.refused()
    }

    fn refresh(&self, _: NodeHash) -> Result<bool, StoreError> {
        self.0.refused()
    }

    fn hold(&self) -> Result<HoldGuard, StoreError> {
        self.0.ask(&BrokerRequest::Hold, &[])?;
        Ok(HoldGuard::new(BrokerHold(Arc::clone(&self.0))))
    }

    fn sweep(&self) -> Result<SweepGuard, StoreError> {
        self.0.refused()
    }

    fn remove_all(&self, _: &SweepGuard, _: &[&[NodeHash]]) -> Result<Vec<bool>, StoreError> {
        self.0.refused()
    }
}

impl HeadBackend for BrokerStore {
    fn read(&self, name: &str) -> Result<Option<Head>, HeadsError> {
        if name != self.0.thread {
            return self.0.refused_head();
        }
        match self.0.ask(&BrokerRequest::Head, &[]) {
            Ok((BrokerReply::Head { head }, _)) => {
                Ok(head.map(|(hash, version)| Head { hash, version: NameVersion::new(version) }))
            }
            Err(StoreError::Remote(remote)) => Err(remote.into()),
            _ => self.0.refused_head(),
        }
    }

    fn list(&self) -> Result<Vec<(String, NodeHash)>, HeadsError> {
        self.0.refused_head()
    }

    fn create(&self, _: &str, _: NodeHash) -> Result<SwapOutcome, HeadsError> {
        self.0.refused_head()
    }

    fn swap(&self, _: &str, _: &NameVersion, _: NodeHash) -> Result<SwapOutcome, HeadsError> {
        self.0.refused_head()
    }

    fn remove(&self, _: &str, _: &NameVersion, _: &Value) -> Result<SwapOutcome, HeadsError> {
        self.0.refused_head()
    }
}
