//! The demonstration from its beginning to its report.

use std::collections::BTreeMap;

use uwf_testing::campaign;

use crate::check::{self, Findings};
use crate::disturb::{self, Aftermath, PACE, WORKERS};
use crate::evidence::{self, Evidence};
use crate::figures;
use crate::machines::Machine;
use crate::scene::Scene;
use crate::watch::{Sightings, Watch};

/// Threads that are under way while things happen.
const THREADS: usize = 60;

/// Sequence of disturbances when none is asked for.
const SEED: u64 = 1;

pub(crate) fn run() {
    let seed = campaign::asked_seed().unwrap_or(SEED);
    println!("three machines, {THREADS} threads of `develop`; UWF_SEED={seed}");
    let scene = Scene::set();
    let watch = Watch::start(scene.home.again());
    let tasks = (0..THREADS).map(task);
    for machine in &mut scene.machines[..WORKERS] {
        machine.work(PACE);
    }
    tasks.for_each(|task| drop(scene.start(&task)));
    scene.say(&format!("{THREADS} threads are started"));
    let aftermath = disturb::all(scene, seed);
    scene.say(&format!("calm; {} threads are under way", scene.under_way().len()));
    scene.until_all_ended();
    let running: Vec<String> = scene.machines[..WORKERS].iter_mut().flat_map(Machine::rest).collect();
    scene.say("all threads have ended, and so have the workers");
    let (looks, seen) = watch.end();
    let evidence = gather(scene, &aftermath, seen, running);
    let findings = check::check(&evidence);
    report(&evidence, &findings, looks);
    assert!(findings.broken.is_empty(), "{} promises were broken: they are listed above", findings.broken.len());
    let runs: Vec<figures::Run> = [1, 2, 4].map(|workers| figures::run(scene, workers)).into();
    scene.say("the figures are measured:");
    println!("{}", figures::takeovers(&aftermath.takeovers));
    figures::rates(&runs).into_iter().chain(figures::calls(&runs)).for_each(|line| println!("{line}"));
}

/// What a thread is to do: plans of one to three phases, and some reviewers who are not content at first.
fn task(number: usize) -> String {
    let review = if number.is_multiple_of(4) { "Review twice." } else { "" };
    format!("Task {number}: Build {} phases. {review}", number % 3 + 1)
}

fn gather(scene: &Scene, aftermath: &Aftermath, seen: Sightings, running: Vec<String>) -> Evidence {
    let ended = evidence::ended(&scene.home);
    let ended: BTreeMap<_, _> =
        ended.into_iter().map(|(thread, head)| (thread, evidence::steps(&scene.home, head))).collect();
    let problems = scene.home.store().verify(None).unwrap().problems;
    Evidence {
        threads: scene.threads.iter().cloned().collect(),
        ended,
        ledger: scene.ledger.entries(),
        struck: aftermath.struck.clone(),
        kept: evidence::kept(&scene.home, &scene.desk, &scene.machines),
        seen,
        running,
        damages: problems.iter().map(|problem| format!("{problem:?}")).collect(),
    }
}

fn report(evidence: &Evidence, findings: &Findings, looks: usize) {
    let steps: usize = evidence.ended.values().map(Vec::len).sum();
    let paid = evidence.ledger.iter().filter(|entry| entry.event == crate::ledger::Event::Paid).count();
    let heads: usize = evidence.seen.values().map(Vec::len).sum();
    println!("\n{} of {} threads are at their end, with {steps} steps", evidence.ended.len(), evidence.threads.len());
    println!("{paid} payments; {looks} looks saw {heads} heads");
    println!("{} positions were paid again because a machine died, and are excused:", findings.excused.len());
    findings.excused.iter().for_each(|line| println!("    {line}"));
    println!("{} promises were broken:", findings.broken.len());
    findings.broken.iter().for_each(|line| println!("    {line}"));
}
