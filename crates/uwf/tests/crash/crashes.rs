//! The power goes while a command runs: whatever of it is on the disk, uwf continues.

use std::fs;

use serde_json::{Value, json};
use uwf_testing::{TestHome, counting_workflow, text};

use crate::campaign::Campaign;
use crate::disk::{Disk, Tree, tree_of, write_tree};
use crate::reachable::problems;
use crate::record::record;
use crate::stage::{self, ROUNDS};
use crate::states::{FINISHED, State, states};

/// States tried of each command in a plain run.
const SHORT: usize = 8;

/// Bytes after which the record of a thread is begun anew: the engine's limit, which it keeps to itself.
const LONG_RECORD: usize = 16 << 10;

/// A disk after a crash, ready to be used.
struct Crashed {
    home: TestHome,
    /// What the command had printed by then.
    said: String,
    /// Whether the record of a finished output had been synced.
    is_finished: bool,
}

/// Records a command, stops it at every operation, and checks what is left, in every state it can be in.
fn crash(name: &'static str, home: &TestHome, args: &[&str], check: impl Fn(&Crashed)) {
    let mut campaign = Campaign::new(name);
    let before = tree_of(&home.root());
    let ops = record(home, args);
    let disk = Disk::new(&home.root(), &before, &ops);
    assert_eq!(disk.crashed(disk.length, &[]), tree_of(&home.root()), "the model is the file system");
    let (all, combinations) = states(&disk, &mut campaign.rng);
    let found = all.len();
    let chosen = campaign.sample(all, SHORT);
    eprintln!(
        "{name}: {} operations, {combinations} combinations, {found} different states, {} tried",
        disk.length,
        chosen.len()
    );
    for State { crash, tree } in chosen {
        let crashed =
            Crashed { home: stage::bare(), said: disk.said(crash), is_finished: disk.is_durable(crash, FINISHED) };
        write_tree(&crashed.home.root(), &rebooted(tree.clone()));
        let told = format!("stopped before operation {crash}, {:?}; again: {}", ops.get(crash), campaign.again());
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(&crashed)));
        if let Err(panic) = checked {
            let kept = std::env::temp_dir().join(format!("uwf-crash-{name}"));
            write_tree(&kept, &tree);
            eprintln!("{told}\nthe state is in {}", kept.display());
            std::panic::resume_unwind(panic);
        }
    }
}

/// After a power cut the machine has started anew, and no process of before is alive: records made before it name
/// another boot than the present one.
fn rebooted(mut tree: Tree) -> Tree {
    let boot = uwf_engine::attempt::recorded::boot_id().unwrap();
    assert!(!boot.is_empty(), "the machine tells its boot");
    let other = boot.replace(|digit: char| digit.is_ascii_hexdigit(), "0");
    for content in tree.values_mut().flatten() {
        while let Some(at) = content.windows(boot.len()).position(|window| window == boot.as_bytes()) {
            content[at..at + boot.len()].copy_from_slice(other.as_bytes());
        }
    }
    tree
}

impl Crashed {
    fn listed(&self, thread: &str) -> Option<Value> {
        let rows = self.home.json(&["thread", "list", "--all"]);
        rows.as_array().unwrap().iter().find(|row| row["thread"] == thread).cloned()
    }

    /// Where an active thread is; everything below it is there.
    fn head(&self, thread: &str) -> Option<String> {
        let head = self.home.head(thread)?;
        assert_eq!(problems(&self.home, &head), [], "below {head}");
        Some(head)
    }

    /// Steps, and looks at what is below the new head.
    fn step(&self, thread: &str) -> Value {
        let report = self.home.json(&["thread", "step", thread]);
        assert_eq!(problems(&self.home, &text(&report, "head")), []);
        report
    }

    fn steps(&self, thread: &str) -> Value {
        self.home.json(&["thread", "show", thread])["steps"].clone()
    }

    /// What `uwf recover` finds for a thread when the index is lost as well.
    fn without_index(&self, thread: &str) -> Option<String> {
        let index = self.home.root().join("threads.yaml");
        let bytes = fs::read(&index).ok();
        if bytes.is_some() {
            fs::remove_file(&index).unwrap();
        }
        self.home.json(&["recover"]);
        let head = self.home.head(thread);
        match bytes {
            Some(bytes) => fs::write(&index, bytes).unwrap(),
            None => fs::remove_file(&index).unwrap_or_default(),
        }
        head
    }
}

#[test]
fn the_first_put_of_all() {
    let home = stage::bare();
    fs::remove_dir(home.root()).unwrap();
    fs::create_dir(home.root()).unwrap();
    crash("the_first_put_of_all", &home, &["workflow", "put", "count-rounds.yaml"], |crashed| {
        let names = crashed.home.json(&["workflow", "list"]);
        if crashed.said.is_empty() {
            assert!(names.as_array().unwrap().len() <= 1);
        } else {
            assert_eq!(names[0]["name"], "count-rounds");
        }
        let hash = text(&crashed.home.json(&["workflow", "put", "count-rounds.yaml"]), "hash");
        assert_eq!(problems(&crashed.home, &hash), []);
        assert_eq!(crashed.home.json(&["cas", "verify"])["problems"], json!([]));
        crashed.home.start("count-rounds", "x");
    });
}

#[test]
fn a_put_of_another_version() {
    let home = stage::with_workflow("worker");
    let old = home.json(&["workflow", "list"])[0]["hash"].clone();
    let another = counting_workflow(ROUNDS + 1);
    home.file("count-rounds.yaml", &another);
    crash("a_put_of_another_version", &home, &["workflow", "put", "count-rounds.yaml"], |crashed| {
        let now = crashed.home.json(&["workflow", "list"])[0]["hash"].clone();
        assert!(crashed.said.is_empty() || now != old, "what was printed is there");
        assert_eq!(problems(&crashed.home, now.as_str().unwrap()), []);
        crashed.home.file("count-rounds.yaml", &another);
        let again = crashed.home.json(&["workflow", "put", "count-rounds.yaml"]);
        assert!(now == old || now == again["hash"], "old or new");
        let versions = crashed.home.json(&["workflow", "history", "count-rounds"]);
        assert_eq!(versions.as_array().unwrap().len(), 2, "{versions}");
        assert_eq!(crashed.home.json(&["cas", "verify"])["problems"], json!([]));
    });
}

/// A new thread is there or not; when it was printed, it is, even when the index is lost later.
fn creates(name: &'static str, home: &TestHome, args: &[&str], before: Option<(&str, &str)>) {
    crash(name, home, args, |crashed| {
        let rows = crashed.home.json(&["thread", "list"]);
        let new: Vec<&Value> = rows
            .as_array()
            .unwrap()
            .iter()
            .filter(|row| before.is_none_or(|(thread, _)| row["thread"] != thread))
            .collect();
        assert!(new.len() <= 1, "{rows}");
        if !crashed.said.is_empty() {
            let said: Value = serde_json::from_str(&crashed.said).unwrap();
            let thread = text(&said, "thread");
            assert_eq!(new[0]["thread"], said["thread"]);
            assert_eq!(crashed.without_index(&thread), crashed.head(&thread));
            crashed.step(&thread);
        }
        if let Some((thread, head)) = before {
            assert_eq!(crashed.head(thread).as_deref(), Some(head));
            assert_eq!(crashed.without_index(thread).as_deref(), Some(head));
            crashed.step(thread);
        }
        let next = crashed.home.start("count-rounds", "the next");
        crashed.step(&next);
        assert_eq!(crashed.home.uwf(&["recover"]).code, Some(0));
        assert_eq!(crashed.steps(&next), 1);
    });
}

#[test]
fn the_first_thread_of_all() {
    let home = stage::with_workflow("worker");
    creates("the_first_thread_of_all", &home, &["thread", "start", "count-rounds", "-p", "first"], None);
}

#[test]
fn crash_leaves_start_complete_or_absent() {
    let home = stage::with_workflow("worker");
    let other = stage::thread(&home, "other", 1);
    let head = home.head(&other).unwrap();
    creates(
        "crash_leaves_start_complete_or_absent",
        &home,
        &["thread", "start", "count-rounds", "-p", "x"],
        Some((&other, &head)),
    );
}

#[test]
fn crash_leaves_fork_complete_or_absent() {
    let home = stage::with_workflow("worker");
    let other = stage::thread(&home, "other", 2);
    let head = home.head(&other).unwrap();
    creates(
        "crash_leaves_fork_complete_or_absent",
        &home,
        &["thread", "fork", &other, "--from-role", "worker"],
        Some((&other, &head)),
    );
}

/// A thread is where it was or one step further, its output is paid for once, and the next step continues.
fn steps(name: &'static str, agent: &str, prepare: impl Fn(&TestHome, &str)) -> (TestHome, String) {
    let home = stage::with_workflow(agent);
    let (other, thread) = (stage::thread(&home, "other", 1), stage::thread(&home, "x", 1));
    prepare(&home, &thread);
    let (bystander, old) = (home.head(&other), home.head(&thread).unwrap());
    crash(name, &home, &["thread", "step", &thread], |crashed| {
        assert_eq!(crashed.listed(&thread).unwrap()["state"], "active");
        let head = crashed.head(&thread).unwrap();
        let moved = head != old;
        let recovered = crashed.without_index(&thread).unwrap();
        if !crashed.said.is_empty() {
            let said: Value = serde_json::from_str(&crashed.said).unwrap();
            assert_eq!(said["head"], json!(head), "what was printed is there");
            assert_eq!(recovered, head, "also when the index is lost");
        }
        assert!(recovered != old || !moved, "a head that had moved is found again");
        assert_eq!(crashed.head(&other), bystander);
        let report = crashed.step(&thread);
        let adopted = report["adopted"] == true;
        match (moved, crashed.is_finished) {
            (true, _) => assert!(!adopted && stage::paid(&crashed.home) == 1, "the next one: {report}"),
            (false, true) => assert!(adopted && stage::paid(&crashed.home) == 0, "paid for already: {report}"),
            (false, false) => assert_eq!(stage::paid(&crashed.home), usize::from(!adopted)),
        }
        assert_eq!(crashed.steps(&thread), 2 + u64::from(moved));
        crashed.step(&other);
    });
    (home, thread)
}

#[test]
fn a_step_uwf_makes() {
    steps("a_step_uwf_makes", "worker", |_, _| ());
}

#[test]
fn a_step_made_of_a_text() {
    steps("a_step_made_of_a_text", "texter", |_, _| ());
}

/// The record of the thread has become so long that the step begins a new one: what the old one said of the head is not
/// lost with it.
#[test]
fn a_step_that_begins_a_new_record() {
    let record = |home: &TestHome, thread: &str| home.record_file(thread);
    let (home, thread) = steps("a_step_that_begins_a_new_record", "worker", |home, thread| {
        let lines = fs::read(record(home, thread)).unwrap();
        fs::write(record(home, thread), lines.repeat(LONG_RECORD / lines.len() + 1)).unwrap();
    });
    assert!(fs::metadata(record(&home, &thread)).unwrap().len() < LONG_RECORD as u64, "it began a new one");
}

#[test]
fn a_step_the_agent_makes() {
    steps("a_step_the_agent_makes", "stepper", |_, _| ());
}

#[test]
fn crash_leaves_answer_complete_or_absent() {
    let home = stage::with_workflow("person");
    let (other, thread) = (stage::thread(&home, "other", 0), stage::thread(&home, "x", 0));
    let old = home.head(&thread).unwrap();
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
    let args = ["thread", "answer", &thread, "--data", "{\"n\": 4}"];
    crash("crash_leaves_answer_complete_or_absent", &home, &args, |crashed| {
        let head = crashed.head(&thread).unwrap();
        assert!(crashed.said.is_empty() || head != old, "what was printed is there");
        if head == old {
            // Either the answer is taken over, or the question stands.
            let ran = crashed.home.uwf(&["thread", "step", &thread]);
            assert!(matches!(ran.code, Some(0 | 20)), "{ran:?}");
            if ran.code == Some(20) {
                assert!(!crashed.is_finished, "a recorded answer is not asked for again");
                crashed.home.json(&args);
            }
        }
        let head = crashed.head(&thread).unwrap();
        assert_ne!(head, old);
        assert_eq!(crashed.without_index(&thread), Some(head), "also when the index is lost");
        assert_eq!(crashed.home.json(&["thread", "eval", &thread, "steps.output.n"]), json!(4));
        assert_eq!(crashed.home.uwf(&["thread", "step", &other]).code, Some(20));
    });
}

/// Steps a thread to its end.
fn finish(crashed: &Crashed, thread: &str) {
    for _ in 0..ROUNDS {
        // The index may still have it: the history decides.
        if crashed.home.json(&["thread", "show", thread])["done"] == true {
            break;
        }
        crashed.step(thread);
    }
    let shown = crashed.home.json(&["thread", "show", thread]);
    assert_eq!(json!([shown["done"], shown["steps"]]), json!([true, ROUNDS]));
}

#[test]
fn crash_leaves_last_step_complete_or_absent() {
    let home = stage::with_workflow("worker");
    let (other, thread) = (stage::thread(&home, "other", 1), stage::thread(&home, "x", ROUNDS - 1));
    crash("crash_leaves_last_step_complete_or_absent", &home, &["thread", "step", &thread], |crashed| {
        let row = crashed.listed(&thread).unwrap();
        let has_ended = row["state"] == "completed";
        assert!(has_ended || row["state"] == "active", "{row}");
        assert!(crashed.said.is_empty() || has_ended, "what was printed is there: {row}");
        if has_ended {
            assert_eq!(crashed.without_index(&thread), None, "it is not brought back to life");
            assert_eq!(crashed.home.uwf(&["thread", "step", &thread]).code, Some(69));
        }
        finish(crashed, &thread);
        assert!(stage::paid(&crashed.home) <= usize::from(!crashed.is_finished), "paid for once");
        crashed.step(&other);
    });
}

#[test]
fn crash_leaves_kill_complete_or_absent() {
    let home = stage::with_workflow("worker");
    let (other, thread) = (stage::thread(&home, "other", 1), stage::thread(&home, "x", 1));
    crash("crash_leaves_kill_complete_or_absent", &home, &["thread", "kill", &thread], |crashed| {
        let row = crashed.listed(&thread).unwrap();
        assert!(row["state"] == "killed" || crashed.said.is_empty() && row["state"] == "active", "{row}");
        crashed.step(&other);
        crashed.home.uwf(&["thread", "kill", &thread]);
        assert_eq!(crashed.listed(&thread).unwrap()["state"], "killed");
        assert_eq!(crashed.without_index(&thread), None, "it is not brought back to life");
    });
}

#[test]
fn crash_leaves_removal_complete_or_absent() {
    let home = stage::with_workflow("worker");
    let (other, thread) = (stage::thread(&home, "other", 1), stage::thread(&home, "x", ROUNDS));
    crash("crash_leaves_removal_complete_or_absent", &home, &["thread", "rm", &thread], |crashed| {
        let row = crashed.listed(&thread);
        assert!(row.is_none() || crashed.said.is_empty());
        assert_eq!(crashed.without_index(&thread), None, "it is not brought back to life");
        crashed.step(&other);
        let again = crashed.home.uwf(&["thread", "rm", &thread]).code;
        assert_eq!(again, Some(if row.is_some() { 0 } else { 69 }));
        assert_eq!(crashed.listed(&thread), None);
    });
}

/// Two threads that have ended and an active one; the ids of the first two and the head of each.
fn with_ended_threads() -> (TestHome, [String; 2], [String; 2]) {
    let home = stage::with_workflow("worker");
    stage::thread(&home, "other", 1);
    let threads = ["x", "y"].map(|prompt| stage::thread(&home, prompt, ROUNDS));
    let heads = threads.each_ref().map(|thread| text(&home.json(&["thread", "show", thread]), "head"));
    (home, threads, heads)
}

/// Nothing is missing or damaged after the crash, and the same again, packing and its undoing come to their ends.
fn moves(name: &'static str, home: &TestHome, heads: &[String; 2], args: &[&str]) {
    crash(name, home, args, |crashed| {
        let whole = |when: &str| {
            assert_eq!(heads.each_ref().map(|head| problems(&crashed.home, head)), [vec![], vec![]], "{when}");
            assert_eq!(crashed.home.json(&["cas", "verify"])["problems"], json!([]), "{when}");
        };
        whole("after the crash");
        for args in [args, &["pack"], &["gc", "--grace", "0s"], &["pack", "--undo"]] {
            crashed.home.json(args);
            whole(&args.join(" "));
        }
        let packs = crashed.home.root().join("cas/packs");
        let left = fs::read_dir(packs).into_iter().flatten().flatten().map(|entry| entry.path());
        let left: Vec<_> = left.filter(|path| path.extension().is_some_and(|it| it == "pack")).collect();
        assert!(left.is_empty(), "all nodes are in files again: {left:?}");
    });
}

#[test]
fn packing_loses_nothing_in_a_crash() {
    let (home, _, heads) = with_ended_threads();
    moves("packing_loses_nothing_in_a_crash", &home, &heads, &["pack"]);
    assert!(home.root().join("cas/packs").exists(), "there is a pack");
}

#[test]
fn unpacking_loses_nothing_in_a_crash() {
    let (home, _, heads) = with_ended_threads();
    assert_ne!(home.json(&["pack"])["packedNodes"], 0);
    moves("unpacking_loses_nothing_in_a_crash", &home, &heads, &["pack", "--undo"]);
}

#[test]
fn collecting_from_packs_loses_nothing_in_a_crash() {
    let (home, [kept, removed], [head, _]) = with_ended_threads();
    home.json(&["pack"]);
    home.json(&["thread", "rm", &removed]);
    moves("collecting_from_packs_loses_nothing_in_a_crash", &home, &[head.clone(), head], &["gc", "--grace", "0s"]);
    assert_eq!(home.json(&["thread", "show", &kept])["steps"], ROUNDS);
}
