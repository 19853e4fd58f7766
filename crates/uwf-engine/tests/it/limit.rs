//! `thread limit`: how far a thread may go, and what counts for that.

use std::fs;

use json_cas::{HeadBackend, RemovalJournal, SwapOutcome};
use serde_json::json;
use ulid::Ulid;
use uwf_core::moderator::CompiledCondition;
use uwf_core::node::TokenCounts;
use uwf_core::thread::ThreadId;
use uwf_core::usage::{ThreadLimits, UsageAmount};
use uwf_engine::attempt::agent_process::SignalListener;
use uwf_engine::attempt::child_threads::Child;
use uwf_engine::attempt::settings::ThreadSettings;
use uwf_engine::error::{Error, ErrorKind};
use uwf_engine::root::ids;
use uwf_engine::thread::state::ThreadState;
use uwf_engine::thread::{moderate, usage};
use uwf_engine::verbs::settings::limit::{self, LimitChange, LimitChanges};
use uwf_engine::verbs::start::{self, StartRequest};
use uwf_engine::verbs::start_child::{self, ChildTask};
use uwf_engine::verbs::step::{self, StepRequest};
use uwf_engine::verbs::{fork, kill};
use uwf_engine::views::show;
use uwf_testing::counting_workflow;

use crate::memory::{Machine, Player, failure};

const NONE: ThreadLimits = ThreadLimits { max_steps: None, max_time: None, max_tokens: None, max_cost: None };

/// A machine with a workflow whose one role is played so often.
fn counting(rounds: usize) -> Machine {
    let machine = Machine::new();
    machine.put("count-rounds", &counting_workflow(rounds));
    machine
}

/// An agent each run of which costs half a dollar and 1,000 tokens.
fn costly() -> Player {
    let tokens = TokenCounts { input: Some(900), output: Some(100), cost: Some(0.5), ..TokenCounts::default() };
    Player::of_model("m", tokens)
}

fn start(machine: &Machine, limits: ThreadLimits) -> ThreadId {
    let request = StartRequest { limits, ..machine.request("count-rounds", "count") };
    start::start(&machine.home, &request, &machine.work()).unwrap().thread
}

/// A thread whose id is an hour old.
fn start_hour_ago(machine: &Machine, number: u128, limits: ThreadLimits) -> ThreadId {
    let id = ThreadId::from(Ulid::from_parts(ids::now_ms() - 3_600_000, number));
    let request = StartRequest { limits, id: Some(id), ..machine.request("count-rounds", "count") };
    start::start(&machine.home, &request, &machine.work()).unwrap().thread
}

fn count(machine: &Machine, id: &ThreadId, player: &Player, times: usize) {
    for n in 0..times {
        machine.play(id, player, json!({ "n": n })).unwrap();
    }
}

/// Why the next step is refused, if a limit refuses it. No agent can be started here, so every step fails.
fn reached(machine: &Machine, id: &ThreadId) -> Option<String> {
    let error = step(machine, id);
    (error.kind == ErrorKind::Limit).then_some(error.message)
}

fn step(machine: &Machine, id: &ThreadId) -> Error {
    step::perform(
        &machine.home,
        &StepRequest::plain(id.clone()),
        |_, _| Ok(false),
        &mut SignalListener::listen().unwrap(),
    )
    .unwrap_err()
}

#[test]
fn a_thread_stops_at_its_cost_limit() {
    let machine = counting(9);
    let id = start(&machine, ThreadLimits { max_cost: Some(1.0), ..NONE });
    count(&machine, &id, &costly(), 1);
    assert_eq!(reached(&machine, &id), None);
    count(&machine, &id, &costly(), 1);
    let error = step(&machine, &id);
    assert_eq!(failure(&error), (ErrorKind::Limit, "the thread has cost $1.00; its limit is $1.00"));
    assert_eq!(error.hints, [format!("to continue: `uwf thread limit {id} --cost +1`")]);
    let shown = show::show(&machine.home, &id).unwrap();
    assert_eq!((shown.state, shown.why), (ThreadState::Limited, Some(error.message)));
}

#[test]
fn a_raised_limit_lets_a_thread_continue() {
    let machine = counting(9);
    let id = start(&machine, ThreadLimits { max_cost: Some(1.0), ..NONE });
    count(&machine, &id, &costly(), 2);
    assert!(reached(&machine, &id).is_some());
    let change = |changes| limit::change(&machine.home, &id, &changes, None).unwrap();
    let raised = change(LimitChanges { cost: Some(LimitChange::By(0.5)), ..LimitChanges::default() });
    assert_eq!((raised.state, raised.reached, raised.limits.max_cost), (ThreadState::Active, None, Some(1.5)));
    assert_eq!((raised.used.steps, raised.used.tokens, raised.used.cost), (2, Some(2000), Some(1.0)));
    assert_eq!((raised.tokens_unknown, raised.cost_unknown), (0, 0));
    assert_eq!(reached(&machine, &id), None);
    count(&machine, &id, &costly(), 1);
    assert_eq!(reached(&machine, &id).as_deref(), Some("the thread has cost $1.50; its limit is $1.50"));
    let low = change(LimitChanges { tokens: Some(LimitChange::By(2000)), ..LimitChanges::default() });
    assert_eq!((low.state, low.reached.is_some()), (ThreadState::Limited, true), "its cost is where it was");
    let wide = change(LimitChanges { cost: Some(LimitChange::To(10.0)), ..LimitChanges::default() });
    let limits = ThreadLimits { max_steps: Some(1000), max_tokens: Some(5000), max_cost: Some(10.0), ..NONE };
    assert_eq!((wide.state, wide.limits, wide.used.tokens), (ThreadState::Active, limits, Some(3000)));
    assert_eq!(reached(&machine, &id), None);
}

#[test]
fn unreported_money_is_counted_by_prices() {
    let machine = counting(9);
    let configure = |currency: &str, output: u32| {
        machine.configure(&format!(
            "providers: {{ p: {{ baseUrl: 'http://localhost:1/v1' }} }}\nmodels: {{ m: {{ provider: p, name: big }} }}\n\
             prices: {{ date: 2026-11-01, currency: {currency}, models: {{ big: {{ input: 2, output: {output} }} }} }}\n"
        ));
    };
    let tokens = TokenCounts { input: Some(1_000_000), output: Some(100_000), ..TokenCounts::default() };
    let silent = Player::of_model("m", tokens);
    configure("USD", 10);
    let id = start(&machine, ThreadLimits { max_cost: Some(5.0), ..NONE });
    count(&machine, &id, &silent, 2);
    assert_eq!(reached(&machine, &id).as_deref(), Some("the thread has cost $6.00; its limit is $5.00"));
    let cost = || limit::show(&machine.home, &id).unwrap().used.cost;

    // A cheaper table also counts for what was spent before.
    configure("USD", 0);
    assert_eq!((cost(), reached(&machine, &id)), (Some(4.0), None));
    count(&machine, &id, &silent, 1);
    assert_eq!(reached(&machine, &id).as_deref(), Some("the thread has cost $6.00; its limit is $5.00"));

    // Limits are in US dollars. Prices in another currency are for `thread cost` only.
    configure("EUR", 10);
    assert_eq!((cost(), reached(&machine, &id)), (Some(0.0), None));
}

#[test]
fn newer_limits_replace_older_ones() {
    let machine = counting(9);
    let used = |id: &ThreadId| reached(&machine, id).unwrap();
    machine.configure("maxTokens: 1000\n");
    let by_config = start(&machine, NONE);
    count(&machine, &by_config, &costly(), 1);
    assert_eq!(used(&by_config), "the thread has used 1000 tokens; its limit is 1000");
    let limited = format!("{}limits: {{ maxTokens: 2000, maxTime: 1h }}\n", counting_workflow(9));
    machine.put("count-rounds", &limited);
    let by_workflow = start(&machine, NONE);
    count(&machine, &by_workflow, &costly(), 1);
    assert_eq!(reached(&machine, &by_workflow), None);
    count(&machine, &by_workflow, &costly(), 1);
    assert_eq!(used(&by_workflow), "the thread has used 2000 tokens; its limit is 2000");
    let limits = limit::show(&machine.home, &by_workflow).unwrap().limits;
    assert_eq!(
        limits,
        ThreadLimits { max_steps: Some(1000), max_time: Some(3600), max_tokens: Some(2000), ..NONE },
        "each limit is the newest of its own kind"
    );
    let by_start = start(&machine, ThreadLimits { max_tokens: Some(3000), ..NONE });
    count(&machine, &by_start, &costly(), 2);
    assert_eq!(reached(&machine, &by_start), None);
    count(&machine, &by_start, &costly(), 1);
    assert_eq!(used(&by_start), "the thread has used 3000 tokens; its limit is 3000");
    let changes =
        fork::ForkChanges { limits: ThreadLimits { max_tokens: Some(3500), ..NONE }, ..fork::ForkChanges::default() };
    let forked = fork::thread(&machine.home, &by_start, None, &changes, &machine.work()).unwrap().thread;
    assert_eq!(reached(&machine, &forked), None);
    count(&machine, &forked, &costly(), 1);
    assert_eq!(used(&forked), "the thread has used 4000 tokens; its limit is 3500", "steps before the fork count");
}

#[test]
fn a_thread_stops_when_it_is_too_old() {
    let machine = counting(9);
    let id = start_hour_ago(&machine, 1, ThreadLimits { max_time: Some(3600), ..NONE });
    assert_eq!(reached(&machine, &id).as_deref(), Some("the thread started 60 min ago; its limit is 60 min"));
    let later = LimitChanges { time: Some(LimitChange::By(3600)), ..LimitChanges::default() };
    let limits = limit::change(&machine.home, &id, &later, None).unwrap();
    assert_eq!((limits.state, limits.limits.max_time), (ThreadState::Active, Some(7200)));
    assert!((3600..3700).contains(&limits.age), "{}", limits.age);
    assert_eq!(reached(&machine, &id), None);
}

#[test]
fn failed_attempts_count_against_a_limit() {
    let machine = counting(9);
    let id = start(&machine, ThreadLimits { max_cost: Some(1.0), ..NONE });
    machine.fail(&id, &costly(), "it broke");
    assert_eq!(reached(&machine, &id), None);
    machine.fail(&id, &costly(), "it broke again");
    assert_eq!(reached(&machine, &id).as_deref(), Some("the thread has cost $1.00; its limit is $1.00"));
}

#[test]
fn conditions_are_given_what_a_thread_used() {
    let machine = counting(9);
    let id = start(&machine, NONE);
    count(&machine, &id, &costly(), 2);
    let used = |condition: &str| {
        let condition = CompiledCondition::compile(condition).unwrap();
        moderate::history(&machine.thread(&id), condition.reads()).unwrap().usage
    };
    assert_eq!(used("$count(steps) >= 9"), None);
    let known = used("$usage.cost >= 1").unwrap();
    let UsageAmount { steps, tokens, cost, seconds } = known.total;
    assert_eq!((steps, tokens, cost, seconds), (2, 2000, 1.0, 3.0));
    assert_eq!(known.roles, [("worker".to_owned(), known.total)].into());
}

#[test]
fn lost_sums_of_usage_are_made_again() {
    let machine = counting(9);
    let id = start(&machine, NONE);
    count(&machine, &id, &costly(), 2);
    let used = || usage::reported(&machine.thread(&id)).unwrap().total.tokens;
    assert_eq!(used(), 2000);
    fs::remove_dir_all(machine.home.cache_dir()).unwrap();
    assert_eq!(used(), 2000);
    let sum = machine.home.cache_dir().join("usage").join(id.as_str());
    let written = fs::read_to_string(&sum).unwrap();
    fs::write(&sum, b"{\"torn").unwrap();
    assert_eq!(used(), 2000);
    fs::write(&sum, written.replace("2000", "7000")).unwrap();
    assert_eq!(used(), 7000, "a whole one is believed");
}

#[test]
fn a_child_counts_for_its_parent() {
    let machine = counting(2);
    machine.put("inner", &counting_workflow(9).replace("name: count-rounds", "name: inner"));
    let parent = start(&machine, ThreadLimits { max_cost: Some(1.0), ..NONE });
    let task = || {
        let settings = ThreadSettings { workspace: machine.work(), ..ThreadSettings::default() };
        Ok(ChildTask { workflow: "inner".to_owned(), prompt: "count".to_owned(), settings, worktree: None })
    };
    let child = start_child::find_or_begin(&machine.thread(&parent), "worker", 3, task).unwrap();
    let Child::Active(child) = child else { panic!("{child:?}") };
    count(&machine, &child, &costly(), 1);
    assert_eq!(reached(&machine, &child), None);
    count(&machine, &child, &costly(), 1);
    let error = step(&machine, &child);
    assert_eq!(failure(&error), (ErrorKind::Limit, "the thread has cost $1.00; its limit is $1.00"));
    assert_eq!(error.hints, [format!("to continue: `uwf thread limit {parent} --cost +1`")], "the parent's limit");
    let last = machine.thread(&child).head;
    machine.play_by_child(&parent, last, json!({"n": 1}));
    let used = limit::show(&machine.home, &parent).unwrap().used;
    assert_eq!((used.steps, used.tokens, used.cost), (1, Some(2000), Some(1.0)));
    assert!(reached(&machine, &parent).is_some());
}

#[test]
fn only_active_threads_get_other_limits() {
    let machine = counting(2);
    let more = LimitChanges { steps: Some(LimitChange::By(1)), ..LimitChanges::default() };
    let change = |id: &ThreadId| limit::change(&machine.home, id, &more, None).map_err(|error| error.kind);
    let [completed, killed] = [(); 2].map(|()| start(&machine, ThreadLimits { max_steps: Some(9), ..NONE }));
    count(&machine, &completed, &costly(), 2);
    kill::kill(&machine.home, &killed, None).unwrap();
    for id in [&completed, &killed, &ids::new_thread_id()] {
        assert_eq!(change(id), Err(ErrorKind::NotFound));
    }
    let shown = || limit::show(&machine.home, &completed).unwrap();
    let before = shown();
    assert_eq!((before.state, before.used.steps, before.limits.max_steps), (ThreadState::Completed, 2, Some(9)));
    assert_eq!(limit::show(&machine.home, &killed).unwrap().state, ThreadState::Killed);
    assert_eq!(limit::show(&machine.home, &ids::new_thread_id()).unwrap_err().kind, ErrorKind::NotFound);
}

#[test]
fn an_ended_thread_grows_no_older() {
    let machine = counting(1);
    let [ended, active] = [1, 2].map(|number| start_hour_ago(&machine, number, NONE));
    count(&machine, &ended, &costly(), 1);
    let age = |id: &ThreadId| limit::show(&machine.home, id).unwrap().age;
    assert!(age(&ended) >= 3600 && age(&active) >= 3600);
    // As if it had ended ten minutes after it began.
    let mut line = machine.heads.newest(ended.as_str()).unwrap().unwrap();
    line["completedAt"] = json!(ended.time_ms().unwrap() + 600_000);
    machine.heads.forget(&[ended.as_str()]).unwrap();
    assert_eq!(machine.heads.create(ended.as_str(), machine.thread(&active).head).unwrap(), SwapOutcome::Done);
    let version = machine.heads.read(ended.as_str()).unwrap().unwrap().version;
    assert_eq!(machine.heads.remove(ended.as_str(), &version, &line).unwrap(), SwapOutcome::Done);
    assert_eq!(age(&ended), 600);
}

#[test]
fn unreported_usage_is_unknown() {
    let machine = counting(9);
    let id = start(&machine, ThreadLimits { max_cost: Some(1.0), ..NONE });
    count(&machine, &id, &Player::new("p", "plain"), 1);
    let limits = limit::show(&machine.home, &id).unwrap();
    assert_eq!((limits.tokens_unknown, limits.cost_unknown, limits.used.tokens), (1, 1, None));
    assert_eq!(limits.reached, None, "unknown usage counts as 0");
}

#[test]
fn a_machine_without_a_record_shows_limits() {
    let machine = counting(9);
    let id = start(&machine, NONE);
    count(&machine, &id, &costly(), 1);
    let limits = limit::show(&machine.beside().home, &id).unwrap();
    assert_eq!((limits.state, limits.used.steps, limits.used.tokens), (ThreadState::Active, 1, Some(1000)));
}
