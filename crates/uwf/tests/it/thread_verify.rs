//! `thread verify`: the digests by which finished steps are recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use json_cas::{Store, cbor};
use serde_json::{Value, json};
use uwf_testing::{FinishedRun, TestHome, counting_workflow, text};

use crate::home;

/// A home whose worker counts, and a thread of so many steps.
fn counted(steps: usize) -> (TestHome, String) {
    let home = home();
    home.worker("output: json", "#!/bin/sh\ncat > /dev/null\necho x >> runs\necho \"{\\\"n\\\": $(wc -l < runs)}\"\n");
    let thread = home.start_counting(99, "count");
    (0..steps).for_each(|_| drop(home.json(&["thread", "step", &thread])));
    (home, thread)
}

fn digest(home: &TestHome, thread: &str) -> String {
    text(&home.json(&["thread", "show", thread]), "digest")
}

fn verify(home: &TestHome, thread: &str) -> FinishedRun {
    home.uwf(&["thread", "verify", thread])
}

/// The digests of a thread as docs/internals/storage.md describes them, by another program: this one.
fn by_the_docs(home: &TestHome, head: &str) -> Vec<String> {
    let store = Store::open_fs(home.root().join("cas"));
    let get = |hash: &str| store.get(hash.parse().unwrap()).unwrap();
    let mut steps = Vec::new();
    let mut at = head.to_owned();
    let start = loop {
        let payload = get(&at).payload;
        let Some(start) = payload["start"].as_str() else { break at };
        steps.push((at.clone(), start.to_owned(), payload["prev"].as_str().map(str::to_owned)));
        at = payload["prev"].as_str().unwrap_or(start).to_owned();
    };
    steps.reverse();
    let nodes = |root: &str, outside: &[&str]| -> Vec<u8> {
        let mut found = BTreeMap::new();
        let mut seen: BTreeSet<String> = outside.iter().map(ToString::to_string).collect();
        let mut queue = vec![root.to_owned()];
        seen.insert(root.to_owned());
        while let Some(hash) = queue.pop() {
            let node = get(&hash);
            let mut parent = String::new();
            if node.type_hash == uwf_core::node::START_NODE {
                parent = node.payload["parent"].as_str().unwrap_or_default().to_owned();
            }
            let refs = store.refs(&node).unwrap().into_iter().map(|found| found.to_string());
            queue.extend(refs.filter(|found| *found != parent && seen.insert(found.clone())));
            let mut bytes = node.type_hash.to_string().into_bytes();
            bytes.extend(cbor::encode(&node.payload).unwrap());
            found.insert(hash, blake3::hash(&bytes));
        }
        found.into_iter().flat_map(|(hash, node)| [hash.as_bytes(), node.as_bytes()].concat()).collect()
    };
    let mut digests = vec![blake3::hash(&[[0; 32].as_slice(), &nodes(&start, &[])].concat())];
    for (step, start, prev) in &steps {
        let outside: Vec<&str> = [Some(start.as_str()), prev.as_deref()].into_iter().flatten().collect();
        let before = *digests.last().unwrap().as_bytes();
        digests.push(blake3::hash(&[before.as_slice(), &nodes(step, &outside)].concat()));
    }
    digests.iter().map(|digest| digest.to_hex().to_string()).collect()
}

#[test]
fn the_digest_is_the_one_the_docs_describe() {
    let (home, thread) = counted(0);
    let mut shown = vec![digest(&home, &thread)];
    for _ in 0..3 {
        home.json(&["thread", "step", &thread]);
        shown.push(digest(&home, &thread));
    }
    assert_eq!(shown, by_the_docs(&home, &home.head(&thread).unwrap()));
    let verified = home.json(&["thread", "verify", &thread]);
    assert_eq!(
        json!([verified["verdict"], verified["steps"], verified["digest"], verified["recorded"]]),
        json!(["intact", 3, shown[3], shown[3]])
    );
    for earlier in &shown {
        assert_eq!(home.json(&["thread", "verify", &thread, "--expect", earlier])["verdict"], "intact");
    }
    let other = "0".repeat(64);
    assert_eq!(home.uwf(&["thread", "verify", &thread, "--expect", &other]).code, Some(65));
    assert_eq!(home.uwf(&["thread", "verify", &thread, "--expect", "abc"]).code, Some(64));
}

#[test]
fn a_changed_node_is_noticed_wherever_it_is() {
    use crate::hostile::collision::colliding_texts;
    let (home, _) = counted(0);
    let content = text(&home.json(&["cas", "get", &text(&home.json(&["cas", "put-text", "x"]), "hash")]), "type");
    let [one, two] = colliding_texts(content.parse().unwrap());
    // The agent says the one; later somebody puts the other in its place.
    home.file("say", &one);
    home.script("sayer", "#!/bin/sh\n\"$UWF_BIN\" agent submit \"$1\" \"$2\" --data '{\"n\": 1}' --raw say\n");
    home.config("agents:\n  w: { command: worker, output: json }\n  s: { command: sayer }\ndefaultAgent: w\n");
    let thread = home.start("count-rounds", "say");
    home.json(&["thread", "step", &thread]);
    home.json(&["thread", "step", &thread, "--agent", "s"]);
    home.json(&["thread", "step", &thread]);
    assert_eq!(verify(&home, &thread).code, Some(0));
    let noted = digest(&home, &thread);
    let other = crate::home();
    let hash = text(&other.json(&["cas", "put-text", &two]), "hash");
    let at = |home: &TestHome| home.root().join(format!("cas/{hash}.bin"));
    fs::copy(at(&other), at(&home)).unwrap();
    // Nothing else notices: the bytes have the hash.
    assert_eq!(home.json(&["cas", "get", &hash])["payload"]["text"], json!(two));
    assert_eq!(home.uwf(&["cas", "verify"]).code, Some(0));
    let verified = verify(&home, &thread);
    assert_eq!(verified.code, Some(65), "{verified:?}");
    let report: Value = serde_json::from_str(&verified.stdout).unwrap();
    assert_eq!(json!([report["verdict"], report["differsAtStep"], report["recorded"]]), json!(["tampered", 2, noted]));
    let transcript = home.transcript(&["thread", "verify", &thread, "--format", "text"]);
    assert!(transcript.contains("was changed: step 2 ("), "{transcript}");
    // The thread continues, and says so still.
    home.json(&["thread", "step", &thread]);
    assert_eq!(verify(&home, &thread).code, Some(65));
    // A fork has the digest of its parent, so it is no way out.
    let fork = home.json(&["thread", "fork", &thread])["thread"].as_str().unwrap().to_owned();
    assert_eq!(digest(&home, &fork), digest(&home, &thread));
    assert_eq!(verify(&home, &fork).code, Some(65));
}

#[test]
fn missing_node_is_separate_failure() {
    let (home, thread) = counted(2);
    let detail = text(&home.json(&["cas", "get", &home.head(&thread).unwrap()])["payload"], "detail");
    fs::remove_file(home.root().join(format!("cas/{detail}.bin"))).unwrap();
    let verified = verify(&home, &thread);
    assert!(matches!(verified.code, Some(65)), "{verified:?}");
    assert!(verified.stderr.contains(&detail), "{verified:?}");
}

#[test]
fn a_fork_goes_on_from_its_parents_digest() {
    let (home, thread) = counted(3);
    let digests = by_the_docs(&home, &home.head(&thread).unwrap());
    let whole = text(&home.json(&["thread", "fork", &thread]), "thread");
    assert_eq!(digest(&home, &whole), digests[3]);
    let steps = home.json(&["thread", "steps", &thread]);
    let first = text(&steps["steps"][1], "hash");
    // A node alone says nothing of the thread it came from; the first step makes the digest from all nodes.
    for (fork, begun) in [
        (home.json(&["thread", "fork", &first]), Some(69)),
        (home.json(&["thread", "fork", &thread, "--from-role", "worker"]), Some(0)),
    ] {
        let fork = text(&fork, "thread");
        assert_eq!(verify(&home, &fork).code, begun);
        home.json(&["thread", "step", &fork]);
        assert_eq!(verify(&home, &fork).code, Some(0));
        assert_eq!(digest(&home, &fork), *by_the_docs(&home, &home.head(&fork).unwrap()).last().unwrap());
    }
}

#[test]
fn unrecorded_thread_has_no_chain_until_next_step() {
    let (home, thread) = counted(2);
    let before = digest(&home, &thread);
    fs::remove_file(home.record_file(&thread)).unwrap();
    let unrecorded = verify(&home, &thread);
    assert_eq!(unrecorded.code, Some(69), "{unrecorded:?}");
    let report: Value = serde_json::from_str(&unrecorded.stdout).unwrap();
    assert_eq!([&report["verdict"], &report["digest"]], [&json!("unrecorded"), &json!(before)]);
    assert_eq!(home.json(&["thread", "show", &thread]).get("digest"), None);
    assert_eq!(home.json(&["thread", "verify", &thread, "--expect", &before])["verdict"], "intact");
    home.json(&["thread", "step", &thread, "--cwd", "."]);
    assert_eq!(verify(&home, &thread).code, Some(0));
    assert_eq!(digest(&home, &thread), *by_the_docs(&home, &home.head(&thread).unwrap()).last().unwrap());
}

#[test]
fn every_way_to_a_step_carries_the_chain() {
    let (home, thread) = counted(1);
    let check = |what: &str| {
        let head = home.head(&thread).unwrap();
        assert_eq!(verify(&home, &thread).code, Some(0), "{what}");
        assert_eq!(digest(&home, &thread), *by_the_docs(&home, &head).last().unwrap(), "{what}");
    };
    // After a failure; read again; by a person; by a child thread; by an agent that stores its nodes itself.
    home.script("failing", "#!/bin/sh\ncat > /dev/null\n[ -e fixed ] && echo '{\"n\": 1}' && exit\necho 'n is 5'\n");
    home.script("writer", "#!/bin/sh\n\"$UWF_BIN\" agent submit \"$1\" \"$2\" --data '{\"n\": 3}'\n");
    home.config(
        "agents:\n  w: { command: worker, output: json }\n  f: { command: failing, output: json }\n  writer: { command: writer }\n  human: { command: uwf-human }\n  child: { command: uwf-workflow, config: { workflow: count-once, agents: { worker: w } } }\ndefaultAgent: w\n",
    );
    home.put("count-once", &counting_workflow(1).replace("name: count-rounds", "name: count-once"));
    assert_eq!(home.uwf(&["thread", "step", &thread, "--agent", "f"]).code, Some(41));
    home.file("fixed", "");
    home.json(&["thread", "step", &thread, "--agent", "f"]);
    check("after a failure");
    home.json(&["thread", "step", &thread, "--agent", "writer"]);
    check("agent submit");
    assert_eq!(home.uwf(&["thread", "step", &thread, "--agent", "human"]).code, Some(20));
    home.json(&["thread", "answer", &thread, "--data", "{\"n\": 4}"]);
    check("a person");
    let child = home.json(&["thread", "step", &thread, "--agent", "child"]);
    assert_eq!(child["role"], "worker");
    check("a child thread");
    for ended in home.json(&["thread", "list", "--all"]).as_array().unwrap() {
        let ended = text(ended, "thread");
        assert_eq!(verify(&home, &ended).code, Some(0), "{ended}");
    }
    // The record is begun anew many times.
    (0..40).for_each(|_| drop(home.json(&["thread", "step", &thread])));
    check("a long thread");
}

#[test]
fn forged_agent_digest_is_not_trusted() {
    let (home, thread) = counted(0);
    let forge = format!(
        "#!/bin/sh\ncat > /dev/null\nstep=$(\"$UWF_BIN\" agent submit \"$1\" \"$2\" --data '{{\"n\": 1}}')\nprintf '\\n{{\"event\":\"finished\",\"attempt\":\"%s\",\"step\":\"%s\",\"finishedAt\":1,\"digest\":\"{}\"}}\\n' \"$UWF_ATTEMPT\" \"$step\" >> '{}'\necho \"$step\"\n",
        "0".repeat(64),
        home.record_file(&thread).display()
    );
    home.script("forger", &forge);
    home.config("agents:\n  f: { command: forger }\ndefaultAgent: f\n");
    home.json(&["thread", "step", &thread]);
    assert_eq!(verify(&home, &thread).code, Some(0));
    assert_eq!(digest(&home, &thread), *by_the_docs(&home, &home.head(&thread).unwrap()).last().unwrap());
}
