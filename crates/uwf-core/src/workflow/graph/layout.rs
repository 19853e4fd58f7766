//! Where the nodes and arrows of a graph lie, in layers from `$START` to `$END`.
//!
//! A node's layer is the longest way to it. Between two layers of nodes lies a layer of what the arrows say, so that a label takes
//! its own room and covers nothing. Arrows that lead back run beside the picture, each in a lane of its own. Within a layer, the
//! order comes from the middle of each thing's neighbours (after Sugiyama). Things of neighbouring layers that are tied are put
//! below each other as far as their order allows, and lie in the middle between as far left and as far right as they can (after
//! Brandes and Köpf).

use super::{Drawing, DrawnEdge};

/// Between two things of a layer.
const GAP: f64 = 28.0;

/// Between a layer of nodes and one of labels.
const LAYER_GAP: f64 = 24.0;

/// Height of a layer of labels without a label.
const BARE_LAYER: f64 = 10.0;

/// Room of an arrow that passes a layer.
const PASSING: f64 = 16.0;

/// Between the lanes of arrows that lead back.
const LANE: f64 = 26.0;

/// Sweeps over the layers; what they can improve, they do in the first few.
const SWEEPS: usize = 12;

/// Things in all layers up to which they are put below each other: each try looks at all of them.
const MAX_ALIGNED: usize = 600;

/// Room on a node's side for each arrow that leads back.
const SIDE: f64 = 12.0;

/// How large something is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Size {
    pub(super) width: f64,
    pub(super) height: f64,
}

/// A point of the picture.
pub(super) type Point = (f64, f64);

/// A picture before it is drawn.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    /// Middles of the nodes.
    pub(super) nodes: Vec<Point>,
    /// The arrows, in the order of the drawing.
    pub(super) arrows: Vec<Arrow>,
    /// Size of all of it, without a margin.
    pub(super) size: Size,
}

/// An arrow.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrow {
    /// The lines it is made of, each of points through which it goes: it is interrupted by its label.
    pub(super) lines: Vec<Vec<Point>>,
    /// Whether it leads back, in straight lines with round corners.
    pub(super) is_back: bool,
    /// The middle of its label.
    pub(super) label: Point,
}

/// Something that lies in a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    Node(usize),
    /// The label of an arrow, or the arrow itself where it passes.
    Label(usize),
    Passing(usize),
}

struct Layers<'d> {
    drawing: &'d Drawing,
    sizes: &'d [Size],
    labels: &'d [Size],
    /// Even layers hold nodes, odd ones labels.
    items: Vec<Vec<Item>>,
    /// Middles of the items, as `items`.
    places: Vec<Vec<f64>>,
    /// Where an arrow's pieces are: layer and position, from its start on.
    ways: Vec<Vec<Spot>>,
    /// Where the nodes are.
    spots: Vec<Spot>,
    /// Arrows that reach each node from above, and that leave it downwards.
    reaching: Vec<Vec<usize>>,
    leaving: Vec<Vec<usize>>,
}

/// Layer and position in it.
type Spot = (usize, usize);

/// Lays a graph out; `sizes` are those of its nodes, `labels` those of what its arrows say.
pub(super) fn layout(drawing: &Drawing, sizes: &mut [Size], labels: &[Size]) -> Layout {
    let is_back = back_edges(drawing);
    for (edge, _) in drawing.edges.iter().zip(&is_back).filter(|(_, is_back)| **is_back) {
        for node in [edge.from, edge.to] {
            let ends = drawing.edges.iter().zip(&is_back).filter(|(_, is_back)| **is_back);
            let ends =
                ends.map(|(edge, _)| usize::from(edge.from == node) + usize::from(edge.to == node)).sum::<usize>();
            sizes[node].height = sizes[node].height.max(SIDE * (ends + 1) as f64);
        }
    }
    let ranks = ranks(drawing, &is_back);
    let mut layers = Layers::new(drawing, sizes, labels, &ranks, &is_back);
    for sweep in 0..SWEEPS {
        layers.order(sweep % 2 == 0);
    }
    layers.align();
    layers.drawn(&ranks, &is_back)
}

/// Which arrows lead back to where the way came from. Of each node the last transition is followed first: what happens otherwise
/// is as a rule the way on, and what has a condition goes around or back.
fn back_edges(drawing: &Drawing) -> Vec<bool> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let out = |node: usize| drawing.edges.iter().enumerate().rev().filter(move |(_, edge)| edge.from == node);
    let mut is_back = vec![false; drawing.edges.len()];
    let mut marks = vec![Mark::New; drawing.nodes.len()];
    for start in 0..drawing.nodes.len() {
        if marks[start] != Mark::New {
            continue;
        }
        marks[start] = Mark::Open;
        let mut open = vec![(start, out(start).map(|(index, _)| index).collect::<Vec<_>>())];
        while let Some((node, edges)) = open.last_mut() {
            let node = *node;
            if edges.is_empty() {
                marks[node] = Mark::Done;
                open.pop();
                continue;
            }
            let edge = edges.remove(0);
            let to = drawing.edges[edge].to;
            match marks[to] {
                Mark::Open => is_back[edge] = true,
                Mark::Done => {}
                Mark::New => {
                    marks[to] = Mark::Open;
                    open.push((to, out(to).map(|(index, _)| index).collect()));
                }
            }
        }
    }
    is_back
}

/// The layer of each node: its longest way from a node that nothing leads to; `$END` lies below all others.
fn ranks(drawing: &Drawing, is_back: &[bool]) -> Vec<usize> {
    let mut ranks = vec![0; drawing.nodes.len()];
    // Nodes that nothing leads to but `$START` lie with the first roles.
    for rank in ranks.iter_mut().skip(1) {
        *rank = 1;
    }
    for _ in 0..drawing.nodes.len() {
        for (edge, _) in drawing.edges.iter().zip(is_back).filter(|(_, is_back)| !**is_back) {
            ranks[edge.to] = ranks[edge.to].max(ranks[edge.from] + 1);
        }
    }
    let others = ranks.len() - 1;
    let last = ranks[..others].iter().max().map_or(0, |rank| rank + 1);
    ranks[others] = ranks[others].max(last);
    ranks
}

impl<'d> Layers<'d> {
    fn new(
        drawing: &'d Drawing,
        sizes: &'d [Size],
        labels: &'d [Size],
        ranks: &[usize],
        is_back: &[bool],
    ) -> Layers<'d> {
        let count = 2 * ranks.iter().max().unwrap_or(&0) + 1;
        let mut items = vec![Vec::new(); count];
        for (node, rank) in ranks.iter().enumerate() {
            items[2 * rank].push(Item::Node(node));
        }
        for (index, edge) in drawing.edges.iter().enumerate().filter(|(index, _)| !is_back[*index]) {
            let (from, to) = (2 * ranks[edge.from], 2 * ranks[edge.to]);
            items[from + 1].push(Item::Label(index));
            for layer in &mut items[from + 2..to] {
                layer.push(Item::Passing(index));
            }
        }
        let places = items.iter().map(|layer| vec![0.0; layer.len()]).collect();
        let mut reaching = vec![Vec::new(); drawing.nodes.len()];
        let mut leaving = reaching.clone();
        for (index, edge) in drawing.edges.iter().enumerate().filter(|(index, _)| !is_back[*index]) {
            reaching[edge.to].push(index);
            leaving[edge.from].push(index);
        }
        let (ways, spots) = (Vec::new(), Vec::new());
        let mut layers = Layers { drawing, sizes, labels, items, places, ways, spots, reaching, leaving };
        layers.find_ways();
        for layer in 0..layers.items.len() {
            let gaps = layers.gaps(layer);
            layers.places[layer] = fit(&vec![0.0; layers.items[layer].len()], &gaps);
        }
        layers
    }

    fn find_ways(&mut self) {
        self.ways = vec![Vec::new(); self.drawing.edges.len()];
        self.spots = vec![(0, 0); self.drawing.nodes.len()];
        for (layer, items) in self.items.iter().enumerate() {
            for (position, item) in items.iter().enumerate() {
                match item {
                    Item::Label(edge) | Item::Passing(edge) => self.ways[*edge].push((layer, position)),
                    Item::Node(node) => self.spots[*node] = (layer, position),
                }
            }
        }
    }

    /// Notes where the items of a layer are now.
    fn found(&mut self, layer: usize) {
        for (position, item) in self.items[layer].iter().enumerate() {
            match item {
                Item::Label(edge) | Item::Passing(edge) => {
                    let first = self.ways[*edge][0].0;
                    self.ways[*edge][layer - first].1 = position;
                }
                Item::Node(node) => self.spots[*node].1 = position,
            }
        }
    }

    fn width(&self, item: Item) -> f64 {
        match item {
            Item::Node(node) => self.sizes[node].width,
            Item::Label(edge) => self.labels[edge].width.max(PASSING),
            Item::Passing(_) => PASSING,
        }
    }

    /// Distances between the middles of a layer's items.
    fn gaps(&self, layer: usize) -> Vec<f64> {
        let widths: Vec<f64> = self.items[layer].iter().map(|item| self.width(*item)).collect();
        widths.windows(2).map(|pair| f64::midpoint(pair[0], pair[1]) + GAP).collect()
    }

    /// What an item is tied to in the layer above or below.
    fn tied(&self, layer: usize, item: Item, is_above: bool) -> Vec<Spot> {
        match item {
            Item::Node(node) if is_above => {
                self.reaching[node].iter().filter_map(|edge| self.ways[*edge].last().copied()).collect()
            }
            Item::Node(node) => {
                self.leaving[node].iter().filter_map(|edge| self.ways[*edge].first().copied()).collect()
            }
            Item::Label(edge) | Item::Passing(edge) => {
                let DrawnEdge { from, to, .. } = self.drawing.edges[edge];
                let way = &self.ways[edge];
                let at = way.first().map_or(0, |(first, _)| layer - first);
                let piece = if is_above { at.checked_sub(1) } else { Some(at + 1) };
                let end = self.spots[if is_above { from } else { to }];
                vec![piece.and_then(|piece| way.get(piece)).copied().unwrap_or(end)]
            }
        }
    }

    /// Middles of what an item is tied to in a neighbouring layer.
    fn neighbours(&self, layer: usize, item: Item, is_above: bool) -> Vec<f64> {
        self.tied(layer, item, is_above).into_iter().map(|(layer, position)| self.places[layer][position]).collect()
    }

    /// Orders each layer by the middle of what its items are tied to, going down or up.
    fn order(&mut self, is_down: bool) {
        let layers: Vec<usize> =
            if is_down { (0..self.items.len()).collect() } else { (0..self.items.len()).rev().collect() };
        for layer in layers {
            let mut keyed: Vec<(f64, Item)> = self.items[layer]
                .iter()
                .zip(&self.places[layer])
                .map(|(item, place)| (mean(&self.neighbours(layer, *item, is_down)).unwrap_or(*place), *item))
                .collect();
            keyed.sort_by(|one, other| one.0.total_cmp(&other.0));
            self.items[layer] = keyed.iter().map(|(_, item)| *item).collect();
            let gaps = self.gaps(layer);
            self.places[layer] = fit(&keyed.iter().map(|(wanted, _)| *wanted).collect::<Vec<_>>(), &gaps);
            self.found(layer);
        }
    }

    /// Puts what is tied below each other, and all of it in the middle of where it can lie.
    fn align(&mut self) {
        let first: Vec<usize> = self
            .items
            .iter()
            .scan(0, |next, items| {
                let first = *next;
                *next += items.len();
                Some(first)
            })
            .collect();
        let count = self.items.iter().map(Vec::len).sum();
        let mut columns = Columns { of: (0..count).collect(), pairs: Vec::new() };
        for (layer, items) in self.items.iter().enumerate() {
            let gaps = self.gaps(layer);
            columns.pairs.extend((1..items.len()).map(|at| (first[layer] + at - 1, first[layer] + at, gaps[at - 1])));
        }
        if count <= MAX_ALIGNED {
            let mut taken = (vec![false; count], vec![false; count]);
            for (above, below) in self.candidates() {
                let (above, below) = (first[above.0] + above.1, first[below.0] + below.1);
                if !taken.0[above] && !taken.1[below] && columns.join(above, below) {
                    (taken.0[above], taken.1[below]) = (true, true);
                }
            }
        }
        let places = columns.places();
        for (layer, items) in self.items.iter().enumerate() {
            self.places[layer] = (0..items.len()).map(|at| places[first[layer] + at]).collect();
        }
    }

    /// Ties that may become straight, those first that should: along an arrow, then to the nodes at its ends, those of short
    /// arrows before those of long ones.
    fn candidates(&self) -> Vec<(Spot, Spot)> {
        let along = self.ways.iter().flat_map(|way| way.windows(2).map(|pair| (pair[0], pair[1])));
        let mut candidates: Vec<(Spot, Spot)> = along.collect();
        let mut edges: Vec<usize> = (0..self.ways.len()).filter(|edge| !self.ways[*edge].is_empty()).collect();
        edges.sort_by_key(|edge| self.ways[*edge].len());
        for edge in edges {
            let DrawnEdge { from, to, .. } = self.drawing.edges[edge];
            let way = &self.ways[edge];
            candidates.push((self.spots[from], way[0]));
            candidates.push((way[way.len() - 1], self.spots[to]));
        }
        candidates
    }

    /// Heights of the layers' middles, and of all of it.
    fn rows(&self) -> (Vec<f64>, Vec<f64>, f64) {
        let mut y = 0.0;
        let mut middles = Vec::new();
        let mut heights = Vec::new();
        for (layer, items) in self.items.iter().enumerate() {
            let height = items.iter().map(|item| match item {
                Item::Node(node) => self.sizes[*node].height,
                Item::Label(edge) => self.labels[*edge].height,
                Item::Passing(_) => 0.0,
            });
            let height = height.fold(if layer % 2 == 1 { BARE_LAYER } else { 0.0 }, f64::max);
            if layer > 0 {
                y += LAYER_GAP;
            }
            middles.push(y + height / 2.0);
            heights.push(height);
            y += height;
        }
        (middles, heights, y)
    }

    fn drawn(&self, ranks: &[usize], is_back: &[bool]) -> Layout {
        let (middles, heights, height) = self.rows();
        let mut nodes = vec![(0.0, 0.0); self.drawing.nodes.len()];
        let (mut left, mut right) = (f64::MAX, f64::MIN);
        for (layer, items) in self.items.iter().enumerate() {
            for (item, place) in items.iter().zip(&self.places[layer]) {
                left = left.min(place - self.width(*item) / 2.0);
                right = right.max(place + self.width(*item) / 2.0);
                if let Item::Node(node) = item {
                    nodes[*node] = (*place, middles[layer]);
                }
            }
        }
        let mut arrows: Vec<Arrow> = (0..self.drawing.edges.len())
            .map(|edge| if is_back[edge] { Arrow::default() } else { self.forward(edge, &nodes, &middles, &heights) })
            .collect();
        let mut back: Vec<usize> = (0..is_back.len()).filter(|edge| is_back[*edge]).collect();
        // The shortest lie inside, so that lanes do not cross.
        back.sort_by_key(|edge| {
            let DrawnEdge { from, to, .. } = self.drawing.edges[*edge];
            (ranks[from].saturating_sub(ranks[to]), from)
        });
        let mut lane = right + LANE;
        for edge in back.iter().copied() {
            arrows[edge] = self.backward(edge, &nodes, lane, &back);
            lane += self.labels[edge].width + LANE;
        }
        let right = lane - LANE;
        for point in nodes.iter_mut().chain(
            arrows
                .iter_mut()
                .flat_map(|arrow| std::iter::once(&mut arrow.label).chain(arrow.lines.iter_mut().flatten())),
        ) {
            point.0 -= left;
        }
        Layout { nodes, arrows, size: Size { width: right - left, height } }
    }

    /// Where an arrow leaves or reaches a node at its lower or upper side: those of one side are spread over it.
    fn port(&self, edge: usize, at_start: bool, nodes: &[Point]) -> f64 {
        let DrawnEdge { from, to, .. } = self.drawing.edges[edge];
        let node = if at_start { from } else { to };
        let beside = |other: &usize| {
            let way = &self.ways[*other];
            let piece = if at_start { way.first() } else { way.last() };
            piece.map_or(0.0, |(layer, position)| self.places[*layer][*position])
        };
        let mut same: Vec<usize> = (0..self.drawing.edges.len())
            .filter(|other| {
                let other_edge = &self.drawing.edges[*other];
                let end = if at_start { other_edge.from } else { other_edge.to };
                end == node && !self.ways[*other].is_empty()
            })
            .collect();
        same.sort_by(|one, other| beside(one).total_cmp(&beside(other)));
        let position = same.iter().position(|other| *other == edge).unwrap_or(0) as f64;
        let spread = (self.sizes[node].width / (same.len() + 1) as f64).min(GAP);
        nodes[node].0 + (position - (same.len() as f64 - 1.0) / 2.0) * spread
    }

    fn forward(&self, edge: usize, nodes: &[Point], middles: &[f64], heights: &[f64]) -> Arrow {
        let DrawnEdge { from, to, .. } = self.drawing.edges[edge];
        let start = (self.port(edge, true, nodes), nodes[from].1 + self.sizes[from].height / 2.0);
        let end = (self.port(edge, false, nodes), nodes[to].1 - self.sizes[to].height / 2.0);
        let mut lines = Vec::new();
        let mut line = vec![start];
        let mut label = start;
        for (at, (layer, position)) in self.ways[edge].iter().enumerate() {
            let x = self.places[*layer][*position];
            let half = if at == 0 { self.labels[edge].height / 2.0 } else { heights[*layer] / 2.0 };
            if at == 0 && half > 0.0 {
                label = (x, middles[*layer]);
                line.push((x, middles[*layer] - half));
                lines.push(std::mem::take(&mut line));
                line.push((x, middles[*layer] + half));
            } else if at > 0 {
                line.push((x, middles[*layer] - half));
                line.push((x, middles[*layer] + half));
            } else {
                line.push((x, middles[*layer]));
            }
        }
        line.push(end);
        lines.push(line);
        Arrow { lines, is_back: false, label }
    }

    /// An arrow that leads back, or to its own node: out at the right side, along its lane, in at the right side.
    fn backward(&self, edge: usize, nodes: &[Point], lane: f64, lanes: &[usize]) -> Arrow {
        let DrawnEdge { from, to, .. } = self.drawing.edges[edge];
        let start = self.side(edge, true, nodes, lanes);
        let end = self.side(edge, false, nodes, lanes);
        let mut line = self.out_to_lane(from, start, nodes, true);
        line.push((lane, line[line.len() - 1].1));
        let mut back = self.out_to_lane(to, end, nodes, false);
        line.push((lane, back[back.len() - 1].1));
        back.reverse();
        line.extend(back);
        let (above, below) = (line.iter().map(|point| point.1).fold(f64::MAX, f64::min), start.1);
        // That of an arrow to its own node hangs below it: other arrows arrive above.
        let is_loop = from == to;
        let size = self.labels[edge];
        let y = if is_loop { above - 6.0 + size.height / 2.0 } else { f64::midpoint(above, below) };
        let label = (lane + 6.0 + size.width / 2.0, y);
        Arrow { lines: vec![line], is_back: true, label }
    }

    /// Where an arrow that leads back touches the right side of a node: those that leave below those that arrive.
    fn side(&self, edge: usize, at_start: bool, nodes: &[Point], lanes: &[usize]) -> Point {
        let node = if at_start { self.drawing.edges[edge].from } else { self.drawing.edges[edge].to };
        let ends: Vec<(usize, bool)> = lanes
            .iter()
            .copied()
            .flat_map(|other| [(other, false), (other, true)])
            .filter(|(other, at_start)| {
                let edge = &self.drawing.edges[*other];
                (if *at_start { edge.from } else { edge.to }) == node
            })
            .collect();
        // From above: those that arrive, the outer lanes first; those that leave, the inner lanes first. So no two cross.
        let mut ends = ends;
        ends.sort_by_key(|(other, at_start)| {
            let lane = lanes.iter().position(|edge| edge == other).unwrap_or(0);
            (*at_start, if *at_start { lane } else { lanes.len() - lane })
        });
        let position = ends.iter().position(|end| *end == (edge, at_start)).unwrap_or(0) as f64;
        let Size { width, height } = self.sizes[node];
        let step = height / (ends.len() + 1) as f64;
        (nodes[node].0 + width / 2.0, nodes[node].1 - height / 2.0 + step * (position + 1.0))
    }

    /// From a node's side towards the lanes. Where another node stands in the way, the arrow goes around it, below or above.
    fn out_to_lane(&self, node: usize, side: Point, nodes: &[Point], is_below: bool) -> Vec<Point> {
        let is_blocked = nodes
            .iter()
            .enumerate()
            .any(|(other, place)| other != node && place.0 > nodes[node].0 && (place.1 - nodes[node].1).abs() < 1.0);
        if !is_blocked {
            return vec![side];
        }
        let half = self.sizes[node].height / 2.0 + LAYER_GAP / 2.0;
        let y = nodes[node].1 + if is_below { half } else { -half };
        let out = (side.0 + GAP / 2.0, side.1);
        vec![side, out, (out.0, y)]
    }
}

/// Things that have the same place, and which of them lie beside each other.
struct Columns {
    /// The column of each thing, named by one of its things.
    of: Vec<usize>,
    /// Things beside each other, left and right, with the distance they need.
    pairs: Vec<(usize, usize, f64)>,
}

impl Columns {
    /// Makes one column of two, unless something of it would then lie both left and right of something else.
    fn join(&mut self, one: usize, other: usize) -> bool {
        let before = self.of.clone();
        let (from, to) = (self.of[other], self.of[one]);
        for column in self.of.iter_mut().filter(|column| **column == from) {
            *column = to;
        }
        let is_possible = self.order().is_some();
        if !is_possible {
            self.of = before;
        }
        is_possible
    }

    /// The columns from left to right; `None` when there is no such order.
    fn order(&self) -> Option<Vec<usize>> {
        let mut left_of = vec![0; self.of.len()];
        let mut right = vec![Vec::new(); self.of.len()];
        for (one, other, _) in &self.pairs {
            left_of[self.of[*other]] += 1;
            right[self.of[*one]].push(self.of[*other]);
        }
        let is_column = |column: &usize| self.of[*column] == *column;
        let count = (0..self.of.len()).filter(is_column).count();
        let mut open: Vec<usize> =
            (0..self.of.len()).filter(is_column).filter(|column| left_of[*column] == 0).collect();
        let mut order = Vec::with_capacity(count);
        while let Some(column) = open.pop() {
            order.push(column);
            for other in &right[column] {
                left_of[*other] -= 1;
                if left_of[*other] == 0 {
                    open.push(*other);
                }
            }
        }
        (order.len() == count).then_some(order)
    }

    /// A place for each thing: the middle of the leftmost and the rightmost that leave the distances.
    fn places(&self) -> Vec<f64> {
        let order = self.order().unwrap_or_default();
        let mut pairs: Vec<Vec<(usize, f64)>> = vec![Vec::new(); self.of.len()];
        for (one, other, gap) in &self.pairs {
            pairs[self.of[*one]].push((self.of[*other], *gap));
        }
        let mut leftmost = vec![0.0_f64; self.of.len()];
        for column in &order {
            for (other, gap) in &pairs[*column] {
                leftmost[*other] = leftmost[*other].max(leftmost[*column] + gap);
            }
        }
        let width = leftmost.iter().copied().fold(0.0, f64::max);
        let mut rightmost = vec![width; self.of.len()];
        for column in order.iter().rev() {
            for (other, gap) in &pairs[*column] {
                rightmost[*column] = rightmost[*column].min(rightmost[*other] - gap);
            }
        }
        self.of.iter().map(|column| f64::midpoint(leftmost[*column], rightmost[*column])).collect()
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Places in the given order with at least these distances, as near to those that are wanted as can be.
fn fit(wanted: &[f64], gaps: &[f64]) -> Vec<f64> {
    // With the distances taken off, the places only have to grow: neighbours that would not are merged into one block, which
    // lies at the mean of what its members want.
    let mut offsets = vec![0.0; wanted.len()];
    for (at, gap) in gaps.iter().enumerate() {
        offsets[at + 1] = offsets[at] + gap;
    }
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for (want, offset) in wanted.iter().zip(&offsets) {
        let mut block = (want - offset, 1);
        while let Some((mean, count)) = blocks.last().copied().filter(|(mean, _)| *mean > block.0) {
            blocks.pop();
            let all = count + block.1;
            block = ((mean * count as f64 + block.0 * block.1 as f64) / all as f64, all);
        }
        blocks.push(block);
    }
    let places = blocks.iter().flat_map(|(mean, count)| std::iter::repeat_n(*mean, *count));
    places.zip(&offsets).map(|(place, offset)| place + offset).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::graph::DrawnNode;

    #[test]
    fn places_keep_their_distances_and_lie_as_near_as_they_can() {
        assert_eq!(fit(&[0.0, 100.0], &[10.0]), [0.0, 100.0]);
        assert_eq!(fit(&[50.0, 50.0, 50.0], &[10.0, 10.0]), [40.0, 50.0, 60.0]);
        assert_eq!(fit(&[20.0, 0.0], &[10.0]), [5.0, 15.0]);
        assert_eq!(fit(&[], &[]), Vec::<f64>::new());
    }

    /// A graph of these arrows, the nodes numbered from the start; the last is the end.
    fn drawing(nodes: usize, edges: &[(usize, usize)]) -> Drawing {
        let node =
            |name: usize| DrawnNode { name: name.to_string(), description: String::new(), played: 0, state: None };
        let edge = |(from, to): &(usize, usize)| DrawnEdge { from: *from, to: *to, conditions: Vec::new(), taken: 0 };
        let edges = edges.iter().map(edge).collect();
        Drawing { name: String::new(), nodes: (0..nodes).map(node).collect(), edges, has_course: false }
    }

    /// Whether two boxes, each a middle and a size, have something in common.
    fn overlap((one, one_size): (Point, Size), (other, other_size): (Point, Size)) -> bool {
        let apart = |one: f64, other: f64, sizes: f64| (one - other).abs() + 0.01 >= sizes / 2.0;
        !(apart(one.0, other.0, one_size.width + other_size.width)
            || apart(one.1, other.1, one_size.height + other_size.height))
    }

    proptest::proptest! {
        #[test]
        fn nothing_covers_anything(
            nodes in 3_usize..14,
            arrows in proptest::collection::btree_set((0_usize..14, 1_usize..14), 1..30),
        ) {
            let edges: Vec<(usize, usize)> =
                arrows.into_iter().filter(|(from, to)| *from < nodes - 1 && *to < nodes).collect();
            let drawing = drawing(nodes, &edges);
            let mut sizes = vec![Size { width: 90.0, height: 40.0 }; nodes];
            let labels = vec![Size { width: 120.0, height: 30.0 }; edges.len()];
            let layout = layout(&drawing, &mut sizes, &labels);
            let is_back = back_edges(&drawing);
            let forward = (0..edges.len()).filter(|edge| !is_back[*edge]);
            let mut boxes: Vec<(Point, Size)> = layout.nodes.iter().copied().zip(sizes.iter().copied()).collect();
            boxes.extend(forward.map(|edge| (layout.arrows[edge].label, labels[edge])));
            for (at, one) in boxes.iter().enumerate() {
                proptest::prop_assert!(one.0.0.is_finite() && one.0.0 - one.1.width / 2.0 > -0.01, "{one:?}");
                proptest::prop_assert!(one.0.0 + one.1.width / 2.0 < layout.size.width + 0.01, "{one:?}");
                for other in &boxes[at + 1..] {
                    proptest::prop_assert!(!overlap(*one, *other), "{one:?} and {other:?}");
                }
            }
        }
    }

    #[test]
    fn a_way_without_forks_is_straight_and_the_way_back_beside_it() {
        let drawing = drawing(4, &[(0, 1), (1, 2), (2, 1), (2, 3)]);
        let mut sizes = vec![Size { width: 90.0, height: 40.0 }; 4];
        let layout = layout(&drawing, &mut sizes, &[Size::default(); 4]);
        assert!(layout.nodes.iter().all(|node| (node.0 - layout.nodes[0].0).abs() < 0.01), "{:?}", layout.nodes);
        assert_eq!(layout.arrows.iter().map(|arrow| arrow.is_back).collect::<Vec<_>>(), [false, false, true, false]);
        let way_back = layout.arrows[2].lines[0].iter().map(|point| point.0).fold(0.0, f64::max);
        assert!(way_back > layout.nodes[1].0 + 45.0);
    }
}
