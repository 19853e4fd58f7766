//! A workflow from `put` to `$END` over nodes and heads in memory.

use serde_json::json;
use uwf_core::node::EndStatus;
use uwf_engine::root::history;
use uwf_engine::thread::state::ThreadState;
use uwf_engine::verbs::answer::AnswerPrecondition;
use uwf_engine::verbs::fork::{self, ForkChanges};
use uwf_engine::verbs::step::UpcomingRole;
use uwf_engine::verbs::{answer, kill, verify};
use uwf_engine::views::{list, show};

use crate::memory::{ESSAY, HAS_PEERS, Machine, names};

#[test]
fn workflow_runs_to_end_through_fork_and_kill() {
    let machine = Machine::new();
    let home = &machine.home;
    let put = machine.put("essay", ESSAY);
    let thread = machine.start("essay");
    assert_eq!(show::show(home, &thread).unwrap().state, ThreadState::Active);

    // The writer's turn, then the editor's, who sends it back.
    assert_eq!(answer::asked(home, &thread, AnswerPrecondition::default()).unwrap().role, "writer");
    let written = machine.answer(&thread, json!({"text": "Rain falls."})).unwrap();
    assert_eq!(
        (written.role.as_deref(), &written.next),
        (Some("writer"), &Some(UpcomingRole::Role("editor".to_owned())))
    );
    let judged = machine.answer(&thread, json!({"approved": false, "remarks": "Longer!"})).unwrap();
    assert_eq!(judged.next, Some(UpcomingRole::Role("writer".to_owned())));

    // Another try from before the editor had read it, which is given up.
    let fork = fork::thread(home, &thread, Some("editor"), &ForkChanges::default(), &machine.work()).unwrap();
    assert_eq!((fork.forked_from.step, fork.thread != thread), (written.head, true));
    assert_eq!(answer::asked(home, &fork.thread, AnswerPrecondition::default()).unwrap().role, "editor");
    let end = kill::kill(home, &fork.thread, None).unwrap();
    let killed = history::newest_line(home, &fork.thread).unwrap().unwrap();
    assert_eq!((killed.status, killed.head, killed.end), (EndStatus::Killed, written.head, end));

    // The first one continues, and ends.
    machine.answer(&thread, json!({"text": "Rain falls on the roofs."})).unwrap();
    let last = machine.answer(&thread, json!({"approved": true})).unwrap();
    assert_eq!((last.done, last.reason.as_deref(), &last.next), (true, Some("end"), &None));
    assert_eq!(machine.active_heads(), [], "nothing is active any more");
    let shown = show::show(home, &thread).unwrap();
    assert_eq!((shown.state, shown.steps, shown.workflow, shown.head), (ThreadState::Completed, 4, put, last.head));
    let all = list::list(home, &list::ThreadFilter { all: true, ..list::ThreadFilter::default() }).unwrap();
    let rows: Vec<_> = all.rows.iter().map(|row| (row.thread.clone(), row.state)).collect();
    assert_eq!(rows, [(fork.thread, ThreadState::Killed), (thread.clone(), ThreadState::Completed)]);

    // Every node of it is there and what it is said to be.
    assert_eq!(verify::verify(home, &thread, None).unwrap().verdict, verify::ThreadIntegrity::Intact);
    assert_eq!(home.store().verify(None).unwrap().problems, []);
    let names_files: &[&str] = if HAS_PEERS { &[] } else { &["registry.lock", "registry.yaml"] };
    let files = [&["cache", "config.yaml", "marks"], names_files, &["threads"]].concat();
    assert_eq!(names(home.root()), files, "no store, no index");
}
