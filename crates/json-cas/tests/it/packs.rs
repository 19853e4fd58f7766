//! Objects in packs: read, put, removed and damaged as those in files are.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use json_cas::conformance::objects_suite;
use json_cas::{
    FsObjects, NodeDraft, NodeHash, ObjectBackend, ObjectPutOutcome, PackRequest, PackRunOutcome, ProblemKind,
    ReclaimScope, Store, StoreError, StrayEntry, xxh64,
};
use parking_lot::Mutex;
use proptest::prelude::*;
use serde_json::json;
use tempfile::TempDir;

use crate::hooked::Hooked;

/// Packs objects; any bytes will do but those that say they are bad.
fn pack(objects: &FsObjects, hashes: &[NodeHash]) -> Result<PackRunOutcome, StoreError> {
    objects.pack(PackRequest { objects: hashes, is_sound: &is_sound, dry_run: false, progress: &mut |_| () })
}

fn is_sound(_: NodeHash, bytes: &[u8]) -> bool {
    !bytes.starts_with(b"bad")
}

/// Packs everything that has a file, and says how many that were.
fn pack_all(objects: &FsObjects) -> usize {
    let all = objects.list(None).unwrap();
    pack(objects, &all).unwrap().objects
}

fn hash(value: u64) -> NodeHash {
    NodeHash::from_u64(value)
}

fn put(objects: &FsObjects, value: u64, bytes: &[u8]) {
    objects.put_all(&[(hash(value), bytes.to_vec())]).unwrap();
}

fn remove(objects: &FsObjects, hashes: &[NodeHash]) -> Vec<bool> {
    let sweep = objects.sweep().unwrap();
    objects.remove_all(&sweep, &[hashes]).unwrap()
}

/// Names in a directory, sorted, but those of temporary files.
fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn files(dir: &Path) -> Vec<String> {
    let mut names = names(dir);
    names.retain(|name| name.ends_with(".bin"));
    names
}

fn packs(dir: &Path) -> Vec<PathBuf> {
    let names = names(&dir.join("packs"));
    names.iter().filter(|name| name.ends_with(".pack")).map(|name| dir.join("packs").join(name)).collect()
}

#[test]
fn objects_in_packs_pass_the_conformance_suite() {
    let root = TempDir::new().unwrap();
    let made = Mutex::new(0);
    objects_suite(&|| {
        let mut made = made.lock();
        *made += 1;
        let inner = FsObjects::new(root.path().join(made.to_string()));
        // Whatever is put is packed at once.
        let packing = Mutex::new(());
        let always_packed = Hooked::after_write(inner, move |inner| {
            let _one_at_a_time = packing.lock();
            let all = inner.list(None).unwrap();
            let anything = |_: NodeHash, _: &[u8]| true;
            let request = PackRequest { objects: &all, is_sound: &anything, dry_run: false, progress: &mut |_| () };
            inner.pack(request).unwrap();
            inner.reclaim(ReclaimScope::Worthwhile).unwrap();
        });
        Box::new(always_packed) as Box<dyn ObjectBackend>
    });
}

#[test]
fn packed_objects_are_readable_everywhere_and_lose_files() {
    let dir = TempDir::new().unwrap();
    let (objects, other) = (FsObjects::new(dir.path()), FsObjects::new(dir.path()));
    assert_eq!(other.get(hash(1)).unwrap(), None, "the other one has looked before");
    let large: Vec<u8> = (0..300_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    put(&objects, 1, b"one");
    put(&objects, 2, &large);
    put(&objects, 3, &vec![b'x'; 1 << 20]);
    let all = [hash(3), hash(2), hash(1), hash(7), hash(1)];
    let dry =
        objects.pack(PackRequest { objects: &all, is_sound: &is_sound, dry_run: true, progress: &mut |_| () }).unwrap();
    assert_eq!((files(dir.path()).len(), packs(dir.path()).len()), (3, 0), "it was only counted");
    let done = pack(&objects, &all).unwrap();
    assert_eq!((done.objects, done.left, done.bytes_before), (3, 0, 3 + 1_200_000 + (1 << 20)));
    assert_eq!((dry.objects, dry.bytes_before, dry.bytes_after), (3, done.bytes_before, done.bytes_after));
    assert!(done.bytes_after < 1_201_000 && done.disk_after >= done.bytes_after && done.disk_before > done.disk_after);
    assert_eq!((files(dir.path()), packs(dir.path()).len()), (Vec::<String>::new(), 1));
    for objects in [&objects, &other, &FsObjects::new(dir.path())] {
        assert_eq!(objects.get(hash(1)).unwrap().as_deref(), Some(b"one".as_slice()));
        assert!(objects.get(hash(2)).unwrap() == Some(large.clone()), "what cannot be compressed");
        assert!(objects.get(hash(3)).unwrap().is_some_and(|bytes| bytes.len() == 1 << 20), "more than a block");
        assert_eq!(objects.list(None).unwrap(), [hash(1), hash(2), hash(3)]);
        assert_eq!(objects.stored(hash(2)).unwrap().unwrap().bytes, 1_200_000);
        assert_eq!(objects.strays().unwrap(), []);
        objects.sync(&[hash(1)]).unwrap();
    }
    assert_eq!(pack_all(&objects), 0, "there is nothing left to do");
    assert_eq!(objects.put_all(&[(hash(1), b"one".to_vec())]).unwrap(), [ObjectPutOutcome::Present]);
    assert_eq!(files(dir.path()), Vec::<String>::new(), "and nothing to write");
}

#[test]
fn killed_pack_run_is_completed_by_next_run() {
    let dir = TempDir::new().unwrap();
    let objects = FsObjects::new(dir.path());
    for value in 1..=3 {
        put(&objects, value, format!("object {value}").as_bytes());
    }
    let copies: Vec<(PathBuf, Vec<u8>)> = files(dir.path())
        .iter()
        .map(|name| (dir.path().join(name), fs::read(dir.path().join(name)).unwrap()))
        .collect();
    pack_all(&objects);
    let put_back = || copies.iter().for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
    // Killed before the files were removed.
    put_back();
    assert_eq!((objects.list(None).unwrap().len(), pack_all(&objects), packs(dir.path()).len()), (3, 3, 1));
    // Killed before the list was written: the pack begins to count with the next run.
    let list = dir.path().join("packs/current");
    let before = fs::read(&list).unwrap();
    put(&objects, 4, b"object 4");
    pack_all(&objects);
    fs::write(&list, &before).unwrap();
    put(&objects, 4, b"object 4");
    put(&objects, 5, b"object 5");
    assert_eq!((pack_all(&objects), packs(dir.path()).len(), files(dir.path()).len()), (2, 3, 0));
    // A list that was not written by it is made anew.
    fs::write(&list, "json-cas packs 1\nsum 2QKE8R33GQK2Z\n").unwrap();
    let damaged = [StrayEntry {
        name: "packs/current".to_owned(),
        reason: "the list of packs is damaged, so all of them count".to_owned(),
    }];
    let other = FsObjects::new(dir.path());
    assert_eq!((other.strays().unwrap().as_slice(), other.list(None).unwrap().len()), (damaged.as_slice(), 5));
    assert_eq!((pack_all(&other), other.strays().unwrap()), (0, vec![]));
    assert_eq!(objects.get(hash(2)).unwrap().as_deref(), Some(b"object 2".as_slice()));
}

#[test]
fn killed_packers_pack_does_not_restore_removed_objects() {
    let dir = TempDir::new().unwrap();
    let objects = FsObjects::new(dir.path());
    let list = dir.path().join("packs/current");
    for value in 1..=4 {
        put(&objects, value, format!("object {value}").as_bytes());
    }
    pack(&objects, &[hash(1), hash(2)]).unwrap();
    let before = fs::read(&list).unwrap();
    pack(&objects, &[hash(3), hash(4)]).unwrap();
    // Killed when two packs were made one, or when objects were packed that still have files.
    fs::write(&list, &before).unwrap();
    put(&objects, 3, b"object 3");
    put(&objects, 4, b"object 4");
    assert_eq!(remove(&objects, &[hash(1), hash(3)]), [true, true]);
    for reclaimed in [ReclaimScope::Worthwhile, ReclaimScope::These(&[hash(1), hash(3)])] {
        assert_eq!(objects.list(None).unwrap(), [hash(2), hash(4)]);
        objects.reclaim(reclaimed).unwrap();
    }
    assert_eq!(pack(&objects, &[hash(2), hash(4)]).unwrap().objects, 1);
    assert_eq!(FsObjects::new(dir.path()).list(None).unwrap(), [hash(2), hash(4)]);
    assert_eq!(files(dir.path()), Vec::<String>::new());
    // A damaged one is neither taken nor deleted.
    let stranger = dir.path().join("packs/0000000000001.pack");
    fs::write(&stranger, "rubbish").unwrap();
    pack_all(&objects);
    objects.reclaim(ReclaimScope::Worthwhile).unwrap();
    assert!(stranger.exists() && objects.list(None).unwrap().len() == 2);
}

#[test]
fn file_that_differs_from_its_pack_stays() {
    let dir = TempDir::new().unwrap();
    let objects = FsObjects::new(dir.path());
    put(&objects, 1, b"one");
    put(&objects, 2, b"bad");
    assert_eq!(pack(&objects, &[hash(1), hash(2)]).unwrap(), PackRunOutcome { left: 1, ..pack_of(&objects, 1) });
    assert_eq!(files(dir.path()), [format!("{}.bin", hash(2))]);
    // Another file appears: it counts, and is neither packed nor removed.
    objects.replace(hash(1), b"another").unwrap();
    assert_eq!(objects.get(hash(1)).unwrap().as_deref(), Some(b"another".as_slice()));
    let again = pack(&objects, &[hash(1)]).unwrap();
    assert_eq!((again.objects, again.left, files(dir.path()).len()), (0, 1, 2));
    // A link is not an object's own file.
    fs::rename(objects.path(hash(2)), dir.path().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink(dir.path().join("elsewhere"), objects.path(hash(2))).unwrap();
    assert_eq!(pack(&objects, &[hash(2)]).unwrap(), PackRunOutcome::default());
}

/// The report of one pack with so many objects of three bytes.
fn pack_of(objects: &FsObjects, count: u64) -> PackRunOutcome {
    let path = packs(objects.dir()).pop().unwrap();
    PackRunOutcome {
        objects: count as usize,
        left: 0,
        bytes_before: 3 * count,
        bytes_after: fs::metadata(&path).unwrap().len(),
        disk_before: 4096 * count,
        disk_after: 4096,
    }
}

#[test]
fn removed_objects_vanish_immediately_and_reclaim_erases_bytes() {
    let dir = TempDir::new().unwrap();
    let (objects, other) = (FsObjects::new(dir.path()), FsObjects::new(dir.path()));
    for value in 1..=40 {
        put(&objects, value, format!("the secret of {value}").as_bytes());
    }
    pack_all(&objects);
    put(&objects, 41, b"in a file");
    assert!(other.get(hash(5)).unwrap().is_some());
    let doomed = [hash(5), hash(41), hash(99), hash(6)];
    assert_eq!(remove(&objects, &doomed), [true, true, false, true]);
    for objects in [&objects, &other] {
        assert_eq!((objects.get(hash(5)).unwrap(), objects.contains(hash(6)).unwrap()), (None, false));
        assert_eq!((objects.list(None).unwrap().len(), objects.stored(hash(5)).unwrap()), (38, None));
        assert!(!objects.refresh(hash(5)).unwrap());
    }
    let before = packs(dir.path());
    objects.reclaim(ReclaimScope::Worthwhile).unwrap();
    assert_eq!(packs(dir.path()), before, "two of forty are not worth it");
    objects.reclaim(ReclaimScope::These(&doomed)).unwrap();
    let after = packs(dir.path());
    assert!(after.len() == 1 && after != before, "{after:?}");
    assert_eq!(fs::read_to_string(dir.path().join("packs/current")).unwrap().matches("gone").count(), 0);
    for objects in [&objects, &other, &FsObjects::new(dir.path())] {
        assert_eq!(objects.list(None).unwrap().len(), 38);
        assert_eq!(objects.get(hash(7)).unwrap().as_deref(), Some(b"the secret of 7".as_slice()));
    }
    // A removed object can be put, packed and removed again.
    put(&other, 5, b"back");
    assert_eq!((pack_all(&other), objects.get(hash(5)).unwrap().as_deref()), (1, Some(b"back".as_slice())));
    remove(&objects, &[hash(5)]);
    put(&objects, 5, b"once more");
    pack_all(&objects);
    assert_eq!(other.get(hash(5)).unwrap().as_deref(), Some(b"once more".as_slice()), "the newest copy counts");
    // Nothing of a pack counts: it goes.
    let all = objects.list(None).unwrap();
    remove(&objects, &all);
    objects.reclaim(ReclaimScope::Worthwhile).unwrap();
    assert_eq!((packs(dir.path()).len(), other.list(None).unwrap().len()), (0, 0));
}

#[test]
fn packs_stay_few_and_keep_object_ages() {
    let dir = TempDir::new().unwrap();
    let objects = FsObjects::new(dir.path());
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_millis(1_234_567_890_123);
    let mut most = 0;
    for value in 0..64 {
        let noise = (0..8_000_u64).flat_map(|n| xxh64(&(value * 8_000 + n).to_le_bytes()).as_u64().to_le_bytes());
        put(&objects, value, &noise.collect::<Vec<u8>>());
        fs::File::options().write(true).open(objects.path(hash(value))).unwrap().set_modified(long_ago).unwrap();
        pack_all(&objects);
        objects.reclaim(ReclaimScope::Worthwhile).unwrap();
        most = most.max(packs(dir.path()).len());
    }
    assert!((2..=4).contains(&most), "{most} packs");
    assert_eq!(FsObjects::new(dir.path()).list(None).unwrap().len(), 64);
    let age = |value| objects.stored(hash(value)).unwrap().unwrap().put_at;
    assert_eq!((age(3), age(63)), (long_ago, long_ago));
    assert!(objects.refresh(hash(3)).unwrap());
    assert!(age(3) > long_ago && age(4) == long_ago);
    assert!(age(3).elapsed().unwrap() < Duration::from_mins(1));
    assert_eq!(files(dir.path()), Vec::<String>::new());
}

#[test]
fn unpacked_store_equals_never_packed_store() {
    let dir = TempDir::new().unwrap();
    let (objects, other) = (FsObjects::new(dir.path()), FsObjects::new(dir.path()));
    for value in 1..=5 {
        put(&objects, value, format!("object {value}").as_bytes());
        pack_all(&objects);
    }
    remove(&objects, &[hash(1)]);
    objects.replace(hash(2), b"bad").unwrap();
    objects.replace(hash(3), b"another").unwrap();
    assert!(other.contains(hash(4)).unwrap());
    let done = objects.unpack(&is_sound, &mut |_| ()).unwrap();
    assert_eq!((done.objects, done.packs), (3, 5));
    assert_eq!((packs(dir.path()).len(), files(dir.path()).len()), (0, 4));
    let read = |value| other.get(hash(value)).unwrap().map(|bytes| String::from_utf8(bytes).unwrap());
    let texts = [1, 2, 3, 4].map(read);
    assert_eq!(texts, [None, Some("object 2".into()), Some("another".into()), Some("object 4".into())]);
    assert_eq!(objects.unpack(&is_sound, &mut |_| ()).unwrap().objects, 0);
}

fn nodes(dir: &Path) -> (Store, FsObjects, NodeHash, Vec<NodeHash>) {
    let objects = FsObjects::new(dir);
    let store = Store::open_fs(dir);
    let text = store.put_schema(json!({ "title": "text", "type": "string" })).unwrap();
    let texts: Vec<NodeDraft> =
        (0..400).map(|n| NodeDraft::new(text, json!(format!("{n} {}", "abc ".repeat(200)))).unwrap()).collect();
    let hashes = store.put_all(&texts).unwrap();
    let all = store.objects().list(None).unwrap();
    pack(&objects, &all).unwrap();
    (store, objects, text, hashes)
}

#[test]
fn damaged_pack_is_reported_and_others_still_work() {
    let dir = TempDir::new().unwrap();
    let (_, _, text, hashes) = nodes(dir.path());
    let path = packs(dir.path()).pop().unwrap();
    let whole = fs::read(&path).unwrap();
    let mut failures = BTreeSet::new();
    for at in (0..whole.len()).step_by(97).chain(whole.len() - 70..whole.len()) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x40;
        fs::write(&path, &damaged).unwrap();
        let store = Store::open_fs(dir.path());
        let mut lost = Vec::new();
        for hash in &hashes {
            match store.get(*hash) {
                Ok(_) => {}
                Err(StoreError::Corrupt { hash: told, reason }) if told == *hash => {
                    assert!(reason.contains(&path.display().to_string()), "{reason}");
                    failures.insert(reason.rsplit(": ").next().unwrap().replace(|c: char| c.is_ascii_digit(), ""));
                    lost.push(*hash);
                }
                Err(other) => panic!("byte {at}: {other}"),
            }
        }
        if lost.len() < hashes.len() && !lost.is_empty() {
            let report = store.verify(Some(&hashes)).unwrap();
            assert!(report.problems.iter().any(|problem| problem.kind == ProblemKind::Corrupt), "{report:?}");
        }
    }
    assert!(failures.len() >= 6, "{failures:#?}");
    // Even without a foot a node can be put, also one that was in it.
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let store = Store::open_fs(dir.path());
    assert!(matches!(store.objects().list(None), Err(StoreError::DamagedPack { .. })));
    let schema = store.put_schema(json!({ "title": "text", "type": "string" })).unwrap();
    assert_eq!(schema, text);
    let again = NodeDraft::new(text, json!(format!("7 {}", "abc ".repeat(200)))).unwrap();
    assert_eq!((store.put(&again).unwrap(), store.get(hashes[7]).is_ok()), (hashes[7], true));
    let new = store.put(&NodeDraft::new(text, json!("new")).unwrap()).unwrap();
    assert_eq!(store.get(new).unwrap().payload, "new");
    // Back again, whatever was put meanwhile.
    fs::write(&path, &whole).unwrap();
    let store = Store::open_fs(dir.path());
    assert_eq!(store.verify(None).unwrap().problems, []);
    assert_eq!(store.objects().list(None).unwrap().len(), hashes.len() + 3);
}

#[test]
fn missing_pack_is_error_and_unlisted_pack_counts() {
    let dir = TempDir::new().unwrap();
    let (store, _, _, hashes) = nodes(dir.path());
    fs::remove_file(dir.path().join("packs/current")).unwrap();
    assert_eq!(Store::open_fs(dir.path()).verify(None).unwrap().problems, []);
    assert!(store.get(hashes[0]).is_ok(), "who had the list goes on without it");
    let path = packs(dir.path()).pop().unwrap();
    let objects = FsObjects::new(dir.path());
    put(&objects, 1, b"one");
    pack_all(&objects);
    assert_eq!(packs(dir.path()).len(), 2);
    fs::remove_file(&path).unwrap();
    let error = Store::open_fs(dir.path()).get(hashes[0]).unwrap_err();
    let expected = format!("node {} is corrupt: the pack {} is damaged: it is missing", hashes[0], path.display());
    assert_eq!(error.to_string(), expected);
    assert_eq!(FsObjects::new(dir.path()).get(hash(1)).unwrap().as_deref(), Some(b"one".as_slice()));
}

#[test]
fn concurrent_readers_putters_packers_and_sweepers_miss_nothing() {
    const OBJECTS: u64 = 120;
    let dir = TempDir::new().unwrap();
    let objects = FsObjects::new(dir.path());
    let bytes = |value: u64| format!("object {value} {}", "y".repeat(value as usize)).into_bytes();
    for value in 0..OBJECTS {
        put(&objects, value, &bytes(value));
    }
    let (doomed, kept) = (OBJECTS..OBJECTS + 40, 0..OBJECTS);
    let over = std::sync::atomic::AtomicBool::new(false);
    let is_over = || over.load(std::sync::atomic::Ordering::SeqCst);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mine = FsObjects::new(dir.path());
                while !is_over() {
                    for value in kept.clone() {
                        assert!(mine.get(hash(value)).unwrap() == Some(bytes(value)), "object {value}");
                        assert!(mine.contains(hash(value)).unwrap() && mine.stored(hash(value)).unwrap().is_some());
                    }
                    let listed = mine.list(None).unwrap();
                    assert!(kept.clone().all(|value| listed.contains(&hash(value))), "{listed:?}");
                }
            });
        }
        scope.spawn(|| {
            let mine = FsObjects::new(dir.path());
            while !is_over() {
                for value in doomed.clone() {
                    let hold = mine.hold().unwrap();
                    mine.put_all(&[(hash(value), bytes(value))]).unwrap();
                    // Nothing is removed while somebody holds.
                    assert!(mine.refresh(hash(value)).unwrap());
                    assert!(mine.get(hash(value)).unwrap() == Some(bytes(value)), "object {value}");
                    drop(hold);
                }
            }
        });
        let mine = FsObjects::new(dir.path());
        for round in 0..30 {
            let all = mine.list(None).unwrap();
            pack(&mine, &all).unwrap();
            let gone: Vec<NodeHash> = doomed.clone().map(hash).collect();
            remove(&mine, &gone);
            mine.reclaim(if round % 3 == 0 { ReclaimScope::These(&gone) } else { ReclaimScope::Worthwhile }).unwrap();
            if round % 10 == 9 {
                mine.unpack(&is_sound, &mut |_| ()).unwrap();
            }
        }
        over.store(true, std::sync::atomic::Ordering::SeqCst);
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Whatever is done in whatever order, a store with packs says the same as a map.
    #[test]
    fn a_store_with_packs_is_a_map(steps in proptest::collection::vec((0..6_u8, 0..24_u64), 1..40)) {
        let dir = TempDir::new().unwrap();
        let (objects, other) = (FsObjects::new(dir.path()), FsObjects::new(dir.path()));
        let mut model = BTreeSet::new();
        for (what, value) in steps {
            match what {
                0 | 1 => {
                    let answer = objects.put_all(&[(hash(value), value.to_string().into_bytes())]).unwrap();
                    let is_new = model.insert(value);
                    prop_assert_eq!(answer, [if is_new { ObjectPutOutcome::Published } else { ObjectPutOutcome::Present }]);
                }
                2 => prop_assert_eq!(remove(&other, &[hash(value)]), [model.remove(&value)]),
                3 => drop(pack(&objects, &[hash(value), hash(value + 1)]).unwrap()),
                4 if value % 2 == 0 => other.reclaim(ReclaimScope::These(&[hash(value), hash(value + 1)])).unwrap(),
                4 => other.reclaim(ReclaimScope::Worthwhile).unwrap(),
                _ => drop(objects.unpack(&is_sound, &mut |_| ()).unwrap()),
            }
            let listed: BTreeSet<u64> = objects.list(None).unwrap().into_iter().map(NodeHash::as_u64).collect();
            prop_assert_eq!(&listed, &model);
            for value in 0..24 {
                let expected = model.contains(&value).then(|| value.to_string().into_bytes());
                prop_assert_eq!(other.get(hash(value)).unwrap(), expected);
            }
        }
    }
}
