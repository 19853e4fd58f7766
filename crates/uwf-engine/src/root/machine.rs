//! What other machines call this one.

/// Variable that names the machine, before its host name does.
const MACHINE_VARIABLE: &str = "UWF_MACHINE";

/// The name of this machine: what `UWF_MACHINE` says, else its host name.
pub(crate) fn machine_name() -> String {
    let named = std::env::var(MACHINE_VARIABLE).ok().filter(|name| !name.trim().is_empty());
    named.unwrap_or_else(|| rustix::system::uname().nodename().to_string_lossy().into_owned())
}
