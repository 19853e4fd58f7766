//! `cas_get`

use serde_json::{Map, Value};

use super::{Answer, Scene, Tool};
use crate::cas_get;

/// Bytes of a node that are told: some 16,000 tokens.
const MAX_BYTES: usize = 64 << 10;

/// Reads a node of the store.
pub(super) struct CasGet;

impl Tool for CasGet {
    fn name(&self) -> &'static str {
        cas_get::NAME
    }

    fn description(&self) -> &'static str {
        "Reads a node of the store by its hash of 13 symbols: what earlier steps put there."
    }

    fn parameters(&self) -> Value {
        cas_get::parameters()
    }

    fn run(&self, scene: &Scene<'_>, arguments: &Map<String, Value>) -> Answer {
        cas_get::call(scene.store, arguments, MAX_BYTES)
    }
}
