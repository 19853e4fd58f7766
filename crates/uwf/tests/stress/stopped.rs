//! A process is held still at the worst moment while others continue, and is then let go, or killed. strace stops it at a system
//! call on one file, so that it is always the same moment.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use json_cas::{NodeHash, SwapOutcome};
use rustix::process::{Pid, Signal};
use uwf_engine::root::history;
use uwf_testing::processes::until;
use uwf_testing::{FinishedRun, counting_workflow, text};

use crate::ledger::Ledger;
use crate::stage::{ENDLESS, Stage, chain};

/// How strace says that a process stands still.
const STOPPED: &str = "--- stopped by SIGSTOP ---";

/// All calls by which a file takes another's place.
const RENAME: &str = "?rename,?renameat,?renameat2";

/// How long others are given to come to where they must wait, in tests of those who wait.
const A_WHILE: Duration = Duration::from_millis(300);

/// A command of which one process stands still.
struct Held {
    command: Child,
    stopped: Pid,
}

impl Held {
    /// Gives a command, and returns when one of its processes has come to a first call on a file and stands still.
    fn at(stage: &Stage, call: &str, file: &Path, args: &[&str]) -> Held {
        let log = stage.dir().join(format!("strace-{}", args.join("-").replace('/', "_")));
        // Of an earlier time.
        let _ = fs::remove_file(&log);
        let plain = stage.home.command(args);
        let mut command = Command::new("strace");
        stage.home.prepare(&mut command);
        command.args(["-f", "-e", &format!("trace={call}"), "-e"]);
        command.arg(format!("inject={call}:signal=SIGSTOP:when=1")).arg("-P").arg(file).arg("-o").arg(&log);
        command.arg(plain.get_program()).args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
        let command = command.spawn().expect("strace is installed");
        let line = || {
            let text = fs::read_to_string(&log).unwrap_or_default();
            text.lines().find(|line| line.ends_with(STOPPED)).map(str::to_owned)
        };
        until("a process stands still", || line().is_some());
        let pid = line().unwrap().split_whitespace().next().unwrap().parse().unwrap();
        Held { command, stopped: Pid::from_raw(pid).unwrap() }
    }

    /// Sends what stands still a signal, and waits for the command to end.
    fn end_by(self, signal: Signal) -> FinishedRun {
        rustix::process::kill_process(self.stopped, signal).unwrap();
        self.command.wait_with_output().unwrap().into()
    }
}

/// A stage with a thread of one step, and the step's hash.
fn begun() -> (Stage, String, NodeHash) {
    let stage = Stage::new(ENDLESS, 0);
    let thread = stage.start();
    let head = hash(&step(&stage, &thread));
    (stage, thread, head)
}

fn step(stage: &Stage, thread: &str) -> FinishedRun {
    stage.home.uwf(&["thread", "step", thread])
}

fn hash(ran: &FinishedRun) -> NodeHash {
    text(&ran.json(), "head").parse().unwrap()
}

fn index_lock(stage: &Stage) -> PathBuf {
    stage.engine().heads_lock()
}

/// Agents paid at a position.
fn paid(stage: &Stage, thread: &str, head: NodeHash) -> usize {
    Ledger::of(stage).paid.get(&(thread.to_owned(), head)).map_or(0, Vec::len)
}

/// The step that a keeper told it had finished but not linked.
fn kept_step(stage: &Stage, ran: &FinishedRun, before: NodeHash) -> NodeHash {
    let named = ran.stderr.split_whitespace().skip_while(|word| *word != "step").nth(1).unwrap();
    let step = named.parse().unwrap();
    assert_eq!(chain(&stage.engine(), step).last().unwrap().before, before, "the whole step is there: {ran:?}");
    step
}

#[test]
fn kill_wins_over_keeper_before_head_moves() {
    let (stage, thread, head) = begun();
    let held = Held::at(&stage, "openat", &index_lock(&stage), &["thread", "step", &thread]);
    let kill = stage.home.command(&["thread", "kill", &thread]).stdout(Stdio::null()).spawn().unwrap();
    until("the thread has left the index", || stage.heads().is_empty());
    let late = held.end_by(Signal::CONT);
    assert!(kill.wait_with_output().unwrap().status.success());
    assert_eq!(late.code, Some(69), "{late:?}");
    let ended = history::all(&stage.engine()).unwrap();
    assert_eq!(ended.iter().map(|line| line.head).collect::<Vec<_>>(), [head], "what came late is not linked");
    let forked = stage.home.json(&["thread", "fork", &kept_step(&stage, &late, head).to_string()]);
    assert_eq!(step(&stage, &text(&forked, "thread")).code, Some(0), "and not lost");
    stage.check_store();
}

/// As when another machine that shares the store, but not the locks, steps the same thread.
#[test]
fn other_head_move_wins_over_stopped_keeper() {
    let (stage, thread, head) = begun();
    let fork = text(&stage.home.json(&["thread", "fork", &thread]), "thread");
    let other = hash(&step(&stage, &fork));
    let held = Held::at(&stage, "openat", &index_lock(&stage), &["thread", "step", &thread]);
    let home = stage.engine();
    let version = home.heads().read(&thread).unwrap().unwrap().version;
    assert_eq!(home.heads().swap(&thread, &version, other).unwrap(), SwapOutcome::Done);
    let late = held.end_by(Signal::CONT);
    assert_eq!(late.code, Some(75), "{late:?}");
    assert_eq!(stage.heads()[&thread], other, "the other step stays");
    kept_step(&stage, &late, head);
    let next = hash(&step(&stage, &thread));
    assert_eq!(chain(&home, next).last().unwrap().before, other);
    stage.check_store();
}

#[test]
fn keeper_before_head_moves_blocks_only_its_thread() {
    let (stage, thread, head) = begun();
    let held = Held::at(&stage, "openat", &index_lock(&stage), &["thread", "step", &thread]);
    assert_eq!(step(&stage, &thread).code, Some(75));
    let other = stage.start();
    assert_eq!([step(&stage, &other).code, step(&stage, &other).code], [Some(0), Some(0)]);
    assert_eq!(stage.home.json(&["thread", "show", &thread])["state"], "running");
    let late = hash(&held.end_by(Signal::CONT));
    assert_eq!((stage.heads()[&thread], chain(&stage.engine(), late)[1].before), (late, head));
    assert_eq!((stage.heads().len(), paid(&stage, &thread, head)), (2, 1));
    stage.check_store();
}

/// The lock on the index is held by what stands still: others wait, nobody takes it away, and nothing is read half.
#[test]
fn keeper_holding_index_lets_others_read_and_wait() {
    for call in ["flock", RENAME] {
        let (stage, thread, _) = begun();
        let file = if call == RENAME { stage.engine().index_file() } else { index_lock(&stage) };
        let held = Held::at(&stage, call, &file, &["thread", "step", &thread]);
        let args = ["thread", "start", "take-turns", "-p", "wait"];
        let starts: Vec<Child> = (0..4)
            .map(|_| {
                let mut start = stage.home.command(&args);
                start.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
            })
            .collect();
        std::thread::sleep(A_WHILE);
        assert_eq!(stage.home.json(&["thread", "list"]).as_array().unwrap().len(), 1);
        let late = hash(&held.end_by(Signal::CONT));
        for start in starts {
            let started = stage.not_busy(start.wait_with_output().unwrap().into(), &args);
            assert!(stage.heads().contains_key(&text(&started.json(), "thread")), "{started:?}");
        }
        assert_eq!((stage.heads().len(), stage.heads()[&thread]), (5, late), "at {call}");
        stage.check_store();
    }
}

#[test]
fn keeper_killed_with_index_lock_leaves_its_step() {
    for (call, moved) in [("flock", false), (RENAME, true)] {
        let (stage, thread, head) = begun();
        let file = if moved { stage.engine().index_file() } else { index_lock(&stage) };
        let held = Held::at(&stage, call, &file, &["thread", "step", &thread]);
        let died = held.end_by(Signal::KILL);
        assert_eq!(died.code, Some(70), "{died:?}");
        assert_eq!(stage.heads()[&thread] != head, moved, "at {call}");
        let next = step(&stage, &thread).json();
        assert_eq!(next["adopted"] == true, !moved, "at {call}: {next}");
        assert_eq!(paid(&stage, &thread, head), 1);
        stage.check_store();
    }
}

#[test]
fn stopped_window_reports_its_own_step() {
    let stage = Stage::new(ENDLESS, 300);
    let thread = stage.start();
    let first = stage.heads()[&thread];
    let mut command = stage.home.command(&["thread", "step", &thread]);
    let window = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("its agent works", || paid(&stage, &thread, first) == 1);
    let pid = Pid::from_child(&window);
    rustix::process::kill_process(pid, Signal::STOP).unwrap();
    until("the head has moved", || stage.heads()[&thread] != first);
    let own = stage.heads()[&thread];
    until("the thread is free again", || step(&stage, &thread).code == Some(0));
    rustix::process::kill_process(pid, Signal::CONT).unwrap();
    let told: FinishedRun = window.wait_with_output().unwrap().into();
    assert_eq!(hash(&told), own);
    assert_eq!(chain(&stage.engine(), stage.heads()[&thread]).len(), 2);
}

#[test]
fn a_start_before_the_index_loses_nobody_elses() {
    let stage = Stage::new(ENDLESS, 0);
    let held = Held::at(&stage, "openat", &index_lock(&stage), &["thread", "start", "take-turns", "-p", "late"]);
    let others: Vec<String> = (0..8).map(|_| stage.start()).collect();
    let late = text(&held.end_by(Signal::CONT).json(), "thread");
    let heads = stage.heads();
    assert_eq!(heads.len(), 9);
    assert!(others.iter().chain([&late]).all(|thread| heads.contains_key(thread)));
}

#[test]
fn delayed_kill_ends_thread_at_current_head() {
    let (stage, thread, _) = begun();
    let held = Held::at(&stage, "openat", &index_lock(&stage), &["thread", "kill", &thread]);
    let head = hash(&step(&stage, &thread));
    let killed = held.end_by(Signal::CONT);
    assert_eq!(killed.code, Some(0), "{killed:?}");
    let ended = history::all(&stage.engine()).unwrap();
    assert_eq!(ended.iter().map(|line| line.head).collect::<Vec<_>>(), [head]);
    assert_eq!(chain(&stage.engine(), head).len(), 2);
}

#[test]
fn delayed_put_keeps_other_versions_in_history() {
    let stage = Stage::new(ENDLESS, 0);
    let file = |rounds: usize| {
        fs::create_dir_all(stage.home.work().join(rounds.to_string())).unwrap();
        let file = stage.home.file(&format!("{rounds}/count-rounds.yaml"), &counting_workflow(rounds));
        file.to_str().unwrap().to_owned()
    };
    let put = |rounds| text(&stage.home.json(&["workflow", "put", &file(rounds)]), "hash");
    for call in ["openat", "flock"] {
        let (one, two) = (put(1), put(2));
        let held = Held::at(&stage, call, &stage.engine().registry_lock(), &["workflow", "put", &file(3)]);
        // One that has the lock already lets nobody else in.
        let other = (call == "openat").then(|| put(4));
        let three = text(&held.end_by(Signal::CONT).json(), "hash");
        let names = stage.home.json(&["workflow", "history", "count-rounds"]);
        let known: Vec<&str> =
            names.as_array().unwrap().iter().map(|version| version["hash"].as_str().unwrap()).collect();
        let newest_first: Vec<&str> =
            [Some(&three), other.as_ref(), Some(&two), Some(&one)].into_iter().flatten().map(String::as_str).collect();
        assert_eq!(known, newest_first);
        stage.home.json(&["workflow", "rm", "count-rounds"]);
    }
}

#[test]
fn delayed_put_protects_its_nodes_from_gc() {
    let stage = Stage::new(ENDLESS, 0);
    let file = stage.home.file("count-rounds.yaml", &counting_workflow(1));
    let put = ["workflow", "put", file.to_str().unwrap()];
    let held = Held::at(&stage, "openat", &stage.engine().registry_lock(), &put);
    let before = stage.engine().store().objects().list(None).unwrap();
    let swept = stage.home.uwf(&["gc", "--grace", "0s"]);
    assert_eq!(swept.code, Some(75), "{swept:?}");
    assert_eq!(stage.engine().store().objects().list(None).unwrap(), before);
    let late = held.end_by(Signal::CONT);
    assert_eq!(late.code, Some(0), "{late:?}");
    stage.home.json(&["gc", "--grace", "0s"]);
    let hash = text(&late.json(), "hash").parse().unwrap();
    assert!(stage.engine().store().has(hash).unwrap(), "it has a name");
    stage.check_store();
}

#[test]
fn stopped_gc_blocks_writers_not_readers() {
    let (stage, thread, head) = begun();
    for signal in [Signal::CONT, Signal::KILL] {
        let unused = text(&stage.home.json(&["cas", "put-text", "nobody needs this"]), "hash");
        let file = stage.engine().objects_dir().join(format!("{unused}.bin"));
        let held = Held::at(&stage, "?unlink,?unlinkat", &file, &["gc", "--grace", "0s"]);
        assert_eq!(stage.home.json(&["thread", "show", &thread])["head"], head.to_string());
        let mut start = stage.home.command(&["thread", "start", "take-turns", "-p", "meanwhile"]);
        let mut start = start.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(A_WHILE);
        assert!(start.try_wait().unwrap().is_none(), "it waits");
        held.end_by(signal);
        let started: FinishedRun = start.wait_with_output().unwrap().into();
        assert_eq!(step(&stage, &text(&started.json(), "thread")).code, Some(0), "{started:?}");
        stage.home.json(&["gc", "--grace", "0s"]);
        assert!(!file.exists());
        stage.check_store();
    }
}
