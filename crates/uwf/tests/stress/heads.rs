//! Heads are linearizable: 2 to 16 processes step, look at, fork and kill the same threads, some are killed over it, and what
//! the others were told fits one order.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;
use std::time::{Duration, Instant};

use fastrand::Rng;
use json_cas::NodeHash;
use uwf_engine::root::history;
use uwf_testing::{FinishedRun, text};

use crate::campaign::{Campaign, size};
use crate::ledger::{self, Ledger, Records};
use crate::linear::{Answered, Record, ReportedOutcome, State};
use crate::stage::{ENDLESS, Stage, chain};
use crate::strikes::Strikes;

/// A command whose window is killed is killed within this time.
const WINDOW_LIFE: Duration = Duration::from_millis(150);

/// Times between two strikes at keepers and agents, in milliseconds.
const STRIKES: std::ops::Range<u64> = 50..400;

/// Plays at most, each of which is likely to see somebody killed.
const ROUNDS: u64 = 10;

/// One command about one thread.
struct Call {
    thread: usize,
    kills: bool,
    called: Duration,
    answered: Duration,
    /// Whether its window was killed before it could answer.
    was_killed: bool,
    outcome: Outcome,
}

/// What is known of what a command did.
enum Outcome {
    Reported(ReportedOutcome),
    /// Its window was killed, or its keeper died without a word.
    Unknown,
    /// It found somebody busy, or its agent failed or was ended with its thread: the head was neither touched nor told.
    Nothing,
}

#[test]
fn two_processes_one_thread() {
    play("heads, 2 processes, 1 thread", 2, 1, size(10, 80));
}

#[test]
fn sixteen_processes_one_thread() {
    play("heads, 16 processes, 1 thread", 16, 1, size(5, 30));
}

#[test]
fn eight_processes_three_threads() {
    play("heads, 8 processes, 3 threads", 8, 3, size(8, 60));
}

/// Plays until somebody was killed over it: on a fast machine a short play can be over before that.
fn play(name: &'static str, processes: usize, threads: usize, commands: usize) {
    let campaign = Campaign::new(name);
    let was_killed = (0..ROUNDS).any(|round| play_once(&campaign, round, processes, threads, commands) > 0);
    assert!(was_killed, "nothing was killed in {ROUNDS} rounds");
}

/// Checks one play; how many processes were killed in it.
fn play_once(campaign: &Campaign, round: u64, processes: usize, threads: usize, commands: usize) -> usize {
    // Streams of choices that no other round has.
    let random = |stream: u64| campaign.random(round * 10_000 + stream);
    let stage = Stage::new(ENDLESS, 5);
    let threads: Vec<String> = (0..threads).map(|_| stage.start()).collect();
    let starts: Vec<NodeHash> = threads.iter().map(|thread| stage.heads()[thread]).collect();
    let clock = Instant::now();
    let strikes = Strikes { pause: STRIKES, most: 1, windows: false };
    let (mut calls, struck) = strikes.during(&stage, random(1000), || {
        std::thread::scope(|scope| {
            let drivers: Vec<_> = (0..processes)
                .map(|number| {
                    let (stage, threads, random) = (&stage, &threads, random(number as u64));
                    scope.spawn(move || drive(stage, threads, commands, random, clock))
                })
                .collect();
            drivers.into_iter().flat_map(|driver| driver.join().unwrap()).collect::<Vec<Call>>()
        })
    });
    stage.settle();
    // The final state must fit as well.
    calls.extend((0..threads.len()).map(|thread| call(&stage, &threads, thread, "show", None, clock)));
    let ends = ends(&stage);
    let next = successors(&ends, &stage);
    let mut figures = Vec::new();
    for (thread, start) in starts.iter().enumerate() {
        let record = record(&calls, thread, &next);
        figures.push((record.answered.len(), record.steps.len() + record.kills.len()));
        let fits = record.linearize(State { head: *start, has_ended: false });
        assert!(fits.is_ok(), "thread {}: {}\n{record:#?}", threads[thread], fits.unwrap_err());
    }
    let mut records = Records::default();
    threads.iter().for_each(|thread| records.look(&stage, thread));
    let ends = threads.iter().map(|thread| (thread.clone(), ends[thread])).collect();
    let wrong = ledger::check(&stage.engine(), &ends, &Ledger::of(&stage), &records);
    assert!(wrong.is_empty(), "{wrong}");
    stage.check_store();
    let steps: usize = ends.values().map(|head| chain(&stage.engine(), *head).len()).sum();
    let windows = calls.iter().filter(|call| call.was_killed).count();
    campaign.tell(format!("{steps} steps; killed {windows} windows and {struck:?}; (answered, unanswered) commands of each thread: {figures:?}; one order for each"));
    assert!(steps > 0, "no thread got on");
    windows + struck.values().sum::<usize>()
}

/// Gives commands about random threads.
fn drive(stage: &Stage, threads: &[String], commands: usize, mut random: Rng, clock: Instant) -> Vec<Call> {
    let mut calls = Vec::new();
    for number in 0..commands {
        let thread = random.usize(0..threads.len());
        let command = match random.u8(0..20) {
            0..11 => "step",
            11..16 => "show",
            16..19 => "fork",
            // The end comes late, or nothing is left to be done.
            _ if number * 4 > commands * 3 => "kill",
            _ => "show",
        };
        let dies = random.u8(0..5) == 0 && command != "fork";
        let life = dies.then(|| WINDOW_LIFE.mul_f64(random.f64()));
        calls.push(call(stage, threads, thread, command, life, clock));
    }
    calls
}

/// Gives one command and notes when it was given, when it was answered, and what it told.
fn call(
    stage: &Stage,
    threads: &[String],
    thread: usize,
    command: &str,
    life: Option<Duration>,
    clock: Instant,
) -> Call {
    let mut process = stage.home.command(&["thread", command, &threads[thread]]);
    let called = clock.elapsed();
    let mut child = process.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    if let Some(life) = life {
        std::thread::sleep(life);
        // It may have ended before; then what it told counts.
        let _ = child.kill();
    }
    let ran: FinishedRun = child.wait_with_output().unwrap().into();
    let answered = clock.elapsed();
    let (kills, was_killed) = (command == "kill", ran.code.is_none());
    Call { thread, kills, called, answered, was_killed, outcome: outcome(stage, command, &ran) }
}

fn outcome(stage: &Stage, command: &str, ran: &FinishedRun) -> Outcome {
    let hash = |key: &str| -> NodeHash { text(&ran.json(), key).parse().unwrap() };
    let told = match (command, ran.code) {
        ("show", None) => return Outcome::Nothing,
        (_, None | Some(70)) => return Outcome::Unknown,
        (_, Some(75)) | ("step", Some(40 | 143)) => return Outcome::Nothing,
        ("step", Some(0)) => {
            let to = hash("head");
            ReportedOutcome::Moved { from: chain(&stage.engine(), to).last().unwrap().before, to }
        }
        ("show", Some(0)) => {
            ReportedOutcome::Saw(State { head: hash("head"), has_ended: ran.json()["done"].as_bool().unwrap() })
        }
        ("fork", Some(0)) => ReportedOutcome::SawHead(text(&ran.json()["forkedFrom"], "step").parse().unwrap()),
        ("kill", Some(0)) => ReportedOutcome::Ended,
        ("step" | "kill", Some(69)) | ("step", Some(11)) => ReportedOutcome::FoundEnded,
        _ => panic!("thread {command}: {ran:?}"),
    };
    Outcome::Reported(told)
}

/// The calls of one thread as a record to be searched.
fn record(calls: &[Call], thread: usize, next: &BTreeMap<NodeHash, Vec<NodeHash>>) -> Record {
    let mut record = Record { next: next.clone(), ..Record::default() };
    for call in calls.iter().filter(|call| call.thread == thread) {
        let Call { called, answered, .. } = *call;
        match call.outcome {
            Outcome::Reported(told) => record.answered.push(Answered { called, answered, told }),
            Outcome::Unknown if call.kills => record.kills.push(called),
            Outcome::Unknown => record.steps.push(called),
            Outcome::Nothing => {}
        }
    }
    record
}

/// What follows each head, as the nodes have it, of all threads as they are in the end. A step that is in no thread in the end
/// was not linked, or is lost; then whoever was told of it fits nowhere.
fn successors(ends: &BTreeMap<String, NodeHash>, stage: &Stage) -> BTreeMap<NodeHash, Vec<NodeHash>> {
    let links: BTreeSet<(NodeHash, NodeHash)> =
        ends.values().flat_map(|head| chain(&stage.engine(), *head)).map(|link| (link.before, link.step)).collect();
    let mut next: BTreeMap<NodeHash, Vec<NodeHash>> = BTreeMap::new();
    for (before, step) in links {
        next.entry(before).or_default().push(step);
    }
    next
}

/// Every thread there is, forks too, with its last head.
fn ends(stage: &Stage) -> BTreeMap<String, NodeHash> {
    let ended = history::all(&stage.engine()).unwrap();
    let mut all = stage.heads();
    for line in ended {
        let thread = line.thread.to_string();
        assert_eq!(all.insert(thread.clone(), line.head), None, "{thread} is active and has ended");
    }
    all
}
