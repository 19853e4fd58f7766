//! A network that is slow and fails, and a server that dies and comes back: nothing is lost, and nothing is done twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use json_cas::{HeadBackend, HeadsError, NodeHash, ObjectBackend, RemoteFault, RemovalJournal, SwapOutcome};
use serde_json::{Value, json};
use uwf_store_s3::S3Store;
use uwf_testing::processes::until;

use crate::proxy::{Fate, Proxy};
use crate::servers::{ATOMIC, Kind, Server};

fn hash(value: u64) -> NodeHash {
    NodeHash::from_u64(value)
}

fn record(name: &str) -> Value {
    json!({ "thread": name })
}

fn through(server: &Server, proxy: &Proxy, store: &S3Store) -> S3Store {
    S3Store::open_with(store.name(), server.environment_at(&proxy.endpoint())).unwrap()
}

/// One call in ten fails, in one of the ways there are.
fn one_in_ten(number: usize) -> Fate {
    match number % 30 {
        7 => Fate::IsLost,
        13 | 26 => Fate::LosesItsAnswer,
        19 => Fate::IsTooMuch,
        _ => Fate::Passes,
    }
}

#[test]
fn slow_and_flaky_server_loses_nothing() {
    const THREADS: u64 = 4;
    const MOVES: u64 = 6;
    let server = Server::start(Kind::Moto);
    let store = server.fresh();
    let proxy = Proxy::start(&server.endpoint(), Duration::from_millis(200), |passing| one_in_ten(passing.number));
    let (_, created) = (store.create("shared", hash(0)).unwrap(), AtomicU64::new(0));
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (store, created) = (through(&server, &proxy, &store), &created);
            scope.spawn(move || {
                for number in 0..MOVES {
                    let nodes: Vec<(NodeHash, Vec<u8>)> =
                        (0..5).map(|node| (hash(1000 * thread + 10 * number + node), vec![node as u8])).collect();
                    store.put_all(&nodes).unwrap();
                    loop {
                        let now = store.read("shared").unwrap().unwrap();
                        if store.swap("shared", &now.version, hash(now.hash.as_u64() + 1)).unwrap() == SwapOutcome::Done
                        {
                            break;
                        }
                    }
                    if store.create(&format!("raced-{number}"), hash(thread)).unwrap() == SwapOutcome::Done {
                        created.fetch_add(1, Ordering::SeqCst);
                    }
                    let own = format!("own-{thread}-{number}");
                    assert_eq!(store.create(&own, hash(2)).unwrap(), SwapOutcome::Done, "nobody else has it");
                    let version = store.read(&own).unwrap().unwrap().version;
                    assert_eq!(
                        store.remove(&own, &version, &record(&own)).unwrap(),
                        SwapOutcome::Done,
                        "nobody else has it"
                    );
                }
            });
        }
    });
    assert_eq!(
        store.read("shared").unwrap().unwrap().hash,
        hash(THREADS * MOVES),
        "each move was made and counted once"
    );
    assert_eq!(created.load(Ordering::SeqCst), MOVES, "each raced name was created by one");
    assert_eq!(ObjectBackend::list(&store, None).unwrap().len() as u64, 5 * THREADS * MOVES);
    assert_eq!(store.records().unwrap().readable.len() as u64, THREADS * MOVES);
    assert_eq!(HeadBackend::list(&store).unwrap().len() as u64, 1 + MOVES);
}

/// Loses the answer to the first write of a path that has this in it.
fn loses_answer_of(server: &Server, what: &'static str) -> Proxy {
    let met = AtomicUsize::new(0);
    Proxy::start(&server.endpoint(), Duration::ZERO, move |passing| {
        let is_it = passing.line.starts_with("PUT ") && passing.line.contains(what);
        if is_it && met.fetch_add(1, Ordering::SeqCst) == 0 { Fate::LosesItsAnswer } else { Fate::Passes }
    })
}

#[test]
fn a_change_whose_answer_was_lost_is_done() {
    for kind in [Kind::Moto, Kind::Azurite, Kind::Google] {
        answers_are_lost(&Server::start(kind));
    }
}

fn answers_are_lost(server: &Server) {
    let store = server.fresh();
    let proxy = loses_answer_of(server, "/team/store-1/heads/a@1");
    assert_eq!(through(server, &proxy, &store).create("a", hash(1)).unwrap(), SwapOutcome::Done);
    let first = store.read("a").unwrap().unwrap();
    assert_eq!(first.hash, hash(1));

    let proxy = loses_answer_of(server, "/team/store-1/heads/a@1");
    assert_eq!(through(server, &proxy, &store).swap("a", &first.version, hash(2)).unwrap(), SwapOutcome::Done);
    let second = store.read("a").unwrap().unwrap();
    assert_eq!(second.hash, hash(2));

    let proxy = loses_answer_of(server, "/team/store-1/heads/a@1");
    assert_eq!(through(server, &proxy, &store).remove("a", &second.version, &record("a")).unwrap(), SwapOutcome::Done);
    assert_eq!(store.records().unwrap().readable, [record("a")]);

    let proxy = loses_answer_of(server, "/team/store-1/history/a.json");
    assert_eq!(through(server, &proxy, &store).forget(&["a"]).unwrap(), 1);
    assert_eq!(store.newest("a").unwrap(), None);

    let proxy = loses_answer_of(server, "/team/store-1/nodes/");
    through(server, &proxy, &store).put_all(&[(hash(1), b"one".to_vec())]).unwrap();
    assert_eq!(store.get(hash(1)).unwrap(), Some(b"one".to_vec()));
}

/// Others continue before the second try: what was moved is found in the trace of where they are now.
#[test]
fn change_with_lost_answer_succeeds_despite_later_changes() {
    let server = Server::start(Kind::Moto);
    for others_moves in [1, 31, 40] {
        for others_remove in [false, true] {
            let store = server.fresh();
            assert_eq!(store.create("a", hash(1)).unwrap(), SwapOutcome::Done);
            let version = store.read("a").unwrap().unwrap().version;
            let (other, met) = (store.clone(), Arc::new(AtomicUsize::new(0)));
            let proxy = Proxy::start(&server.endpoint(), Duration::ZERO, move |passing| {
                if !passing.line.starts_with("PUT") {
                    return Fate::Passes;
                }
                match met.fetch_add(1, Ordering::SeqCst) {
                    0 => Fate::LosesItsAnswer,
                    _ => {
                        for number in 0..others_moves {
                            let now = other.read("a").unwrap().unwrap();
                            assert_eq!(other.swap("a", &now.version, hash(100 + number)).unwrap(), SwapOutcome::Done);
                        }
                        if others_remove {
                            let now = other.read("a").unwrap().unwrap();
                            assert_eq!(other.remove("a", &now.version, &record("a")).unwrap(), SwapOutcome::Done);
                        }
                        Fate::Passes
                    }
                }
            });
            let swapped = through(&server, &proxy, &store).swap("a", &version, hash(2));
            if others_moves + u64::from(others_remove) < 32 {
                assert_eq!(swapped.unwrap(), SwapOutcome::Done, "{others_moves} {others_remove}");
            } else {
                // So many that nobody can tell: that is said, and not that it was lost.
                let Err(HeadsError::Remote(error)) = swapped else { panic!("{swapped:?}") };
                assert_eq!(error.fault, RemoteFault::Failed);
                assert_eq!(
                    error.message,
                    "it did not report whether a was changed, and other processes have changed it since: check its head"
                );
            }
        }
    }
}

#[test]
fn server_keeps_everything_after_kill_and_restart() {
    let mut server = Server::start(Kind::SeaweedFs);
    let store = server.fresh();
    assert_eq!(store.create("a", hash(1)).unwrap(), SwapOutcome::Done);
    store.put_all(&[(hash(1), b"one".to_vec())]).unwrap();
    let version = store.read("a").unwrap().unwrap().version;
    server.kill();
    let begun = Instant::now();
    let failed = store.swap("a", &version, hash(2)).unwrap_err();
    assert!(matches!(&failed, HeadsError::Remote(error) if error.fault == RemoteFault::Unreachable), "{failed}");
    assert!(begun.elapsed() < Duration::from_secs(15), "it gives up after a while");
    server.restart();
    // It answers for a while before it has its volumes.
    until("it reads", || store.read("a").is_ok());
    assert_eq!(store.read("a").unwrap().unwrap().hash, hash(1));
    assert_eq!(store.swap("a", &version, hash(2)).unwrap(), SwapOutcome::Done);
    assert_eq!(store.get(hash(1)).unwrap(), Some(b"one".to_vec()));
}

/// Some move a name on while the server is killed and comes back: what was answered is there, and what was not is there or not.
#[test]
fn killed_server_loses_no_acknowledged_move() {
    const THREADS: u64 = 4;
    let mut server = Server::start(Kind::SeaweedFs);
    let store = server.fresh();
    assert_eq!(store.create("shared", hash(0)).unwrap(), SwapOutcome::Done);
    let (done, unknown, failed) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let is_over = AtomicBool::new(false);
    let count = |moved: Result<SwapOutcome, HeadsError>| match moved {
        Ok(SwapOutcome::Done) => drop(done.fetch_add(1, Ordering::SeqCst)),
        Ok(SwapOutcome::Moved(_)) => (),
        Err(HeadsError::Remote(error)) => {
            assert!(matches!(error.fault, RemoteFault::Unreachable | RemoteFault::Failed), "{error}");
            unknown.fetch_add(1, Ordering::SeqCst);
        }
        Err(error) => panic!("{error}"),
    };
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while !is_over.load(Ordering::SeqCst) {
                    match store.read("shared") {
                        Ok(Some(now)) => count(store.swap("shared", &now.version, hash(now.hash.as_u64() + 1))),
                        Ok(None) => panic!("the name is gone"),
                        Err(_) => failed.store(true, Ordering::SeqCst),
                    }
                }
            });
        }
        until("they move it", || done.load(Ordering::SeqCst) > 20);
        server.kill();
        until("they notice", || failed.load(Ordering::SeqCst) || unknown.load(Ordering::SeqCst) > 0);
        server.restart();
        let before = done.load(Ordering::SeqCst);
        until("they move it again", || done.load(Ordering::SeqCst) > before + 20);
        is_over.store(true, Ordering::SeqCst);
    });
    let moves = store.read("shared").unwrap().unwrap().hash.as_u64();
    let (done, unknown) = (done.load(Ordering::SeqCst), unknown.load(Ordering::SeqCst));
    assert!((done..=done + unknown).contains(&moves), "{moves} moves, {done} done, {unknown} unknown");
}

/// What became of the changes of names in [`names_come_and_go_in_order`].
#[derive(Default)]
struct Tally {
    created: AtomicU64,
    removed: AtomicU64,
    forgotten: AtomicU64,
    /// Creations and removals of which nobody can tell whether they were made, as two lives passed during the call.
    unknown: AtomicU64,
}

/// Some create, move, remove and forget the same names while one call in ten fails. Each name is created, removed and forgotten
/// in turn, so the sums must fit.
#[test]
fn names_come_and_go_in_order() {
    const NAMES: u64 = 3;
    const THREADS: u64 = 6;
    const CHANGES: u64 = 60;
    for kind in ATOMIC {
        let server = Server::start(kind);
        let store = server.fresh();
        let proxy = Proxy::start(&server.endpoint(), Duration::ZERO, |passing| one_in_ten(passing.number));
        let tallies: Vec<Tally> = (0..NAMES).map(|_| Tally::default()).collect();
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let (store, tallies) = (through(&server, &proxy, &store), &tallies);
                let mut random = fastrand::Rng::with_seed(thread);
                scope.spawn(move || {
                    for _ in 0..CHANGES {
                        let name = random.u64(0..NAMES);
                        change(&store, &format!("name-{name}"), &tallies[name as usize], random.u32(0..5));
                    }
                });
            }
        });
        for (number, tally) in tallies.iter().enumerate() {
            let name = format!("name-{number}");
            let of = |count: &AtomicU64| count.load(Ordering::SeqCst);
            let (created, removed, forgotten) = (of(&tally.created), of(&tally.removed), of(&tally.forgotten));
            let is_live = u64::from(store.read(&name).unwrap().is_some());
            let is_kept = u64::from(store.newest(&name).unwrap().is_some());
            let unknown = of(&tally.unknown);
            let fits = |one: u64, other: u64| one.abs_diff(other) <= unknown;
            let counts =
                format!("{kind:?} {name}: {created} {removed} {forgotten} {is_live} {is_kept}, {unknown} unknown");
            assert!(fits(created, removed + is_live), "{counts}");
            // One that is forgotten, created and removed during the call that forgets it is forgotten by nobody.
            let known = forgotten + is_kept;
            assert!(known <= removed + unknown && removed <= known + unknown + 1, "{counts}");
            assert!(unknown < created, "{counts}");
            assert!(created > 1, "{kind:?} {name} had one life only");
        }
        let live = HeadBackend::list(&store).unwrap().len();
        let kept = store.records().unwrap().readable.len();
        let names = (0..NAMES).map(|number| format!("name-{number}"));
        let state = names.map(|name| (store.read(&name).unwrap().is_some(), store.newest(&name).unwrap().is_some()));
        let state: Vec<(bool, bool)> = state.collect();
        assert_eq!(live, state.iter().filter(|(live, _)| *live).count());
        assert_eq!(kept, state.iter().filter(|(_, kept)| *kept).count());
    }
}

fn change(store: &S3Store, name: &str, tally: &Tally, what: u32) {
    let add = |count: &AtomicU64| count.fetch_add(1, Ordering::SeqCst);
    match what {
        0 | 1 => match store.create(name, hash(1)) {
            Ok(SwapOutcome::Done) => {
                add(&tally.created);
            }
            Ok(SwapOutcome::Moved(_)) | Err(HeadsError::Removed { .. }) => (),
            Err(HeadsError::Remote(error)) if error.message.starts_with("it did not report") => {
                add(&tally.unknown);
            }
            Err(error) => panic!("{error}"),
        },
        2 => {
            if store.forget(&[name]).unwrap() == 1 {
                add(&tally.forgotten);
            }
        }
        _ => {
            let Some(now) = store.read(name).unwrap() else { return };
            let is_swap = what == 3;
            let moved = match is_swap {
                true => store.swap(name, &now.version, hash(now.hash.as_u64() + 1)),
                false => store.remove(name, &now.version, &record(name)),
            };
            match moved {
                Ok(SwapOutcome::Done) if !is_swap => add(&tally.removed),
                Ok(SwapOutcome::Done | SwapOutcome::Moved(_)) => 0,
                Err(HeadsError::Remote(error)) if error.message.starts_with("it did not report") => {
                    if is_swap {
                        0
                    } else {
                        add(&tally.unknown)
                    }
                }
                Err(error) => panic!("{error}"),
            };
        }
    }
}
