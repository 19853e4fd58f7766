//! Nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use json_cas::{Node, NodeDraft, NodeHash, WalkOptions, bootstrap};
use uwf_core::node::{ContentNode, TypedPayload};
use uwf_testing::{TestHome, text};

use super::{Whole, each};
use crate::campaign::Campaign;
use crate::harm::Harm;
use crate::reachable::store;

/// Damages tried in a plain run.
const SHORT: usize = 12;

const HARMS: [Harm; 12] = [
    Harm::Flip,
    Harm::Cut,
    Harm::Empty,
    Harm::Zero,
    Harm::Hole,
    Harm::Swap,
    Harm::Link,
    Harm::Dangle,
    Harm::Gone,
    Harm::Directory,
    Harm::WrongCase,
    Harm::Double,
];

/// Exit codes of a command that meets a broken node: bad data, not found, files.
const BROKEN: [i32; 3] = [65, 69, 74];

#[derive(Debug)]
struct Case {
    harm: Harm,
    node: NodeHash,
    other: NodeHash,
}

#[test]
fn nodes_are_missed_named_and_repaired() {
    let whole = Whole::new();
    let pristine = whole.copy();
    let hashes = store(&pristine).objects().list(None).unwrap();
    let mut campaign = Campaign::new("nodes_are_missed_named_and_repaired");
    let mut other = |node| loop {
        let other = hashes[campaign.rng.usize(0..hashes.len())];
        if other != node {
            return other;
        }
    };
    let mut cases = Vec::new();
    for node in &hashes {
        cases.extend(HARMS.map(|harm| Case { harm, node: *node, other: other(*node) }));
    }
    let touched: BTreeMap<&str, BTreeSet<NodeHash>> = [&whole.counting, &whole.adding]
        .into_iter()
        .map(|thread| (thread.as_str(), touched_by_a_step(&whole.copy(), thread)))
        .collect();
    each(campaign, cases, SHORT, |case, campaign| {
        let home = whole.copy();
        let Some(expected) = spoil(&home, case, campaign) else { return };
        assert_eq!(problems(&home), expected, "exactly those are told");
        for (thread, below) in &touched {
            let is_touched = below.contains(&case.node) || expected.iter().any(|name| below.contains_name(name));
            step(&home, thread, is_touched, &expected);
        }
        if case.harm != Harm::Directory {
            repair(&home, &pristine, case, &expected);
            touched.keys().for_each(|thread| step(&home, thread, false, &expected));
        }
    });
}

trait ContainsName {
    fn contains_name(&self, name: &str) -> bool;
}

impl ContainsName for BTreeSet<NodeHash> {
    fn contains_name(&self, name: &str) -> bool {
        name.parse().is_ok_and(|hash: NodeHash| self.contains(&hash))
    }
}

/// Spoils the node's file. Gives what must be told, `None` when the damage changes nothing that a node means: its
/// timestamp is no part of it.
fn spoil(home: &TestHome, case: &Case, campaign: &mut Campaign) -> Option<BTreeSet<String>> {
    let file = |hash: NodeHash| home.root().join("cas").join(format!("{hash}.bin"));
    let before = store(home).get(case.node).unwrap();
    let lower = format!("{}.bin", case.node.to_string().to_ascii_lowercase());
    match case.harm {
        Harm::WrongCase => fs::rename(file(case.node), home.root().join("cas").join(&lower)).unwrap(),
        Harm::Double => drop(fs::copy(file(case.node), file(case.other)).unwrap()),
        harm => harm.apply(&file(case.node), &file(case.other), &mut campaign.rng),
    }
    let after = store(home).get(case.node);
    if !matches!(case.harm, Harm::Double) && after.is_ok_and(|after| after.payload == before.payload) {
        return None;
    }
    let name = |hash: NodeHash| hash.to_string();
    let is_missed = is_missed(home, case.node, &before);
    if matches!(case.harm, Harm::Gone | Harm::Dangle) && !is_missed {
        return None;
    }
    Some(match case.harm {
        Harm::WrongCase if !is_missed => [lower].into(),
        Harm::Swap => [name(case.node), name(case.other)].into(),
        Harm::Double => [name(case.other)].into(),
        Harm::WrongCase => [name(case.node), lower].into(),
        _ => [name(case.node)].into(),
    })
}

/// Nobody misses a type of uwf's own of which there is no node, nor a text that no prompt was made of yet: the next command
/// stores it again.
fn is_missed(home: &TestHome, hash: NodeHash, node: &Node) -> bool {
    let store = store(home);
    let nodes = store.objects().list(None).unwrap().into_iter().filter_map(|hash| store.get(hash).ok());
    let refers =
        |other: &Node| store.schema(other.type_hash).is_ok_and(|schema| schema.refs(&other.payload).contains(&hash));
    let is_derived =
        node.type_hash == ContentNode::TYPE || uwf_core::node::OWN_TYPES.iter().any(|own| own.hash == hash);
    !is_derived || nodes.into_iter().any(|other| other.type_hash == hash || refers(&other))
}

/// What the next step of a thread reads, and what it stores: another thread may have stored the same text.
fn touched_by_a_step(home: &TestHome, thread: &str) -> BTreeSet<NodeHash> {
    let before = home.head(thread).unwrap();
    assert_eq!(home.uwf(&["thread", "step", thread]).code, Some(0));
    let after = home.head(thread).unwrap_or_else(|| text(&home.json(&["thread", "show", thread]), "head"));
    below(home, &before).into_iter().chain(below(home, &after)).collect()
}

fn below(home: &TestHome, head: &str) -> BTreeSet<NodeHash> {
    let store = store(home);
    let head: NodeHash = head.parse().unwrap();
    let mut found: BTreeSet<NodeHash> = BTreeSet::new();
    let mut types = vec![bootstrap::HASH];
    for node in store.walk(&[head], WalkOptions::default()) {
        let (hash, node) = node.unwrap();
        found.insert(hash);
        types.push(node.type_hash);
    }
    // A step writes nodes of any of uwf's own types.
    types.extend(uwf_core::node::OWN_TYPES.iter().map(|own| own.hash));
    found.extend(types);
    found
}

/// The names `cas verify` tells, of nodes or of files.
fn problems(home: &TestHome) -> BTreeSet<String> {
    let ran = home.uwf(&["cas", "verify"]);
    assert!(matches!(ran.code, Some(0 | 65)), "{ran:?}");
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let name = |problem: &serde_json::Value| {
        let key = if problem["hash"].is_string() { "hash" } else { "file" };
        text(problem, key)
    };
    report["problems"].as_array().unwrap().iter().map(name).collect()
}

/// A step continues, or says which node keeps it from that.
fn step(home: &TestHome, thread: &str, may_fail: bool, named: &BTreeSet<String>) {
    let Some(before) = home.head(thread) else { return };
    let ran = home.uwf(&["thread", "step", thread]);
    if ran.code == Some(0) {
        return;
    }
    assert!(may_fail, "{thread} has nothing to do with it: {ran:?}");
    assert!(ran.code.is_some_and(|code| BROKEN.contains(&code) || code == 40), "{ran:?}");
    assert!(named.iter().any(|name| ran.stderr.contains(name.as_str())), "{named:?}: {ran:?}");
    assert_eq!(home.head(thread), Some(before));
}

/// Puts the same content again.
fn repair(home: &TestHome, pristine: &TestHome, case: &Case, told: &BTreeSet<String>) {
    let pristine = store(pristine);
    let draft = |hash: NodeHash| {
        let node = pristine.get(hash).unwrap();
        let draft = match node.type_hash == hash {
            true => NodeDraft::self_typed(node.payload),
            false => NodeDraft::new(node.type_hash, node.payload),
        };
        draft.unwrap()
    };
    // Together, since one may be the type of the other.
    let drafts: Vec<NodeDraft> = told.iter().filter_map(|name| name.parse().ok()).map(draft).collect();
    store(home).put_all(&drafts).unwrap();
    let left: BTreeSet<String> = match case.harm {
        Harm::WrongCase => told.iter().filter(|name| name.ends_with(".bin")).cloned().collect(),
        _ => BTreeSet::new(),
    };
    assert_eq!(problems(home), left, "repaired");
}
