//! `cas_get`

use serde_json::{Map, Value};

use super::{Answer, ReactTool, ReactToolContext};
use crate::cas_get;

/// Bytes returned of a node: some 16,000 tokens.
const MAX_BYTES: usize = 64 << 10;

/// Reads a node of the store.
pub(super) const CAS_GET: ReactTool = ReactTool {
    name: cas_get::NAME,
    description: "Reads a node that an earlier step stored, by its hash of 13 symbols.",
    parameters: cas_get::parameters,
    run,
};

fn run(scene: &ReactToolContext<'_>, arguments: &Map<String, Value>) -> Answer {
    cas_get::call(scene.store, arguments, MAX_BYTES)
}
