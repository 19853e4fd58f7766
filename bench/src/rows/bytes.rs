//! What one step adds to the store.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use json_cas::{Hash, Store};
use uwf_core::node::{Content, ReactSession, ReactTurn, StepNode};
use uwf_core::thread::ThreadId;
use uwf_engine::thread::load::Thread;
use uwf_engine::thread::nodes;

use super::Bench;
use crate::error::{Error, Result};
use crate::long::Long;
use crate::measure::run;
use crate::place::Place;
use crate::row::{Group, Row, Unit};

/// The most bytes a step should add beyond the agent's text, its output and what is new in its prompt.
const OVERHEAD: f64 = 1024.0;

/// The most bytes by which a step's size should differ between a short and a long history: positions and counts have
/// more digits.
const DIGITS: f64 = 32.0;

/// Sizes of the files below a directory.
pub(super) struct Files(BTreeMap<PathBuf, u64>);

impl Files {
    /// As they are now.
    pub(super) fn below(dir: &Path) -> Result<Files> {
        let mut files = BTreeMap::new();
        let mut dirs = vec![dir.to_owned()];
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(&dir).map_err(Error::at("list", &dir))? {
                let entry = entry.map_err(Error::at("list", &dir))?;
                let path = entry.path();
                let meta = entry.metadata().map_err(Error::at("look at", &path))?;
                if meta.is_dir() {
                    dirs.push(path);
                } else {
                    files.insert(path, meta.size());
                }
            }
        }
        Ok(Files(files))
    }

    /// Files that differ, and by how many bytes they grew; one that is gone has shrunk to nothing.
    pub(super) fn since(&self, before: &Files) -> Vec<(PathBuf, i64)> {
        let size = |files: &Files, path: &PathBuf| files.0.get(path).copied().unwrap_or(0).cast_signed();
        let paths: BTreeSet<&PathBuf> = self.0.keys().chain(before.0.keys()).collect();
        let grown = paths.into_iter().map(|path| (path.clone(), size(self, path) - size(before, path)));
        grown.filter(|(_, bytes)| *bytes != 0).collect()
    }
}

/// What one step added.
struct Added {
    /// All new nodes, as files.
    nodes: i64,
    /// The agent's text, its output, texts that are new in its prompt.
    content: i64,
    /// Logs, caches, records outside the nodes, less what the step removed; the index not counted.
    beside: i64,
}

pub(super) fn measure(bench: &Bench<'_>, place: &Place, long: &Long) -> Result<Group> {
    let mut rows = Vec::new();
    for played in &long.players {
        let mut returns = Vec::new();
        for (length, at) in bench.sizes.lengths.iter().zip(&played.at) {
            let added = added(place, &at.returning)?;
            let what = format!("output: {}, return after {length} steps: beyond its content", played.player.output());
            rows.push(row(what, &added));
            returns.push(added.nodes as f64);
        }
        let grown = (returns[2] - returns[0]).abs();
        let what = format!(
            "output: {}, the nodes' growth from {} to {} steps",
            played.player.output(),
            bench.sizes.lengths[0],
            bench.sizes.long()
        );
        rows.push(Row::new(what, Unit::Bytes, grown).at_most(DIGITS));
        let first = added(place, &played.at[2].first_visits[bench.sizes.runs + 1])?;
        let what = format!(
            "output: {}, first visit after {} steps: beyond its content",
            played.player.output(),
            bench.sizes.long()
        );
        rows.push(row(what, &first));
    }
    Ok(Group {
        title: "Bytes per step, an answer of 1 KB (content: raw text, output, new prompt texts)".to_owned(),
        rows,
    })
}

fn row(what: String, added: &Added) -> Row {
    let note =
        format!("nodes {} B, content {} B; logs, caches and records {:+} B", added.nodes, added.content, added.beside);
    Row::new(what, Unit::Bytes, added.nodes as f64 - added.content as f64).at_most(OVERHEAD).note(note)
}

fn added(place: &Place, thread: &ThreadId) -> Result<Added> {
    let root = place.home.root();
    let before = Files::below(root)?;
    run(&mut place.step(thread))?;
    let cas = place.home.objects_dir();
    let (mut nodes, mut beside, mut fresh) = (0, 0, BTreeSet::new());
    for (path, bytes) in Files::below(root)?.since(&before) {
        if path.parent() == Some(&cas) {
            nodes += bytes;
            fresh.extend(path.file_stem().and_then(|stem| stem.to_string_lossy().parse::<Hash>().ok()));
        } else if !path.ends_with("threads.yaml") {
            beside += bytes;
        }
    }
    let head = Thread::any(&place.home, thread)?.head;
    Ok(Added { nodes, beside, content: content(place.home.store(), head, &fresh)? })
}

/// Bytes of what a step is about, as far as it is new.
fn content(store: &Store, head: Hash, fresh: &BTreeSet<Hash>) -> Result<i64> {
    let step: StepNode = nodes::typed(store, head)?;
    let session: ReactSession = nodes::typed(store, step.detail)?;
    let mut texts = BTreeSet::from([session.raw]);
    for turn in &session.turns {
        let turn: ReactTurn = nodes::typed(store, *turn)?;
        texts.extend(turn.input);
        texts.insert(turn.output);
    }
    let mut bytes = 0;
    for text in texts.intersection(fresh) {
        bytes += nodes::typed::<Content>(store, *text)?.text.len();
    }
    if fresh.contains(&step.output) {
        let output = store.get(step.output).map_err(uwf_engine::error::Error::from)?;
        bytes += output.payload.to_string().len();
    }
    Ok(i64::try_from(bytes).unwrap_or(i64::MAX))
}
