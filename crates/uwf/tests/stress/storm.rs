//! Threads run while engine and agents are killed at random: at the end every thread has its steps, and no output that was
//! finished was paid for twice.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use json_cas::NodeHash;
use uwf_engine::root::history;

use crate::campaign::{Campaign, size};
use crate::ledger::{self, Ledger, Records};
use crate::stage::{Stage, chain};
use crate::strikes::Strikes;

/// Longest time between two strikes, and shortest.
const STRIKES: std::ops::Range<u64> = 200..2000;

/// Most processes one strike kills.
const MAX_STRUCK: usize = 6;

/// Longest time a storm may take. Reached only when a thread does not get on.
const LIMIT: Duration = Duration::from_mins(30);

/// How the commands of a thread ended: exit code, or `None` for a signal, and how often.
type Exits = BTreeMap<Option<i32>, usize>;

/// What one driver saw.
#[derive(Default)]
struct Driven {
    exits: Exits,
    /// Heads that steps reported.
    told: Vec<NodeHash>,
    records: Records,
}

#[test]
fn all_steps_complete_and_are_paid_once() {
    let (threads, rounds) = size((6, 6), (50, 40));
    // Strikes come as often in both; a short storm would see none of them if they were as far apart.
    let pause = size(60..300, STRIKES);
    let campaign = Campaign::new("storm");
    // Of so many threads most agents are at work at any time, as real ones are.
    let stage = Stage::new(rounds, size(30, 500));
    let threads: Vec<String> = (0..threads).map(|_| stage.start()).collect();
    let begun = Instant::now();
    let strikes = Strikes { pause, most: MAX_STRUCK, windows: true };
    let (driven, struck) = strikes.during(&stage, campaign.random(0), || {
        std::thread::scope(|scope| {
            let drivers: Vec<_> = threads.iter().map(|thread| scope.spawn(|| drive(&stage, thread))).collect();
            drivers.into_iter().map(|driver| driver.join().unwrap()).collect::<Vec<Driven>>()
        })
    });
    stage.settle();
    let ledger = Ledger::of(&stage);
    let (mut exits, mut records, mut told) = (Exits::new(), Records::default(), Vec::new());
    for one in driven {
        one.exits.into_iter().for_each(|(exit, times)| *exits.entry(exit).or_default() += times);
        records.merge(one.records);
        told.extend(one.told);
    }
    campaign.tell(format!(
        "{} threads of {rounds} steps in {} s; killed {struck:?}; commands ended {exits:?}; {} payments, {} known to have finished, for {} steps",
        threads.len(),
        begun.elapsed().as_secs(),
        ledger.payments(),
        records.len(),
        threads.len() * rounds,
    ));
    assert!(struck.values().sum::<usize>() > 0, "nothing was killed");
    assert!(!told.is_empty(), "no command was left to tell of a step");
    check(&stage, &threads, rounds, &ledger, &records, &told);
}

/// Steps a thread until it has ended.
fn drive(stage: &Stage, thread: &str) -> Driven {
    let mut driven = Driven::default();
    let deadline = Instant::now() + LIMIT;
    loop {
        assert!(Instant::now() < deadline, "thread {thread} does not get on: {:?}", driven.exits);
        let ran = stage.home.uwf(&["thread", "step", thread]);
        driven.records.look(stage, thread);
        *driven.exits.entry(ran.code).or_default() += 1;
        match ran.code {
            Some(0) => {
                let report = ran.json();
                // A step whose last command was killed between step and end has made no step itself.
                if report["role"].is_string() {
                    driven.told.push(report["head"].as_str().unwrap().parse().unwrap());
                }
                if report["done"] == true {
                    return driven;
                }
            }
            // It ended while nobody was there to hear it.
            Some(69) => return driven,
            // The agent was killed, the keeper was, another one is still at it, this window was.
            Some(40 | 70 | 75) | None => {}
            _ => panic!("thread {thread}: {ran:?}"),
        }
    }
}

fn check(stage: &Stage, threads: &[String], rounds: usize, ledger: &Ledger, records: &Records, told: &[NodeHash]) {
    let home = stage.engine();
    assert_eq!(stage.heads(), BTreeMap::new(), "all threads have ended");
    let ended: BTreeMap<String, NodeHash> =
        history::all(&home).unwrap().into_iter().map(|line| (line.thread.to_string(), line.head)).collect();
    assert_eq!(ended.keys().collect::<Vec<_>>(), threads.iter().collect::<Vec<_>>(), "no thread is lost");
    let mut linked = Vec::new();
    for (thread, head) in &ended {
        let links = chain(&home, *head);
        assert_eq!(links.len(), rounds, "thread {thread}");
        linked.extend(links.into_iter().map(|link| link.step));
    }
    assert!(told.iter().all(|head| linked.contains(head)), "every step that was told is part of its thread");
    let wrong = ledger::check(&home, &ended, ledger, records);
    assert!(wrong.is_empty(), "{wrong}");
    stage.check_store();
    let marks = std::fs::read_dir(stage.home.root().join("marks")).unwrap().count();
    assert_eq!(marks, 0, "marks of threads that have ended");
}
