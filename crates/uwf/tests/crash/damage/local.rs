//! Files that are this machine's own: registry, configuration, records, caches, marks, locks.

use std::fs;

use serde_json::Value;
use uwf_testing::{FinishedRun, TestHome, counting_workflow};

use super::{Whole, each};
use crate::campaign::Campaign;
use crate::harm::Harm;

/// Damages tried in each test of a plain run.
const SHORT: usize = 8;

#[derive(Debug)]
struct Case {
    harm: Harm,
    file: String,
}

fn cases(files: &[String]) -> Vec<Case> {
    let harms = [Harm::FILE.as_slice(), &Harm::LINES].concat();
    files.iter().flat_map(|file| harms.iter().map(|harm| Case { harm: *harm, file: file.clone() })).collect()
}

/// Spoils a file of a copy.
fn spoiled(whole: &Whole, case: &Case, campaign: &mut Campaign) -> TestHome {
    let home = whole.copy();
    let path = home.root().join(&case.file);
    let other = home.root().join(if case.file == "registry.yaml" { "config.yaml" } else { "registry.yaml" });
    case.harm.apply(&path, &other, &mut campaign.rng);
    home
}

/// A step is made, or it fails as documented and the thread is where it was.
fn steps_or_tells(home: &TestHome, thread: &str, codes: &[i32]) -> FinishedRun {
    let before = home.head(thread);
    let ran = home.uwf(&["thread", "step", thread]);
    if ran.code == Some(0) {
        return ran;
    }
    assert!(ran.code.is_some_and(|code| codes.contains(&code)), "{ran:?}");
    assert!(ran.stderr.starts_with("error: "), "{ran:?}");
    assert_eq!(home.head(thread), before);
    ran
}

/// Names that are other ones, or fewer, are told by the list or by `uwf doctor`. What changes a letter of a name or takes
/// one of its lines away leaves a registry nobody can tell from a right one.
fn names_are_told(home: &TestHome, right: &Value, harm: Harm) {
    let listed = home.uwf(&["workflow", "list"]);
    if listed.code != Some(0) {
        assert!(matches!(listed.code, Some(65 | 74)), "{listed:?}");
        assert!(listed.stderr.contains("registry.yaml"), "{listed:?}");
        return;
    }
    if listed.json() == *right || matches!(harm, Harm::Flip | Harm::Cut | Harm::WrongCase | Harm::DropLine) {
        return;
    }
    assert_eq!(harm, Harm::Gone, "{listed:?}");
    let doctor = home.uwf(&["doctor", "--offline"]);
    assert!(doctor.stdout.contains("registry.yaml is gone"), "{doctor:?}");
    let start = home.uwf(&["thread", "start", "count-rounds", "-p", "x"]);
    assert!(start.code == Some(69) && start.stderr.contains("registry.yaml is gone"), "{start:?}");
}

#[test]
fn a_damaged_registry_or_configuration_is_named() {
    let whole = Whole::new();
    let right = whole.copy().json(&["workflow", "list"]);
    let campaign = Campaign::new("a_damaged_registry_or_configuration_is_named");
    let cases = cases(&["registry.yaml".to_owned(), "config.yaml".to_owned()]);
    each(campaign, cases, SHORT, |case, campaign| {
        let home = spoiled(&whole, case, campaign);
        let swapped = case.harm == Harm::Swap;
        let is_registry = case.file == "registry.yaml";
        if is_registry || swapped {
            names_are_told(&home, &right, case.harm);
        }
        if is_registry && !swapped {
            home.json(&["thread", "step", &whole.counting]);
        } else {
            // An agent's name may be another now.
            let ran = steps_or_tells(&home, &whole.counting, &[40, 65, 69, 74, 78]);
            assert!(ran.code != Some(78) || ran.stderr.contains("config.yaml"), "{ran:?}");
        }
        home.json(&["thread", "list", "--all"]);
    });
}

#[test]
fn damaged_records_of_threads_lose_no_step() {
    let whole = Whole::new();
    let campaign = Campaign::new("damaged_records_of_threads_lose_no_step");
    let of = |name: &str| format!("threads/{}{name}", whole.counting);
    let cases = cases(&[".jsonl", "/log.jsonl", "/keeper.log"].map(of));
    each(campaign, cases, SHORT, |case, campaign| {
        let home = spoiled(&whole, case, campaign);
        steps_or_tells(&home, &whole.counting, &[40, 64, 65, 69, 74]);
        home.json(&["thread", "step", &whole.adding]);
        home.json(&["thread", "list"]);
    });
}

#[test]
fn damaged_caches_cost_nothing_but_time() {
    let whole = Whole::new();
    let reads = |home: &TestHome| -> Vec<Value> {
        let commands: [&[&str]; 4] = [
            &["thread", "show", &whole.counting],
            &["thread", "steps", &whole.counting],
            &["thread", "list"],
            &["cas", "list", "--type", "StepNode"],
        ];
        commands.iter().map(|args| home.json(args)).collect()
    };
    let pristine = whole.copy();
    let right = reads(&pristine);
    let campaign = Campaign::new("damaged_caches_cost_nothing_but_time");
    let chain = format!("cache/chains/{}", whole.counting);
    each(campaign, cases(&[chain, "cache/types".to_owned()]), SHORT, |case, campaign| {
        let home = whole.copy();
        if case.file == "cache/types" {
            home.json(&["cas", "list", "--type", "StepNode"]);
        }
        let path = home.root().join(&case.file);
        case.harm.apply(&path, &home.root().join("config.yaml"), &mut campaign.rng);
        if case.harm == Harm::Swap {
            fs::copy(pristine.root().join("config.yaml"), home.root().join("config.yaml")).unwrap();
        }
        assert_eq!(reads(&home), right);
        let done = home.json(&["thread", "step", &whole.counting]);
        assert_eq!(done["done"], true, "the condition counts three steps");
        home.json(&["thread", "step", &whole.adding]);
    });
}

#[test]
fn damaged_marks_and_locks_lose_nothing() {
    let whole = Whole::new();
    let campaign = Campaign::new("damaged_marks_and_locks_lose_nothing");
    let of_root = ["threads.lock", "registry.lock", "config.lock"].map(str::to_owned);
    let mut cases = cases(&[vec![format!("threads/{}/lock", whole.counting)], of_root.into()].concat());
    cases.extend(cases_of_mark(&whole));
    each(campaign, cases, SHORT, |case, campaign| {
        let home = whole.copy();
        let path = home.root().join(&case.file);
        if !path.exists() {
            fs::write(&path, "{\"role\":null,\"why\":\"an attempt is open\",\"since\":0}\n").unwrap();
        }
        if fs::read(&path).unwrap().is_empty() {
            fs::write(&path, "x\n").unwrap();
        }
        let other = home.root().join("cache/chains").join(&whole.adding);
        case.harm.apply(&path, &other, &mut campaign.rng);
        let workflow = home.root().join("new.yaml");
        fs::write(&workflow, counting_workflow(9)).unwrap();
        let mut tried = vec![steps_or_tells(&home, &whole.counting, &[74])];
        match case.file.as_str() {
            "threads.lock" => tried.push(steps_or_tells(&home, &whole.adding, &[74])),
            "registry.lock" => tried.push(home.uwf(&["workflow", "put", &workflow.to_string_lossy()])),
            "config.lock" => tried.push(home.uwf(&["config", "set", "maxSteps", "50"])),
            _ => drop(home.json(&["thread", "step", &whole.adding])),
        }
        for ran in tried.iter().filter(|ran| ran.code != Some(0)) {
            assert_eq!(ran.code, Some(74), "{ran:?}");
            assert!(ran.stderr.contains(&case.file), "{ran:?}");
        }
        assert_eq!(home.uwf(&["thread", "list"]).code, Some(0));
    });
}

fn cases_of_mark(whole: &Whole) -> Vec<Case> {
    cases(&[format!("marks/{}.open", whole.counting)])
}
