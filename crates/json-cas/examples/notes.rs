//! A chain of notes in a store of its own: stores them, walks back from the newest, verifies every byte.
//!
//! `cargo run -p json-cas --example notes -- DIR 'first note' 'second note'`; without arguments in a temporary directory.

#![expect(clippy::print_stdout, reason = "it is a program that prints")]

use std::error::Error;
use std::path::PathBuf;

use json_cas::{NodeDraft, NodeHash, Store, WalkOptions};
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let temporary = tempfile::tempdir()?;
    let dir = args.next().map_or_else(|| temporary.path().join("notes"), PathBuf::from);
    let mut texts: Vec<String> = args.collect();
    if texts.is_empty() {
        texts = ["bought milk", "fed the cat"].map(str::to_owned).to_vec();
    }

    let store = Store::open_fs(dir);
    let Some(newest) = store_notes(&store, &texts)? else { return Ok(()) };
    print_from(&store, newest)?;
    let report = store.verify(Some(&[newest]))?;
    println!("{} nodes, {} bytes, {} problems", report.checked, report.bytes, report.problems.len());
    if report.problems.is_empty() { Ok(()) } else { Err("the store is damaged".into()) }
}

/// Stores each note with a reference to the one before; the newest is returned.
fn store_notes(store: &Store, texts: &[String]) -> Result<Option<NodeHash>, Box<dyn Error>> {
    let note = store.put_schema(json!({
        "title": "note",
        "type": "object",
        "properties": {
            "text": { "type": "string" },
            "before": { "anyOf": [{ "type": "string", "format": "cas_ref" }, { "type": "null" }] },
        },
        "required": ["text", "before"],
    }))?;
    let mut before = None;
    for text in texts {
        before = Some(store.put(&NodeDraft::new(note, json!({ "text": text, "before": before }))?)?);
    }
    Ok(before)
}

/// Prints a note and all before it.
fn print_from(store: &Store, newest: NodeHash) -> Result<(), Box<dyn Error>> {
    for node in store.walk(&[newest], WalkOptions::default()) {
        let (hash, node) = node?;
        println!("{hash}  {}", node.payload["text"]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_reached_from_the_newest_and_damage_is_found() -> Result<(), Box<dyn Error>> {
        let dir = tempfile::tempdir()?;
        let store = Store::open_fs(dir.path());
        let newest = store_notes(&store, &["one".to_owned(), "two".to_owned()])?.ok_or("there are notes")?;
        let texts: Vec<_> = store
            .walk(&[newest], WalkOptions::default())
            .map(|node| node.map(|(_, node)| node.payload["text"].clone()))
            .collect::<Result<_, _>>()?;
        assert_eq!(texts, ["two", "one"]);
        assert_eq!(store.verify(Some(&[newest]))?.problems, []);
        std::fs::write(dir.path().join(format!("{newest}.bin")), b"x")?;
        assert_eq!(store.verify(Some(&[newest]))?.problems.len(), 1);
        Ok(())
    }
}
