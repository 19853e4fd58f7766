//! Each system call of each process of each command, failing once and from then on.

use fastrand::Rng;

use crate::campaign::{Campaign, Outcome};
use crate::oracle;
use crate::scenario::{Play, Scenario, campaigns, costly_campaigns};
use crate::strace::{self, Case, Effect, Place, Target};

/// What calls fail with.
const ERRORS: [&str; 6] = ["ENOSPC", "EIO", "EMFILE", "EACCES", "EXDEV", "EINTR"];

/// Calls that are not made to fail: a descriptor is given back whatever `close` reports, which strace cannot imitate, so
/// that a pipe would stay open; nobody looks at its result.
const NEVER_FAILING: [&str; 1] = ["close"];

fn campaign(scenario: &'static Scenario) {
    Campaign { name: "fault", calls: strace::CHANGING, effects, case }.run(scenario);
}

fn effects(place: &Place) -> Vec<Effect> {
    if NEVER_FAILING.contains(&place.call.as_str()) || place.target == Target::GitWithCommand {
        return Vec::new();
    }
    // A call that is interrupted is made again, so it cannot be interrupted for ever.
    let lasting = ERRORS.into_iter().filter(|error| *error != "EINTR");
    ERRORS.into_iter().map(Effect::Once).chain(lasting.map(Effect::FromThenOn)).collect()
}

/// Runs a command with one call failing.
///
/// # Errors
/// What does not hold.
pub(crate) fn case(play: &Play, case: &Case, _: &mut Rng) -> Result<Outcome, String> {
    let traced = strace::inject(&play.stage, &play.args, case);
    if traced.hung() {
        return Err(format!("it hung; running: {:?}", play.stage.processes()));
    }
    if !play.scenario.is_live && !play.stage.settles() {
        return Err(format!("still running: {:?}", play.stage.processes()));
    }
    let told = |error: String| format!("{error}; {:?}", traced.ran);
    oracle::check_told(play, case, &traced.ran)?;
    let shape = oracle::check_left(play, &traced.ran).map_err(told)?;
    let is_half = traced.ran.stdout.contains(r#""next":{"error":"#);
    let is_alone = play.scenario.between.is_none();
    if traced.ran.code == Some(0) && !is_half && is_alone && !play.is_done(&shape) {
        let checkouts = play.checkouts().filter(|(found, wanted)| found != wanted);
        let checkout = checkouts.map(|(found, wanted)| format!("; checked out is\n{found}\nand should be\n{wanted}"));
        return Err(format!("exit 0, and it came to {shape:?}{}", checkout.unwrap_or_default()));
    }
    let is_one_change = case.place.target == Target::Command && play.scenario.is_one_change;
    let reads = strace::READING.contains(&case.place.call.as_str()) && is_one_change;
    if reads && traced.ran.code != Some(0) && shape != play.before {
        return Err(told(format!("it failed, and came to {shape:?}")));
    }
    oracle::converge(play, &shape).map_err(told)?;
    if std::env::var_os("UWF_SHOW").is_some() && traced.ran.code != Some(0) {
        println!("SHOW {case}: {}", traced.ran.transcript().replace('\n', " | "));
    }
    let was_hit = traced.was_hit(case);
    let word = if was_hit { format!("exit {}", traced.ran.code.unwrap_or_default()) } else { "not reached".to_owned() };
    Ok(Outcome { word, was_hit })
}

campaigns!(campaign);
costly_campaigns!(campaign);
