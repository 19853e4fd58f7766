//! Each system call by which a process of uwf's own learns something, failing once and from then on.
//!
//! What cannot be read is not guessed: the command fails as documented, and nothing is thrown away.

use crate::campaign::Campaign;
use crate::fault;
use crate::scenario::{self, Scenario};
use crate::strace::{self, Effect, Place, Target};

fn campaign(scenario: &'static Scenario) {
    Campaign { name: "unread", calls: strace::READING, effects, case: fault::case }.run(scenario);
}

/// What a call can fail with.
fn effects(place: &Place) -> Vec<Effect> {
    // What an agent's program reads is its own affair.
    if place.target == Target::Everything {
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

macro_rules! campaigns {
    ($($name:ident: $scenario:ident,)+) => {
        $(#[test] fn $name() { campaign(&scenario::$scenario); })+
    };
}

campaigns! {
    workflow_put_first: PUT_FIRST,
    workflow_put: PUT,
    workflow_rm: WORKFLOW_RM,
    workflow_rollback: ROLLBACK,
    thread_start: START,
    thread_step_json: STEP_JSON,
    thread_step_text: STEP_TEXT,
    thread_step_submit: SUBMITTED,
    thread_step_named: NAMED,
    thread_step_last: LAST_STEP,
    run: RUN,
    run_new: RUN_NEW,
    thread_fork: FORK,
    thread_kill: KILL,
    thread_kill_at_work: KILL_AT_WORK,
    thread_pause: PAUSE,
    thread_resume: RESUME,
    thread_rm: RM,
    thread_answer: ANSWER,
    cas_put: CAS_PUT,
    cas_put_of_a_type: CAS_PUT_TYPED,
    config_set: CONFIG_SET,
    recover: RECOVER,
    setup: SETUP,
}
