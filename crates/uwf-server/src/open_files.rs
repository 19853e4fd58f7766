//! The limit of open files. Each client uses one, so a few hundred people with several tabs reach the usual limit of 1,024. A server raises
//! its own limit as far as allowed.
//!
//! Child processes get the former limit back, because a program that uses select(2) breaks with file numbers above 1,023, and an agent may
//! be any program.

use std::ffi::OsString;
use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use uwf_platform::host;

/// Hidden first argument of `uwf`; the limit of open files follows. The child process lowers its own limit: if the server lowered its limit
/// for a moment, it could not open files in that moment.
pub(crate) const ARGUMENT: &str = "__open-files";

/// The limit before it was raised.
static FORMER: OnceLock<u64> = OnceLock::new();

/// Raises the limit of this process as far as allowed.
pub(crate) fn raise() {
    let limit = getrlimit(Resource::Nofile);
    let Some(former) = limit.current else { return };
    let raised = Rlimit { current: Some(host().most_open_files(limit.maximum).max(former)), ..limit };
    // If this fails, the server still works, for fewer clients.
    if raised != limit && setrlimit(Resource::Nofile, raised).is_ok() {
        let _ = FORMER.set(former);
    }
}

/// Arguments to put before those of a `uwf` child process.
pub(crate) fn arguments() -> Vec<String> {
    FORMER.get().map_or_else(Vec::new, |former| vec![ARGUMENT.to_owned(), former.to_string()])
}

/// Restores the limit that the arguments of this process begin with, and returns the other arguments.
pub fn give_back_open_files(mut args: Vec<OsString>) -> Vec<OsString> {
    if args.get(1).is_some_and(|arg| arg == ARGUMENT) {
        let former = args.get(2).and_then(|former| former.to_str()?.parse().ok());
        args.drain(1..args.len().min(3));
        let limit = getrlimit(Resource::Nofile);
        // Lowering it is always allowed.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: former.or(limit.current), ..limit });
    }
    args
}
