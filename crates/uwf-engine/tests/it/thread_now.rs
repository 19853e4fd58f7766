//! A thread that changes while it is read.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use json_cas::{
    Head, HeadBackend, HeadsError, JournalRecords, MemoryHeads, NameVersion, NodeHash, RemovalJournal, SwapOutcome,
};
use serde_json::{Value, json};
use uwf_core::thread::ThreadId;
use uwf_engine::root::home::Home;
use uwf_engine::root::marks::{self, MarkReason, ThreadMark};
use uwf_engine::thread::state::ThreadState;
use uwf_engine::verbs::settings::limit;
use uwf_engine::verbs::{answer, kill, pause};
use uwf_engine::views::cost::{self, CostBy};
use uwf_engine::views::thread_now::ThreadNow;
use uwf_engine::views::{course, pages, show, why};

use crate::memory::{Machine, Player};

/// Heads of a machine on which something happens while a head is read: before the first read, or before each.
struct BusyHeads<F> {
    inner: Arc<MemoryHeads>,
    reads: AtomicUsize,
    most: usize,
    happens: F,
}

impl<F: Fn() + Send + Sync> HeadBackend for BusyHeads<F> {
    fn read(&self, name: &str) -> Result<Option<Head>, HeadsError> {
        if self.reads.fetch_add(1, Ordering::SeqCst) < self.most {
            (self.happens)();
        }
        self.inner.read(name)
    }

    fn list(&self) -> Result<Vec<(String, NodeHash)>, HeadsError> {
        HeadBackend::list(&*self.inner)
    }

    fn create(&self, name: &str, new: NodeHash) -> Result<SwapOutcome, HeadsError> {
        self.inner.create(name, new)
    }

    fn swap(&self, name: &str, expected: &NameVersion, new: NodeHash) -> Result<SwapOutcome, HeadsError> {
        self.inner.swap(name, expected, new)
    }

    fn remove(&self, name: &str, expected: &NameVersion, record: &Value) -> Result<SwapOutcome, HeadsError> {
        self.inner.remove(name, expected, record)
    }
}

impl<F: Fn() + Send + Sync> RemovalJournal for BusyHeads<F> {
    fn records(&self) -> Result<JournalRecords, HeadsError> {
        self.inner.records()
    }

    fn newest(&self, name: &str) -> Result<Option<Value>, HeadsError> {
        self.inner.newest(name)
    }

    fn forget(&self, names: &[&str]) -> Result<usize, HeadsError> {
        self.inner.forget(names)
    }
}

/// Everything that a page shows of a thread, as text.
fn page(home: &Home, id: &ThreadId) -> String {
    let now = ThreadNow::read(home, id).unwrap();
    let (shown, course) = (show::status(&now).unwrap(), course::thread_course(&now).unwrap());
    let (ahead, failures) = (why::ahead(&now).unwrap(), pages::failures(&now));
    let spent = cost::of_thread(&now, &home.config().unwrap(), CostBy::Role).total;
    let limits = limit::to_lift(&now).map(|limits| limits.used);
    let asked = answer::asked_at(&now).map_err(|error| error.message);
    format!("{shown:#?}\n{ahead:#?}\n{failures:#?}\n{course:#?}\n{spent:#?}\n{limits:#?}\n{asked:#?}")
}

/// The same machine, on something happens before so many reads of a head.
fn busy(machine: &Arc<Machine>, most: usize, happens: impl Fn(&Machine) + Send + Sync + 'static) -> Home {
    let (inner, meanwhile) = (machine.heads.clone(), Arc::clone(machine));
    let happens = move || happens(&meanwhile);
    let heads = BusyHeads { inner, reads: AtomicUsize::new(0), most, happens };
    Home::over(machine.home.root(), "/there/is/no/uwf", machine.objects.clone(), Arc::new(heads))
}

/// Asserts that a page shows the thread before or after a change that happens while it is read.
fn assert_one_moment(change: impl Fn(&Machine, &ThreadId) + Send + Sync + 'static) {
    let machine = Arc::new(Machine::with_essay());
    let id = machine.start("essay");
    machine.answer(&id, json!({"text": "It rains."})).unwrap();
    let before = page(&machine.home, &id);
    let changed = id.clone();
    let shown = page(&busy(&machine, 1, move |machine| change(machine, &changed)), &id);
    let after = page(&machine.home, &id);
    assert_ne!(before, after);
    assert!(shown == before || shown == after, "before: {before}\nshown: {shown}\nafter: {after}");
}

fn fail(machine: &Machine, id: &ThreadId) {
    machine.fail(id, &Player::new("robot", "robot"), "no licence");
    // As the keeper does.
    marks::set(
        &machine.home,
        id,
        ThreadMark::Stuck,
        &MarkReason::from_message(ThreadMark::Stuck, "editor", "no licence"),
    )
    .unwrap();
}

#[test]
fn page_shows_one_moment_of_failing_thread() {
    assert_one_moment(fail);
}

#[test]
fn page_shows_one_moment_of_advancing_thread() {
    assert_one_moment(|machine, id| assert!(machine.answer(id, json!({"approved": false})).is_ok()));
}

#[test]
fn page_shows_one_moment_of_ending_thread() {
    assert_one_moment(|machine, id| assert!(machine.answer(id, json!({"approved": true})).is_ok()));
    assert_one_moment(|machine, id| assert!(kill::kill(&machine.home, id, None).is_ok()));
}

#[test]
fn page_shows_one_moment_of_pausing_thread() {
    assert_one_moment(|machine, id| assert!(pause::pause(&machine.home, id, Some("lunch"), None).is_ok()));
}

#[test]
fn thread_that_always_changes_is_shown() {
    let machine = Arc::new(Machine::with_essay());
    let id = machine.start("essay");
    let changed = id.clone();
    let home = busy(&machine, usize::MAX, move |machine| fail(machine, &changed));
    assert_eq!(ThreadNow::read(&home, &id).unwrap().state, ThreadState::Stuck);
}
