//! Files that are this machine's own: registry, configuration, records, caches, marks, locks.

use std::fs;

use serde_json::Value;
use uwf_testing::TestHome;

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
fn steps_or_tells(home: &TestHome, thread: &str, codes: &[i32]) {
    let before = home.head(thread);
    let ran = home.uwf(&["thread", "step", thread]);
    if ran.code == Some(0) {
        return;
    }
    assert!(ran.code.is_some_and(|code| codes.contains(&code)), "{ran:?}");
    assert!(ran.stderr.starts_with("error: "), "{ran:?}");
    assert_eq!(home.head(thread), before);
}

#[test]
fn registry_and_configuration() {
    let whole = Whole::new();
    let campaign = Campaign::new("registry_and_configuration");
    let cases = cases(&["registry.yaml".to_owned(), "config.yaml".to_owned()]);
    each(campaign, cases, SHORT, |case, campaign| {
        let home = spoiled(&whole, case, campaign);
        let swapped = case.harm == Harm::Swap;
        let is_registry = case.file == "registry.yaml";
        if is_registry || swapped {
            let listed = home.uwf(&["workflow", "list"]);
            if listed.code != Some(0) {
                assert!(matches!(listed.code, Some(65 | 74)), "{listed:?}");
                assert!(listed.stderr.contains("registry.yaml"), "{listed:?}");
            }
        }
        if is_registry && !swapped {
            home.json(&["thread", "step", &whole.counting]);
        } else {
            // An agent's name may be another now.
            steps_or_tells(&home, &whole.counting, &[40, 65, 69, 74, 78]);
        }
        home.json(&["thread", "list", "--all"]);
    });
}

#[test]
fn records_of_threads() {
    let whole = Whole::new();
    let campaign = Campaign::new("records_of_threads");
    let of = |name: &str| format!("threads/{}/{name}", whole.counting);
    let cases = cases(&["attempt.jsonl", "settings.json", "log.jsonl", "keeper.log"].map(of));
    each(campaign, cases, SHORT, |case, campaign| {
        let home = spoiled(&whole, case, campaign);
        steps_or_tells(&home, &whole.counting, &[40, 64, 65, 69, 74]);
        home.json(&["thread", "step", &whole.adding]);
        home.json(&["thread", "list"]);
    });
}

#[test]
fn caches() {
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
    let campaign = Campaign::new("caches");
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
fn marks_and_locks() {
    let whole = Whole::new();
    let campaign = Campaign::new("marks_and_locks");
    let files = [format!("threads/{}/lock", whole.counting), "threads.lock".to_owned(), "registry.lock".to_owned()];
    let mut cases = cases(&files);
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
        steps_or_tells(&home, &whole.counting, &[74]);
        if case.file == "threads.lock" {
            steps_or_tells(&home, &whole.adding, &[74]);
        } else {
            home.json(&["thread", "step", &whole.adding]);
        }
        assert_eq!(home.uwf(&["thread", "list"]).code, Some(0));
    });
}

fn cases_of_mark(whole: &Whole) -> Vec<Case> {
    cases(&[format!("marks/{}.open", whole.counting)])
}
