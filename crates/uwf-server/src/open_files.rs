//! The limit of open files. Each client is one, and the usual limit of 1,024 is reached by a few hundred people with some tabs.
//! A server raises its own as far as it may.
//!
//! What it starts gets the former limit back: a program that uses select(2) breaks with numbers above 1,023, and an agent may be
//! any program.

use std::ffi::OsString;
use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Hidden first argument of `uwf`, with the number of files it may open before it does what the others say. It is the started
/// process that goes back: a server that lowers its own limit for a moment could not open anything in that moment.
pub(crate) const ARGUMENT: &str = "__open-files";

/// What is taken where there is no upper limit: the most that Linux lets a process have unless it is told otherwise.
const MOST: u64 = 1 << 20;

/// The limit before it was raised.
static FORMER: OnceLock<u64> = OnceLock::new();

/// Raises the limit of this process as far as it may be.
pub(crate) fn raise() {
    let limit = getrlimit(Resource::Nofile);
    let Some(former) = limit.current else { return };
    let raised = Rlimit { current: Some(limit.maximum.unwrap_or(MOST).max(former)), ..limit };
    // Where it cannot be raised, fewer people can watch.
    if raised != limit && setrlimit(Resource::Nofile, raised).is_ok() {
        let _ = FORMER.set(former);
    }
}

/// What comes before the arguments of a `uwf` that this process starts.
pub(crate) fn arguments() -> Vec<String> {
    FORMER.get().map_or_else(Vec::new, |former| vec![ARGUMENT.to_owned(), former.to_string()])
}

/// Goes back to the limit that the arguments of this process begin with, and takes that away from them.
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
