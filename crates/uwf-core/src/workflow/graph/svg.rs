//! A graph as SVG: a standalone picture or a part of a web page.

use std::fmt::Write as _;

use super::branches::DrawnBranch;
use super::lanes::ArrowSide;
use super::layout::{ArrowPath, GraphLayout, layout};
use super::measure::{GraphFont, GraphRect, Point, RectSize};
use super::page::{GRAPH_CSS, GraphOnPage};
use super::path::{head, number, way};
use super::{DrawnCondition, DrawnEdge, DrawnNode, DrawnTransition, GraphDrawing, shown};
use crate::text::{ellipsize, one_line};
use crate::workflow::model::{END, START};

/// Space around the picture.
const MARGIN: f64 = 20.0;

/// Longest name in a box or on an arrow, in characters. Tooltips have the full name.
const NAME: usize = 32;

/// Space beside the text in a box, and above and below it.
const PADDING: RectSize = RectSize { width: 18.0, height: 9.0 };

/// Minimum width of a box.
const LEAST_WIDTH: f64 = 104.0;

/// Height of a branch in the box of a group, and the space around it.
const BRANCH: f64 = 20.0;
const BRANCH_GAP: f64 = 4.0;

/// Space left and right of a branch, and of its text.
const BRANCH_SIDE: f64 = 10.0;

/// Radius of the corners of boxes.
const BOX_CORNER: f64 = 7.0;

/// Distance between the middle of a line and the baseline of small letters.
const BASELINE: f64 = 4.0;

/// A picture that is being written.
struct SvgWriter<'d> {
    drawing: &'d GraphDrawing,
    page: Option<&'d GraphOnPage<'d>>,
    layout: GraphLayout,
    labels: Vec<ArrowLabel>,
    out: String,
}

/// The label of an arrow, in lines.
struct ArrowLabel {
    title: Option<String>,
    small: Vec<String>,
}

impl ArrowLabel {
    fn for_edge(edge: &DrawnEdge) -> ArrowLabel {
        ArrowLabel { title: edge.title().map(|title| short(&title, NAME)), small: edge.description() }
    }

    fn size(&self) -> RectSize {
        let Some(title) = &self.title else { return RectSize::default() };
        let small = self.small.iter().map(|line| GraphFont::Small.width(line)).fold(0.0, f64::max);
        let height = GraphFont::Title.line() + GraphFont::Small.line() * self.small.len() as f64;
        RectSize { width: GraphFont::Title.width(title).max(small), height }
    }
}

impl GraphDrawing {
    /// The graph as a standalone picture: roles in a column, arrows back on the left, arrows that skip roles on the right. It fits light
    /// and dark pages. Tooltips have the full descriptions of conditions and roles.
    #[must_use]
    pub fn svg(&self) -> String {
        self.picture(None)
    }

    /// The same picture as a part of a web page, without styles: the page serves [`GRAPH_CSS`]. Roles and arrows are links with accessible
    /// names.
    #[must_use]
    pub fn svg_for_page(&self, page: &GraphOnPage<'_>) -> String {
        self.picture(Some(page))
    }

    fn picture(&self, page: Option<&GraphOnPage<'_>>) -> String {
        let boxes: Vec<RectSize> = self.nodes.iter().map(box_size).collect();
        let labels: Vec<ArrowLabel> = self.edges.iter().map(ArrowLabel::for_edge).collect();
        let sizes: Vec<RectSize> = labels.iter().map(ArrowLabel::size).collect();
        let layout = layout(self, &boxes, &sizes);
        SvgWriter { drawing: self, page, layout, labels, out: String::new() }.written()
    }
}

fn short(text: &str, longest: usize) -> String {
    ellipsize(&one_line(text), longest).into_owned()
}

fn name(node: &DrawnNode) -> String {
    short(shown(&node.name), NAME)
}

/// The text below the name in a box: how often a role was played, and its state.
fn below(node: &DrawnNode) -> Option<String> {
    let played = (node.played > 0).then(|| format!("{}×", node.played));
    let state = node.state.as_deref().map(|state| short(state, NAME));
    let parts: Vec<String> = played.into_iter().chain(state).collect();
    (!parts.is_empty()).then(|| parts.join(" · "))
}

/// The full name and description of a node.
fn tooltip(node: &DrawnNode) -> String {
    let (name, description) = (one_line(shown(&node.name)), one_line(&node.description));
    if description.is_empty() { name } else { format!("{name}: {description}") }
}

fn is_terminal(node: &DrawnNode) -> bool {
    matches!(node.name.as_str(), START | END)
}

fn box_size(node: &DrawnNode) -> RectSize {
    let small = below(node);
    let text =
        GraphFont::Name.width(&name(node)).max(small.as_deref().map_or(0.0, |small| GraphFont::Small.width(small)));
    let branches = node.branches.iter().map(|branch| GraphFont::Small.width(&branch.text) + 4.0 * BRANCH_SIDE);
    let width = branches.fold(text + 2.0 * PADDING.width, f64::max).max(LEAST_WIDTH);
    RectSize { width, height: head_height(small.is_some()) + branches_height(node) }
}

/// Height of the part of a box with the name.
fn head_height(has_small: bool) -> f64 {
    GraphFont::Name.line() + if has_small { GraphFont::Small.line() } else { 0.0 } + 2.0 * PADDING.height
}

/// Height of the part of a group's box with the branches.
fn branches_height(node: &DrawnNode) -> f64 {
    match node.branches.len() {
        0 => 0.0,
        count => (BRANCH + BRANCH_GAP) * count as f64 + BRANCH_GAP,
    }
}

/// The classes of a branch: it looks like a node in the same state.
fn branch_class(branch: &DrawnBranch) -> String {
    match branch.state.as_deref() {
        Some("running") => "branch running here".to_owned(),
        Some(state @ ("failed" | "killed")) => format!("branch {state} stuck"),
        Some(state) if state.bytes().all(|byte| byte.is_ascii_lowercase()) => format!("branch {state}"),
        Some(_) | None => "branch".to_owned(),
    }
}

impl SvgWriter<'_> {
    fn written(mut self) -> String {
        let RectSize { width, height } = self.layout.size;
        let [width, height] = [width, height].map(|side| (side + 2.0 * MARGIN).ceil());
        let name = escape(&one_line(&self.drawing.name));
        self.out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"graph\" direction=\"ltr\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\""
        );
        match self.page {
            None => {
                let _ = writeln!(self.out, " role=\"img\">\n  <title>{name}</title>\n  <style>\n{GRAPH_CSS}  </style>");
                self.line(&format!("<rect class=\"page\" width=\"{width}\" height=\"{height}\" rx=\"8\"/>"));
            }
            Some(page) => {
                let _ =
                    writeln!(self.out, " id=\"{}\" role=\"group\" aria-label=\"Graph of {name}\">", escape(page.ids));
            }
        }
        self.line(&format!("<g transform=\"translate({MARGIN} {MARGIN})\">"));
        for node in self.layout.order.clone() {
            self.node(node);
        }
        // Draw taken arrows over the others, because arrows to the same role share their last part.
        let (taken, others): (Vec<usize>, Vec<usize>) =
            (0..self.drawing.edges.len()).partition(|edge| self.drawing.edges[*edge].taken > 0);
        for edge in others.into_iter().chain(taken) {
            self.edge(edge);
        }
        self.out.push_str("  </g>\n</svg>\n");
        self.out
    }

    fn node(&mut self, index: usize) {
        let node = &self.drawing.nodes[index];
        let small = below(node);
        let shown = name(node);
        let mut said = vec![shown.clone()];
        said.extend(small.clone());
        let class = self.node_class(node);
        let href = self.page.and_then(|page| (page.node_href)(&node.name));
        let close = self.open(&class, &format!("node-{index}"), href.as_deref(), &said.join(", "));
        self.line(&format!("  <title>{}</title>", escape(&tooltip(node))));
        let rect = self.layout.boxes[index];
        let GraphRect { x, y, size: RectSize { width, height } } = rect;
        let round = if is_terminal(node) { height / 2.0 } else { BOX_CORNER };
        let [x, y, width, height, round] = [x, y, width, height, round].map(number);
        self.line(&format!(
            "  <rect class=\"box\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"{round}\"/>"
        ));
        let x = rect.middle().0;
        let y = rect.y + head_height(small.is_some()) / 2.0;
        let up = if small.is_some() { GraphFont::Small.line() / 2.0 } else { 0.0 };
        self.text("name", TextAnchor::Middle, (x, y + 5.0 - up), &shown);
        if let Some(small) = small {
            self.text("small", TextAnchor::Middle, (x, y + BASELINE + GraphFont::Name.line() / 2.0), &small);
        }
        self.line(close);
        self.branches(index);
    }

    /// The branches in the box of a group.
    fn branches(&mut self, index: usize) {
        let node = &self.drawing.nodes[index];
        let rect = self.layout.boxes[index];
        let (x, width) = (rect.x + BRANCH_SIDE, rect.size.width - 2.0 * BRANCH_SIDE);
        let mut y = rect.bottom() - branches_height(node);
        for (position, branch) in node.branches.iter().enumerate() {
            let href =
                self.page.zip(branch.name.as_deref()).and_then(|(page, name)| (page.branch_href)(&node.name, name));
            let said = format!("{}, branch of {}", branch.text, name(node));
            let close = self.open(&branch_class(branch), &format!("node-{index}-{position}"), href.as_deref(), &said);
            let [left, top, wide, high, round] = [x, y, width, BRANCH, BOX_CORNER / 2.0].map(number);
            self.line(&format!(
                "  <rect class=\"box\" x=\"{left}\" y=\"{top}\" width=\"{wide}\" height=\"{high}\" rx=\"{round}\"/>"
            ));
            self.text("small", TextAnchor::Middle, (rect.middle().0, y + BRANCH / 2.0 + BASELINE), &branch.text);
            self.line(close);
            y += BRANCH + BRANCH_GAP;
        }
    }

    fn node_class(&self, node: &DrawnNode) -> String {
        let is_idle = self.drawing.has_course && node.played == 0 && node.state.is_none() && node.name != START;
        let mut class = vec!["node"];
        class.extend(is_terminal(node).then_some("terminal"));
        class.extend(is_idle.then_some("idle"));
        if let Some(state) = &node.state {
            class.push("here");
            // A state is one word. Don't let other text become one or more classes.
            class.extend(Some(state.as_str()).filter(|state| state.bytes().all(|byte| byte.is_ascii_lowercase())));
        }
        class.join(" ").trim_end().to_owned()
    }

    fn edge(&mut self, index: usize) {
        let edge = &self.drawing.edges[index];
        let class = match (edge.taken > 0, self.drawing.has_course) {
            (true, _) => "edge taken",
            (false, true) => "edge idle",
            (false, false) => "edge",
        };
        let [from, to] = [edge.from, edge.to].map(|node| &self.drawing.nodes[node]);
        let mut said = format!("{} to {}", name(from), name(to));
        if let Some(title) = &self.labels[index].title {
            let _ = write!(said, ": {title}");
        }
        let note = self.page.and_then(|page| (page.edge_note)(&from.name, &to.name));
        if let Some(note) = &note {
            let _ = write!(said, "; {}", one_line(note));
        }
        let href = self.page.and_then(|page| (page.edge_href)(&from.name, &to.name));
        let close = self.open(class, &format!("edge-{index}"), href.as_deref(), &said);
        let tooltip: Vec<String> = edge.tooltip().into_iter().chain(note).collect();
        if !tooltip.is_empty() {
            self.line(&format!("  <title>{}</title>", escape(&tooltip.join("\n\n"))));
        }
        let arrow = self.layout.arrows[index].clone();
        let way = way(&arrow.points);
        if href.is_some() {
            self.line(&format!("  <path class=\"hit\" d=\"{way}\"/>"));
        }
        self.line(&format!("  <path class=\"arrow\" d=\"{way}\"/>"));
        self.line(&format!("  <path class=\"head\" d=\"{}\"/>", head(&arrow.points)));
        self.label(index, &arrow);
        self.line(close);
    }

    fn label(&mut self, index: usize, arrow: &ArrowPath) {
        let GraphRect { x, y, .. } = arrow.label;
        // Align the lines to the side that faces the spine.
        let (anchor, x) = match arrow.side {
            ArrowSide::Spine | ArrowSide::Right => (TextAnchor::Start, x),
            ArrowSide::Left => (TextAnchor::End, arrow.label.right()),
        };
        let is_otherwise = matches!(
            self.drawing.edges[index].transitions[..],
            [DrawnTransition { condition: DrawnCondition::Otherwise, .. }]
        );
        let ArrowLabel { title, small } = &self.labels[index];
        let (title, small) = (title.clone(), small.clone());
        if let Some(title) = title {
            self.text(
                if is_otherwise { "title otherwise" } else { "title" },
                anchor,
                (x, y + GraphFont::Title.line() / 2.0 + BASELINE),
                &title,
            );
        }
        for (at, small) in small.iter().enumerate() {
            let middle = y + GraphFont::Title.line() + GraphFont::Small.line() * (at as f64 + 0.5);
            self.text("small", anchor, (x, middle + BASELINE), small);
        }
    }

    /// Begins a link or a group. Returns its closing tag.
    fn open(&mut self, class: &str, id: &str, href: Option<&str>, said: &str) -> &'static str {
        let said = escape(said);
        let Some(page) = self.page else {
            self.line(&format!("<g class=\"{class}\">"));
            return "</g>";
        };
        let Some(href) = href else {
            self.line(&format!("<g class=\"{class}\" role=\"img\" aria-label=\"{said}\">"));
            return "</g>";
        };
        let (ids, href) = (escape(page.ids), escape(href));
        self.line(&format!("<a class=\"{class}\" id=\"{ids}-{id}\" href=\"{href}\" aria-label=\"{said}\">"));
        "</a>"
    }

    fn text(&mut self, class: &str, anchor: TextAnchor, (x, y): Point, content: &str) {
        let anchor = match anchor {
            TextAnchor::Start => "",
            TextAnchor::Middle => " text-anchor=\"middle\"",
            TextAnchor::End => " text-anchor=\"end\"",
        };
        let (x, y, content) = (number(x), number(y), escape(content));
        self.line(&format!("  <text class=\"{class}\"{anchor} x=\"{x}\" y=\"{y}\">{content}</text>"));
    }

    fn line(&mut self, text: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.out, "    {text}");
    }
}

/// The part of a text that is placed at its position.
#[derive(Clone, Copy)]
enum TextAnchor {
    Start,
    Middle,
    End,
}

/// Escapes a text for use between tags and within quotes. Symbols that XML does not allow are left out.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for symbol in text.chars() {
        match symbol {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(symbol),
            '\u{FFFE}' | '\u{FFFF}' => {}
            symbol if symbol.is_control() => {}
            symbol => out.push(symbol),
        }
    }
    out
}
