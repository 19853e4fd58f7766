//! `temporal`: where the engine is that runs steps on several machines.

use super::read::ConfigReader;
use crate::document::fields::Fields;

/// Keys of `temporal`.
pub(crate) const TEMPORAL_KEYS: [&str; 3] = ["address", "namespace", "taskQueue"];

/// Where Temporal is. Keys and certificates are in the variables of its own clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Temporal {
    /// `address`: host and port.
    pub address: String,
    /// `namespace`: `default` where none is named.
    pub namespace: Option<String>,
    /// `taskQueue`: what workers and threads find each other by.
    pub task_queue: Option<String>,
}

/// Variables that hold keys of Temporal's clients.
const SECRETS: [&str; 4] =
    ["TEMPORAL_API_KEY", "TEMPORAL_TLS_CLIENT_KEY_DATA", "TEMPORAL_TLS_CLIENT_CERT_DATA", "TEMPORAL_CODEC_AUTH"];

/// What variables begin with that are headers of each request, one of which may be a key.
const HEADERS: &str = "TEMPORAL_GRPC_META_";

/// Whether a variable may hold a key of Temporal's clients. No agent gets one that its `env` does not name.
#[must_use]
pub fn is_temporal_key(variable: &str) -> bool {
    SECRETS.contains(&variable) || variable.starts_with(HEADERS)
}

impl ConfigReader {
    /// Temporal; `None` when threads run on this machine.
    pub(super) fn temporal(&mut self, fields: Fields<'_>) -> Option<Temporal> {
        let entry = fields.get("temporal")?;
        let own = self.entry(entry, &TEMPORAL_KEYS)?;
        let address = self.required(own, entry, "address", "engine")?;
        Some(Temporal { address, namespace: self.text(own, "namespace"), task_queue: self.text(own, "taskQueue") })
    }
}
