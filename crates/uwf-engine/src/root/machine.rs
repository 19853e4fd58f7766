//! What this machine is called, for others that share a store with it.

use serde::{Deserialize, Deserializer};
use uwf_core::text;

/// Variable that names the machine, where the name of the host says too little: in a container, for instance.
const MACHINE_VARIABLE: &str = "UWF_MACHINE";

/// Bytes of a name that are kept: longer ones would fill a screen.
const LONGEST_NAME: usize = 100;

/// The name of this machine. It is for people: nothing is decided by it, since two machines may have one name.
pub(crate) fn name() -> String {
    let told = std::env::var(MACHINE_VARIABLE).ok().filter(|name| !name.trim().is_empty());
    shown(&told.unwrap_or_else(|| rustix::system::uname().nodename().to_string_lossy().into_owned()))
}

/// Reads the name of a machine that another one wrote.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    String::deserialize(from).map(|name| shown(&name))
}

/// A name as it is shown and written: one line without control characters, not too long.
fn shown(name: &str) -> String {
    text::beginning(&text::one_line(name), LONGEST_NAME).to_owned()
}
