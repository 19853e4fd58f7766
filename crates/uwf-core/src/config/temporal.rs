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

impl ConfigReader {
    /// Temporal; `None` when threads run on this machine.
    pub(super) fn temporal(&mut self, fields: Fields<'_>) -> Option<Temporal> {
        let entry = fields.get("temporal")?;
        let own = self.entry(entry, &TEMPORAL_KEYS)?;
        let address = self.required(own, entry, "address", "engine")?;
        Some(Temporal { address, namespace: self.text(own, "namespace"), task_queue: self.text(own, "taskQueue") })
    }
}
