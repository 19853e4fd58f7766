//! Copying nodes from one store to another.

use json_cas::{MissingNodePolicy, NodeDraft, NodeHash, Store, StoreError};
use serde_json::json;

use crate::store::{colliding_texts, text_schema};

fn with_words(words: &[&str]) -> (Store, Vec<NodeHash>) {
    let store = Store::memory();
    let word = store.put_schema(json!({ "title": "word", "type": "string" })).unwrap();
    let nodes = words.iter().map(|text| store.put(&NodeDraft::new(word, json!(text)).unwrap()).unwrap()).collect();
    (store, nodes)
}

fn reached(store: &Store, roots: &[NodeHash]) -> Vec<NodeHash> {
    let mut reached = store.reach();
    roots.iter().flat_map(|root| reached.add(*root, MissingNodePolicy::Fails).unwrap()).collect()
}

#[test]
fn copy_keeps_timestamps_and_is_idempotent() {
    let (from, nodes) = with_words(&["one", "two"]);
    let all = reached(&from, &nodes);
    let to = Store::memory();
    let copied = from.copy_to(&to, &all).unwrap();
    assert_eq!((copied.new, copied.present), (all.len(), 0));
    assert_eq!(to.get(nodes[0]).unwrap(), from.get(nodes[0]).unwrap());
    assert!(to.verify(None).unwrap().problems.is_empty());
    let again = from.copy_to(&to, &all).unwrap();
    assert_eq!((again.new, again.present, again.bytes), (0, all.len(), 0));
}

#[test]
fn copy_keeps_existing_timestamp_and_repairs_damaged_node() {
    let (from, nodes) = with_words(&["one"]);
    let (to, _) = with_words(&["one"]);
    let before = to.objects().get(nodes[0]).unwrap();
    assert_eq!(from.copy_to(&to, &nodes).unwrap().present, 1);
    assert_eq!(to.objects().get(nodes[0]).unwrap(), before, "it keeps its time");
    to.objects().replace(nodes[0], b"damaged").unwrap();
    from.copy_to(&to, &nodes).unwrap();
    assert_eq!(to.get(nodes[0]).unwrap().payload, "one");
}

#[test]
fn hash_collision_is_rejected_and_keeps_existing_node() {
    let stores = [Store::memory(), Store::memory()];
    let text = stores.each_ref().map(|store| store.put_schema(text_schema()).unwrap())[0];
    let [one, two] = colliding_texts(text).map(|payload| NodeDraft::new(text, json!(payload)).unwrap());
    stores[0].put(&one).unwrap();
    stores[1].put(&two).unwrap();
    let refused = stores[0].copy_to(&stores[1], &[one.hash()]);
    assert!(matches!(refused, Err(StoreError::Collision { hash }) if hash == one.hash()));
    assert_eq!(stores[1].get(two.hash()).unwrap().payload, *two.payload());
}

#[test]
fn damaged_or_missing_nodes_are_not_copied() {
    let (from, nodes) = with_words(&["one", "two"]);
    from.objects().replace(nodes[0], b"damaged").unwrap();
    let to = Store::memory();
    assert!(matches!(from.copy_to(&to, &nodes), Err(StoreError::Corrupt { hash, .. }) if hash == nodes[0]));
    assert!(!to.has(nodes[0]).unwrap());
    let missing = NodeHash::from_u64(1);
    assert!(matches!(from.copy_to(&to, &[missing]), Err(StoreError::NotFound { hash }) if hash == missing));
}
