//! Views of a text after cleaning or decoding, with the position of each byte in the original text.

use std::borrow::Cow;
use std::ops::Range;

use unicode_width::UnicodeWidthChar;

use crate::escapes;

/// Most unfinished sequences within each other that are considered.
const WAITS: usize = 3;

/// Replaces a secret that was found already. It affects the text around it like the final replacement.
const MASK: &str = "[█]";

/// How often JSON escapes are decoded: a tool's arguments are JSON in JSON.
const DECODED: usize = 2;

/// How often escape sequences are removed. Removing a sequence may create another one, but no program cleans a text this often.
const CLEANED: usize = 4;

/// A text in one form in which a reader may see it.
#[derive(Debug, Clone, Default)]
pub(super) struct TextView<'t> {
    bytes: Cow<'t, [u8]>,
    /// Start of each run of bytes, in the view and in the text. Empty if both are equal.
    runs: Vec<(usize, usize)>,
    /// Bytes that stand for several bytes of the text: their place in the view, and the end of their range in the text.
    wide: Vec<(usize, usize)>,
    /// Offset in the text of an unfinished escape sequence.
    open_from: Option<usize>,
}

/// Whether the text can still grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextEnd {
    /// It can't.
    Over,
    /// It can, so an unfinished sequence at its end is undecided.
    Grows,
}

impl TextEnd {
    fn waits(self) -> usize {
        if self == TextEnd::Grows { WAITS } else { 0 }
    }
}

/// Calls `show` for each view of a text, including the text itself.
pub(super) fn for_each_view(whole: TextView<'_>, end: TextEnd, mut show: impl FnMut(&TextView<'_>)) {
    let valid = whole.valid();
    let mut bases = vec![valid.percent_decoded(end).map(TextView::valid)];
    let mut decoded = Some(valid);
    for _ in 0..DECODED {
        let next = decoded.as_ref().and_then(|view| view.json_decoded(end));
        bases.push(decoded.take());
        decoded = next;
    }
    bases.push(decoded);
    for base in bases.into_iter().flatten() {
        cleaned(base, end.waits(), &mut show);
    }
}

/// A text without invisible symbols.
pub(super) fn seen(text: &str) -> String {
    let view = TextView { bytes: Cow::Borrowed(text.as_bytes()), ..TextView::default() };
    view.seen().as_ref().map_or(text, TextView::text).to_owned()
}

/// Shows a view unchanged, without invisible symbols, and without escape sequences and invisible symbols.
fn cleaned(mut view: TextView<'_>, waits: usize, show: &mut dyn FnMut(&TextView<'_>)) {
    for pass in 0..=CLEANED {
        let text = view.text();
        let kept = escapes::kept(text);
        let is_clean = kept.iter().map(Range::len).sum::<usize>() == text.len();
        let last_line = text.rfind('\n').map_or(0, |end| end + 1);
        let open = if waits > 0 { escapes::open_at(&text[last_line..]) } else { None };
        if let Some(open) = open {
            // When the sequence is complete, the text after it will follow the text before it. So show the text before it as well.
            let before = view.keeping(std::iter::once(0..last_line + open));
            let line = view.origin_of(last_line);
            view.open_from = earliest(view.open_from, Some(line));
            cleaned(before, waits - 1, show);
        }
        show(&view);
        for other in view.seen().iter().chain(&view.with_line_ends()) {
            show(other);
        }
        if is_clean || pass == CLEANED {
            return;
        }
        view = view.keeping(kept);
    }
}

fn earliest(one: Option<usize>, other: Option<usize>) -> Option<usize> {
    one.into_iter().chain(other).min()
}

impl<'t> TextView<'t> {
    /// A view of a text with a visible mark in place of these ranges.
    pub(super) fn masked(text: &'t [u8], ranges: impl IntoIterator<Item = Range<usize>>) -> TextView<'t> {
        let whole = TextView { bytes: Cow::Borrowed(text), ..TextView::default() };
        let mut ranges = ranges.into_iter().peekable();
        if ranges.peek().is_none() {
            return whole;
        }
        let mut masked = TextViewBuilder::default();
        let mut from = 0;
        for range in ranges {
            masked.push(&text[from..range.start], from);
            masked.push_wide(MASK.as_bytes(), range.start, range.end);
            from = range.end;
        }
        masked.push(&text[from..], from);
        masked.view()
    }
}

impl TextView<'_> {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Offset in the text of an unfinished escape sequence.
    pub(super) fn open_from(&self) -> Option<usize> {
        self.open_from
    }

    /// The range of the text that a range of the view stands for. It is not empty.
    pub(super) fn origin(&self, range: Range<usize>) -> Range<usize> {
        let last = range.end - 1;
        self.origin_of(range.start)..self.wide_end(last).unwrap_or_else(|| self.origin_of(last) + 1)
    }

    fn origin_of(&self, at: usize) -> usize {
        match self.runs.partition_point(|(begin, _)| *begin <= at).checked_sub(1) {
            Some(run) => self.runs[run].1 + (at - self.runs[run].0),
            None => at,
        }
    }

    /// Returns a place of the text. If the place lies in a part that was left out or decoded as a whole, returns the start of that part.
    pub(super) fn before_gap(&self, place: usize) -> usize {
        let next = self.runs.partition_point(|(_, origin)| *origin < place);
        let is_between = self.runs.get(next).is_none_or(|(_, origin)| *origin > place);
        let Some((begin, origin)) = next.checked_sub(1).map(|run| self.runs[run]) else {
            // Before the first run, if the view has runs.
            return if self.runs.is_empty() || !is_between { place } else { 0 };
        };
        let end = self.runs.get(next).map_or(self.bytes.len(), |(begin, _)| *begin);
        match self.wide_end(begin) {
            Some(end) if place < end => origin,
            Some(_) => place,
            None if place > origin + (end - begin) && is_between => origin + (end - begin),
            None => place,
        }
    }

    /// The bytes as text. Every view is built from text.
    fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).unwrap_or_default()
    }

    /// The end of the range in the text, for a byte that stands for several.
    fn wide_end(&self, at: usize) -> Option<usize> {
        let found = self.wide.binary_search_by_key(&at, |(wide, _)| *wide).ok()?;
        Some(self.wide[found].1)
    }

    fn keeping(&self, ranges: impl IntoIterator<Item = Range<usize>>) -> TextView<'static> {
        let mut kept = TextViewBuilder { open_from: self.open_from, ..TextViewBuilder::default() };
        ranges.into_iter().for_each(|range| self.copy(range, &mut kept));
        kept.view()
    }

    /// Adds a range to another view.
    fn copy(&self, range: Range<usize>, to: &mut TextViewBuilder) {
        let mut at = range.start;
        while at < range.end {
            let next = self.runs.partition_point(|(begin, _)| *begin <= at);
            let end = self.runs.get(next).map_or(range.end, |(begin, _)| range.end.min(*begin));
            let (bytes, origin) = (&self.bytes[at..end], self.origin_of(at));
            match self.wide_end(at) {
                Some(end) => to.push_wide(bytes, origin, end),
                None => to.push(bytes, origin),
            }
            at = end;
        }
    }

    /// Without bytes that are not valid text.
    fn valid(self) -> Self {
        if std::str::from_utf8(&self.bytes).is_ok() {
            return self;
        }
        let mut ranges = Vec::new();
        let mut at = 0;
        for chunk in self.bytes.utf8_chunks() {
            ranges.push(at..at + chunk.valid().len());
            at += chunk.valid().len() + chunk.invalid().len();
        }
        self.keeping(ranges)
    }

    /// Replaces each lone `\r` by `\n`; `None` if the text has none.
    fn with_line_ends(&self) -> Option<TextView<'static>> {
        let mut bytes = self.bytes.iter().zip(self.bytes.iter().skip(1).chain([&0]));
        bytes.any(|(byte, next)| *byte == b'\r' && *next != b'\n').then(|| self.seen_with(true))
    }

    /// Without invisible symbols; `None` if the text has none.
    fn seen(&self) -> Option<TextView<'static>> {
        if self.bytes.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
            return None;
        }
        Some(self.seen_with(false))
    }

    /// Without invisible symbols. This includes `\r`, unless it ends a line alone and `line_ends` is set.
    fn seen_with(&self, line_ends: bool) -> TextView<'static> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let mut symbols = self.text().char_indices().peekable();
        while let Some((at, symbol)) = symbols.next() {
            let is_line_end = symbol == '\r' && line_ends && symbols.peek().is_none_or(|(_, next)| *next != '\n');
            if is_unseen(symbol) && !is_line_end {
                continue;
            }
            let end = at + symbol.len_utf8();
            match ranges.last_mut().filter(|last| last.end == at) {
                Some(last) => last.end = end,
                None => ranges.push(at..end),
            }
        }
        let mut seen = self.keeping(ranges);
        seen.bytes.to_mut().iter_mut().filter(|byte| **byte == b'\r').for_each(|byte| *byte = b'\n');
        seen
    }

    pub(super) fn without_white_space(&self) -> TextView<'static> {
        let mut at = 0;
        let words = self.bytes.split(u8::is_ascii_whitespace).map(|word| {
            let range = at..at + word.len();
            at = range.end + 1;
            range
        });
        self.keeping(words.filter(|word| !word.is_empty()))
    }

    /// Decodes `%XX`; `None` if the text has none.
    fn percent_decoded(&self, end: TextEnd) -> Option<TextView<'static>> {
        self.decoded(
            b'%',
            |rest| match rest {
                [b'%', high, low, ..] => Some((vec![digit(*high)? << 4 | digit(*low)?], 3)),
                _ => None,
            },
            3,
            end,
        )
    }

    /// Decodes JSON escapes; `None` if the text has none.
    fn json_decoded(&self, end: TextEnd) -> Option<TextView<'static>> {
        self.decoded(b'\\', json_escape, 12, end)
    }

    /// Decodes each escape. `escape` returns the symbol at the start of some bytes and the length of its escape. An escape at the end of
    /// the text that is shorter than `longest` may be incomplete.
    fn decoded(
        &self,
        mark: u8,
        escape: impl Fn(&[u8]) -> Option<(Vec<u8>, usize)>,
        longest: usize,
        end: TextEnd,
    ) -> Option<TextView<'static>> {
        if !self.bytes.contains(&mark) {
            return None;
        }
        let mut decoded = TextViewBuilder { open_from: self.open_from, ..TextViewBuilder::default() };
        let mut at = 0;
        while at < self.bytes.len() {
            let rest = &self.bytes[at..];
            if rest[0] != mark {
                let length = rest.iter().position(|byte| *byte == mark).unwrap_or(rest.len());
                self.copy(at..at + length, &mut decoded);
                at += length;
                continue;
            }
            let origin = self.origin_of(at);
            let found = escape(rest);
            if end == TextEnd::Grows
                && rest.len() < longest
                && may_go_on(rest, found.as_ref().map(|(bytes, _)| bytes.as_slice()))
            {
                decoded.open_from = earliest(decoded.open_from, Some(origin));
                // When the escape is complete, its symbol will follow the text before it. So leave the unfinished escape out.
                break;
            }
            match found {
                Some((bytes, length)) => {
                    let origin_end = self.origin(at..at + length).end;
                    decoded.push_wide(&bytes, origin, origin_end);
                    at += length;
                }
                None => {
                    self.copy(at..at + 1, &mut decoded);
                    at += 1;
                }
            }
        }
        let is_other = !decoded.wide.is_empty() || decoded.open_from != self.open_from;
        is_other.then(|| decoded.view())
    }
}

/// Whether an escape at the end of a text could become another one when the text grows.
fn may_go_on(rest: &[u8], found: Option<&[u8]>) -> bool {
    match found {
        // The first half of a symbol that JSON writes as two escapes.
        Some(bytes) => bytes == "\u{fffd}".as_bytes(),
        None => rest[1..].iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'u'),
    }
}

/// The symbol that a JSON escape stands for, as UTF-8, and the length of the escape in bytes.
fn json_escape(rest: &[u8]) -> Option<(Vec<u8>, usize)> {
    let plain = |byte: u8| Some((vec![byte], 2));
    let unit = |at: usize| {
        let digits = rest.get(at..at + 6)?.strip_prefix(b"\\u")?;
        digits.iter().try_fold(0_u16, |unit, byte| Some(unit << 4 | u16::from(digit(*byte)?)))
    };
    match rest.get(1)? {
        byte @ (b'"' | b'\\' | b'/') => plain(*byte),
        b'n' => plain(b'\n'),
        b't' => plain(b'\t'),
        b'r' => plain(b'\r'),
        b'b' => plain(8),
        b'f' => plain(12),
        b'u' => {
            let first = unit(0)?;
            let units = [first, unit(6).unwrap_or(0)];
            let symbol = char::decode_utf16(units).next()?;
            let symbol = symbol.unwrap_or(char::REPLACEMENT_CHARACTER);
            Some((symbol.to_string().into_bytes(), 6 * symbol.len_utf16()))
        }
        _ => None,
    }
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// Whether a symbol is invisible, or is displayed as unreadable.
fn is_unseen(symbol: char) -> bool {
    match symbol {
        '\n' | '\t' => false,
        // `unicode-width` gives these symbols a width, but browsers and terminals show nothing.
        '\u{ad}' | '\u{115f}' | '\u{2028}' | '\u{2029}' | '\u{3164}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffd}' => true,
        _ => symbol.is_control() || symbol.width() == Some(0),
    }
}

/// A view that is being built.
#[derive(Default)]
struct TextViewBuilder {
    bytes: Vec<u8>,
    runs: Vec<(usize, usize)>,
    wide: Vec<(usize, usize)>,
    open_from: Option<usize>,
    /// Offset in the text after the last pushed byte.
    next: Option<usize>,
}

impl TextViewBuilder {
    /// Adds bytes that are the same in the text.
    fn push(&mut self, bytes: &[u8], origin: usize) {
        if bytes.is_empty() {
            return;
        }
        if self.next != Some(origin) {
            self.runs.push((self.bytes.len(), origin));
        }
        self.bytes.extend_from_slice(bytes);
        self.next = Some(origin + bytes.len());
    }

    /// Adds bytes that stand for a range of the text.
    fn push_wide(&mut self, bytes: &[u8], origin: usize, end: usize) {
        for byte in bytes {
            self.runs.push((self.bytes.len(), origin));
            self.wide.push((self.bytes.len(), end));
            self.bytes.push(*byte);
        }
        self.next = None;
    }

    fn view(self) -> TextView<'static> {
        let TextViewBuilder { bytes, mut runs, wide, open_from, .. } = self;
        if runs.is_empty() {
            // An empty view. Without any run it would count as the whole text.
            runs.push((0, usize::MAX));
        }
        TextView { bytes: Cow::Owned(bytes), runs, wide, open_from }
    }
}
