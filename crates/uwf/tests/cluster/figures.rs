//! What is measured: how many steps a second, what they ask of the store, and what that costs.

use uwf_testing::bucket::BucketTraffic;

use crate::evidence;
use crate::ledger::Entry;
use crate::machines::Pace;
use crate::scene::Scene;

/// How the agents work while it is measured.
const PACE: Pace = Pace { agents: 3, seconds: 2, spread: 1 };

/// Threads of each measurement: as many as four machines have places for.
const THREADS: usize = 12;

/// List prices of S3 Standard in us-east-1, in USD for 1,000 requests.
const WRITES: f64 = 0.005;
const READS: f64 = 0.0004;

/// Some workers at work, undisturbed.
#[derive(Debug)]
pub(crate) struct Run {
    workers: usize,
    steps: u64,
    /// From the first payment to the last answer.
    seconds: f64,
    asked: BucketTraffic,
}

/// Lets so many workers bring threads to their end.
pub(crate) fn run(scene: &mut Scene, workers: usize) -> Run {
    let threads: Vec<String> = (0..THREADS).map(|_| scene.start("Build 1 phases")).collect();
    scene.proxy.take();
    for machine in &mut scene.machines[..workers] {
        machine.work(PACE);
    }
    scene.until_all_ended();
    for machine in &mut scene.machines[..workers] {
        let left = machine.rest();
        assert!(left.is_empty(), "{left:?}");
    }
    let asked = scene.proxy.take();
    let ended = evidence::ended(&scene.home);
    let steps = threads.iter().map(|thread| evidence::steps(&scene.home, ended[thread]).len() as u64).sum();
    let entries: Vec<Entry> =
        scene.ledger.entries().into_iter().filter(|entry| threads.contains(&entry.thread)).collect();
    let first = entries.iter().map(|entry| entry.at).fold(f64::INFINITY, f64::min);
    let last = entries.iter().map(|entry| entry.at).fold(0.0, f64::max);
    Run { workers, steps, seconds: last - first, asked }
}

/// The lines of the report about them.
pub(crate) fn rates(runs: &[Run]) -> Vec<String> {
    let line = |run: &Run| {
        let Run { workers, steps, seconds, .. } = run;
        let rate = count(*steps) / seconds;
        format!("workers: {workers}  steps: {steps}  in {seconds:.0} s  each second: {rate:.2}")
    };
    let Pace { agents, seconds, .. } = PACE;
    let head = format!("steps of agents that take {seconds} s, {agents} at once on each machine, {THREADS} threads:");
    std::iter::once(head).chain(runs.iter().map(line)).collect()
}

/// The line of the report about what a step asks of the store.
pub(crate) fn calls(runs: &[Run]) -> Vec<String> {
    let steps = count(runs.iter().map(|run| run.steps).sum());
    let mut all = BucketTraffic::default();
    runs.iter().for_each(|run| all += run.asked);
    let each = |number: u64| count(number) / steps;
    let BucketTraffic { get, put, list, delete, head, sent, received } = all;
    let cost = 1000.0 * (WRITES * each(put + list) + READS * each(get + head)) / 1000.0;
    vec![
        format!(
            "calls of the store for each step: {:.1} ({:.1} GET, {:.1} HEAD, {:.1} PUT, {:.1} LIST, {:.1} DELETE)",
            each(all.total()),
            each(get),
            each(head),
            each(put),
            each(list),
            each(delete)
        ),
        format!("bytes for each step: {:.0} to the store, {:.0} from it", each(sent), each(received)),
        format!("1,000 steps cost {cost:.3} USD of requests, at the list prices of S3"),
    ]
}

/// The line of the report about machines that died.
pub(crate) fn takeovers(seconds: &[f64]) -> String {
    let mut seconds = seconds.to_vec();
    seconds.sort_by(f64::total_cmp);
    match (seconds.first(), seconds.get(seconds.len() / 2), seconds.last()) {
        (Some(first), Some(middle), Some(last)) => format!(
            "takeover: others went on with {} steps of a dead machine after {first:.0} to {last:.0} s, half of them within {middle:.0} s",
            seconds.len()
        ),
        _ => "takeover: the dead machine was at no step".to_owned(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are small")]
fn count(number: u64) -> f64 {
    number as f64
}
