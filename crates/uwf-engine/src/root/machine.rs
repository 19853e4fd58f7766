//! What this machine is called, for others that share a store with it.

/// Variable that names the machine, where the name of the host says too little: in a container, for instance.
const MACHINE_VARIABLE: &str = "UWF_MACHINE";

/// The name of this machine. It is for people: nothing is decided by it, since two machines may have one name.
pub(crate) fn name() -> String {
    let told = std::env::var(MACHINE_VARIABLE).ok().filter(|name| !name.trim().is_empty());
    told.unwrap_or_else(|| rustix::system::uname().nodename().to_string_lossy().into_owned())
}
