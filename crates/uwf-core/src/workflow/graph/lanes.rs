//! Assigns arrows to the lanes beside the spine of a graph, and places lanes and labels.

use std::collections::BTreeMap;

use super::measure::RectSize;

/// Gap between the spine and the first lane, and gap between lanes.
const LEAST_LANE: f64 = 24.0;
pub(super) const LANE: f64 = 16.0;

/// Gap between a label and its line, and gap between a label and other parts.
pub(super) const BESIDE: f64 = 8.0;
pub(super) const CLEAR: f64 = 12.0;

/// The side of the spine on which an arrow runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArrowSide {
    /// Down the spine, to the next row.
    Spine,
    /// Back to an earlier row, or to the same one.
    Left,
    /// Past other roles.
    Right,
}

/// An arrow from row to row.
pub(super) struct ArrowRun {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) side: ArrowSide,
    pub(super) label: RectSize,
}

/// All arrows that reach a row from one side, with the rows they pass; or a loop, which has a short path of its own.
#[derive(Clone, Copy)]
struct ArrowBus {
    key: BusKey,
    first: usize,
    last: usize,
}

/// The target row, and whether the bus is a loop.
pub(super) type BusKey = (usize, bool);

impl ArrowRun {
    /// The bus of this run.
    pub(super) fn bus(&self) -> BusKey {
        (self.to, self.from == self.to)
    }
}

/// The lanes of a side.
pub(super) struct ArrowLanes {
    /// Distance of each lane from the spine.
    pub(super) at: BTreeMap<BusKey, f64>,
    /// Distance between the spine and the label of an arrow, by the rows of the arrow.
    pub(super) labels: BTreeMap<(usize, usize), f64>,
    /// The largest distance of any part from the spine.
    pub(super) reach: f64,
}

impl ArrowLanes {
    /// Places each lane as near to the spine as labels and inner lanes allow.
    pub(super) fn for_side(side: ArrowSide, runs: &[ArrowRun], rows: usize, half: f64) -> ArrowLanes {
        // The occupied distance from the spine in each band between rows, starting above the first row.
        let mut taken = vec![half; rows + 1];
        if side == ArrowSide::Right {
            for run in runs_on_side(runs, ArrowSide::Spine).filter(|run| run.label.width > 0.0) {
                taken[run.to] = taken[run.to].max(BESIDE + run.label.width);
            }
        }
        let runs: Vec<&ArrowRun> = runs_on_side(runs, side).collect();
        let lanes = lanes(&buses(&runs));
        let mut labels = labels_beside_boxes(&runs, &lanes, &mut taken);
        let mut at = BTreeMap::new();
        for (nearest, lane) in lanes.iter().enumerate().map(|(lane, buses)| (LEAST_LANE + LANE * lane as f64, buses)) {
            let beside = |bus: &ArrowBus| {
                let line = taken[bus.first..=bus.last].iter().map(|taken| taken + LANE);
                let others =
                    runs.iter().filter(|run| run.bus() == bus.key && !labels.contains_key(&(run.from, run.to)));
                let others = others.map(|run| taken[band(run)] + CLEAR + run.label.width + BESIDE);
                // A loop stays in its row, where labels don't appear.
                line.chain(others).filter(|_| !bus.key.1).fold(half + nearest, f64::max)
            };
            let place = lane.iter().map(beside).fold(0.0, f64::max).ceil();
            for bus in lane {
                for taken in &mut taken[bus.first..=bus.last] {
                    *taken = taken.max(place);
                }
                at.insert(bus.key, place);
            }
        }
        for run in runs {
            labels.entry((run.from, run.to)).or_insert(at[&run.bus()] - BESIDE - run.label.width);
        }
        ArrowLanes { at, labels, reach: taken.into_iter().fold(0.0, f64::max) }
    }
}

/// The arrows of one side.
pub(super) fn runs_on_side(runs: &[ArrowRun], side: ArrowSide) -> impl Iterator<Item = &ArrowRun> {
    runs.iter().filter(move |run| run.side == side)
}

/// Places the label of the innermost arrow of each row. Returns the distance of each from the spine.
fn labels_beside_boxes(
    runs: &[&ArrowRun],
    lanes: &[Vec<ArrowBus>],
    taken: &mut [f64],
) -> BTreeMap<(usize, usize), f64> {
    let lane = |(lane, buses): (usize, &Vec<ArrowBus>)| buses.iter().map(|bus| (bus.key, lane)).collect::<Vec<_>>();
    let lane_of: BTreeMap<BusKey, usize> = lanes.iter().enumerate().flat_map(lane).collect();
    let mut innermost: BTreeMap<usize, &ArrowRun> = BTreeMap::new();
    for run in runs {
        let first = innermost.entry(run.from).or_insert(run);
        *first = if lane_of[&run.bus()] < lane_of[&first.bus()] { run } else { first };
    }
    let mut labels = BTreeMap::new();
    for run in innermost.into_values() {
        labels.insert((run.from, run.to), taken[band(run)] + BESIDE);
        taken[band(run)] += BESIDE + run.label.width;
    }
    labels
}

fn buses(runs: &[&ArrowRun]) -> Vec<ArrowBus> {
    let mut buses: BTreeMap<BusKey, ArrowBus> = BTreeMap::new();
    for run in runs {
        let bus = buses.entry(run.bus()).or_insert(ArrowBus { key: run.bus(), first: run.to, last: run.to });
        (bus.first, bus.last) = (bus.first.min(run.from), bus.last.max(run.from));
    }
    buses.into_values().collect()
}

/// The band between rows that holds a label: above the row for an arrow up, below the row for an arrow down.
fn band(run: &ArrowRun) -> usize {
    match run.side {
        ArrowSide::Left => run.from,
        ArrowSide::Spine | ArrowSide::Right => run.from + 1,
    }
}

/// Assigns buses to lanes, shortest first. Each gets the first lane that is free in its rows. The first lane is reserved for loops, if the
/// graph has any.
fn lanes(buses: &[ArrowBus]) -> Vec<Vec<ArrowBus>> {
    let (loops, mut others): (Vec<ArrowBus>, Vec<ArrowBus>) = buses.iter().partition(|bus| bus.key.1);
    others.sort_by_key(|bus| (bus.last - bus.first, bus.first));
    let of_loops = usize::from(!loops.is_empty());
    let mut lanes = vec![loops; of_loops];
    for bus in others {
        let is_free =
            |lane: &&mut Vec<ArrowBus>| lane.iter().all(|other| other.last < bus.first || bus.last < other.first);
        match lanes.iter_mut().skip(of_loops).find(is_free) {
            Some(lane) => lane.push(bus),
            None => lanes.push(vec![bus]),
        }
    }
    lanes
}
