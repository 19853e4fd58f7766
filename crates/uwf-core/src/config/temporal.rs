//! `temporal`: the Temporal server that runs steps on several machines.

use schemars::JsonSchema;
use serde::Deserialize;

use super::texts::NotBlank;

/// Where Temporal is. Keys and certificates are in the variables of its own clients.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "engine")]
pub struct TemporalConfig {
    /// `address`: host and port.
    #[schemars(with = "NotBlank")]
    pub address: String,
    /// `namespace`: `default` where none is named.
    pub namespace: Option<String>,
    /// `taskQueue`: name with which workers and threads find each other.
    pub task_queue: Option<String>,
}
