//! Each process of each command, killed before each of its system calls.

use fastrand::Rng;

use crate::campaign::{Campaign, Outcome};
use crate::oracle;
use crate::scenario::{self, Play, Scenario};
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
