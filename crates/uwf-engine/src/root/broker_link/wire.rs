//! Messages between an agent's process and the broker.
//!
//! A message is a JSON header followed by the bytes of nodes. The length of the header, the number of parts and the
//! length of each part are 4-byte little-endian numbers.

use std::io::{self, BufRead, BufWriter, ErrorKind, Read, Write};

use json_cas::{NodeHash, RemoteError, RemoteFault, StoreError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Most bytes of a header: it may contain an agent's text that is to be redacted.
const MAX_HEAD: u32 = 256 << 20;

/// Bytes read and written at once.
pub(crate) const BUFFER: usize = 64 << 10;

/// Most parts of a message.
const MAX_PARTS: u32 = 100_000;

/// A request to the broker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum BrokerRequest {
    /// Read nodes. The parts are the bytes of the existing nodes, in this order.
    Get { hashes: Vec<NodeHash> },
    /// Check whether a node exists.
    Has { hash: NodeHash },
    /// Store nodes; the parts are their bytes.
    Put { hashes: Vec<NodeHash> },
    /// Make existing nodes durable.
    Sync { hashes: Vec<NodeHash> },
    /// Keep all nodes from being removed until [`BrokerRequest::Release`] or the end of the connection.
    Hold,
    /// End the newest hold.
    Release,
    /// Read the head of the attempt's thread.
    Head,
    /// Notify other machines of news in the attempt's record.
    Tell,
    /// Redact secrets in a value.
    Redact { value: Value },
}

/// A reply of the broker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum BrokerReply {
    /// Which of the nodes exist; their bytes are the parts.
    Nodes { are_there: Vec<bool> },
    /// Yes or no.
    Is { so: bool },
    /// The request succeeded.
    Done,
    /// Hash and version of a head, if there is one.
    Head { head: Option<(NodeHash, String)> },
    /// A value.
    Value { value: Value },
    /// The request failed.
    Failed(BrokerFailure),
}

/// Why a request failed.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BrokerFailure {
    kind: FailureKind,
    message: String,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum FailureKind {
    /// A node is missing.
    NotFound(NodeHash),
    /// A node is damaged.
    Corrupt(NodeHash),
    /// Another node is stored under the hash.
    Collision(NodeHash),
    /// The store has this fault; the number is its position in [`FAULTS`].
    Fault(usize),
}

/// Faults of a store, by the number that is sent.
const FAULTS: [RemoteFault; 11] = [
    RemoteFault::Unreachable,
    RemoteFault::Failed,
    RemoteFault::Denied,
    RemoteFault::Missing,
    RemoteFault::NotReady,
    RemoteFault::Incomplete,
    RemoteFault::Newer,
    RemoteFault::Foreign,
    RemoteFault::Misnamed,
    RemoteFault::Unfit,
    RemoteFault::Refused,
];

impl BrokerFailure {
    /// A request that the broker rejects for an agent.
    pub(crate) fn refused(why: impl Into<String>) -> BrokerFailure {
        BrokerFailure::fault(RemoteFault::Refused, why.into())
    }

    fn fault(fault: RemoteFault, message: String) -> BrokerFailure {
        let position = FAULTS.iter().position(|known| *known == fault).unwrap_or_default();
        BrokerFailure { kind: FailureKind::Fault(position), message }
    }

    /// The failure as an error of the agent process's store.
    pub(crate) fn error(self, store: &str) -> StoreError {
        match self.kind {
            FailureKind::NotFound(hash) => StoreError::NotFound { hash },
            FailureKind::Corrupt(hash) => StoreError::Corrupt { hash, reason: self.message },
            FailureKind::Collision(hash) => StoreError::Collision { hash },
            FailureKind::Fault(position) => {
                let fault = FAULTS.get(position).copied().unwrap_or(RemoteFault::Failed);
                RemoteError { store: store.to_owned(), fault, message: self.message, source: None }.into()
            }
        }
    }
}

impl From<StoreError> for BrokerFailure {
    fn from(error: StoreError) -> BrokerFailure {
        let message = error.to_string();
        match error {
            StoreError::NotFound { hash } => BrokerFailure { kind: FailureKind::NotFound(hash), message },
            StoreError::Corrupt { hash, reason } => BrokerFailure { kind: FailureKind::Corrupt(hash), message: reason },
            StoreError::Collision { hash } => BrokerFailure { kind: FailureKind::Collision(hash), message },
            StoreError::Remote(remote) => BrokerFailure::fault(remote.fault, remote.message),
            StoreError::Busy { .. } => BrokerFailure::fault(RemoteFault::Unreachable, message),
            error if error.is_of_the_moment() => BrokerFailure::fault(RemoteFault::Failed, message),
            _ => BrokerFailure::refused(message),
        }
    }
}

/// Writes a message.
pub(crate) fn send(to: &mut impl Write, head: &impl Serialize, parts: &[Vec<u8>]) -> io::Result<()> {
    let head = serde_json::to_vec(head)?;
    // Most messages are small and need a single write.
    let mut to = BufWriter::with_capacity(BUFFER, to);
    to.write_all(&length(head.len())?)?;
    to.write_all(&length(parts.len())?)?;
    to.write_all(&head)?;
    for part in parts {
        to.write_all(&length(part.len())?)?;
        to.write_all(part)?;
    }
    to.flush()
}

/// Reads a message; `None` when the other side has closed the connection.
///
/// # Errors
/// Errors of the connection; `InvalidData` for malformed messages.
pub(crate) fn receive<H: DeserializeOwned>(from: &mut impl BufRead) -> io::Result<Option<(H, Vec<Vec<u8>>)>> {
    let Some(head) = number(from)? else { return Ok(None) };
    let parts = number(from)?.ok_or(ErrorKind::UnexpectedEof)?;
    if head > MAX_HEAD || parts > MAX_PARTS {
        return Err(ErrorKind::InvalidData.into());
    }
    let head = serde_json::from_slice(&bytes(from, head)?)?;
    let part = |_| {
        let length = number(from)?.ok_or(ErrorKind::UnexpectedEof)?;
        bytes(from, length)
    };
    let parts = (0..parts).map(part).collect::<io::Result<_>>()?;
    Ok(Some((head, parts)))
}

fn length(length: usize) -> io::Result<[u8; 4]> {
    u32::try_from(length).map(u32::to_le_bytes).map_err(|_| ErrorKind::FileTooLarge.into())
}

fn number(from: &mut impl BufRead) -> io::Result<Option<u32>> {
    if from.fill_buf()?.is_empty() {
        return Ok(None);
    }
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes)?;
    Ok(Some(u32::from_le_bytes(bytes)))
}

/// Reads this many bytes. Allocates memory as they arrive, not for the announced length.
fn bytes(from: &mut impl BufRead, length: u32) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(BUFFER.min(length as usize));
    from.take(u64::from(length)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == u64::from(length) { Ok(bytes) } else { Err(ErrorKind::UnexpectedEof.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        let hash = NodeHash::from_u64(7);
        let mut written = Vec::new();
        send(&mut written, &BrokerRequest::Put { hashes: vec![hash] }, &[b"abc".to_vec()]).unwrap();
        send(&mut written, &BrokerRequest::Hold, &[]).unwrap();
        let mut from = written.as_slice();
        let (first, parts) = receive::<BrokerRequest>(&mut from).unwrap().unwrap();
        assert!(matches!(first, BrokerRequest::Put { hashes } if hashes == [hash]));
        assert_eq!(parts, [b"abc".to_vec()]);
        assert!(
            matches!(receive::<BrokerRequest>(&mut from), Ok(Some((BrokerRequest::Hold, parts))) if parts.is_empty())
        );
        assert!(receive::<BrokerRequest>(&mut from).unwrap().is_none());
    }

    #[test]
    fn invalid_messages_allocate_no_memory() {
        for broken in [&b"\xff\xff\xff\xff\x00\x00\x00\x00"[..], b"\x02\x00\x00\x00\xff\xff\xff\xff{}", b"\x02\x00"] {
            assert!(receive::<Value>(&mut &*broken).is_err(), "{broken:?}");
        }
        let unfinished =
            [&2u32.to_le_bytes()[..], &1u32.to_le_bytes(), b"{}", &u32::MAX.to_le_bytes(), b"abc"].concat();
        assert!(receive::<Value>(&mut unfinished.as_slice()).is_err());
    }

    #[test]
    fn store_fault_survives_transport() {
        for fault in FAULTS {
            let error = RemoteError { store: "s3://a".to_owned(), fault, message: "why".to_owned(), source: None };
            let arrived = BrokerFailure::from(StoreError::from(error)).error("s3://a");
            assert!(matches!(arrived, StoreError::Remote(remote) if remote.fault == fault && remote.message == "why"));
        }
    }
}
