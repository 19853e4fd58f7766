//! References, closures and checks over them.

use std::fs;

use json_cas::{NodeDraft, NodeHash, ProblemKind, Store, StoreError, StoreProblem, WalkOptions, bootstrap};
use serde_json::{Value, json};
use tempfile::TempDir;

fn put(store: &Store, type_hash: NodeHash, payload: Value) -> NodeHash {
    store.put(&NodeDraft::new(type_hash, payload).unwrap()).unwrap()
}

/// A schema of list cells: a text and the cell before.
fn cell_type(store: &Store) -> NodeHash {
    store
        .put_schema(json!({
            "title": "cell",
            "type": "object",
            "properties": {
                "prev": {"anyOf": [{"type": "string", "format": "cas_ref"}, {"type": "null"}]},
                "also": {"type": "array", "items": {"type": "string", "format": "cas_ref"}},
                "text": {"type": "string"}
            },
            "required": ["prev"],
            "additionalProperties": false
        }))
        .unwrap()
}

/// Hashes and errors of a walk, as text.
fn walked(store: &Store, roots: &[NodeHash], types: bool) -> Vec<String> {
    store
        .walk(roots, WalkOptions { types })
        .map(|item| match item {
            Ok((hash, node)) => format!("{hash} {}", node.payload),
            Err(error) => error.to_string(),
        })
        .collect()
}

#[test]
fn walks_breadth_first_each_once() {
    let store = Store::memory();
    let cell = cell_type(&store);
    let a = put(&store, cell, json!({"prev": null, "text": "a"}));
    let b = put(&store, cell, json!({"prev": a, "text": "b"}));
    let c = put(&store, cell, json!({"prev": a, "text": "c"}));
    let top = put(&store, cell, json!({"prev": b, "also": [c, b, c, a]}));
    // In the order in which a stored payload comes back: shorter keys first.
    assert_eq!(store.refs(&store.get(top).unwrap()).unwrap(), [c, b, a]);
    let hashes: Vec<NodeHash> = store.walk(&[top], WalkOptions::default()).map(|item| item.unwrap().0).collect();
    assert_eq!(hashes, [top, c, b, a]);
    let hashes: Vec<NodeHash> =
        store.walk(&[a, top], WalkOptions { types: true }).map(|item| item.unwrap().0).collect();
    assert_eq!(hashes, [a, top, cell, c, b, bootstrap::HASH]);
    assert_eq!(store.refs(&store.get(cell).unwrap()).unwrap(), []);
}

#[test]
fn a_walk_goes_on_past_what_is_broken() {
    let dir = TempDir::new().unwrap();
    let store = Store::open_fs(dir.path());
    let cell = cell_type(&store);
    let text = store.put_schema(json!({"type": "string"})).unwrap();
    let lost = put(&store, cell, json!({"prev": null, "text": "lost"}));
    let bad = put(&store, cell, json!({"prev": null, "text": "bad"}));
    let orphan = put(&store, text, json!("orphan"));
    let fine = put(&store, cell, json!({"prev": null, "text": "fine"}));
    let top = put(&store, cell, json!({"prev": fine, "also": [lost, bad, orphan]}));
    let path = |hash: NodeHash| dir.path().join(format!("{hash}.bin"));
    fs::remove_file(path(lost)).unwrap();
    fs::write(path(bad), "garbage").unwrap();
    fs::remove_file(path(text)).unwrap();
    let store = Store::open_fs(dir.path());
    let payload = store.get(top).unwrap().payload;
    assert_eq!(
        walked(&store, &[top], false),
        [
            format!("{top} {payload}"),
            format!("node {top} refers to {lost}, which does not exist"),
            format!("node {bad} is corrupt: not CBOR of a JSON value at byte 1, in the root: the bytes end too early"),
            format!("{orphan} \"orphan\""),
            format!("type {text} is not in the store"),
            format!("{fine} {}", store.get(fine).unwrap().payload),
        ]
    );
    let missing = NodeHash::from_u64(1);
    assert!(matches!(
        store.walk(&[missing], WalkOptions::default()).next(),
        Some(Err(StoreError::NotFound { hash })) if hash == missing
    ));

    let problem = |hash, kind, reason: &str, referenced_by| StoreProblem {
        hash: Some(hash),
        file: None,
        kind,
        reason: reason.to_owned(),
        referenced_by,
    };
    let report = store.verify(Some(&[top])).unwrap();
    assert_eq!(
        report.problems,
        [
            problem(lost, ProblemKind::Missing, "it does not exist", Some(top)),
            problem(
                bad,
                ProblemKind::Corrupt,
                "not CBOR of a JSON value at byte 1, in the root: the bytes end too early",
                Some(top)
            ),
            problem(text, ProblemKind::Missing, "it does not exist", Some(orphan)),
        ]
    );
    assert_eq!(report.checked, 6, "top, cell, bad, orphan, fine and the meta-schema");
}

#[test]
fn a_whole_store_is_verified_with_its_strays() {
    let dir = TempDir::new().unwrap();
    let store = Store::open_fs(dir.path());
    let cell = cell_type(&store);
    let fine = put(&store, cell, json!({"prev": null}));
    assert_eq!(store.verify(None).unwrap().problems, []);
    let report = store.verify(None).unwrap();
    let size: u64 = [fine, cell, bootstrap::HASH]
        .iter()
        .map(|hash| fs::metadata(dir.path().join(format!("{hash}.bin"))).unwrap().len())
        .sum();
    assert_eq!((report.checked, report.bytes), (3, size));

    // A node that does not fit its type: written past the store, as another program might.
    let invalid = NodeDraft::new(cell, json!({"text": 5})).unwrap();
    let other = Store::memory();
    let any = other.put_schema(json!(true)).unwrap();
    let bytes = {
        let twin = NodeDraft::new(any, invalid.payload().clone()).unwrap();
        other.put(&twin).unwrap();
        let bytes = other.objects().get(twin.hash()).unwrap().unwrap();
        let text = |hash: NodeHash| hash.to_string().into_bytes();
        let at = bytes.windows(13).position(|window| window == text(any)).unwrap();
        let mut bytes = bytes;
        bytes[at..at + 13].copy_from_slice(&text(cell));
        bytes
    };
    store.objects().put_all(&[(invalid.hash(), bytes)]).unwrap();
    fs::write(dir.path().join("notes.txt"), "x").unwrap();
    let report = store.verify(None).unwrap();
    assert_eq!(
        report.problems,
        [
            StoreProblem {
                hash: Some(invalid.hash()),
                file: None,
                kind: ProblemKind::Invalid,
                reason: "missing key `prev` (hash of a node or null); /text: expected a string, found 5".to_owned(),
                referenced_by: None,
            },
            StoreProblem {
                hash: None,
                file: Some("notes.txt".to_owned()),
                kind: ProblemKind::Misnamed,
                reason: "not named <hash>.bin".to_owned(),
                referenced_by: None,
            },
        ]
    );
}

#[test]
fn an_empty_store_verifies() {
    let dir = TempDir::new().unwrap();
    let report = Store::open_fs(dir.path().join("none")).verify(None).unwrap();
    assert_eq!(report, json_cas::VerifyReport::default());
}

/// Type of nodes whose schema nobody stored.
const OTHERS: NodeHash = NodeHash::literal("0123456789ABC");

fn known(type_hash: NodeHash) -> Option<Value> {
    (type_hash == OTHERS)
        .then(|| json!({"properties": {"next": {"type": "string", "format": "cas_ref"}}, "required": ["next"]}))
}

#[test]
fn known_type_stands_in_for_missing_schema() {
    let dir = TempDir::new().unwrap();
    let writer = Store::open_fs(dir.path());
    let text = writer.put_schema(json!({"title": "text", "type": "string"})).unwrap();
    let end = put(&writer, text, json!("end"));
    // Nobody can put a node without its schema, so its file is copied from elsewhere.
    let draft = NodeDraft::new(OTHERS, json!({"next": end})).unwrap();
    let file = json!({"type": OTHERS, "payload": draft.payload(), "timestamp": 1});
    fs::write(dir.path().join(format!("{}.bin", draft.hash())), json_cas::cbor::encode(&file).unwrap()).unwrap();

    let root = draft.hash();
    let strict = Store::open_fs(dir.path());
    assert_eq!(walked(&strict, &[root], false)[1..], [format!("type {OTHERS} is not in the store")]);
    let knowing = Store::open_fs(dir.path()).with_known(known);
    let expected = [format!("{root} {}", draft.payload()), format!("{end} \"end\"")];
    assert_eq!(walked(&knowing, &[root], false), expected);
    assert_eq!(walked(&knowing, &[root], true).len(), 4, "its own type is not missing; that of the text is there");
    assert_eq!(knowing.verify(Some(&[root])).unwrap().problems, []);
    let problems = strict.verify(Some(&[root])).unwrap().problems;
    assert_eq!(problems.iter().map(|problem| problem.kind).collect::<Vec<_>>(), [ProblemKind::Missing]);
}
