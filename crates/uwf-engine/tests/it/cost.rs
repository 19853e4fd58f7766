//! `thread cost`: what threads spent, put together in several ways.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use json_cas::{NodeHash, ObjectBackend};
use serde_json::{Value, json};
use uwf_core::node::TokenCounts;
use uwf_core::thread::ThreadId;
use uwf_engine::error::ErrorKind;
use uwf_engine::root::ids;
use uwf_engine::thread::nodes;
use uwf_engine::verbs::answer::{self, AnswerPrecondition};
use uwf_engine::verbs::fork;
use uwf_engine::views::cost::{self, CostBy, CostReport, CostRequest, DayZone};
use uwf_testing::counting_workflow;

use crate::memory::{Machine, Player, WORKED_MS};

const PRICES: &str =
    "prices:\n  date: 2026-11-01\n  currency: EUR\n  models:\n    big-model: { input: 2, output: 10, cached: 0.5 }\n";

/// A machine with a workflow of three rounds; `more` is added to the configuration.
fn counting(more: &str) -> Machine {
    let machine = Machine::new();
    machine.configure(&format!(
        "providers: {{ p: {{ baseUrl: 'http://localhost:1/v1' }} }}\n\
         models: {{ big: {{ provider: p, name: big-model }} }}\n{more}"
    ));
    machine.put("count-rounds", &counting_workflow(3));
    machine
}

/// An agent whose provider says what each run cost, if `cost` is that.
fn tracer(cost: Option<f64>) -> Player {
    let [input, output, cached, reasoning] = [1_200_000, 100_000, 200_000, 10_000].map(Some);
    Player::of_model("big", TokenCounts { input, output, cached, cache_write: None, reasoning, cost })
}

/// An agent that counts nothing.
fn plain() -> Player {
    Player::new("p", "plain")
}

fn count(machine: &Machine, id: &ThreadId, player: &Player, times: usize) {
    for n in 0..times {
        machine.play(id, player, json!({ "n": n })).unwrap();
    }
}

fn costs(machine: &Machine, request: &CostRequest) -> CostReport {
    cost::cost(&machine.home, &machine.home.config().unwrap(), request).unwrap()
}

/// Costs of one thread, as reports have them.
fn of(machine: &Machine, id: &ThreadId) -> Value {
    json!(costs(machine, &CostRequest { threads: vec![id.clone()], ..CostRequest::default() }))
}

fn of_all(machine: &Machine) -> CostReport {
    costs(machine, &CostRequest::default())
}

fn by(machine: &Machine, by: CostBy) -> CostReport {
    costs(machine, &CostRequest { by, ..CostRequest::default() })
}

/// Names and steps of rows.
fn rows(costs: &CostReport) -> Vec<(Option<&str>, usize)> {
    costs.rows.iter().map(|row| (row.name.as_deref(), row.spent.steps)).collect()
}

#[test]
fn reported_money_goes_before_prices() {
    let machine = counting(PRICES);
    let id = machine.start("count-rounds");
    count(&machine, &id, &tracer(None), 1);
    count(&machine, &id, &tracer(Some(0.25)), 1);
    let both = of(&machine, &id);
    let amounts = json!([
        { "currency": "EUR", "amount": 3.1, "from": "prices" },
        { "currency": "USD", "amount": 0.25, "from": "provider" },
    ]);
    assert_eq!(both["total"]["cost"], amounts);
    assert_eq!(json!([both["total"]["costUnknown"], both["unpriced"]]), json!([0, []]));
    count(&machine, &id, &plain(), 1);
    let all = of(&machine, &id);
    assert_eq!(
        all["total"],
        json!({
            "steps": 3,
            "failedAttempts": 0,
            "tokens": { "input": 2_400_000, "cached": 400_000, "output": 200_000, "reasoning": 20_000 },
            "tokensUnknown": 1,
            "cost": amounts,
            "costUnknown": 1,
            "durationMs": 3 * WORKED_MS,
        })
    );
    assert_eq!(json!([all["prices"], all["unpriced"]]), json!([{ "date": "2026-11-01", "currency": "EUR" }, [null]]));
}

#[test]
fn cost_without_prices_is_unknown() {
    let machine = counting("");
    let id = machine.start("count-rounds");
    count(&machine, &id, &tracer(None), 1);
    let report = of(&machine, &id);
    assert_eq!(json!([report["total"]["cost"], report["total"]["costUnknown"]]), json!([[], 1]));
    assert_eq!(json!([report["unpriced"], report["prices"]]), json!([["big"], null]));
}

#[test]
fn rows_are_grouped_as_requested() {
    let machine = counting(PRICES);
    let id = machine.start("count-rounds");
    count(&machine, &id, &tracer(None), 2);
    count(&machine, &id, &plain(), 1);
    for (grouped, expected) in [
        (CostBy::Thread, vec![(Some(id.as_str()), 3)]),
        (CostBy::Role, vec![(Some("worker"), 3)]),
        (CostBy::Agent, vec![(Some("t"), 2), (Some("p"), 1)]),
        (CostBy::Model, vec![(Some("big"), 2), (None, 1)]),
        (CostBy::Workflow, vec![(Some("count-rounds"), 3)]),
    ] {
        let report = by(&machine, grouped);
        assert_eq!((rows(&report), report.by), (expected, grouped));
    }
    let report = by(&machine, CostBy::Day);
    let [(Some(day), 3)] = rows(&report)[..] else { panic!("{report:?}") };
    assert!(day.len() == 10 && day.starts_with("20"), "{day}");
}

#[test]
fn steps_that_forks_share_count_once() {
    let machine = counting(PRICES);
    let id = machine.start("count-rounds");
    count(&machine, &id, &tracer(None), 2);
    let changes = fork::ForkChanges::default();
    let fork = fork::thread(&machine.home, &id, None, &changes, &machine.work()).unwrap().thread;
    count(&machine, &fork, &tracer(None), 1);
    let report = of_all(&machine);
    assert_eq!(rows(&report), [(Some(fork.as_str()), 3), (Some(id.as_str()), 2)], "newest first");
    assert_eq!((report.total.steps, report.shared_steps, report.threads), (3, 2, 2));
    assert_eq!(rows(&by(&machine, CostBy::Role)), [(Some("worker"), 3)]);
    let twice = CostRequest { threads: vec![id.clone(), id], ..CostRequest::default() };
    let report = costs(&machine, &twice);
    assert_eq!((report.total.steps, report.threads), (2, 1), "the same thread twice");
}

#[test]
fn failed_attempts_cost_before_and_after_their_step() {
    let machine = counting(PRICES);
    let id = machine.start("count-rounds");
    machine.fail(&id, &tracer(None), "it broke");
    let spent = || {
        let total = of_all(&machine).total;
        (total.steps, total.failed_attempts, total.tokens.input.unwrap(), total.cost_unknown)
    };
    assert_eq!(spent(), (0, 1, 1_200_000, 0), "of a thread without a step");
    count(&machine, &id, &tracer(None), 1);
    assert_eq!(spent(), (1, 1, 2_400_000, 0));
    count(&machine, &id, &tracer(None), 1);
    assert_eq!(spent(), (2, 1, 3_600_000, 0));
}

#[test]
fn a_child_counts_once_and_for_its_parent() {
    let machine = counting("");
    machine.put("outer", &counting_workflow(1).replace("name: count-rounds", "name: outer"));
    let parent = machine.start("outer");
    let child = machine.start("count-rounds");
    count(&machine, &child, &tracer(None), 3);
    machine.play_by_child(&parent, machine.thread(&child).head, json!({"n": 3}));
    let report = of_all(&machine);
    assert_eq!(rows(&report), [(Some(child.as_str()), 3), (Some(parent.as_str()), 3)]);
    assert_eq!((report.total.steps, report.total.tokens.input), (3, Some(3_600_000)));
    assert_eq!(report.rows[1].workflow.as_deref(), Some("outer"));
    let threads = vec![parent];
    let by_workflow = costs(&machine, &CostRequest { threads, by: CostBy::Workflow, ..CostRequest::default() });
    assert_eq!(rows(&by_workflow), [(Some("count-rounds"), 3)], "whose roles were played");
}

#[test]
fn csv_leaves_unknown_cells_empty() {
    let machine = counting(PRICES);
    let id = machine.start("count-rounds");
    count(&machine, &id, &tracer(None), 2);
    count(&machine, &id, &plain(), 1);
    assert_eq!(
        by(&machine, CostBy::Model).csv(),
        "model,steps,failedAttempts,input,cached,output,reasoning,tokensUnknown,costEUR,costUSD,costUnknown,durationMs,running\n\
         big,2,0,2400000,400000,200000,20000,0,6.2,,0,3000,0\n\
         ,1,0,,,,,1,,,1,1500,0\n"
    );
    assert_eq!(
        of_all(&machine).csv(),
        format!(
            "thread,workflow,steps,failedAttempts,input,cached,output,reasoning,tokensUnknown,costEUR,costUSD,\
             costUnknown,durationMs,running\n{id},count-rounds,3,0,2400000,400000,200000,20000,1,6.2,,1,4500,0\n"
        )
    );
}

#[test]
fn only_newer_runs_count_since_a_time() {
    let machine = counting(PRICES);
    let id = machine.start("count-rounds");
    count(&machine, &id, &tracer(None), 1);
    let since = |since| costs(&machine, &CostRequest { since: Some(since), ..CostRequest::default() });
    let now = ids::now_ms();
    assert_eq!(rows(&since(now - 3_600_000)), [(Some(id.as_str()), 1)]);
    let later = since(now + 3_600_000);
    assert_eq!((later.total.steps, later.rows), (0, vec![]));
    let threads = vec![id];
    let named = costs(&machine, &CostRequest { threads, since: Some(now + 3_600_000), ..CostRequest::default() });
    assert_eq!((named.threads, named.total.steps, named.rows), (1, 0, vec![]), "its steps are older");
}

#[test]
fn a_time_is_a_day_or_a_duration() {
    assert_eq!(cost::since("2020-01-01", &DayZone::default()).ok(), Some(1_577_836_800_000));
    let ago = |typed| {
        let since = cost::since(typed, &DayZone::default()).unwrap();
        ids::now_ms() - since
    };
    assert!((3_600_000..3_700_000).contains(&ago("1h")));
    assert!((7000..100_000).contains(&ago("7")));
    for wrong in ["soon", "2026-13-01", "-1d", ""] {
        assert!(cost::since(wrong, &DayZone::default()).is_err(), "{wrong}");
    }
}

#[test]
fn threads_with_unchanged_records_are_skipped() {
    let machine = counting(PRICES);
    let [untouched, thread] = [(); 2].map(|()| machine.start("count-rounds"));
    for id in [&untouched, &thread] {
        count(&machine, id, &tracer(None), 1);
    }
    let read = || {
        let since = Some(ids::now_ms() - 24 * 3_600_000);
        let report = costs(&machine, &CostRequest { since, ..CostRequest::default() });
        (report.threads, report.total.steps)
    };
    assert_eq!(read(), (2, 2));
    let path: PathBuf = machine.home.record_file(&untouched);
    let record = fs::File::options().append(true).open(&path).unwrap();
    record.set_modified(SystemTime::now() - Duration::from_hours(48)).unwrap();
    assert_eq!(read(), (1, 1));
    fs::remove_file(&path).unwrap();
    assert_eq!(read(), (2, 2), "without a record only the nodes can tell");
}

#[test]
fn damaged_threads_are_named_and_the_rest_added() {
    let machine = counting(PRICES);
    let [damaged, sound] = [(); 2].map(|()| machine.start("count-rounds"));
    count(&machine, &damaged, &tracer(None), 2);
    count(&machine, &sound, &tracer(None), 1);
    let steps = machine.steps(&damaged);
    let damage = |node: NodeHash| machine.objects.replace(node, b"not a node").unwrap();
    damage(nodes::step_node(machine.home.store(), steps[0]).unwrap().0.detail);
    let report = of_all(&machine);
    assert_eq!((report.total.steps, report.total.cost_unknown), (2, 1));
    let [unreadable] = &report.unreadable[..] else { panic!("{report:?}") };
    assert_eq!(unreadable.thread, damaged);
    assert!(unreadable.why.contains("corrupt"), "{unreadable:?}");
    damage(steps[1]);
    let report = of_all(&machine);
    assert_eq!((report.total.steps, report.unreadable.len()), (1, 1), "its head is not readable");
    let named = |id: &ThreadId| {
        let request = CostRequest { threads: vec![id.clone()], ..CostRequest::default() };
        cost::cost(&machine.home, &machine.home.config().unwrap(), &request).map_err(|error| error.kind)
    };
    assert_eq!(named(&damaged), Err(ErrorKind::Data));
    assert_eq!(named(&ids::new_thread_id()), Err(ErrorKind::NotFound));
}

#[test]
fn a_lost_step_makes_a_sum_unknown() {
    let machine = counting("");
    let id = machine.start("count-rounds");
    count(&machine, &id, &plain(), 2);
    assert_eq!(of_all(&machine).total.cost_unknown, 2, "no agent counts");
    let first = machine.steps(&id)[0];
    let sweep = machine.objects.sweep().unwrap();
    assert_eq!(machine.objects.remove_all(&sweep, &[&[first]]).unwrap(), [true]);
    drop(sweep);
    let lacking = of_all(&machine);
    assert_eq!(lacking.unreadable[0].thread, id);
    assert_eq!(lacking.total.cost_unknown, 2, "the step that is left, and what is lost: {lacking:?}");
    assert_eq!(lacking.rows[0].spent.cost_unknown, 2);
}

#[test]
fn threads_without_steps_cost_nothing() {
    let machine = counting(PRICES);
    assert_eq!(of_all(&machine).rows, []);
    let id = machine.start("count-rounds");
    let report = of_all(&machine);
    assert_eq!((rows(&report), report.total.cost_unknown), (vec![(Some(id.as_str()), 0)], 0));
}

#[test]
fn people_are_known_to_cost_nothing() {
    let machine = counting("");
    let id = machine.start("count-rounds");
    let asked = answer::asked(&machine.home, &id, AnswerPrecondition::default()).unwrap();
    count(&machine, &id, &Player::from_spec(asked.agent), 1);
    let total = of_all(&machine).total;
    assert_eq!((total.steps, total.tokens_unknown, total.cost_unknown), (1, 0, 0));
}

#[test]
fn reversed_time_span_is_refused() {
    let machine = Machine::new();
    let request = CostRequest { since: Some(2), until: Some(1), ..CostRequest::default() };
    let refused = cost::cost(&machine.home, &machine.home.config().unwrap(), &request);
    assert_eq!(refused.unwrap_err().kind, ErrorKind::Usage);
}
