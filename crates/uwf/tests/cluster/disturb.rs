//! What happens to machines, cables and servers while threads are under way.

use std::collections::{BTreeMap, BTreeSet};
use std::thread::sleep;
use std::time::{Duration, Instant};

use fastrand::Rng;
use json_cas::NodeHash;

use crate::ledger::{self, Entry, Event};
use crate::machines::Pace;
use crate::scene::Scene;

/// How the agents work meanwhile: each thread has one at work all the time, and each disturbance meets many. A machine has places for
/// more than its share, so that what another one was at does not wait for a place.
pub(crate) const PACE: Pace = Pace { agents: 40, seconds: 12, spread: 30 };

/// Machines that have a worker meanwhile.
pub(crate) const WORKERS: usize = 3;

/// Time between two disturbances.
const CALM: Duration = Duration::from_secs(5);

/// How long a cable is out.
const CUT: Duration = Duration::from_mins(1);

/// How long a killed worker, and a killed server, is away.
const AWAY: Duration = Duration::from_secs(10);

/// How long the store is slow, and how long it fails.
const BAD_STORE: Duration = Duration::from_secs(25);

/// How long it may take until another machine continues with the steps of one that died.
const TAKEOVER: Duration = Duration::from_mins(3);

/// How long a call that was on its way to the store when its machine died may still have an effect.
const IN_FLIGHT: Duration = Duration::from_secs(1);

/// What happens, and to which machine.
#[derive(Debug, Clone, Copy)]
enum Disturbance {
    KilledWorker(usize),
    DeadMachine(usize),
    CutCable(usize),
    KilledEngine,
    SlowStore,
    FailingStore,
}

/// What came of the disturbances.
#[derive(Debug, Default)]
pub(crate) struct Aftermath {
    /// Attempts that were under way on a machine when its power was cut.
    pub(crate) struck: BTreeSet<String>,
    /// Seconds from the death of a machine until another one was paid for a step that the first was at.
    pub(crate) takeovers: Vec<f64>,
}

/// Each disturbance once, one after the other, in an order that the seed gives. Those of machines meet a different one each.
pub(crate) fn all(scene: &mut Scene, seed: u64) -> Aftermath {
    use Disturbance::{CutCable, DeadMachine, FailingStore, KilledEngine, KilledWorker, SlowStore};
    let mut random = Rng::with_seed(seed);
    let mut aftermath = Aftermath::default();
    let mut machines: Vec<usize> = (0..WORKERS).collect();
    random.shuffle(&mut machines);
    let mut disturbances = [
        KilledWorker(machines[0]),
        DeadMachine(machines[1]),
        CutCable(machines[2]),
        KilledEngine,
        SlowStore,
        FailingStore,
    ];
    random.shuffle(&mut disturbances);
    for disturbance in disturbances {
        sleep(CALM);
        let count = scene.under_way().len();
        assert!(count > 0, "all threads have ended before {disturbance:?}: nothing would be shown");
        scene.say(&format!("{}; {count} threads are under way", describe(scene, disturbance)));
        match disturbance {
            KilledWorker(machine) => kill_worker(scene, machine),
            DeadMachine(machine) => kill_machine(scene, machine, &mut aftermath),
            CutCable(machine) => cut_cable(scene, machine),
            KilledEngine => kill_engine(scene),
            SlowStore => slow_store(scene),
            FailingStore => failing_store(scene),
        }
    }
    aftermath
}

fn describe(scene: &Scene, disturbance: Disturbance) -> String {
    let at_work = |machine: usize| {
        let name = scene.machines[machine].name;
        let steps = unfinished(scene, name).len();
        assert!(steps > 0, "{name} is at no step: nothing would be shown");
        format!("{name}, which is at {steps} steps")
    };
    match disturbance {
        Disturbance::KilledWorker(machine) => format!("kill -9 of the worker for 10 s on {}", at_work(machine)),
        Disturbance::DeadMachine(machine) => format!("power cut: everything is killed on {}", at_work(machine)),
        Disturbance::CutCable(machine) => format!("the cable is out for 60 s of {}", at_work(machine)),
        Disturbance::KilledEngine => "kill -9 of the engine's server for 10 s".to_owned(),
        Disturbance::SlowStore => "each call of the store takes 200 ms longer for 25 s".to_owned(),
        Disturbance::FailingStore => "one call of the store in ten fails for 25 s".to_owned(),
    }
}

fn kill_worker(scene: &mut Scene, machine: usize) {
    scene.machines[machine].kill_worker();
    sleep(AWAY);
    scene.machines[machine].work(PACE);
}

fn cut_cable(scene: &Scene, machine: usize) {
    let name = scene.machines[machine].name;
    scene.network.cut(name);
    sleep(CUT);
    scene.network.heal(name);
    scene.say(&format!("the cable of {name} is in again"));
}

fn kill_engine(scene: &mut Scene) {
    scene.temporal.kill();
    sleep(AWAY);
    scene.temporal.run();
}

fn slow_store(scene: &Scene) {
    scene.proxy.set_slow(true);
    sleep(BAD_STORE);
    scene.proxy.set_slow(false);
}

fn failing_store(scene: &Scene) {
    scene.proxy.set_failing(true);
    sleep(BAD_STORE);
    scene.proxy.set_failing(false);
    assert!(scene.proxy.failed() > 0, "no call of the store has failed");
}

/// The machine comes back when others have taken over what it was at: they were paid for it, or had its result from its claim.
fn kill_machine(scene: &mut Scene, machine: usize, aftermath: &mut Aftermath) {
    scene.machines[machine].power_off();
    let died = ledger::now();
    let name = scene.machines[machine].name;
    sleep(IN_FLIGHT);
    let struck = unfinished(scene, name);
    aftermath.struck.extend(struck.iter().map(|entry| entry.attempt.clone()));
    let begun = Instant::now();
    loop {
        let again: Vec<Entry> = scene.ledger.entries().into_iter().filter(|entry| entry.at > died).collect();
        let again = |struck: &Entry| {
            let mut later = again.iter().filter(|entry| entry.event == Event::Paid);
            later.find(|entry| same_position(entry, struck)).map(|entry| entry.at - died)
        };
        let left = unfinished(scene, name);
        if left.iter().all(|entry| again(entry).is_some()) {
            aftermath.takeovers.extend(struck.iter().filter_map(again));
            break;
        }
        assert!(begun.elapsed() < TAKEOVER, "nobody goes on with all steps that {name} was at: {left:?}");
        sleep(Duration::from_millis(500));
    }
    scene.machines[machine].work(PACE);
    scene.say(&format!("others have taken over, and {name} is back"));
}

fn same_position(one: &Entry, other: &Entry) -> bool {
    one.thread == other.thread && one.head == other.head
}

/// What a machine was paid for, of threads that are still where they were.
fn unfinished(scene: &Scene, machine: &str) -> Vec<Entry> {
    let heads: BTreeMap<String, NodeHash> = scene.home.heads().list().unwrap().into_iter().collect();
    let is_unfinished = |entry: &Entry| {
        let is_paid = entry.event == Event::Paid && entry.machine == machine;
        is_paid && heads.get(&entry.thread) == Some(&entry.head)
    };
    scene.ledger.entries().into_iter().filter(is_unfinished).collect()
}
