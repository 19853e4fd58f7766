//! The same kind of command given many times at once.

use std::collections::BTreeSet;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use json_cas::NodeHash;
use serde_json::Value;
use uwf_engine::root::{history, registry};
use uwf_testing::processes::until;
use uwf_testing::{FinishedRun, counting_workflow, text};

use crate::campaign::{Campaign, size};
use crate::ledger::{self, Ledger, Records};
use crate::stage::{ENDLESS, Stage, chain};
use crate::strikes::Over;

/// Gives all commands before any has ended. Those that waited in vain, as on a slow disk, are given again.
fn at_once<A: AsRef<[String]>>(stage: &Stage, commands: impl IntoIterator<Item = A>) -> Vec<FinishedRun> {
    let started: Vec<(A, Child)> = commands
        .into_iter()
        .map(|args| {
            let mut command = stage.home.command(args.as_ref());
            let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            (args, child)
        })
        .collect();
    started
        .into_iter()
        .map(|(args, child)| stage.not_busy(child.wait_with_output().unwrap().into(), args.as_ref()))
        .collect()
}

fn args(args: &[&str]) -> Vec<String> {
    args.iter().map(ToString::to_string).collect()
}

fn texts<'r>(ran: impl IntoIterator<Item = &'r FinishedRun>, key: &str) -> BTreeSet<String> {
    ran.into_iter().map(|ran| text(&ran.json(), key)).collect()
}

/// Does something again and again until it is told to end, in a number of threads, while something else is done.
fn meanwhile<T>(times: usize, again: impl Fn(usize) + Sync, play: impl FnOnce() -> T) -> T {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let over = Over(&is_over);
        for number in 0..times {
            let (is_over, again) = (&is_over, &again);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    again(number);
                }
            });
        }
        let played = play();
        drop(over);
        played
    })
}

#[test]
fn puts_of_different_names_and_of_one_name() {
    let stage = Stage::new(ENDLESS, 0);
    for round in 0..size(1, 20) {
        let file = |dir: &str, name: &str, rounds: usize| {
            let dir = stage.home.work().join(format!("{round}-{dir}"));
            std::fs::create_dir_all(&dir).unwrap();
            let path = dir.join(format!("{name}.yaml"));
            std::fs::write(&path, counting_workflow(rounds).replace("count-rounds", name)).unwrap();
            args(&["workflow", "put", path.to_str().unwrap()])
        };
        let of_names = (0..16).map(|number| file("names", &format!("count-{round}-{number}"), 1));
        let one_name = (0..16).map(|number| file(&number.to_string(), &format!("count-{round}"), number + 1));
        let ran = at_once(&stage, of_names.chain(one_name));
        let registry = registry::read(&stage.engine()).unwrap();
        for (number, put) in ran.iter().enumerate().take(16) {
            let hash = text(&put.json(), "hash");
            let entry = &registry[&format!("count-{round}-{number}")];
            assert_eq!((entry.hash.to_string(), entry.history.len()), (hash, 0));
        }
        let entry = &registry[&format!("count-{round}")];
        let versions: Vec<String> = std::iter::once(entry.hash)
            .chain(entry.history.iter().map(|past| past.hash))
            .map(|hash| hash.to_string())
            .collect();
        assert_eq!(versions.len(), 16, "each version once");
        assert_eq!(versions.into_iter().collect::<BTreeSet<_>>(), texts(&ran[16..], "hash"));
    }
    stage.check_store();
}

#[test]
fn concurrent_starts_and_forks_lose_no_thread() {
    let stage = Stage::new(ENDLESS, 0);
    let first = stage.start();
    for _ in 0..size(1, 10) {
        let before = stage.heads().len();
        let start = args(&["thread", "start", "take-turns", "-p", "at once"]);
        let started = at_once(&stage, vec![start; 32]);
        assert_eq!(texts(&started, "thread").len(), 32, "each has an id of its own");
        assert!(texts(&started, "thread").iter().all(|thread| stage.heads().contains_key(thread)));
        let fork = args(&["thread", "fork", &first]);
        // The thread is stepped while it is forked.
        let forked = meanwhile(
            1,
            |_| assert!(matches!(stage.home.uwf(&["thread", "step", &first]).code, Some(0 | 75))),
            || at_once(&stage, vec![fork; 32]),
        );
        let heads = stage.heads();
        assert_eq!((heads.len() - before, texts(&forked, "thread").len()), (64, 32));
        let links = chain(&stage.engine(), heads[&first]);
        for ran in &forked {
            let report = ran.json();
            let at = text(&report["forkedFrom"], "step");
            assert_eq!(heads[&text(&report, "thread")].to_string(), at);
            assert!(links.iter().any(|link| link.step.to_string() == at || link.before.to_string() == at), "{report}");
        }
        let step = |ran: &FinishedRun| args(&["thread", "step", &text(&ran.json(), "thread")]);
        for ran in at_once(&stage, forked.iter().take(4).chain(started.iter().take(4)).map(step)) {
            assert_eq!(ran.code, Some(0), "{ran:?}");
        }
    }
    stage.check_store();
}

#[test]
fn a_thread_is_killed_while_four_step_it() {
    let campaign = Campaign::new("killed while four step it");
    let stage = Stage::new(ENDLESS, 10);
    let mut random = campaign.random(0);
    let (mut steps, times) = (0, size(4, 60));
    for _ in 0..times {
        let thread = stage.start();
        let stepping = || {
            let mut told = Vec::new();
            loop {
                let ran = stage.home.uwf(&["thread", "step", &thread]);
                match ran.code {
                    Some(0) => told.push(text(&ran.json(), "head").parse().unwrap()),
                    Some(69) => return told,
                    // Another process steps it; the agent was ended on request; the thread ended during the step.
                    Some(75 | 40 | 143 | 11) => {}
                    _ => panic!("{ran:?}"),
                }
            }
        };
        let told: Vec<NodeHash> = std::thread::scope(|scope| {
            let steppers: Vec<_> = (0..4).map(|_| scope.spawn(stepping)).collect();
            let (wanted, life) = (random.usize(0..4), Duration::from_millis(random.u64(0..60)));
            until("it is so far", || chain(&stage.engine(), stage.heads()[&thread]).len() >= wanted);
            std::thread::sleep(life);
            let killed = stage.home.uwf(&["thread", "kill", &thread]);
            assert_eq!(killed.code, Some(0), "{killed:?}");
            steppers.into_iter().flat_map(|stepper| stepper.join().unwrap()).collect()
        });
        let home = stage.engine();
        let line = history::all(&home).unwrap().into_iter().find(|line| line.thread.as_str() == thread).unwrap();
        let links = chain(&home, line.head);
        assert!(told.iter().all(|head| links.iter().any(|link| link.step == *head)), "a step that was told is lost");
        assert_eq!(told.iter().collect::<BTreeSet<_>>().len(), told.len(), "a step was told twice");
        stage.settle();
        let mut records = Records::default();
        records.look(&stage, &thread);
        let wrong = ledger::check(&home, &[(thread, line.head)].into(), &Ledger::of(&stage), &records);
        assert!(wrong.is_empty(), "{wrong}");
        steps += links.len();
    }
    assert!(stage.heads().is_empty());
    campaign.tell(format!("{times} threads, {steps} steps before their ends"));
}

/// The threads of a listing, as many times as they are listed.
fn listed(stage: &Stage) -> Vec<String> {
    let rows = stage.home.json(&["thread", "list", "--all"]);
    rows.as_array().unwrap().iter().map(|row| text(row, "thread")).collect()
}

#[test]
fn threads_are_listed_once_while_they_end() {
    let stage = Stage::new(ENDLESS, 0);
    let threads: Vec<String> = (0..size(12, 200)).map(|_| stage.start()).collect();
    let all: BTreeSet<&String> = threads.iter().collect();
    let look = |_| {
        let listed = listed(&stage);
        assert_eq!(listed.len(), threads.len(), "each thread once");
        assert_eq!(listed.iter().collect::<BTreeSet<_>>(), all);
    };
    meanwhile(3, look, || {
        for thread in &threads {
            stage.home.json(&["thread", "kill", thread]);
        }
    });
}

#[test]
fn threads_can_be_removed_while_read_or_stepped() {
    let stage = Stage::new(2, 0);
    let threads: Vec<String> = (0..size(4, 40)).map(|_| stage.start()).collect();
    for thread in &threads {
        stage.home.json(&["run", thread]);
    }
    let commands = ["show", "steps", "read", "fork", "step", "kill"];
    for thread in &threads {
        let look = |number: usize| {
            let ran = stage.home.uwf(&["thread", commands[number], thread]);
            // It is there, or it is not.
            assert!(matches!(ran.code, Some(0 | 69)), "thread {}: {ran:?}", commands[number]);
        };
        meanwhile(commands.len(), look, || {
            let removed = stage.home.uwf(&["thread", "rm", thread]);
            assert_eq!(removed.code, Some(0), "{removed:?}");
        });
        assert!(!listed(&stage).contains(thread));
        assert!(stage.home.records(thread).is_empty(), "records of a thread that is none");
    }
    let left: Vec<Value> = stage.home.json(&["thread", "list", "--all"]).as_array().unwrap().clone();
    assert!(left.iter().all(|row| row["state"] == "active"), "forks are left");
    stage.check_store();
}
