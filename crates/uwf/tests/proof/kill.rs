//! Each process of each command, killed before each of its system calls.

use fastrand::Rng;

use crate::campaign::{Campaign, Outcome};
use crate::oracle;
use crate::scenario::{GROUP_WIDE, Play, Scenario, campaigns, costly_campaigns};
use crate::strace::{self, Case, Effect, Target};

fn campaign(scenario: &'static Scenario) {
    Campaign { name: "kill", calls: strace::CHANGING, effects: |_| vec![Effect::Kill], case }.run(scenario);
}

fn case(play: &Play, case: &Case, random: &mut Rng) -> Result<Outcome, String> {
    let traced = strace::inject(&play.stage, &play.args, case);
    if traced.hung() {
        return Err(format!("it hung; running: {:?}", play.stage.processes()));
    }
    // A keeper that lives does its work to the end. An agent whose keeper is dead is met by the next command, now and then
    // while it works.
    let may_not_wait = matches!(case.place.target, Target::Keeper | Target::Everything);
    let waits = !play.scenario.is_live && (!may_not_wait || random.bool());
    if waits && !play.stage.settles() {
        return Err(format!("still running: {:?}", play.stage.processes()));
    }
    if matches!(case.place.target, Target::Keeper | Target::Agent | Target::Submit) {
        oracle::check_told(play, case, &traced.ran)?;
    }
    let shape = oracle::check_left(play, &traced.ran)?;
    let state = if play.is_done(&shape) { "new" } else { "not yet new" };
    oracle::converge(play, &shape)?;
    let was_hit = traced.was_hit(case);
    Ok(Outcome { word: if was_hit { state } else { "survived" }.to_owned(), was_hit })
}

campaigns!(campaign);
costly_campaigns!(campaign);

/// Its root takes as long to build as all cases of another scenario.
#[test]
fn thread_step_group_wide() {
    campaign(&GROUP_WIDE);
}
