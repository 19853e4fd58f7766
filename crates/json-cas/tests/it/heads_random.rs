//! Random histories of names: files and memory agree on every answer, crashes included.

use std::collections::HashMap;
use std::fs;

use json_cas::{
    FsHeads, HeadBackend, HeadsError, HeadsFiles, MemoryHeads, NameVersion, NodeHash, RemovalJournal, SwapOutcome,
};
use proptest::prelude::*;
use serde_json::json;
use tempfile::TempDir;

/// One step of a history.
#[derive(Debug, Clone)]
enum Step {
    Create(u8),
    /// From the version seen last, or from the one before.
    Move {
        name: u8,
        stale: bool,
    },
    Remove {
        name: u8,
        stale: bool,
    },
    /// The same, and the process dies after the record.
    RemoveHalfway(u8),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0u8..3).prop_map(Step::Create),
        (0u8..3, any::<bool>()).prop_map(|(name, stale)| Step::Move { name, stale }),
        (0u8..3, any::<bool>()).prop_map(|(name, stale)| Step::Remove { name, stale }),
        (0u8..3).prop_map(Step::RemoveHalfway),
    ]
}

/// A backend with the versions a caller has seen.
struct Seen<H> {
    heads: H,
    versions: HashMap<u8, Vec<NameVersion>>,
}

impl<H: HeadBackend + RemovalJournal> Seen<H> {
    fn new(heads: H) -> Seen<H> {
        Seen { heads, versions: HashMap::new() }
    }

    fn version(&self, name: u8, stale: bool) -> NameVersion {
        let seen = self.versions.get(&name).map_or(&[][..], Vec::as_slice);
        let back = if stale { 2 } else { 1 };
        let version = seen.len().checked_sub(back).and_then(|at| seen.get(at));
        version.cloned().unwrap_or_else(|| NameVersion::new("none"))
    }

    /// The answer in words in which backends can be compared.
    fn step(&mut self, step: &Step, new: NodeHash) -> String {
        let text = |name: u8| format!("name-{name}");
        let record = |name: u8| json!({"name": text(name), "head": new});
        let (name, answer) = match *step {
            Step::Create(name) => (name, self.heads.create(&text(name), new)),
            Step::Move { name, stale } => (name, self.heads.swap(&text(name), &self.version(name, stale), new)),
            Step::Remove { name, stale } => {
                (name, self.heads.remove(&text(name), &self.version(name, stale), &record(name)))
            }
            Step::RemoveHalfway(name) => {
                (name, self.heads.remove(&text(name), &self.version(name, false), &record(name)))
            }
        };
        let head = self.heads.read(&text(name)).unwrap();
        if let Some(head) = &head {
            let seen = self.versions.entry(name).or_default();
            if seen.last() != Some(&head.version) {
                seen.push(head.version.clone());
            }
        }
        let answer = match answer {
            Ok(SwapOutcome::Done) => "done".to_owned(),
            Ok(SwapOutcome::Moved(head)) => format!("moved {:?}", head.map(|head| head.hash)),
            Err(HeadsError::Removed { name }) => format!("{name} was removed"),
            Err(error) => panic!("{error}"),
        };
        format!(
            "{answer}; now {:?}; {:?}; {:?}; {:?}",
            head.map(|head| head.hash),
            self.heads.list().unwrap(),
            self.heads.records().unwrap(),
            self.heads.newest(&text(name)).unwrap(),
        )
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn files_and_memory_agree(steps in prop::collection::vec(any_step(), 1..16)) {
        let dir = TempDir::new().unwrap();
        let file = |name: &str| dir.path().join(name);
        let mut files = Seen::new(FsHeads::new(HeadsFiles {
            index: file("index.yaml"),
            journal: file("journal.jsonl"),
            lock: file("lock"),
            name_key: "name".to_owned(),
        }));
        let mut memory = Seen::new(MemoryHeads::new());
        for (number, step) in (1..).zip(&steps) {
            let new = NodeHash::from_u64(number);
            let index_before = fs::read(file("index.yaml"));
            prop_assert_eq!(files.step(step, new), memory.step(step, new), "{:?}", step);
            if let (Step::RemoveHalfway(_), Ok(bytes)) = (step, index_before) {
                fs::write(file("index.yaml"), bytes).unwrap();
                prop_assert_eq!(files.heads.list().unwrap(), memory.heads.list().unwrap());
            }
        }
    }
}
