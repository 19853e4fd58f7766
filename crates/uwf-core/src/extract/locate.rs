//! Where in a text the answer may stand.
//!
//! One pass over the lines finds rules and code blocks; how many places are looked at is bounded, so the work stays
//! linear in the text whatever it holds.

use std::collections::VecDeque;
use std::ops::Range;

use super::keys::Keys;
use super::lines::{CodeFence, KeyLine, bullet, is_rule, opens};

/// Places of one kind that are looked at: the last ones of a text.
pub(super) const MAX_PLACES: usize = 32;

/// How a place is marked, the surest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum AnswerMark {
    /// It begins the text.
    Start,
    /// Between two `---` lines.
    Rules,
    /// A code block.
    Fence,
    /// An object in braces.
    Braces,
    /// A `---` line that nothing closes.
    Unclosed,
    /// Lines that begin with keys of the schema.
    Bare,
}

/// A place that may be the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AnswerPlace {
    pub(super) mark: AnswerMark,
    /// The header itself.
    pub(super) block: Range<usize>,
    /// The header with its marks.
    pub(super) whole: Range<usize>,
    /// The opening line of a code block around the whole answer.
    pub(super) wrapped: bool,
}

impl AnswerPlace {
    fn new(mark: AnswerMark, block: Range<usize>, whole: Range<usize>) -> AnswerPlace {
        AnswerPlace { mark, block, whole, wrapped: false }
    }
}

/// Lines with the position they start at and the position the next one does.
fn lines(text: &str, range: Range<usize>) -> impl Iterator<Item = (Range<usize>, &str)> {
    let mut at = range.start;
    text[range].split_inclusive('\n').map(move |full| {
        let start = at;
        at += full.len();
        (start..at, full.trim_end_matches('\n'))
    })
}

/// Places that begin the text, surest first.
pub(super) fn at_start(text: &str, keys: &Keys<'_>) -> Vec<AnswerPlace> {
    let Some((first, line)) = first_line(text, 0..text.len()) else { return Vec::new() };
    match CodeFence::of(line) {
        Some(fence) if fence.may_hold_answer() => {
            let inner = first.end..text.len();
            let Some((begin, line)) = first_line(text, inner.clone()) else { return Vec::new() };
            if opens(line) {
                return header(text, begin, Some(fence), keys)
                    .into_iter()
                    .map(|place| AnswerPlace { whole: first.start..place.whole.end, wrapped: true, ..place })
                    .collect();
            }
            let close = lines(text, inner).find(|(_, line)| closes(line, Some(fence)));
            let close = close.map_or(text.len()..text.len(), |(range, _)| range);
            let place = AnswerPlace::new(AnswerMark::Start, first.end..close.start, first.start..close.end);
            vec![AnswerPlace { wrapped: true, ..place }]
        }
        Some(_) => Vec::new(),
        None if opens(line) => header(text, first, None, keys),
        None if line.trim_start().starts_with('{') => {
            let end = balanced(text, first.end - text[first.clone()].trim_start().len());
            end.map(|block| AnswerPlace::new(AnswerMark::Start, block.clone(), block)).into_iter().collect()
        }
        None if KeyLine::of(line).is_some_and(|line| keys.knows(line.key)) => {
            let block = cut(text, first.start..text.len(), keys);
            let end = closing_rule(text, block.end).unwrap_or(block.end);
            vec![AnswerPlace::new(AnswerMark::Start, block, first.start..end)]
        }
        None => Vec::new(),
    }
}

fn first_line(text: &str, range: Range<usize>) -> Option<(Range<usize>, &str)> {
    lines(text, range).find(|(_, line)| !line.trim().is_empty())
}

fn closes(line: &str, open: Option<CodeFence<'_>>) -> bool {
    open.is_some_and(|open| CodeFence::of(line).is_some_and(|fence| fence.closes(&open)))
}

/// End of the rule that directly follows a position.
fn closing_rule(text: &str, at: usize) -> Option<usize> {
    first_line(text, at..text.len()).filter(|(_, line)| is_rule(line)).map(|(range, _)| range.end)
}

/// The header behind an opening `---`: up to the next rule (or the end of the code block around it), and up to where
/// its keys seem to end.
fn header(text: &str, opening: Range<usize>, around: Option<CodeFence<'_>>, keys: &Keys<'_>) -> Vec<AnswerPlace> {
    let close = lines(text, opening.end..text.len()).find(|(_, line)| is_rule(line) || closes(line, around));
    let closed = close.is_some();
    let close = close.map_or(text.len()..text.len(), |(range, _)| range);
    let full = opening.end..close.start;
    let mut places = Vec::new();
    let short = cut(text, full.clone(), keys);
    if closed || short == full {
        places.push(AnswerPlace::new(AnswerMark::Start, full.clone(), opening.start..close.end));
    }
    if short != full {
        let whole = opening.start..short.end;
        places.push(AnswerPlace::new(AnswerMark::Start, short, whole));
    }
    places
}

/// The part of a header before something that is no header any more: a heading, a code block, or behind an empty line
/// anything that is neither indented, nor a list, nor a known key.
fn cut(text: &str, range: Range<usize>, keys: &Keys<'_>) -> Range<usize> {
    let mut end = range.start;
    let mut after_blank = false;
    let mut seen_key = false;
    for (at, line) in lines(text, range.clone()) {
        if line.trim().is_empty() {
            after_blank = true;
            continue;
        }
        let known = KeyLine::of(line).is_some_and(|line| keys.knows(line.key));
        let belongs = line.starts_with([' ', '\t']) || known || bullet(line).is_some();
        let heading = line.starts_with("## ") || (after_blank && line.starts_with("# "));
        let ends = heading || is_rule(line) || CodeFence::of(line).is_some() || (after_blank && !belongs);
        if seen_key && ends {
            return range.start..end;
        }
        seen_key |= known;
        after_blank = false;
        end = at.end;
    }
    range.start..range.end.max(end)
}

/// What one pass over the lines finds.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// Rules: their line, whether they can open a header, whether they stand in a code block.
    rules: VecDeque<(Range<usize>, bool, bool)>,
    /// Code blocks that may hold an answer: inside, and with their fences.
    fences: VecDeque<(Range<usize>, Range<usize>)>,
}

fn keep_last<T>(queue: &mut VecDeque<T>, item: T) {
    // One rule more than places: a header has two.
    if queue.len() > MAX_PLACES {
        queue.pop_front();
    }
    queue.push_back(item);
}

impl Marks {
    pub(super) fn of(text: &str) -> Marks {
        let mut marks = Marks::default();
        let mut open: Option<(Range<usize>, CodeFence<'_>)> = None;
        for (at, line) in lines(text, 0..text.len()) {
            if is_rule(line) {
                keep_last(&mut marks.rules, (at, opens(line), open.is_some()));
                continue;
            }
            let Some(fence) = CodeFence::of(line) else { continue };
            match &open {
                None => open = Some((at, fence)),
                Some((from, opening)) if fence.closes(opening) => {
                    if opening.may_hold_answer() {
                        keep_last(&mut marks.fences, (from.end..at.start, from.start..at.end));
                    }
                    open = None;
                }
                Some(_) => {}
            }
        }
        if let Some((from, opening)) = open
            && opening.may_hold_answer()
        {
            keep_last(&mut marks.fences, (from.end..text.len(), from.start..text.len()));
        }
        marks
    }

    /// Headers between rules, the last first; those in code blocks only when asked for.
    pub(super) fn between_rules(&self, in_fence: bool) -> Vec<AnswerPlace> {
        let rules: Vec<&(Range<usize>, bool, bool)> = self.rules.iter().collect();
        let pairs = rules.windows(2).rev().filter(|pair| pair[0].1 && pair[0].2 == in_fence);
        let mark = if in_fence { AnswerMark::Fence } else { AnswerMark::Rules };
        let place = |open: &Range<usize>, close: &Range<usize>| {
            AnswerPlace::new(mark, open.end..close.start, open.start..close.end)
        };
        pairs.map(|pair| place(&pair[0].0, &pair[1].0)).collect()
    }

    /// Code blocks, the last first, without a `---` that begins them and what follows the next one.
    pub(super) fn in_fences(&self, text: &str) -> Vec<AnswerPlace> {
        let place = |(inner, whole): &(Range<usize>, Range<usize>)| {
            let mut block = inner.clone();
            if let Some((first, _)) = first_line(text, inner.clone()).filter(|(_, line)| opens(line)) {
                let close = lines(text, first.end..inner.end).find(|(_, line)| is_rule(line));
                block = first.end..close.map_or(inner.end, |(close, _)| close.start);
            }
            AnswerPlace::new(AnswerMark::Fence, block, whole.clone())
        };
        self.fences.iter().rev().map(place).collect()
    }

    /// Headers whose keys end before any rule does, the last first.
    pub(super) fn unclosed(&self, text: &str, keys: &Keys<'_>) -> Vec<AnswerPlace> {
        let rules: Vec<&(Range<usize>, bool, bool)> = self.rules.iter().collect();
        let ends = rules.iter().skip(1).map(|rule| rule.0.start).chain([text.len()]);
        let headers = rules.iter().zip(ends).filter(|(rule, _)| rule.1).map(|(rule, end)| {
            let block = cut(text, rule.0.end..end, keys);
            AnswerPlace::new(AnswerMark::Unclosed, block.clone(), rule.0.start..block.end)
        });
        let mut places: Vec<AnswerPlace> = headers.collect();
        places.reverse();
        places
    }
}

/// Runs of lines that begin with a key exactly as the schema has it, the last first.
pub(super) fn bare(text: &str, keys: &Keys<'_>) -> Vec<AnswerPlace> {
    let mut starts: VecDeque<usize> = VecDeque::new();
    let mut in_run = false;
    for (at, line) in lines(text, 0..text.len()) {
        let is_key = KeyLine::of(line).is_some_and(|line| line.indent == 0 && keys.has(line.key));
        if is_key && !in_run {
            keep_last(&mut starts, at.start);
        }
        in_run = (is_key || in_run) && !line.trim().is_empty();
    }
    let mut ends: Vec<usize> = starts.iter().skip(1).copied().chain([text.len()]).collect();
    let mut places = Vec::new();
    for start in starts.into_iter().rev() {
        let end = ends.pop().unwrap_or(text.len());
        let block = cut(text, start..end, keys);
        places.push(AnswerPlace::new(AnswerMark::Bare, block.clone(), block));
    }
    places
}

/// Objects in braces (and lists in brackets, if wanted), the last first. Nested ones belong to the outermost.
pub(super) fn in_braces(text: &str, lists: bool) -> Vec<AnswerPlace> {
    /// A brace that nothing closes is looked behind to the end of the text; so many times that is affordable.
    const MAX_UNCLOSED: usize = 8;
    let mut found = VecDeque::new();
    let mut at = 0;
    let mut unclosed = 0;
    while let Some(next) = text[at..].find(|c| c == '{' || (lists && c == '[')) {
        let start = at + next;
        match balanced(text, start) {
            Some(block) => {
                at = block.end;
                keep_last(&mut found, block);
            }
            None if unclosed < MAX_UNCLOSED => {
                unclosed += 1;
                at = start + 1;
            }
            None => break,
        }
    }
    found.into_iter().rev().map(|block| AnswerPlace::new(AnswerMark::Braces, block.clone(), block)).collect()
}

/// From an opening brace or bracket to the one that closes it, texts in double quotes skipped.
fn balanced(text: &str, start: usize) -> Option<Range<usize>> {
    let mut depth = 0_usize;
    let mut in_text = false;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(start) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(start..at + 1);
                }
            }
            _ => {}
        }
    }
    None
}
