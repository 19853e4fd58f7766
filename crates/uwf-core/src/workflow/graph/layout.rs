//! Places the parts of a graph: a spine of roles, with arcs beside it.
//!
//! Roles form a column, one per row. An arrow to the next row is a straight line. Arrows back run in lanes left of the spine, and arrows
//! that skip roles run in lanes right of it. All arrows that reach a role from one side share a lane and arrive as one. The label of an
//! arrow is at its line beside the box. These labels form a column, and all lanes are outside of it. If several arrows leave a box on one
//! side, only the innermost has its label there. The others have theirs where they turn into their lanes. So no label touches a line, a box
//! or another label.

use std::cmp::Ordering;

use super::lanes::{self, ArrowLanes, ArrowRun, ArrowSide, BESIDE, CLEAR};
use super::measure::{GraphRect, Point, RectSize};
use super::order::order;
use super::{DrawnEdge, GraphDrawing};

/// Gap between two boxes of the spine.
const LEAST_GAP: f64 = 28.0;

/// Distance of the ports from the top and bottom of a box, on a side where arrows both leave and arrive.
const PORT: f64 = 11.0;

/// How far a label beside the spine may extend into the next row. The lines there are further away.
const INTO: f64 = 6.0;

/// An arrow.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ArrowPath {
    pub(super) side: ArrowSide,
    /// Its ends and corners.
    pub(super) points: Vec<Point>,
    /// The area of its label.
    pub(super) label: GraphRect,
}

/// The positions of all parts of a picture.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct GraphLayout {
    /// The nodes from top to bottom.
    pub(super) order: Vec<usize>,
    /// The boxes of the nodes, in the order of the drawing.
    pub(super) boxes: Vec<GraphRect>,
    /// The arrows, in the order of the drawing.
    pub(super) arrows: Vec<ArrowPath>,
    /// Total size, without a margin.
    pub(super) size: RectSize,
}

/// Where arrows leave and reach a side of a box, measured from its top.
#[derive(Clone, Copy)]
struct BoxPorts {
    leaving: f64,
    arriving: f64,
}

struct GraphSpine {
    runs: Vec<ArrowRun>,
    /// Height of each row.
    heights: Vec<f64>,
    /// Half the width of a box.
    half: f64,
}

/// Lays out a graph. `boxes` are the sizes of its nodes, `labels` the sizes of its labels.
pub(super) fn layout(drawing: &GraphDrawing, boxes: &[RectSize], labels: &[RectSize]) -> GraphLayout {
    let order = order(drawing);
    let mut rows = vec![0; order.len()];
    for (row, node) in order.iter().enumerate() {
        rows[*node] = row;
    }
    let run = |(edge, label): (&DrawnEdge, &RectSize)| {
        let (from, to) = (rows[edge.from], rows[edge.to]);
        let side = match to.cmp(&(from + 1)) {
            Ordering::Less => ArrowSide::Left,
            Ordering::Equal => ArrowSide::Spine,
            Ordering::Greater => ArrowSide::Right,
        };
        ArrowRun { from, to, side, label: *label }
    };
    let spine = GraphSpine {
        runs: drawing.edges.iter().zip(labels).map(run).collect(),
        heights: order.iter().map(|node| boxes[*node].height).collect(),
        half: boxes.iter().map(|size| size.width).fold(0.0, f64::max) / 2.0,
    };
    spine.laid_out(order, &rows)
}

impl GraphSpine {
    fn laid_out(&self, order: Vec<usize>, rows: &[usize]) -> GraphLayout {
        let ports = [ArrowSide::Left, ArrowSide::Right].map(|side| self.ports(side));
        let tops = self.tops(&ports);
        let [left, right] = [ArrowSide::Left, ArrowSide::Right]
            .map(|side| ArrowLanes::for_side(side, &self.runs, self.heights.len(), self.half));
        let arrow = |run: &ArrowRun| match run.side {
            ArrowSide::Spine => self.straight(run, &tops),
            ArrowSide::Left => self.arc(run, &tops, &ports[0], &left),
            ArrowSide::Right => self.arc(run, &tops, &ports[1], &right),
        };
        let boxes = rows.iter().map(|row| {
            let size = RectSize { width: 2.0 * self.half, height: self.heights[*row] };
            GraphRect { x: -self.half, y: tops[*row], size }
        });
        let mut layout = GraphLayout {
            order,
            boxes: boxes.collect(),
            arrows: self.runs.iter().map(arrow).collect(),
            size: RectSize::default(),
        };
        layout.size.width = right.reach + left.reach;
        layout.moved(left.reach);
        layout
    }

    /// The ports of each box on one side. If arrows only leave or only arrive, the port is in the middle. Otherwise arrows up leave above
    /// and arrows down leave below, so that they don't cross beside the box.
    fn ports(&self, side: ArrowSide) -> Vec<BoxPorts> {
        let mut both = vec![(false, false); self.heights.len()];
        for run in lanes::runs_on_side(&self.runs, side) {
            both[run.from].0 = true;
            both[run.to].1 = true;
        }
        let ports = both.into_iter().zip(&self.heights).map(|(both, height)| match (both, side) {
            ((true, true), ArrowSide::Right) => BoxPorts { leaving: height - PORT, arriving: PORT },
            ((true, true), ArrowSide::Left | ArrowSide::Spine) => BoxPorts { leaving: PORT, arriving: height - PORT },
            ((false, _) | (_, false), _) => BoxPorts { leaving: height / 2.0, arriving: height / 2.0 },
        });
        ports.collect()
    }

    /// The tops of the rows, as close as their labels allow.
    fn tops(&self, [left, right]: &[Vec<BoxPorts>; 2]) -> Vec<f64> {
        let heights = &self.heights;
        let above = |row: usize| row.checked_sub(1).map_or(0.0, |above| heights[above]);
        let mut steps: Vec<f64> = (0..heights.len()).map(|row| above(row) + LEAST_GAP).collect();
        for ArrowRun { from, to, side, label } in self.runs.iter().filter(|run| run.label.height > 0.0) {
            let (row, needed) = match side {
                ArrowSide::Spine => (*to, heights[*from] + label.height + CLEAR),
                ArrowSide::Left => (*from, above(*from) - INTO + label.height + BESIDE - left[*from].leaving),
                ArrowSide::Right => (*from + 1, right[*from].leaving + BESIDE + label.height - INTO),
            };
            if let Some(step) = steps.get_mut(row) {
                *step = step.max(needed);
            }
        }
        let tops = steps.iter().scan(-LEAST_GAP, |top, step| {
            *top += step;
            Some(top.round())
        });
        tops.collect()
    }

    fn straight(&self, run: &ArrowRun, tops: &[f64]) -> ArrowPath {
        let (from, to) = (tops[run.from] + self.heights[run.from], tops[run.to]);
        let y = f64::midpoint(from, to) - run.label.height / 2.0;
        let label = GraphRect { x: BESIDE, y, size: run.label };
        ArrowPath { side: run.side, points: vec![(0.0, from), (0.0, to)], label }
    }

    fn arc(&self, run: &ArrowRun, tops: &[f64], ports: &[BoxPorts], lanes: &ArrowLanes) -> ArrowPath {
        let from = tops[run.from] + ports[run.from].leaving;
        let to = tops[run.to] + ports[run.to].arriving;
        let (label, lane) = (lanes.labels[&(run.from, run.to)], lanes.at[&run.bus()]);
        let (sign, x, y) = match run.side {
            ArrowSide::Left | ArrowSide::Spine => {
                (-1.0, -label - run.label.width, from - BESIDE / 2.0 - run.label.height)
            }
            ArrowSide::Right => (1.0, label, from + BESIDE / 2.0),
        };
        let (near, far) = (sign * self.half, sign * lane);
        let label = GraphRect { x, y, size: run.label };
        ArrowPath { side: run.side, points: vec![(near, from), (far, from), (far, to), (near, to)], label }
    }
}

impl GraphLayout {
    /// Moves everything to the right, and down until nothing is above the picture.
    fn moved(&mut self, right: f64) {
        let rects = || self.boxes.iter().chain(self.arrows.iter().map(|arrow| &arrow.label));
        let top = rects().map(|rect| rect.y).fold(0.0, f64::min);
        self.size.height = rects().map(GraphRect::bottom).fold(0.0, f64::max) - top;
        for rect in self.boxes.iter_mut().chain(self.arrows.iter_mut().map(|arrow| &mut arrow.label)) {
            (rect.x, rect.y) = (rect.x + right, rect.y - top);
        }
        for (x, y) in self.arrows.iter_mut().flat_map(|arrow| &mut arrow.points) {
            (*x, *y) = (*x + right, *y - top);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::workflow::graph::lanes::LANE;
    use crate::workflow::graph::tests::drawing;

    const BOX: RectSize = RectSize { width: 90.0, height: 40.0 };

    /// Whether two rectangles overlap.
    fn overlap(one: &GraphRect, other: &GraphRect) -> bool {
        let is_apart = one.right() <= other.x || other.right() <= one.x;
        !(is_apart || one.bottom() <= other.y || other.bottom() <= one.y)
    }

    /// The lines of an arrow as thin rectangles. A line that ends at a box does not overlap it.
    fn lines(arrow: &ArrowPath) -> Vec<GraphRect> {
        let line = |pair: &[Point]| {
            let (x, y) = (pair[0].0.min(pair[1].0), pair[0].1.min(pair[1].1));
            let size = RectSize { width: (pair[0].0 - pair[1].0).abs(), height: (pair[0].1 - pair[1].1).abs() };
            GraphRect { x, y, size }
        };
        arrow.points.windows(2).map(line).collect()
    }

    fn size(widths: std::ops::Range<u16>, heights: std::ops::Range<u16>) -> impl Strategy<Value = RectSize> {
        (widths, heights).prop_map(|(width, height)| RectSize { width: width.into(), height: height.into() })
    }

    type Graph = (usize, Vec<(usize, usize)>, Vec<RectSize>, Vec<RectSize>);

    fn graphs() -> impl Strategy<Value = Graph> {
        (2_usize..=42).prop_flat_map(|nodes| {
            let edges = proptest::collection::btree_set((0..nodes, 0..nodes), 0..4 * nodes);
            edges.prop_flat_map(move |edges| {
                let boxes = proptest::collection::vec(size(60..200, 36..60), nodes);
                let labels = prop_oneof![Just(RectSize::default()), size(10..220, 15..50)];
                let labels = proptest::collection::vec(labels, edges.len());
                (Just(nodes), Just(edges.into_iter().collect()), boxes, labels)
            })
        })
    }

    proptest! {
        #[test]
        fn nothing_covers_anything((nodes, edges, sizes, labels) in graphs()) {
            let layout = layout(&drawing(nodes, &edges), &sizes, &labels);
            let mut rects = layout.boxes.clone();
            rects.extend(layout.arrows.iter().map(|arrow| arrow.label).filter(|label| label.size != RectSize::default()));
            for (at, one) in rects.iter().enumerate() {
                prop_assert!(one.x >= 0.0 && one.y >= 0.0, "{one:?}");
                prop_assert!(one.right() <= layout.size.width && one.bottom() <= layout.size.height, "{one:?}");
                for other in &rects[at + 1..] {
                    prop_assert!(!overlap(one, other), "{one:?} and {other:?}");
                }
                for line in layout.arrows.iter().flat_map(lines) {
                    prop_assert!(!overlap(one, &line), "{one:?} and the line {line:?}");
                }
            }
        }

        #[test]
        fn arrows_connect_boxes_and_share_lanes_per_target((nodes, edges, sizes, labels) in graphs()) {
            let layout = layout(&drawing(nodes, &edges), &sizes, &labels);
            let touches = |node: usize, (x, y): Point| {
                let rect = &layout.boxes[node];
                rect.x <= x && x <= rect.right() && rect.y <= y && y <= rect.bottom()
            };
            let upright = |arrow: &ArrowPath| lines(arrow).into_iter().find(|line| line.size.height > 0.0);
            for ((from, to), arrow) in edges.iter().zip(&layout.arrows) {
                prop_assert!(touches(*from, arrow.points[0]) && touches(*to, arrow.points[arrow.points.len() - 1]));
                for ((_, other_to), other) in edges.iter().zip(&layout.arrows) {
                    let (Some(one), Some(other)) = (upright(arrow), upright(other)) else { continue };
                    let is_beside = one.bottom() < other.y || other.bottom() < one.y;
                    prop_assert!(to == other_to || is_beside || (one.x - other.x).abs() >= LANE, "{one:?} {other:?}");
                }
            }
        }
    }

    #[test]
    fn forward_is_straight_back_goes_left_skips_right() {
        let drawing = drawing(5, &[(0, 1), (1, 2), (2, 1), (3, 1), (2, 3), (3, 3), (1, 4), (2, 4), (3, 4)]);
        let layout = layout(&drawing, &[BOX; 5], &[RectSize::default(); 9]);
        assert!(layout.boxes.windows(2).all(|pair| pair[0].x == pair[1].x && pair[0].bottom() < pair[1].y));
        let sides: Vec<ArrowSide> = layout.arrows.iter().map(|arrow| arrow.side).collect();
        use ArrowSide::{Left, Right, Spine};
        assert_eq!(sides, [Spine, Spine, Left, Left, Spine, Left, Right, Right, Spine]);
        let end = |at: usize| &layout.arrows[at].points[1..];
        assert_eq!(end(2)[1..], end(3)[1..], "two ways to one role arrive as one");
        assert_eq!(end(6)[1..], end(7)[1..]);
        assert!(
            end(5)[0].0 > end(3)[0].0 || end(5)[0].1 > end(3)[0].1,
            "the loop of one role lies apart from the way past it"
        );
    }
}
