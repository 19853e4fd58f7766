//! Nodes are removed again and again, without any grace, while threads are stepped, started, forked, killed and removed and
//! workflows are put; those that have ended are packed, and sometimes unpacked: nothing that leads anywhere ever lacks what it leads
//! to.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use uwf_testing::text;

use crate::campaign::{Campaign, size};
use crate::ledger::{self, Ledger, Records};
use crate::stage::{Stage, chain};

/// What became of the sweeps.
#[derive(Default)]
struct Swept {
    done: AtomicUsize,
    busy: AtomicUsize,
    nodes: AtomicUsize,
    packs: AtomicUsize,
    packed: AtomicUsize,
}

impl Swept {
    /// Packs what has ended, or takes it out of packs again.
    fn pack(&self, stage: &Stage, undo: bool) {
        let ran = stage.home.uwf(if undo { &["pack", "--undo"] } else { &["pack"] });
        match ran.code {
            Some(0) => {
                let nodes = ran.json()["packedNodes"].as_u64().unwrap_or_default();
                self.packs.fetch_add(1, Ordering::Relaxed);
                self.packed.fetch_add(usize::try_from(nodes).unwrap(), Ordering::Relaxed);
            }
            Some(75) => drop(self.busy.fetch_add(1, Ordering::Relaxed)),
            _ => panic!("{ran:?}"),
        }
    }

    /// Removes everything nothing leads to.
    fn sweep(&self, stage: &Stage) {
        let ran = stage.home.uwf(&["gc", "--grace", "0s"]);
        match ran.code {
            Some(0) => {
                let deleted = ran.json()["deletedEntries"].as_u64().unwrap();
                self.done.fetch_add(1, Ordering::Relaxed);
                self.nodes.fetch_add(usize::try_from(deleted).unwrap(), Ordering::Relaxed);
            }
            Some(75) => drop(self.busy.fetch_add(1, Ordering::Relaxed)),
            _ => panic!("{ran:?}"),
        }
    }
}

/// One of those who are at work, until it goes, also when that is because of a panic.
struct Working<'n>(&'n AtomicUsize);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// One role that continues and on.
fn workflow(name: &str) -> String {
    format!(
        "name: {name}\ndescription: comes and goes\nroles:\n  worker:\n    description: works\n    goal: Work.\n    meta:\n      \
         type: object\n      properties: {{ attempt: {{ type: string }} }}\n      required: [attempt]\ngraph:\n  \
         $START: [ {{ role: worker }} ]\n  worker: [ {{ role: worker }} ]\n"
    )
}

/// Steps a thread until it has ended.
fn to_its_end(stage: &Stage, thread: &str) {
    loop {
        let ran = stage.home.uwf(&["thread", "step", thread]);
        match ran.code {
            Some(0) if ran.json()["done"] == true => return,
            Some(0 | 75) => {}
            _ => panic!("thread {thread}: {ran:?}"),
        }
    }
}

/// Everything that lets something lead to a node that nothing led to, and the other way round: the same names, texts and
/// workflows come and go.
fn come_and_go(stage: &Stage, number: usize) {
    let ok = |args: &[&str]| {
        let ran = stage.home.uwf(args);
        let ran = stage.not_busy(ran, args);
        assert_eq!(ran.code, Some(0), "{args:?}: {ran:?}");
        ran.json()
    };
    let name = format!("count-{number}");
    let file = stage.home.work().join(format!("{name}.yaml"));
    std::fs::write(&file, workflow(&name)).unwrap();
    ok(&["workflow", "put", file.to_str().unwrap()]);
    // All such tasks are one node, which comes and goes with the threads that have it.
    let started = text(&ok(&["thread", "start", &name, "-p", "come and go"]), "thread");
    let forked = text(&ok(&["thread", "fork", &started]), "thread");
    ok(&["workflow", "rm", &name]);
    for thread in [&started, &forked] {
        assert_eq!(ok(&["thread", "step", thread])["role"], "worker");
    }
    for thread in [&started, &forked] {
        ok(&["thread", "verify", thread]);
        ok(&["thread", "kill", thread]);
    }
    // By now they may be packed.
    for thread in [&started, &forked] {
        ok(&["thread", "verify", thread]);
        ok(&["thread", "rm", thread]);
    }
}

#[test]
fn gc_without_grace_keeps_referenced_nodes() {
    let (threads, rounds) = size((3, 5), (8, 40));
    let campaign = Campaign::new("collected");
    let stage = Stage::new(rounds, size(10, 50));
    let all: Vec<String> = (0..threads).map(|_| stage.start()).collect();
    let swept = Swept::default();
    let working = AtomicUsize::new(threads);
    let rounds_gone = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in &all {
            let (stage, working) = (&stage, &working);
            scope.spawn(move || {
                let over = Working(working);
                to_its_end(stage, thread);
                drop(over);
            });
        }
        let (stage, working, swept, rounds_gone) = (&stage, &working, &swept, &rounds_gone);
        for number in 0..2 {
            scope.spawn(move || {
                while working.load(Ordering::SeqCst) > 0 {
                    come_and_go(stage, number);
                    rounds_gone.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        scope.spawn(move || {
            while working.load(Ordering::SeqCst) > 0 {
                swept.sweep(stage);
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        scope.spawn(move || {
            let mut number = 0;
            while working.load(Ordering::SeqCst) > 0 {
                swept.pack(stage, number % 7 == 6);
                number += 1;
                std::thread::sleep(Duration::from_millis(5));
            }
        });
    });
    stage.settle();
    swept.pack(&stage, false);
    swept.sweep(&stage);
    let [done, busy, nodes, packs, packed] = [&swept.done, &swept.busy, &swept.nodes, &swept.packs, &swept.packed]
        .map(|count| count.load(Ordering::Relaxed));
    campaign.tell(format!(
        "{threads} threads of {rounds} steps; {done} sweeps removed {nodes} nodes, {packs} packs took {packed}, {busy} were busy; \
         {} rounds of coming and going",
        rounds_gone.load(Ordering::Relaxed)
    ));
    assert!(done > 1 && nodes > 0, "{done} sweeps removed {nodes} nodes");
    assert!(packs > 1 && packed > 0, "{packs} packs took {packed} nodes");
    stage.check_store();
    let home = stage.engine();
    let history = uwf_engine::root::history::all(&home).unwrap();
    let ended: BTreeSet<String> = history.iter().map(|line| line.thread.to_string()).collect();
    assert_eq!(ended, all.iter().cloned().collect(), "no thread is lost, and none that was removed came back");
    for line in &history {
        assert_eq!(chain(&home, line.head).len(), rounds);
    }
    // Everything is in use now, or gone.
    let again = stage.home.json(&["gc", "--grace", "0s"]);
    assert_eq!(again["deletedEntries"], 0);
    let heads = history.into_iter().map(|line| (line.thread.to_string(), line.head)).collect();
    let wrong = ledger::check(&home, &heads, &Ledger::of(&stage), &Records::default());
    assert!(wrong.is_empty(), "{wrong}");
}
