//! The branches of a group are listed in the order of the file or of the items, on every machine.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};
use uwf_testing::{TestHome, text};

use crate::fixtures::group_in_repository::thread_of;
use crate::home;

/// Roles in no alphabetical order, one of which is a group with a branch for each item.
const PANEL: &str = "name: panel
roles:
  zeta: { goal: x }
  alpha: { goal: x }
  mid: { goal: x }
  beta: { goal: x }
  fixer: { goal: x }
  fixes: { play: fixer, each: \"['q', 'c', 'x', 'a']\", max: 1 }
  reviews: { play: [ zeta, alpha, fixes, mid, beta ], max: 1 }
graph:
  $START: [ { role: reviews } ]
  reviews: [ { role: $END } ]
";

const OUTER: [&str; 5] = ["reviews.zeta", "reviews.alpha", "reviews.fixes", "reviews.mid", "reviews.beta"];
const INNER: [&str; 4] = ["reviews.fixes.1", "reviews.fixes.2", "reviews.fixes.3", "reviews.fixes.4"];

/// All of them; each group is followed by its branches.
fn in_families() -> Vec<&'static str> {
    [&OUTER[..3], &INNER, &OUTER[3..]].concat()
}

/// A home whose branches all wait for a person.
fn waiting() -> (TestHome, String) {
    let home = home();
    home.put("panel", PANEL);
    home.config("agents:\n  h: { command: uwf-human }\ndefaultAgent: h\n");
    let ran = home.uwf(&["run", "panel", "-p", "x"]);
    assert_eq!(ran.code, Some(20), "{}", ran.transcript());
    (home, thread_of(&ran))
}

/// The paths that begin like one of the branches, in the order of a text: the first on each line.
fn paths(text: &str) -> Vec<String> {
    let path = |line: &str| {
        let words = line.split(|symbol: char| symbol.is_whitespace() || ['`', '\'', ','].contains(&symbol));
        words.map(str::to_owned).find(|word| word.starts_with("reviews."))
    };
    text.lines().filter_map(path).collect()
}

fn rows(home: &TestHome, args: &[&str]) -> Vec<Value> {
    home.json(&[&["thread", "list"], args].concat()).as_array().unwrap().clone()
}

/// The branches among rows whose path has this many parts.
fn of_depth(rows: &[Value], parts: usize) -> Vec<&str> {
    let paths = rows.iter().filter_map(|row| row["branch"].as_str());
    paths.filter(|path| path.split('.').count() == parts).collect()
}

#[test]
fn lists_have_branches_in_order() {
    let (home, thread) = waiting();
    let all = in_families();
    let table = home.uwf(&["thread", "list", "--branches", "--format", "text"]).stdout;
    let table: String = table.lines().filter(|line| line.contains("└")).map(|line| format!("{line}\n")).collect();
    assert_eq!(paths(&table), all, "{table}");
    let shown = home.uwf(&["thread", "show", &thread, "--format", "text"]).stdout;
    let table: String = shown.split("\nbranch ").nth(1).unwrap().split("\n\n").next().unwrap().to_owned();
    let first: Vec<&str> = table.lines().filter(|line| line.starts_with("reviews.")).collect();
    assert_eq!(paths(&first.join("\n")), all, "{shown}");
    let json = rows(&home, &[]);
    assert_eq!((of_depth(&json, 2), of_depth(&json, 3)), (OUTER.to_vec(), INNER.to_vec()), "{json:?}");
}

#[test]
fn pages_of_a_list_are_its_parts() {
    let (home, _) = waiting();
    let all = rows(&home, &[]);
    for size in [1, 3, 4] {
        let size_given = size.to_string();
        let (mut by_offset, mut by_last) = (Vec::new(), Vec::new());
        while by_offset.len() < all.len() {
            let offset = by_offset.len().to_string();
            by_offset.extend(rows(&home, &["--limit", &size_given, "--offset", &offset]));
            let after: Vec<String> = by_last.last().map(|row| text(row, "thread")).into_iter().collect();
            let after: Vec<&str> = after.iter().flat_map(|last| ["--after", last]).collect();
            by_last.extend(rows(&home, &[&["--limit", &size_given][..], &after].concat()));
        }
        assert_eq!((&by_offset, &by_last), (&all, &all), "pages of {size}");
    }
}

#[test]
fn messages_and_events_have_branches_in_order() {
    let (home, thread) = waiting();
    let leaves: Vec<&str> = in_families().into_iter().filter(|path| *path != "reviews.fixes").collect();
    let why = text(&home.json(&["thread", "show", &thread]), "why");
    assert_eq!(paths(&why), leaves, "{why}");
    let several = home.uwf(&["thread", "answer", &thread, "-m", "Fine."]);
    assert_eq!(several.code, Some(64), "{}", several.transcript());
    let hints: String =
        several.stderr.lines().filter(|line| line.starts_with("hint: ")).map(|line| format!("{line}\n")).collect();
    assert_eq!(paths(&hints), leaves, "{hints}");
    let unknown = home.uwf(&["thread", "answer", &thread, "--branch", "other", "-m", "Fine."]);
    let listed = unknown.stderr.split("active branches: ").nth(1).unwrap().trim();
    assert_eq!(listed.split(", ").collect::<Vec<_>>(), in_families(), "{}", unknown.stderr);
    assert_eq!(begun_in_live(&home, &thread, in_families().len()), in_families());
}

/// The first branches of which `live` says that they began.
fn begun_in_live(home: &TestHome, thread: &str, count: usize) -> Vec<String> {
    let mut live = home.command(&["live", thread, "--format", "json"]).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(live.stdout.take().unwrap()).lines();
    let begun = lines.filter_map(|line| {
        let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
        (event["event"] == "thread").then(|| event["branch"].as_str().map(str::to_owned)).flatten()
    });
    let begun = begun.take(count).collect();
    live.kill().unwrap();
    live.wait().unwrap();
    begun
}

/// Another storage root that has only the store's threads, and no record of who plays what.
fn copied(from: &TestHome, threads: &[&str]) -> TestHome {
    let to = home();
    let root = to.root();
    let done = from.uwf(&[&["store", "copy", ".", root.to_str().unwrap()], threads].concat());
    assert_eq!(done.code, Some(0), "{}", done.transcript());
    to
}

#[test]
fn copied_branches_are_below_their_parent() {
    let (here, thread) = waiting();
    let there = copied(&here, &[]);
    let place = |home: &TestHome| -> Vec<Value> {
        let places = |row: &Value| json!([row["thread"], row["parentThread"], row["branch"], row["task"]]);
        rows(home, &["--all"]).iter().map(places).collect()
    };
    assert_eq!(place(&there), place(&here));
    let table = |home: &TestHome, args: &[&str]| -> Vec<String> {
        let listed = home.uwf(&[&["thread", "list", "--format", "text"], args].concat()).stdout;
        let rows = listed.lines().filter(|line| line.trim_start().starts_with(['0', '└']));
        rows.map(|row| row.split_whitespace().find(|word| word.len() == 26).unwrap().to_owned()).collect()
    };
    assert_eq!(table(&there, &[]), [thread.as_str()], "branches are folded into their thread");
    assert_eq!(table(&there, &["--branches"]), table(&here, &["--branches"]));
    let listed = there.uwf(&["thread", "list", "--format", "text"]).stdout;
    assert!(listed.contains("branches: 8 active"), "{listed}");
}

#[test]
fn finished_copied_branches_are_below_their_parent() {
    let here = home();
    here.put("panel", PANEL);
    here.script("worker", "#!/bin/sh\ncat > /dev/null\necho Fine.\n");
    here.config("agents:\n  t: { command: worker, output: text }\ndefaultAgent: t\n");
    let ran = here.uwf(&["run", "panel", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let there = copied(&here, &[]);
    let words = there.uwf(&["thread", "list", "--all", "--format", "text"]).stdout;
    assert_eq!(words.lines().filter(|line| line.contains("completed")).count(), 1, "{words}");
    let branches =
        |home: &TestHome| of_depth(&rows(home, &["--all"]), 3).into_iter().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(
        (branches(&there), branches(&here)),
        (INNER.map(str::to_owned).to_vec(), INNER.map(str::to_owned).to_vec())
    );
}

#[test]
fn branch_copied_alone_has_its_own_row() {
    let (here, _) = waiting();
    let all = rows(&here, &[]);
    let branch = all.iter().find(|row| row["branch"] == "reviews.mid").unwrap();
    let id = text(branch, "thread");
    let there = copied(&here, &[&id]);
    let rows = rows(&there, &[]);
    assert_eq!((rows.len(), text(&rows[0], "thread"), rows[0].get("parentThread")), (1, id.clone(), None));
    let listed = there.uwf(&["thread", "list", "--format", "text"]).stdout;
    assert!(listed.contains(&id), "{listed}");
}

#[test]
fn branches_of_forked_group_have_no_known_threads() {
    let home = home();
    home.put(
        "panel",
        &PANEL.replace("reviews: [ { role: $END } ]", "reviews: [ { role: mid } ]\n  mid: [ { role: $END } ]"),
    );
    home.script("worker", "#!/bin/sh\ncat > /dev/null\necho Fine.\n");
    home.config("agents:\n  t: { command: worker, output: text }\ndefaultAgent: t\n");
    let ran = home.uwf(&["run", "panel", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let thread = thread_of(&ran);
    let fork = text(&home.json(&["thread", "fork", &thread, "--from-role", "mid"]), "thread");
    let threads = |id: &str| home.json(&["thread", "eval", id, "$branches('reviews').thread"]);
    assert_eq!(threads(&fork), json!([null, null, null, null, null]), "one for each branch");
    let own = threads(&thread);
    let shown = home.json(&["thread", "show", &thread]);
    let expected: Vec<&Value> =
        shown["group"]["branches"].as_array().unwrap().iter().map(|branch| &branch["thread"]).collect();
    assert_eq!(own, json!(expected));
}

/// Keys whose order is neither the alphabet nor the length, and a group of roles within a group.
const KEYED: &str = "name: keyed
roles:
  zeta: { goal: x }
  mid: { goal: x }
  alpha: { goal: x }
  inner: { play: [ mid, alpha ] }
  fix: { goal: x }
  fixes: { play: fix, each: \"[{'id': 'zz'}, {'id': 'b'}, {'id': 'ccc'}, {'id': 'a'}]\", key: id }
  reviews: { play: [ zeta, inner, fixes ] }
graph:
  $START: [ { role: reviews } ]
  reviews: [ { role: fixes } ]
  fixes: [ { role: $END } ]
";

/// The words in the order in which a text has them first.
fn in_order<'w>(text: &str, words: &[&'w str]) -> Vec<&'w str> {
    let mut found: Vec<&str> = words.to_vec();
    found.sort_by_key(|word| text.find(word).unwrap_or_else(|| panic!("no {word} in {text}")));
    found
}

#[test]
fn outputs_of_groups_have_branches_in_order() {
    let home = home();
    home.put("keyed", KEYED);
    home.worker("output: text", "#!/bin/sh\ncat > /dev/null\necho done\n");
    let ran = home.uwf(&["run", "keyed", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let thread = thread_of(&ran);
    let read = home.uwf(&["thread", "read", &thread, "--format", "text"]).stdout;
    let listed = home.uwf(&["thread", "steps", &thread, "--format", "text"]).stdout;
    let listed_json = home.uwf(&["thread", "steps", &thread, "--format", "json"]).stdout;
    let output = |text: &str| text.rsplit("**Output**").next().unwrap().to_owned();
    let quoted = ["\"zz\"", "\"b\"", "\"ccc\"", "\"a\""];
    let bold = ["**zz**", "**b**", "**ccc**", "**a**"];
    for (text, keys) in [(&output(&read), bold), (&listed_json, quoted)] {
        assert_eq!(in_order(text, &keys), keys, "{text}");
    }
    for text in [&read, &listed, &listed_json] {
        assert_eq!(
            in_order(text, &["zeta", "mid", "alpha", "zz", "ccc"]),
            ["zeta", "mid", "alpha", "zz", "ccc"],
            "{text}"
        );
    }
}
