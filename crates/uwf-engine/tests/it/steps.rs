//! `thread steps`: all entries of a thread, or those at some positions.

use json_cas::{NodeHash, ObjectBackend};
use uwf_engine::views::steps::{self, StepEntry, StepListing};

use crate::memory::Machine;

fn hashes(listed: &StepListing) -> Vec<NodeHash> {
    let hash = |entry: &StepEntry| match entry {
        StepEntry::Start { hash, .. } => *hash,
        StepEntry::Step(step) => step.hash,
    };
    listed.steps.iter().map(hash).collect()
}

#[test]
fn range_returns_its_entries_and_stops_at_end() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    machine.refused(&id, 2);
    let start = machine.thread(&id).start_hash;
    let all: Vec<NodeHash> = std::iter::once(start).chain(machine.steps(&id)).collect();
    for range in [0..usize::MAX, 0..1, 1..3, 3..9, 4..4, 7..9] {
        let listed = steps::steps(&machine.home, &id, range.clone()).unwrap();
        let expected: Vec<NodeHash> = all.iter().copied().skip(range.start).take(range.len()).collect();
        assert_eq!(hashes(&listed), expected, "{range:?}");
        assert_eq!((listed.first, listed.count), (range.start.min(5), 5), "{range:?}");
    }
}

#[test]
fn page_reads_only_its_own_steps() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    machine.refused(&id, 2);
    let [first, .., last] = machine.steps(&id)[..] else { panic!("four steps") };
    machine.objects.replace(first, b"not a node").unwrap();
    let listed = steps::steps(&machine.home, &id, 3..5).unwrap();
    assert_eq!(hashes(&listed).last(), Some(&last));
    assert!(steps::steps(&machine.home, &id, 1..2).is_err(), "the page of the damaged step");
}
