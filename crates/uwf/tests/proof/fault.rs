//! Each system call of each process of each command, failing once and from then on.

use fastrand::Rng;

use crate::campaign::Campaign;
use crate::oracle;
use crate::scenario::{self, Play, Scenario};
use crate::strace::{self, Case, Effect, Place, Target};

/// What calls fail with.
const ERRORS: [&str; 6] = ["ENOSPC", "EIO", "EMFILE", "EACCES", "EXDEV", "EINTR"];

/// Calls that are not made to fail: a descriptor is given back whatever `close` reports, which strace cannot imitate, so
/// that a pipe would stay open; nobody looks at its result.
const NEVER_FAILING: [&str; 1] = ["close"];

fn campaign(scenario: &Scenario) {
    Campaign { name: "fault", effects, case }.run(scenario);
}

fn effects(place: &Place) -> Vec<Effect> {
    if NEVER_FAILING.contains(&place.call.as_str()) {
        return Vec::new();
    }
    // A call that is interrupted is made again, so it cannot be interrupted for ever.
    let lasting = ERRORS.into_iter().filter(|error| *error != "EINTR");
    ERRORS.into_iter().map(Effect::Once).chain(lasting.map(Effect::FromThenOn)).collect()
}

fn case(play: &Play, case: &Case, _: &mut Rng) -> Result<String, String> {
    let traced = strace::inject(&play.stage, &play.args, case);
    if traced.hung() {
        return Err(format!("it hung; running: {:?}", play.stage.processes()));
    }
    if !play.stage.settles() {
        return Err(format!("still running: {:?}", play.stage.processes()));
    }
    // Where nothing can be written, nothing can be told.
    let lasts = matches!(case.effect, Effect::FromThenOn(_)) || case.place.target == Target::Everything;
    let is_mute = case.place.call == "write" && lasts;
    if !is_mute {
        oracle::check_told(&traced.ran)?;
    }
    let shape = oracle::check_left(play, &traced.ran).map_err(|error| format!("{error}; {:?}", traced.ran))?;
    let is_half = traced.ran.stdout.contains(r#""next":{"error":"#);
    if traced.ran.code == Some(0) && !is_half && !shape.is(&play.after, &play.before) {
        return Err(format!("exit 0, and it came to {shape:?}"));
    }
    oracle::converge(play, &shape).map_err(|error| format!("{error}; {:?}", traced.ran))?;
    if std::env::var_os("UWF_SHOW").is_some() && traced.ran.code != Some(0) {
        println!("SHOW {case}: {}", traced.ran.told().replace('\n', " | "));
    }
    Ok(format!("exit {}", traced.ran.code.unwrap_or_default()))
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
    thread_fork: FORK,
    thread_kill: KILL,
    thread_rm: RM,
    thread_answer: ANSWER,
    cas_put: CAS_PUT,
    setup: SETUP,
}
