//! What one step adds to the store.

use std::fs;
use std::path::Path;

use uwf_core::thread::ThreadId;

use super::Bench;
use crate::error::{Error, Result};
use crate::long::Long;
use crate::measure::run;
use crate::place::Place;
use crate::row::{Group, Row, Unit};

pub(super) fn measure(bench: &Bench<'_>, place: &Place, long: &Long) -> Result<Group> {
    let mut rows = Vec::new();
    for played in &long.players {
        let output = played.player.output();
        for (length, at) in bench.sizes.lengths.iter().zip(&played.at) {
            rows.push(row(format!("output: {output}, return after {length} steps"), place, &at.returning)?);
        }
        let (length, spare) = (bench.sizes.long(), &played.at[2].first_visits[bench.sizes.runs + 1]);
        rows.push(row(format!("output: {output}, first visit after {length} steps"), place, spare)?);
    }
    Ok(Group {
        title: "Node files that a step adds, an answer of 1 KB and new texts of its prompt in them".to_owned(),
        rows,
    })
}

fn row(what: String, place: &Place, thread: &ThreadId) -> Result<Row> {
    let (objects, root) = (place.home.objects_dir(), place.home.root());
    let before = (below(&objects)?, below(root)?);
    run(&mut place.step(thread))?;
    let nodes = below(&objects)? - before.0;
    let beside = below(root)? - before.1 - nodes;
    Ok(Row::new(what, Unit::Bytes, nodes).note(format!("logs, caches, records and index {beside:+} B")))
}

/// Bytes of all files below a directory.
fn below(dir: &Path) -> Result<f64> {
    let mut bytes = 0.0;
    for entry in fs::read_dir(dir).map_err(Error::at("list", dir))? {
        let path = entry.map_err(Error::at("list", dir))?.path();
        let meta = fs::symlink_metadata(&path).map_err(Error::at("look at", &path))?;
        bytes += if meta.is_dir() { below(&path)? } else { meta.len() as f64 };
    }
    Ok(bytes)
}
