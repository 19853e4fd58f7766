//! The chain cache: with any content of it, the nodes of a thread give its steps.

use std::cell::OnceCell;

use json_cas::NodeHash;
use tempfile::TempDir;
use uwf_core::node::{ContentNode, StepNode, TypedPayload};
use uwf_core::thread::ThreadId;
use uwf_engine::root::home::Home;
use uwf_engine::root::node_types::ensure as ensure_types;
use uwf_engine::thread::chain::{Record, StepChain};
use uwf_testing::{FuzzTarget, dir_in_memory};

/// The samples are made of real caches by [`check`]: what is fed says how one is spoiled.
pub(crate) const SUBJECT: FuzzTarget = FuzzTarget {
    name: "chain cache",
    samples: &[b"\x00\x01\x02\x03\x04\x05\x06\x07\x10\x20\x40\x80"],
    words: &["\0\0\0\0", "\u{7f}"],
    check,
};

/// Steps of the thread.
const STEPS: u64 = 6;

thread_local! {
    static THREAD: OnceCell<Made> = const { OnceCell::new() };
}

/// A thread with its cache as it should be.
struct Made {
    dir: TempDir,
    steps: Vec<Record>,
    cache: Vec<u8>,
}

fn thread_id() -> ThreadId {
    "01ARZ3NDEKTSV4RRFFQ69G5FAW".parse().expect("an id")
}

fn check(bytes: &[u8]) {
    THREAD.with(|made| {
        let made = made.get_or_init(make);
        let home = Home::open(made.dir.path(), "uwf");
        for spoiled in [bytes.to_vec(), xored(&made.cache, bytes), cut(&made.cache, bytes), spliced(&made.cache, bytes)]
        {
            std::fs::write(home.chain_file(&thread_id()), &spoiled).expect("the cache can be written");
            // Also of a thread that is shorter than its cache, as after a rollback by hand.
            for length in [made.steps.len(), 2] {
                let head = made.steps[length - 1].step;
                let chain = StepChain::load(&home, &thread_id(), Some(head)).expect("the nodes are there");
                assert_eq!(chain.records(), &made.steps[..length], "{}", spoiled.escape_ascii());
            }
        }
    });
}

fn xored(cache: &[u8], bytes: &[u8]) -> Vec<u8> {
    cache.iter().zip(bytes.iter().chain(std::iter::repeat(&0))).map(|(kept, byte)| kept ^ byte).collect()
}

fn cut(cache: &[u8], bytes: &[u8]) -> Vec<u8> {
    cache[..cache.len().saturating_sub(bytes.len())].to_vec()
}

fn spliced(cache: &[u8], bytes: &[u8]) -> Vec<u8> {
    let at = bytes.first().map_or(0, |byte| usize::from(*byte) % cache.len());
    [&cache[..at], bytes, &cache[at..]].concat()
}

fn make() -> Made {
    let dir = dir_in_memory();
    let home = Home::open(dir.path(), "uwf");
    ensure_types(&home).expect("the types are stored");
    let mut steps: Vec<Record> = Vec::new();
    for number in 1..=STEPS {
        let text = ContentNode { text: format!("step {number}") }.draft();
        let output = text.hash();
        let role = if number % 2 == 0 { "coder" } else { "planner" };
        let prev = steps.last().map(|record| record.step);
        let step = StepNode {
            start: NodeHash::from_u64(1),
            prev,
            role: role.to_owned(),
            output,
            detail: output,
            agent: "a".to_owned(),
        };
        let node = step.draft();
        steps.push(Record::from_step_node(node.hash(), &step));
        home.store().put_all(&[text, node]).expect("nodes are stored");
    }
    let head = steps.last().map(|record| record.step);
    let chain = StepChain::load(&home, &thread_id(), head).expect("the nodes are there");
    assert_eq!(chain.records(), steps);
    let cache = std::fs::read(home.chain_file(&thread_id())).expect("the cache is made");
    Made { dir, steps, cache }
}
