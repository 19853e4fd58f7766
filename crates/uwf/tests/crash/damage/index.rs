//! The index of threads and the history.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};
use uwf_testing::{FinishedRun, TestHome};

use super::{Whole, each};
use crate::campaign::Campaign;
use crate::harm::Harm;

/// Damages tried of each file in a plain run.
const SHORT: usize = 10;

/// How often each harm that is made at random is made.
const ROUNDS: usize = 8;

fn harms() -> Vec<Harm> {
    let all = [Harm::FILE.as_slice(), &Harm::LINES].concat();
    (0..ROUNDS).flat_map(|_| all.clone()).collect()
}

/// What the lines of the index say.
fn lines(home: &TestHome) -> BTreeMap<String, String> {
    let text = fs::read_to_string(home.root().join("threads.yaml")).unwrap();
    text.lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(id, head)| (id.to_owned(), head.trim_matches('"').to_owned()))
        .collect()
}

fn told(ran: &FinishedRun, file: &str) {
    assert!(matches!(ran.code, Some(65 | 74)), "{ran:?}");
    assert!(ran.stderr.contains(file), "{ran:?}");
}

#[test]
fn an_index_is_missed_and_made_again() {
    let whole = Whole::new();
    let right = lines(&whole.copy());
    let campaign = Campaign::new("an_index_is_missed_and_made_again");
    each(campaign, harms(), SHORT, |harm, campaign| {
        let home = whole.copy();
        let index = home.root().join("threads.yaml");
        harm.apply(&index, &home.root().join("registry.yaml"), &mut campaign.rng);
        let damaged = fs::read(&index).ok();
        is_told(&home, &right);
        let planned = home.uwf(&["recover", "--dry-run"]).json();
        assert_eq!(fs::read(&index).ok(), damaged, "only looked");
        let done = home.uwf(&["recover"]).json();
        assert_eq!(json!([planned["threads"], planned["changed"]]), json!([done["threads"], done["changed"]]));
        is_right(&home, &whole, &right);
        if let (Some(kept), Some(damaged)) = (done["keptAs"].as_str(), damaged) {
            assert_eq!(fs::read(kept).unwrap(), damaged, "the old one is kept");
        }
        assert_eq!(home.uwf(&["recover"]).json()["changed"], false);
    });
}

/// Damage is never taken for an index with less in it.
fn is_told(home: &TestHome, right: &BTreeMap<String, String>) {
    let ran = home.uwf(&["thread", "list"]);
    if ran.code != Some(0) {
        told(&ran, "threads.yaml");
        assert!(ran.code == Some(74) || ran.stderr.contains("uwf recover"), "{ran:?}");
        return;
    }
    let rows = ran.json();
    let is_right = |row: &Value| {
        let thread = row["thread"].as_str().unwrap();
        right.get(thread).is_some_and(|head| row["head"] == head.as_str()) && row["state"] == "active"
    };
    let rows = rows.as_array().unwrap();
    if rows.len() != right.len() || !rows.iter().all(is_right) {
        let doctor = home.uwf(&["doctor", "--offline"]);
        assert!(doctor.stdout.contains("uwf recover") || doctor.stdout.contains("cas verify"), "{doctor:?}");
    }
}

fn is_right(home: &TestHome, whole: &Whole, right: &BTreeMap<String, String>) {
    let now = lines(home);
    for (thread, head) in right {
        assert_eq!(now.get(thread), Some(head), "{thread}");
    }
    assert!(!now.contains_key(&whole.ended), "it is not brought back to life");
    home.json(&["thread", "step", &whole.counting]);
    home.json(&["thread", "step", &whole.adding]);
    assert_eq!(home.json(&["thread", "show", &whole.ended])["state"], "completed");
}

#[test]
fn a_history_is_made_again() {
    let whole = Whole::new();
    let right = lines(&whole.copy());
    let campaign = Campaign::new("a_history_is_made_again");
    each(campaign, harms(), SHORT, |harm, campaign| {
        let home = whole.copy();
        let history = home.root().join("history.jsonl");
        harm.apply(&history, &home.root().join("registry.yaml"), &mut campaign.rng);
        if *harm == Harm::Directory {
            told(&home.uwf(&["thread", "step", &whole.counting]), "history.jsonl");
            assert_eq!(home.uwf(&["recover"]).code, Some(0));
            return is_right(&home, &whole, &right);
        }
        let shown = home.uwf(&["thread", "show", &whole.ended]);
        if shown.code != Some(0) {
            assert_eq!(shown.code, Some(69), "{shown:?}");
            assert!(shown.stderr.contains("uwf recover"), "{shown:?}");
        }
        let rows = home.json(&["thread", "list", "--all"]);
        assert!(rows.as_array().unwrap().len() <= right.len() + 1, "no thread is listed twice: {rows}");
        assert_eq!(home.uwf(&["recover"]).code, Some(0));
        is_right(&home, &whole, &right);
    });
}

#[test]
fn index_and_history_are_lost_together() {
    let whole = Whole::new();
    let right = lines(&whole.copy());
    let home = whole.copy();
    for file in ["threads.yaml", "history.jsonl"] {
        fs::remove_file(home.root().join(file)).unwrap();
    }
    told(&home.uwf(&["thread", "start", "count-rounds", "-p", "x"]), "threads.yaml");
    home.json(&["recover"]);
    is_right(&home, &whole, &right);
}
