//! Objects of heads that somebody has spoiled: they are told apart from names that are gone, and written over only as they were seen.

use json_cas::{HeadBackend, HeadsError, NameDamage, NameVersion, NodeHash, RemovalJournal, SwapOutcome};
use serde_json::json;
use uwf_store_s3::S3Store;

use crate::servers::{Kind, Server, put};

fn hash(value: u64) -> NodeHash {
    NodeHash::from_u64(value)
}

fn create(store: &S3Store, name: &str) -> NameVersion {
    assert_eq!(store.create(name, hash(1)).unwrap(), SwapOutcome::Done);
    store.read(name).unwrap().unwrap().version
}

fn remove(store: &S3Store, name: &str) {
    let version = store.read(name).unwrap().unwrap().version;
    let record = json!({ "thread": name });
    assert_eq!(store.remove(name, &version, &record).unwrap(), SwapOutcome::Done);
}

fn spoil(server: &Server, key: &str) {
    put(server, &format!("/team/store-1/heads/{key}"), "no head");
}

/// Names that a survey finds damaged, with what to mend them against.
fn damaged(store: &S3Store) -> Vec<(String, NameDamage)> {
    let surveyed = store.survey().unwrap().into_iter();
    surveyed.filter_map(|(name, pointing)| Some((name, pointing.err()?))).collect()
}

#[test]
fn survey_reports_damaged_names_and_ignores_past_lives() {
    let server = Server::start(Kind::Moto);
    let store = server.fresh();
    for name in ["moved", "new", "second", "over", "whole"] {
        create(&store, name);
    }
    let version = store.read("moved").unwrap().unwrap().version;
    assert_eq!(store.swap("moved", &version, hash(2)).unwrap(), SwapOutcome::Done);
    remove(&store, "second");
    assert_eq!(store.forget(&["second"]).unwrap(), 1);
    create(&store, "second");
    remove(&store, "over");
    for key in ["moved@1", "new@1", "second@2", "over@1"] {
        spoil(&server, key);
    }
    assert!(matches!(store.list(), Err(HeadsError::Unreadable { .. })), "a list is never incomplete");
    let surveyed = store.survey().unwrap();
    let told: Vec<(&str, bool)> = surveyed.iter().map(|(name, to)| (&**name, to.is_ok())).collect();
    assert_eq!(told, [("moved", false), ("new", false), ("second", false), ("whole", true)]);
    for (name, NameDamage { reason, version }) in damaged(&store) {
        let place = format!("s3://team/store-1/heads/{name}@");
        assert!(reason.starts_with(&place), "{reason}");
        assert_eq!(store.mend(&name, &version.unwrap(), hash(3)).unwrap(), SwapOutcome::Done);
    }
    let names = ["moved", "new", "second"].map(|name| (name.to_owned(), hash(3)));
    assert_eq!(store.list().unwrap()[..3], names);
    let head = store.read("second").unwrap().unwrap();
    assert_eq!(store.swap("second", &head.version, hash(4)).unwrap(), SwapOutcome::Done, "it moves as any other");
    remove(&store, "second");
    assert!(matches!(store.create("second", hash(5)), Err(HeadsError::Removed { .. })), "and ends as any other");
}

#[test]
fn damaged_name_repaired_elsewhere_is_not_repaired_again() {
    let server = Server::start(Kind::Moto);
    let store = server.fresh();
    create(&store, "a");
    spoil(&server, "a@1");
    let seen = damaged(&store)[0].1.version.clone().unwrap();
    let other = server.store(store.name());
    assert_eq!(other.mend("a", &seen, hash(2)).unwrap(), SwapOutcome::Done);
    let SwapOutcome::Moved(Some(now)) = store.mend("a", &seen, hash(3)).unwrap() else { panic!("it was mended twice") };
    assert_eq!(now.hash, hash(2));
    remove(&other, "a");
    assert_eq!(store.mend("a", &seen, hash(3)).unwrap(), SwapOutcome::Moved(None));
    assert_eq!(store.read("a").unwrap(), None);
}

#[test]
fn name_with_unreadable_history_is_not_live() {
    let server = Server::start(Kind::Moto);
    let store = server.fresh();
    create(&store, "a");
    put(&server, "/team/store-1/history/a.json", "no past");
    let found = damaged(&store);
    assert_eq!(found.len(), 1);
    let NameDamage { reason, version } = &found[0].1;
    assert!(reason.contains("history/a.json") && version.is_none(), "{reason}");
}
