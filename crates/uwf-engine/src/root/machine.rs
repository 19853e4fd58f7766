//! The name of this machine, for others that share a store with it.

use serde::{Deserialize, Deserializer};
use uwf_core::text;

/// Variable that names the machine if the host name is not useful, for example in a container.
const MACHINE_VARIABLE: &str = "UWF_MACHINE";

/// Most bytes kept of a name: a longer name would fill a screen.
const LONGEST_NAME: usize = 100;

/// The name of this machine, for people. Nothing depends on it, because two machines may have the same name.
pub(crate) fn name() -> String {
    let given_name = std::env::var(MACHINE_VARIABLE).ok().filter(|name| !name.trim().is_empty());
    shown(&given_name.unwrap_or_else(|| rustix::system::uname().nodename().to_string_lossy().into_owned()))
}

/// Reads a machine name that another machine wrote.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    String::deserialize(from).map(|name| shown(&name))
}

/// A name to show and write: one line without control characters, not too long.
fn shown(name: &str) -> String {
    text::beginning(&text::one_line(name), LONGEST_NAME).to_owned()
}
