//! Sizes and places, and the space that texts take.

/// A width and a height.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct RectSize {
    pub(super) width: f64,
    pub(super) height: f64,
}

/// A point of the picture.
pub(super) type Point = (f64, f64);

/// A rectangle in the picture.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct GraphRect {
    /// Its left edge and its top.
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) size: RectSize,
}

impl GraphRect {
    pub(super) fn right(&self) -> f64 {
        self.x + self.size.width
    }

    pub(super) fn bottom(&self) -> f64 {
        self.y + self.size.height
    }

    pub(super) fn middle(&self) -> Point {
        (self.x + self.size.width / 2.0, self.y + self.size.height / 2.0)
    }
}

/// Sizes of the texts in a picture. `GRAPH_CSS` sets the same sizes.
#[derive(Clone, Copy, Debug)]
pub(super) enum GraphFont {
    /// Names of roles.
    Name,
    /// Names of conditions.
    Title,
    /// All other texts.
    Small,
}

impl GraphFont {
    /// Height of a line.
    pub(super) fn line(self) -> f64 {
        match self {
            GraphFont::Name => 18.0,
            GraphFont::Title => 15.0,
            GraphFont::Small => 14.0,
        }
    }

    /// Height of its letters, and their width relative to the normal width.
    fn scale(self) -> (f64, f64) {
        match self {
            GraphFont::Name => (14.0, 1.0),
            GraphFont::Title => (12.0, 1.13),
            GraphFont::Small => (11.0, 1.0),
        }
    }

    /// The approximate width of a text. The reader's font is unknown, so this uses DejaVu Sans, which is wider than most fonts.
    pub(super) fn width(self, text: &str) -> f64 {
        let (size, wider) = self.scale();
        (text.chars().map(em).sum::<f64>() * size * wider).ceil()
    }
}

/// The width of a symbol relative to the height of its font.
fn em(symbol: char) -> f64 {
    match symbol {
        'i' | 'j' | 'l' | '\'' | '|' | 'I' => 0.3,
        'f' | 'r' | 't' | ' ' | '.' | ',' | ':' | ';' | '!' | '(' | ')' | '[' | ']' | '-' | '/' | '\\' | '·' => 0.41,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '…' | '&' | '—' => 1.0,
        'A'..='Z' | '+' | '<' | '=' | '>' | '~' | '#' | '×' => 0.84,
        '\u{0}'..='\u{7f}' => 0.64,
        // Emoji, then East Asian scripts.
        '\u{1f000}'.. => 1.4,
        '\u{1100}'.. => 1.1,
        _ => 0.8,
    }
}
