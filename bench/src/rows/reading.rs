//! What should cost hardly more than starting a process: looking at a long thread, forking it.

use super::Bench;
use crate::error::Result;
use crate::long::Long;
use crate::measure::{Case, interleave, run};
use crate::place::Place;
use crate::row::{Group, Row, Unit};
use crate::rows::bytes::Files;

/// The most either should take of what an empty process takes.
const TARGET: f64 = 3.0;

/// The most bytes a fork should write besides the index.
const FORK_BYTES: f64 = 4096.0;

pub(super) fn measure(bench: &Bench<'_>, place: &Place, long: &Long) -> Result<Group> {
    let middle = long.middle().to_string();
    let fork = || place.uwf(&["thread", "fork", &middle]);
    let cases = vec![
        Case::always(|| place.uwf(&["--version"])),
        Case::always(|| place.uwf(&["thread", "show", long.shown.as_str()])),
        Case::always(fork),
    ];
    let times = interleave(bench.sizes.runs, cases)?;
    let before = Files::below(place.home.root())?;
    run(&mut fork())?;
    let changed = Files::below(place.home.root())?.since(&before);
    let written: i64 = changed.iter().filter(|(path, _)| !path.ends_with("threads.yaml")).map(|(_, bytes)| bytes).sum();

    let (length, nodes) = (bench.sizes.long(), bench.sizes.nodes);
    let empty = ("empty process", &times[0]);
    let show = format!("thread show, {length} steps, a store of {nodes} nodes");
    let fork = format!("thread fork in the middle of {length} steps");
    let rows = vec![
        Row::ratio(show, Unit::Times, ("show", &times[1]), empty).at_most(TARGET),
        Row::ratio(fork, Unit::Times, ("fork", &times[2]), empty).at_most(TARGET),
        Row::new("the same, written beside the index", Unit::Bytes, written as f64).at_most(FORK_BYTES),
    ];
    Ok(Group { title: "Over an empty process (uwf --version)".to_owned(), rows })
}
