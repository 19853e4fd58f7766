//! A graph as a picture of its own: SVG that fits light and dark pages.

use std::fmt::Write as _;

use super::layout::{Arrow, Point, Size, layout};
use super::{Drawing, DrawnEdge, DrawnNode, shown};
use crate::text::{ellipsize, one_line};
use crate::workflow::model::{END, START};

/// Nodes and arrows of a picture: with more of them nobody sees anything, and to lay them out takes long.
const MAX_NODES: usize = 120;
const MAX_EDGES: usize = 400;

/// Around the picture.
const MARGIN: f64 = 24.0;

/// Longest name in a box or on an arrow, in characters; all of it is in the tooltip.
const NAME: usize = 32;

/// Height of a line of a name, and of what stands below it.
const NAME_LINE: f64 = 16.0;
const SMALL_LINE: f64 = 13.0;

/// Above and below the text in a box, and beside it.
const PADDING: Size = Size { width: 18.0, height: 10.0 };

/// A box is at least this wide.
const LEAST_WIDTH: f64 = 84.0;

/// How round corners of arrows are.
const CORNER: f64 = 8.0;

/// Widths of a character of names in boxes, of names on arrows and of small texts: those of a wide sans-serif font, since which one
/// the reader has is not known.
const BOX_CHAR: f64 = 8.4;
const NAME_CHAR: f64 = 7.4;
const SMALL_CHAR: f64 = 6.4;

const STYLE: &str = "\
    text { font: 14px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; fill: #1f2328; text-anchor: middle }
    .page { fill: #ffffff }
    .box { fill: #f6f8fa; stroke: #8c959f; stroke-width: 1.25 }
    .end { fill: #eaeef2 }
    .name { font-size: 12px; font-weight: 600 } .small { font-size: 11px; fill: #59636e }
    .arrow { fill: none; stroke: #6e7781; stroke-width: 1.5 } .head { fill: #6e7781 }
    .idle { opacity: 0.5 }
    .taken .arrow { stroke: #0969da; stroke-width: 2.25 } .taken .name { fill: #0969da } .taken-head { fill: #0969da }
    .here .box { stroke: #0969da; stroke-width: 3; fill: #ddf4ff } .here .small { fill: #0969da; font-weight: 600 }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3 }
      .page { fill: #0d1117 }
      .box { fill: #161b22; stroke: #6e7681 } .end { fill: #21262d }
      .small { fill: #9198a1 }
      .arrow { stroke: #8b949e } .head { fill: #8b949e }
      .taken .arrow { stroke: #4493f8 } .taken .name { fill: #4493f8 } .taken-head { fill: #4493f8 }
      .here .box { stroke: #4493f8; fill: #121d2f } .here .small { fill: #4493f8 }
    }
";

/// What an arrow says, in lines.
struct Label {
    title: Option<String>,
    small: Vec<String>,
}

impl Label {
    fn of(edge: &DrawnEdge) -> Label {
        let title = edge.title().map(|title| ellipsize(&title, NAME).into_owned());
        Label { title, small: edge.description() }
    }

    fn size(&self) -> Size {
        let Some(title) = &self.title else { return Size::default() };
        let small = self.small.iter().map(|line| width(line, SMALL_CHAR)).fold(0.0, f64::max);
        let height = NAME_LINE + SMALL_LINE * self.small.len() as f64 + 4.0;
        Size { width: width(title, NAME_CHAR).max(small), height }
    }
}

/// About how wide a text is; symbols of East Asia take about twice the room of others.
fn width(text: &str, narrow: f64) -> f64 {
    text.chars().map(|symbol| if symbol >= '\u{1100}' { narrow * 1.9 } else { narrow }).sum()
}

/// What a box says below its name.
fn below(node: &DrawnNode) -> Option<String> {
    let played = (node.played > 0).then(|| format!("{}×", node.played));
    let parts: Vec<String> = played.into_iter().chain(node.state.as_deref().map(one_line)).collect();
    (!parts.is_empty()).then(|| parts.join(" · "))
}

fn name(node: &DrawnNode) -> String {
    ellipsize(&one_line(shown(&node.name)), NAME).into_owned()
}

fn size(node: &DrawnNode) -> Size {
    let small = below(node);
    let text = width(&name(node), BOX_CHAR).max(small.as_deref().map_or(0.0, |small| width(small, SMALL_CHAR)));
    let height = NAME_LINE + small.map_or(0.0, |_| SMALL_LINE) + 2.0 * PADDING.height;
    Size { width: (text + 2.0 * PADDING.width).max(LEAST_WIDTH), height }
}

impl Drawing {
    /// The graph as SVG, drawn here: layers from `$START` down to `$END`, arrows that lead back beside them. What conditions and
    /// roles mean in full stands in tooltips.
    ///
    /// `None` when there is more in it than a picture has room for: some hundred roles.
    #[must_use]
    pub fn svg(&self) -> Option<String> {
        if self.nodes.len() > MAX_NODES || self.edges.len() > MAX_EDGES {
            return None;
        }
        let mut sizes: Vec<Size> = self.nodes.iter().map(size).collect();
        let labels: Vec<Label> = self.edges.iter().map(Label::of).collect();
        let label_sizes: Vec<Size> = labels.iter().map(Label::size).collect();
        let picture = layout(self, &mut sizes, &label_sizes);
        let [width, height] = [picture.size.width, picture.size.height].map(|side| (side + 2.0 * MARGIN).ceil());
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
             role=\"img\">\n  <title>{}</title>\n  <style>\n{STYLE}  </style>\n  <defs>\n",
            escape(&one_line(&self.name))
        );
        for (id, class) in [("head", "head"), ("taken-head", "taken-head")] {
            line(
                &mut out,
                &format!(
                    "  <marker id=\"{id}\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"9\" markerHeight=\"9\" \
                 markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path class=\"{class}\" d=\"M0 0.5 L10 5 L0 9.5 z\"/></marker>"
                ),
            );
        }
        line(&mut out, "</defs>");
        line(&mut out, &format!("<rect class=\"page\" width=\"{width}\" height=\"{height}\" rx=\"8\"/>"));
        line(&mut out, &format!("<g transform=\"translate({MARGIN} {MARGIN})\">"));
        for ((edge, arrow), label) in self.edges.iter().zip(&picture.arrows).zip(&labels) {
            self.arrow(&mut out, edge, arrow, label);
        }
        for ((node, place), size) in self.nodes.iter().zip(&picture.nodes).zip(&sizes) {
            self.node(&mut out, node, *place, *size);
        }
        out.push_str("  </g>\n</svg>\n");
        Some(out)
    }

    fn arrow(&self, out: &mut String, edge: &DrawnEdge, arrow: &Arrow, label: &Label) {
        let is_taken = edge.taken > 0;
        let class = if is_taken {
            "taken"
        } else if self.has_course {
            "idle"
        } else {
            "edge"
        };
        line(out, &format!("<g class=\"{class}\">"));
        if let Some(tooltip) = edge.tooltip() {
            line(out, &format!("  <title>{}</title>", escape(&tooltip)));
        }
        let head = if is_taken { "taken-head" } else { "head" };
        for (at, points) in arrow.lines.iter().enumerate() {
            let d = if arrow.is_back { cornered(points) } else { curved(points) };
            let marker =
                if at + 1 == arrow.lines.len() { format!(" marker-end=\"url(#{head})\"") } else { String::new() };
            line(out, &format!("  <path class=\"arrow\" d=\"{d}\"{marker}/>"));
        }
        if let Some(title) = &label.title {
            let (x, middle) = arrow.label;
            let top = middle - label.size().height / 2.0;
            text(out, "name", x, top + 13.0, title);
            for (at, small) in label.small.iter().enumerate() {
                text(out, "small", x, top + NAME_LINE + 10.0 + SMALL_LINE * at as f64, small);
            }
        }
        line(out, "</g>");
    }

    fn node(&self, out: &mut String, node: &DrawnNode, (x, y): Point, size: Size) {
        let is_end = matches!(node.name.as_str(), START | END);
        let is_idle = self.has_course && node.played == 0 && node.state.is_none() && node.name != START;
        let class = if node.state.is_some() {
            "here"
        } else if is_idle {
            "idle"
        } else {
            "node"
        };
        line(out, &format!("<g class=\"{class}\">"));
        let description = one_line(&node.description);
        let tooltip = if description.is_empty() {
            one_line(shown(&node.name))
        } else {
            format!("{}: {description}", one_line(&node.name))
        };
        line(out, &format!("  <title>{}</title>", escape(&tooltip)));
        let Size { width, height } = size;
        let round = if is_end { height / 2.0 } else { 7.0 };
        line(
            out,
            &format!(
                "  <rect class=\"box{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{}\"/>",
                if is_end { " end" } else { "" },
                number(x - width / 2.0),
                number(y - height / 2.0),
                number(width),
                number(height),
                number(round)
            ),
        );
        let small = below(node);
        let up = if small.is_some() { SMALL_LINE / 2.0 } else { 0.0 };
        text(out, "", x, y + 5.0 - up, &name(node));
        if let Some(small) = small {
            text(out, "small", x, y + 5.0 + SMALL_LINE - 4.0, &small);
        }
        line(out, "</g>");
    }
}

/// A way through points that leaves and reaches each of them downwards.
fn curved(points: &[Point]) -> String {
    let mut d = String::new();
    for (at, (x, y)) in points.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| points[before]);
        let piece = match before {
            None => format!("M{} {}", number(*x), number(*y)),
            Some(before) if (before.0 - x).abs() < 0.5 => format!(" L{} {}", number(*x), number(*y)),
            Some(before) => {
                let middle = number(f64::midpoint(before.1, *y));
                format!(" C{} {middle} {} {middle} {} {}", number(before.0), number(*x), number(*x), number(*y))
            }
        };
        d.push_str(&piece);
    }
    d
}

/// A way in straight lines with round corners.
fn cornered(points: &[Point]) -> String {
    let mut d = String::new();
    for (at, (x, y)) in points.iter().enumerate() {
        let piece = match (at.checked_sub(1).map(|before| points[before]), points.get(at + 1)) {
            (None, _) => format!("M{} {}", number(*x), number(*y)),
            (Some(_), None) => format!(" L{} {}", number(*x), number(*y)),
            (Some(before), Some(after)) => {
                let (from, to) = (towards((*x, *y), before), towards((*x, *y), *after));
                format!(
                    " L{} {} Q{} {} {} {}",
                    number(from.0),
                    number(from.1),
                    number(*x),
                    number(*y),
                    number(to.0),
                    number(to.1)
                )
            }
        };
        d.push_str(&piece);
    }
    d
}

/// The point on the way from a corner to another point where the corner begins to be round.
fn towards(corner: Point, other: Point) -> Point {
    let (dx, dy) = (other.0 - corner.0, other.1 - corner.1);
    let length = dx.hypot(dy);
    let part = if length > 0.0 { (CORNER / length).min(0.5) } else { 0.0 };
    (corner.0 + dx * part, corner.1 + dy * part)
}

fn text(out: &mut String, class: &str, x: f64, y: f64, content: &str) {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    line(out, &format!("  <text{class} x=\"{}\" y=\"{}\">{}</text>", number(x), number(y), escape(content)));
}

/// A coordinate with one digit, which is more than anybody sees.
fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

fn line(out: &mut String, text: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "    {text}");
}

/// Makes a text safe between tags and within quotes. Symbols that XML does not allow are left out.
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
