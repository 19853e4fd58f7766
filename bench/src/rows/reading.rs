//! What should cost hardly more than starting a process: looking at a long thread, forking it.

use super::Bench;
use crate::error::Result;
use crate::long::Long;
use crate::measure::{Case, interleave};
use crate::place::Place;
use crate::row::{Group, Row};

/// The most either should take, milliseconds.
const TARGET_MS: f64 = 5.0;

pub(super) fn measure(bench: &Bench<'_>, place: &Place, long: &Long) -> Result<Group> {
    let middle = long.middle().to_string();
    let cases = vec![
        Case::always(|| place.uwf(&["--version"])),
        Case::always(|| place.uwf(&["thread", "show", long.shown.as_str()])),
        Case::always(|| place.uwf(&["thread", "fork", long.shown.as_str()])),
        Case::always(|| place.uwf(&["thread", "fork", &middle])),
    ];
    let times = interleave(bench.sizes.runs, cases)?;
    let (length, nodes) = (bench.sizes.long(), bench.sizes.nodes);
    let rows = vec![
        Row::millis("uwf --version, which opens no store", &times[0]),
        Row::millis(format!("thread show, {length} steps, a store of {nodes} nodes"), &times[1]).at_most(TARGET_MS),
        Row::millis(format!("thread fork of a thread, {length} steps"), &times[2]).at_most(TARGET_MS),
        Row::millis(format!("thread fork at a node, in the middle of {length} steps"), &times[3]).at_most(TARGET_MS),
    ];
    Ok(Group { title: "Show and fork".to_owned(), rows })
}
