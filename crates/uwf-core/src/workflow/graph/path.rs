//! The lines of arrows as SVG paths.

use super::measure::{Point, RectSize};

/// Radius of corners.
const CORNER: f64 = 8.0;

/// Half of the broadest border of a box. Arrows begin outside the border.
const BORDER: f64 = 1.0;

/// Length of an arrow's head, and half of its width.
const HEAD: RectSize = RectSize { width: 8.0, height: 4.5 };

/// An arrow's line up to the head: straight, with round corners.
pub(super) fn way(points: &[Point]) -> String {
    let mut d = String::new();
    for (at, point) in points.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| points[before]);
        match (before, points.get(at + 1)) {
            (None, after) => {
                let start = after.map_or(*point, |after| towards(*point, *after, BORDER));
                d.push_str(&format!("M{}", pair(start)));
            }
            (Some(before), None) => d.push_str(&format!(" L{}", pair(towards(*point, before, HEAD.width - 1.0)))),
            (Some(before), Some(after)) => {
                let (from, to) = (corner(*point, before), corner(*point, *after));
                d.push_str(&format!(" L{} Q{} {}", pair(from), pair(*point), pair(to)));
            }
        }
    }
    d
}

/// The point on the way from a corner to another point at which the corner starts to bend.
fn corner(corner: Point, other: Point) -> Point {
    let length = (other.0 - corner.0).hypot(other.1 - corner.1);
    towards(corner, other, CORNER.min(length / 2.0))
}

/// The point at a distance from one point in the direction of another.
fn towards(point: Point, other: Point, distance: f64) -> Point {
    let (dx, dy) = (other.0 - point.0, other.1 - point.1);
    let part = distance / dx.hypot(dy).max(1.0);
    (point.0 + dx * part, point.1 + dy * part)
}

/// The head of an arrow, a triangle with its tip at the last point.
pub(super) fn head(points: &[Point]) -> String {
    let [.., before, tip] = points else { return String::new() };
    let (x, y) = towards(*tip, *before, HEAD.width);
    // The direction of the base, which is across the line.
    let (dx, dy) = ((tip.0 - x) / HEAD.width * HEAD.height, (tip.1 - y) / HEAD.width * HEAD.height);
    format!("M{} L{} L{} z", pair(*tip), pair((x - dy, y + dx)), pair((x + dy, y - dx)))
}

fn pair((x, y): Point) -> String {
    format!("{} {}", number(x), number(y))
}

/// A coordinate with one decimal, more than anyone can see.
pub(super) fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}
