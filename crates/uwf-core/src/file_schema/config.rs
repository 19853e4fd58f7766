//! The schema of config.yaml.

use serde_json::Value;

use super::{file, for_editors};
use crate::config;

/// JSON Schema of config.yaml, without descriptions of its keys.
#[must_use]
pub fn config() -> Value {
    file("config.yaml of uwf", for_editors(config::schema().clone()))
}
