//! Chains of nodes that one statement follows.

use std::sync::Arc;

use json_cas::{CachedObjects, Node, NodeDraft, NodeHash, ObjectBackend as _, Store, bootstrap};
use serde_json::json;

use crate::server::Server;

/// More than a caller asks for at once.
const LINKS: usize = 300;

/// The type of links, and the links themselves, newest first.
fn put(store: &Store) -> Vec<NodeHash> {
    let links = json!({"type": "object", "properties": {
        "prev": {"anyOf": [{"type": "string", "format": "cas_ref"}, {"type": "null"}]}, "number": {"type": "integer"}}});
    let links_type = store.put_schema(links).unwrap();
    let mut links: Vec<NodeHash> = Vec::new();
    let mut drafts = Vec::new();
    for number in 0..LINKS {
        let draft = NodeDraft::new(links_type, json!({"prev": links.last(), "number": number})).unwrap();
        links.push(draft.hash());
        drafts.push(draft);
    }
    store.put_all(&drafts).unwrap();
    links.reverse();
    links
}

#[test]
fn chain_is_read_in_one_statement() {
    let server = Server::start();
    let objects = Arc::new(server.store("team"));
    let links = put(&Store::new(objects.clone()));
    let hashes = |from: NodeHash, most: usize| -> Vec<NodeHash> {
        objects.chain(from, most).unwrap().into_iter().map(|(hash, _)| hash).collect()
    };
    assert_eq!(hashes(links[0], LINKS + 1), links);
    assert_eq!(hashes(links[10], 5), links[10..15]);
    assert_eq!(hashes(bootstrap::HASH, 5), [bootstrap::HASH], "it is no link, and its own chain");
    assert_eq!(hashes(NodeHash::from_u64(7), 5), [], "there is none");
    for (hash, bytes) in objects.chain(links[0], 9).unwrap() {
        assert_eq!(objects.get(hash).unwrap(), Some(bytes));
    }
    // A node is missing, and one leads back to where it came from: what was found until then is given.
    server.sql("work", &format!("delete from team.nodes where hash = {}", number(links[200])));
    assert_eq!(hashes(links[0], LINKS), links[..200]);
    let (first, tenth) = (number(links[0]), number(links[9]));
    server.sql("work", &format!("update team.nodes set prev = {first} where hash = {tenth}"));
    assert_eq!(hashes(links[0], 25), [&links[..10], &links[..10], &links[..5]].concat());
}

#[test]
fn repaired_link_is_followed_again() {
    let server = Server::start();
    let objects = server.store("team");
    let links = put(&Store::new(Arc::new(objects.clone())));
    let whole = objects.get(links[3]).unwrap().unwrap();
    objects.replace(links[3], b"damaged").unwrap();
    assert_eq!(objects.chain(links[0], 9).unwrap().len(), 4);
    objects.replace(links[3], &whole).unwrap();
    assert_eq!(objects.chain(links[0], 9).unwrap().len(), 9);
}

#[test]
fn fetched_chain_is_available_while_server_is_down() {
    let mut server = Server::start();
    let objects = Arc::new(server.store("team"));
    let links = put(&Store::new(objects.clone()));
    let dir = tempfile::tempdir().unwrap();
    let cached = CachedObjects::new(objects, dir.path(), Node::has_hash);
    assert_eq!(cached.chain(links[0], 50).unwrap().len(), 50);
    server.stop("QUIT");
    assert_eq!(cached.chain(links[0], 50).unwrap(), [], "it is here");
    assert!(links[..50].iter().all(|link| cached.get(*link).unwrap().is_some()));
}

/// As the tables have a hash.
fn number(hash: NodeHash) -> i64 {
    (hash.as_u64() ^ (1 << 63)).cast_signed()
}
