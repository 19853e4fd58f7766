//! What should cost hardly more than starting a process: looking at a long thread, forking it.

use super::BenchSetup;
use crate::error::Result;
use crate::long::LongStore;
use crate::measure::{BenchCase, interleave};
use crate::place::BenchRoot;
use crate::row::{FigureGroup, FigureRow};

/// The most either should take, milliseconds.
const TARGET_MS: f64 = 5.0;

pub(super) fn measure(bench: &BenchSetup<'_>, place: &BenchRoot, long: &LongStore) -> Result<FigureGroup> {
    let middle = long.middle().to_string();
    let cases = vec![
        BenchCase::always(|| place.uwf(&["--version"])),
        BenchCase::always(|| place.uwf(&["thread", "show", long.shown.as_str()])),
        BenchCase::always(|| place.uwf(&["thread", "fork", long.shown.as_str()])),
        BenchCase::always(|| place.uwf(&["thread", "fork", &middle])),
    ];
    let times = interleave(bench.sizes.runs, cases)?;
    let (length, nodes) = (bench.sizes.long(), bench.sizes.nodes);
    let rows = vec![
        FigureRow::millis("uwf --version, which opens no store", &times[0]),
        FigureRow::millis(format!("thread show, {length} steps, a store of {nodes} nodes"), &times[1])
            .at_most(TARGET_MS),
        FigureRow::millis(format!("thread fork of a thread, {length} steps"), &times[2]).at_most(TARGET_MS),
        FigureRow::millis(format!("thread fork at a node, in the middle of {length} steps"), &times[3])
            .at_most(TARGET_MS),
    ];
    Ok(FigureGroup { title: "Show and fork".to_owned(), rows })
}
