//! What one step adds to the store.

use std::fs;
use std::path::Path;

use uwf_core::thread::ThreadId;

use super::BenchSetup;
use crate::error::{Error, Result};
use crate::long::LongStore;
use crate::measure::run;
use crate::place::BenchRoot;
use crate::row::{FigureGroup, FigureRow, FigureUnit};

pub(super) fn measure(bench: &BenchSetup<'_>, place: &BenchRoot, long: &LongStore) -> Result<FigureGroup> {
    let mut rows = Vec::new();
    for played in &long.players {
        let output = played.player.output();
        for (length, at) in bench.sizes.lengths.iter().zip(&played.at) {
            rows.push(row(format!("output: {output}, return after {length} steps"), place, &at.returning)?);
        }
        let (length, spare) = (bench.sizes.long(), &played.at[2].first_visits[bench.sizes.runs + 1]);
        rows.push(row(format!("output: {output}, first visit after {length} steps"), place, spare)?);
    }
    Ok(FigureGroup {
        title: "Node files that a step adds, an answer of 1 KB and new texts of its prompt in them".to_owned(),
        rows,
    })
}

fn row(what: String, place: &BenchRoot, thread: &ThreadId) -> Result<FigureRow> {
    let (objects, root) = (place.home.objects_dir(), place.home.root());
    let before = (below(&objects)?, below(root)?);
    run(&mut place.step(thread))?;
    let nodes = below(&objects)? - before.0;
    let beside = below(root)? - before.1 - nodes;
    Ok(FigureRow::new(what, FigureUnit::Bytes, nodes).note(format!("logs, caches, records and index {beside:+} B")))
}

/// Bytes of all files below a directory.
fn below(dir: &Path) -> Result<f64> {
    let mut bytes = 0.0;
    for entry in fs::read_dir(dir).map_err(Error::with_path("list", dir))? {
        let path = entry.map_err(Error::with_path("list", dir))?.path();
        let meta = fs::symlink_metadata(&path).map_err(Error::with_path("look at", &path))?;
        bytes += if meta.is_dir() { below(&path)? } else { meta.len() as f64 };
    }
    Ok(bytes)
}
