//! Each system call by which a process of uwf's own learns something, failing once and from then on.
//!
//! What cannot be read is not guessed: the command fails as documented, and nothing is thrown away.

use crate::campaign::Campaign;
use crate::fault;
use crate::scenario::{Scenario, campaigns};
use crate::strace::{self, Effect, Place, Target};

fn campaign(scenario: &'static Scenario) {
    Campaign { name: "unread", calls: strace::READING, effects, case: fault::case }.run(scenario);
}

/// What a call can fail with.
fn effects(place: &Place) -> Vec<Effect> {
    // Reads of agents' programs and of git don't count.
    if matches!(place.target, Target::Everything | Target::Git | Target::GitWithCommand) {
        return Vec::new();
    }
    let (once, lasting): (&[&str], &[&str]) = match place.call.as_str() {
        "read" | "pread64" => (&["EIO", "EINTR"], &["EIO"]),
        "getdents" | "getdents64" => (&["EIO", "EACCES"], &["EIO"]),
        "pipe2" => (&["EMFILE"], &["EMFILE"]),
        "fcntl" => (&["EMFILE"], &[]),
        _ => (&["EIO", "EACCES"], &["EIO", "EACCES"]),
    };
    let once = once.iter().map(|error| Effect::Once(error));
    once.chain(lasting.iter().map(|error| Effect::FromThenOn(error))).collect()
}

campaigns!(campaign);
