//! Splits an answer into blocks that can contain its value.
//!
//! | block | form |
//! |---|---|
//! | header | `---`, keys, `---` |
//! | code block | an unindented fence that is not part of a sentence |
//! | braces | an object or list that starts and ends its lines, unindented |
//! | keys | a paragraph of lines that start with keys of the schema |
//!
//! Values inside a line, a list item, a quotation, a diff, a longer fence, a container or indented text are examples, not blocks.

use std::ops::Range;

use super::block_ends::{balanced, cut};
use super::containers::contained;
use super::keys::SchemaKeys;
use super::lead_in::{leads_elsewhere, takes_back};
use super::lines::{CodeFence, KeyLine, bullet, indent, is_blank, is_rule, opens};
use super::loose_json;
use super::origins::{ChatSpeaker, origin, speaker};

/// Most blocks that are read. Answers with more are rejected.
const MAX_BLOCKS: usize = 1_000;

pub(super) struct BlockScanResult {
    /// In the order of the text.
    pub(super) found: Vec<AnswerBlock>,
    /// Blocks that are the subject or the object of a sentence. They don't count, whatever their value is.
    pub(super) set_aside: Vec<AnswerBlock>,
    /// Whether the scan stopped early, so that later blocks are unknown.
    pub(super) is_endless: bool,
}

/// Words after a block that make the block the subject of a sentence.
const VERBS: [&str; 12] =
    ["is", "are", "was", "were", "would", "should", "must", "can", "could", "may", "means", "does"];

/// Other words that continue a sentence.
const GOES_ON: [&str; 27] = [
    "for", "as", "to", "and", "or", "but", "which", "that", "in", "on", "at", "of", "with", "when", "where", "if",
    "so", "because", "instead", "from", "by", "not", "while", "until", "unless", "than", "then",
];

/// Number of lines above a block that are searched for the sentence that introduces it.
const LEAD_IN: usize = 4;

/// Number of lines above a block that are searched for its origin, such as the first line of an HTTP message.
const PARAGRAPH: usize = 64;

/// The kind of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerBlockKind {
    /// Between two `---` lines.
    Header,
    /// A code block.
    Fence,
    /// An object or list.
    Braces,
    /// Lines with keys.
    Keys,
}

/// A part of the text that can contain the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AnswerBlock {
    pub(super) mark: AnswerBlockKind,
    /// Range between the marks.
    pub(super) inside: Range<usize>,
    /// Range including the marks.
    pub(super) whole: Range<usize>,
    /// Both ranges with an earlier end, if the header may end before its closing rule.
    pub(super) shorter: Option<(Range<usize>, Range<usize>)>,
    /// Only blank lines precede it.
    pub(super) is_first: bool,
    /// The header has a closing rule.
    pub(super) is_closed: bool,
    /// A code block surrounds the header and the text below it.
    pub(super) is_wrapped: bool,
    /// The line, from 0, that makes it an example, a draft or a part of a sentence. It is not the answer, but if its value differs from the
    /// answer, the answer is rejected.
    pub(super) doubt: Option<usize>,
    /// A code block whose language is JSON.
    pub(super) is_json: bool,
    /// The closing fence of a code block around a header. It does not belong to the body.
    pub(super) closing: Option<Range<usize>>,
}

impl AnswerBlock {
    fn new(mark: AnswerBlockKind, inside: Range<usize>, whole: Range<usize>) -> AnswerBlock {
        AnswerBlock {
            mark,
            inside,
            whole,
            shorter: None,
            is_first: false,
            is_closed: true,
            is_wrapped: false,
            doubt: None,
            is_json: false,
            closing: None,
        }
    }
}

/// A line and where it is.
#[derive(Debug, Clone)]
struct AnswerLine<'t> {
    at: Range<usize>,
    text: &'t str,
}

/// Finds the blocks of a text.
pub(super) fn blocks(text: &str, keys: &SchemaKeys<'_>, lists: bool) -> BlockScanResult {
    let mut at = 0;
    let lines: Vec<AnswerLine<'_>> = text
        .split_inclusive('\n')
        .map(|full| {
            let start = at;
            at += full.len();
            AnswerLine { at: start..at, text: full.trim_end_matches('\n') }
        })
        .collect();
    let belongs = belongs(&lines);
    let contained = contained(lines.iter().map(|line| line.text));
    let taken_back = lines.iter().rposition(|line| takes_back(line.text)).unwrap_or(0);
    let unread = 8 * text.len() + (1 << 16);
    let (found, set_aside) = (Vec::new(), Vec::new());
    BlockScanner {
        text,
        keys,
        lists,
        lines,
        belongs,
        contained,
        taken_back,
        found,
        set_aside,
        turns: [None; 2],
        unread,
        is_endless: false,
    }
    .run()
}

/// Returns for each line whether it continues a list item or quotation above it.
fn belongs(lines: &[AnswerLine<'_>]) -> Vec<bool> {
    let mut inside = false;
    let mut of_lines = Vec::with_capacity(lines.len());
    for line in lines {
        of_lines.push(inside);
        inside =
            !is_blank(line.text) && (inside || line.text.trim_start().starts_with('>') || bullet(line.text).is_some());
    }
    of_lines
}

struct BlockScanner<'t, 'k, 's> {
    text: &'t str,
    keys: &'k SchemaKeys<'s>,
    lists: bool,
    lines: Vec<AnswerLine<'t>>,
    /// See [`belongs`].
    belongs: Vec<bool>,
    /// See [`contained`].
    contained: Vec<bool>,
    /// The last line that retracts a block above it.
    taken_back: usize,
    found: Vec<AnswerBlock>,
    /// See [`BlockScanResult::set_aside`].
    set_aside: Vec<AnswerBlock>,
    /// The first lines of a person and of a model in a chat.
    turns: [Option<usize>; 2],
    /// Bytes that may still be read without finding a block. The limit keeps the work linear.
    unread: usize,
    is_endless: bool,
}

impl BlockScanner<'_, '_, '_> {
    fn run(mut self) -> BlockScanResult {
        let mut next = 0;
        while next < self.lines.len() && self.found.len() < MAX_BLOCKS && self.unread > 0 {
            next = self.line(next);
        }
        self.mark_chat();
        let is_endless = self.is_endless || next < self.lines.len();
        BlockScanResult { is_endless, found: self.found, set_aside: self.set_aside }
    }

    /// Marks the blocks in a chat, in which a person and a model take turns.
    fn mark_chat(&mut self) {
        let [Some(person), Some(model)] = self.turns else { return };
        let first = self.start_of(person.min(model));
        for block in self.found.iter_mut().filter(|block| block.whole.start >= first) {
            block.doubt.get_or_insert(person.min(model));
        }
    }

    /// Scans a line. Returns the next line to scan.
    fn line(&mut self, number: usize) -> usize {
        let line = self.lines[number].text;
        if self.contained[number] {
            return number + 1;
        }
        if let Some(speaker) = speaker(line) {
            self.turns[usize::from(speaker == ChatSpeaker::Model)].get_or_insert(number);
        }
        if let Some(fence) = CodeFence::from_line(line) {
            return self.fence(number, fence);
        }
        if let Some(fence) = bullet(line).and_then(CodeFence::from_line) {
            return self.behind(number, &fence, false) + 1;
        }
        if opens(line) {
            return self.header(number);
        }
        let begins_braces = line.starts_with('{') || line.starts_with('[') && self.lists;
        if begins_braces && !self.belongs[number] {
            return self.braces(number);
        }
        // Keys must match the schema exactly, except at the start of the text.
        let is_known = |line: KeyLine<'_>| {
            line.indent == 0
                && (self.keys.has(line.key)
                    || self.keys.knows(line.key) && !line.key.starts_with('-') && self.is_first(number))
        };
        if self.begins_paragraph(number) && KeyLine::split_line(line).is_some_and(is_known) {
            return self.key_lines(number);
        }
        number + 1
    }

    fn header(&mut self, number: usize) -> usize {
        let Some((mut block, closing)) = self.header_at(number, None) else { return number + 1 };
        block.is_first = self.is_first(number);
        // The text after an early end may contain more blocks.
        let end = block.shorter.as_ref().map_or(block.whole.end, |(_, whole)| whole.end);
        let is_short = block.shorter.is_some();
        let is_first = block.is_first;
        self.found.push(block);
        if !is_first {
            self.mark_talked_about(number, closing);
        }
        if is_short { self.line_at(end) } else { closing }
    }

    /// Returns the header that starts at a rule, and the line after it; `None` for a rule that separates paragraphs. Inside a code block, the
    /// closing fence also ends the header.
    fn header_at(&self, number: usize, around: Option<CodeFence<'_>>) -> Option<(AnswerBlock, usize)> {
        let ends = |line: &AnswerLine<'_>| is_rule(line.text) || around.is_some_and(|open| closes(line.text, &open));
        let from = self.behind_object(number + 1);
        let close = self.lines[from..].iter().position(ends).map(|offset| from + offset);
        let is_closed = close.is_some_and(|close| is_rule(self.lines[close].text));
        let end = close.map_or(self.text.len(), |close| self.lines[close].at.start);
        let full = self.lines[number].at.end..end;
        // Comments may precede the keys. A heading and prose below a rule are a page.
        let mut lines = self.lines[number + 1..close.unwrap_or(self.lines.len())].iter();
        let first = lines.find(|line| !is_blank(line.text) && !line.text.starts_with("# "));
        // A header that begins the text and says nothing is one that does not fit.
        let has_comment =
            || self.lines[number + 1..close.unwrap_or(number + 1)].iter().any(|line| !is_blank(line.text));
        let says_nothing = first.map_or_else(has_comment, |line| matches!(line.text.trim(), "null" | "~"));
        if says_nothing && is_closed && self.is_first(number) && !self.keys.is_empty() {
            let close = close?;
            let whole = self.lines[number].at.start..self.lines[close].at.end;
            let block = AnswerBlock { is_closed, ..AnswerBlock::new(AnswerBlockKind::Header, full, whole) };
            return Some((block, close + 1));
        }
        let first = first?;
        let key = KeyLine::split_line(first.text);
        let is_known = key.is_some_and(|line| self.keys.knows(line.key));
        let is_like_one = is_known
            || self.keys.is_empty()
            || key.is_some_and(|line| line.is_word())
            || first.text.starts_with(['{', '[', '"'])
            || CodeFence::from_line(first.text).is_some();
        let short = cut(self.text, full.clone(), self.keys);
        let has_key = self.text[short.clone()]
            .lines()
            .any(|line| KeyLine::split_line(line).is_some_and(|line| self.keys.knows(line.key)));
        if !(is_like_one && is_closed || has_key && is_known) {
            return None;
        }
        let start = self.lines[number].at.start;
        let whole_end = close.filter(|_| is_closed).map_or(end, |close| self.lines[close].at.end);
        let behind = close.map_or(self.lines.len(), |close| close + usize::from(is_closed));
        // If keys follow the early end, the header extends to its closing rule.
        let below = self.text[short.end..full.end].lines();
        let is_whole = is_closed
            && below
                .clone()
                .any(|line| KeyLine::split_line(line).is_some_and(|line| line.indent == 0 && self.keys.has(line.key)));
        let shorter = (short != full && has_key && !is_whole).then(|| (short.clone(), start..short.end));
        let (inside, whole, shorter) = match (is_closed, shorter) {
            (false, Some((inside, whole))) => (inside, whole, None),
            (_, shorter) => (full, start..whole_end, shorter),
        };
        let behind = if is_closed { behind } else { self.line_at(whole.end) };
        let block = AnswerBlock { shorter, is_closed, ..AnswerBlock::new(AnswerBlockKind::Header, inside, whole) };
        Some((block, behind))
    }

    /// Returns the line after the object that begins in a line, or the line itself. Rules inside the strings of an object end no header.
    fn behind_object(&self, number: usize) -> usize {
        let Some(line) = self.lines.get(number).filter(|line| line.text.starts_with('{')) else { return number };
        let object = loose_json::read_at(self.text, line.at.start);
        object.map_or(number, |json| (self.line_at(json.end - 1) + 1).min(self.lines.len()))
    }

    fn fence(&mut self, number: usize, open: CodeFence<'_>) -> usize {
        let is_at_edge = indent(self.lines[number].text) == 0;
        let close = self.behind(number, &open, is_at_edge);
        if !open.may_hold_answer() || !is_at_edge || self.belongs[number] {
            return close + 1;
        }
        let Some(first) = (number + 1..close).find(|number| !is_blank(self.lines[*number].text)) else {
            return close + 1;
        };
        if opens(self.lines[first].text)
            && let Some((header, behind)) = self.header_at(first, Some(open))
        {
            return self.header_in_fence(number, open, header, behind);
        }
        let mut inside = self.lines[number].at.end..self.start_of(close);
        let mut close = close;
        let json = self.lines[first].text.trim_start().starts_with(['{', '[']).then(|| {
            loose_json::read_at(self.text, self.lines[first].at.start).map_err(|slip| self.charge(slip.read)).ok()
        });
        if let Some(json) = json.flatten() {
            // Fences inside the strings of the object don't close the code block.
            let from = self.line_at(json.end - 1) + 1;
            let behind = self.lines[from.min(self.lines.len())..].iter().position(|line| closes(line.text, &open));
            close = behind.map_or(self.lines.len(), |offset| from + offset);
            inside.end = self.start_of(close);
        }
        let whole = self.lines[number].at.start..self.lines.get(close).map_or(self.text.len(), |line| line.at.end);
        self.push(AnswerBlockKind::Fence, inside, whole, number);
        if let Some(block) = self.found.last_mut() {
            block.is_json = open.is_json();
        }
        self.mark_sentence(number, close + 1);
        close + 1
    }

    /// Subtracts bytes that were read without finding a block.
    fn charge(&mut self, bytes: usize) {
        self.unread = self.unread.saturating_sub(bytes);
        self.is_endless |= self.unread == 0;
    }

    /// Returns the line of the closing fence, or the number of lines without one.
    fn behind(&self, number: usize, open: &CodeFence<'_>, is_at_edge: bool) -> usize {
        let ends = |line: &AnswerLine<'_>| match is_at_edge {
            true => closes(line.text, open),
            false => CodeFence::from_line(line.text.trim_start()).is_some_and(|fence| fence.closes(open)),
        };
        let close = self.lines[number + 1..].iter().position(ends);
        close.map_or(self.lines.len(), |offset| number + 1 + offset)
    }

    /// Adds the header at the start of a code block. A code block at the start of the text may surround the whole answer.
    fn header_in_fence(&mut self, number: usize, open: CodeFence<'_>, header: AnswerBlock, behind: usize) -> usize {
        let from = header.shorter.as_ref().map_or(behind, |(_, whole)| self.line_at(whole.end));
        let close = self.lines[from.min(self.lines.len())..].iter().position(|line| closes(line.text, &open));
        let close = close.map_or(self.lines.len(), |offset| from + offset);
        let start = self.lines[number].at.start;
        let shorter = header.shorter.map(|(inside, whole)| (inside, start..whole.end));
        let whole = start..header.whole.end;
        if self.is_first(number) {
            // If other code blocks are nested in it, the last line closes it.
            let last = (behind..self.lines.len()).rev().find(|number| !is_blank(self.lines[*number].text));
            let last = last.filter(|last| closes(self.lines[*last].text, &open)).unwrap_or(close);
            let closing = self.lines.get(last).map(|line| line.at.clone());
            self.found.push(AnswerBlock { whole, shorter, is_first: true, is_wrapped: true, closing, ..header });
            return behind;
        }
        let closing = self.lines.get(close).map(|line| line.at.clone());
        self.found.push(AnswerBlock { mark: AnswerBlockKind::Fence, whole, shorter, closing, ..header });
        self.mark_sentence(number, close + 1);
        close + 1
    }

    fn braces(&mut self, number: usize) -> usize {
        let start = self.lines[number].at.start;
        let (end, is_json) = match loose_json::read_at(self.text, start) {
            Ok(json) => (json.end, true),
            Err(slip) => {
                self.charge(slip.read);
                match balanced(self.text, start, &mut self.unread) {
                    Some(end) => (end, false),
                    None => {
                        self.is_endless |= self.unread == 0;
                        return self.cut_off(number);
                    }
                }
            }
        };
        let last = self.line_at(end - 1);
        let behind = &self.text[end..self.lines[last].at.end];
        if is_blank(behind.trim_end_matches([';', ','])) {
            // Skip objects without any key of the schema: a program's log may contain thousands.
            let block = &self.text[start..end];
            if self.keys.is_empty() || self.keys.names().any(|key| block.contains(key)) || !is_json {
                self.push(AnswerBlockKind::Braces, start..end, start..end, number);
                self.mark_sentence(number, last + 1);
            }
            return last + 1;
        }
        // Text after it on the same line makes it part of a sentence.
        if is_json { last + 1 } else { number + 1 }
    }

    /// Adds an object without an end. It can't be read, but it may be the answer. A brace before other text than a key doesn't begin an object.
    fn cut_off(&mut self, number: usize) -> usize {
        let inside = self.text[self.lines[number].at.start + 1..].trim_start();
        let is_key =
            KeyLine::split_line(inside.lines().next().unwrap_or_default()).is_some_and(|key| self.keys.knows(key.key));
        if !is_key && !inside.starts_with(['"', '\'', '“', '„']) {
            return number + 1;
        }
        let ends = |line: &AnswerLine<'_>| is_blank(line.text) || CodeFence::from_line(line.text).is_some();
        let length = self.lines[number..].iter().position(ends).unwrap_or(self.lines.len() - number);
        let range = self.lines[number].at.start..self.start_of(number + length);
        self.charge(range.len());
        self.push(AnswerBlockKind::Braces, range.clone(), range, number);
        number + 1
    }

    fn key_lines(&mut self, number: usize) -> usize {
        let start = self.lines[number].at.start;
        let block = cut(self.text, start..self.text.len(), self.keys);
        let end = self.line_at(block.end);
        let belongs = |line: &AnswerLine<'_>| {
            let key = KeyLine::split_line(line.text).filter(|line| line.indent == 0);
            is_blank(line.text)
                || line.text.starts_with([' ', '\t', '#'])
                || bullet(line.text).is_some()
                || key.is_some_and(|line| self.keys.knows(line.key) || line.is_word())
        };
        let is_alone = self.lines[number..end].iter().all(belongs);
        if is_alone {
            // A rule right after the keys closes a header without an opening rule.
            let closing = (end..self.lines.len()).find(|next| !is_blank(self.lines[*next].text));
            let closing = closing.filter(|next| is_rule(self.lines[*next].text));
            let whole = start..closing.map_or(block.end, |closing| self.lines[closing].at.end);
            self.push(AnswerBlockKind::Keys, block, whole, number);
            self.mark_talked_about(number, end);
            return closing.map_or(end, |closing| closing + 1).max(number + 1);
        }
        end.max(number + 1)
    }

    fn push(&mut self, mark: AnswerBlockKind, inside: Range<usize>, whole: Range<usize>, number: usize) {
        let is_first = self.is_first(number);
        self.found.push(AnswerBlock { is_first, ..AnswerBlock::new(mark, inside, whole) });
    }

    fn is_first(&self, number: usize) -> bool {
        is_blank(&self.text[..self.lines[number].at.start])
    }

    fn begins_paragraph(&self, number: usize) -> bool {
        let above = number.checked_sub(1).map(|above| self.lines[above].text);
        above.is_none_or(|above| {
            is_blank(above) || is_rule(above) || CodeFence::from_line(above).is_some() || above.starts_with("# ")
        })
    }

    /// Removes the last block if it is part of a sentence, and marks it if a sentence may continue after it. `begin` is the block's first line,
    /// `behind` the line after it. A sentence may have an empty line before and after the block.
    fn mark_sentence(&mut self, begin: usize, behind: usize) {
        let line = |number: usize| self.lines.get(number).map_or("", |line| line.text.trim_end());
        let above = begin.checked_sub(1).map_or("", line);
        let above = if is_blank(above) { begin.checked_sub(2).map_or("", line) } else { above };
        let is_apart = is_blank(line(behind));
        let below = line(behind + usize::from(is_apart));
        let is_fence = self.found.last().is_some_and(|block| block.mark == AnswerBlockKind::Fence);
        let word = below.split([' ', ',', '.', ':', ';']).next().unwrap_or_default();
        let goes_on = below.starts_with([',', ';', ')']) || GOES_ON.contains(&word);
        // Below an empty line, another lowercase word may be a key.
        let is_lowercase = below.starts_with(|first: char| first.is_lowercase() || first == '.');
        let may_go_on = goes_on || is_fence && !is_apart && is_lowercase;
        let is_open = !above.is_empty() && !above.ends_with(['.', '!', '?', '`', '~', '-', '}']);
        let is_call = above.ends_with(['(', '[']) || above.ends_with(" =") || matches!(above, "'" | "\"");
        let below_line = behind + usize::from(is_apart);
        if is_call || VERBS.contains(&word) || is_open && may_go_on && (goes_on || !above.ends_with(':')) {
            let doubt = if is_call { begin.saturating_sub(1) } else { below_line };
            let block = self.found.pop();
            self.set_aside.extend(block.map(|block| AnswerBlock { doubt: Some(doubt), ..block }));
        } else if let Some(block) = self.found.last_mut() {
            block.doubt = (goes_on || is_open && may_go_on).then_some(below_line);
            self.mark_talked_about(begin, behind);
        }
    }

    /// Marks the last block if the text around it says that it is not the answer. `begin` is its first line, `behind` the line after it.
    fn mark_talked_about(&mut self, begin: usize, behind: usize) {
        let doubt = self.leading_elsewhere(begin).or((behind <= self.taken_back).then_some(self.taken_back));
        if let Some(block) = self.found.last_mut() {
            block.doubt = block.doubt.or(doubt);
        }
    }

    /// The line above a block that introduces something other than the answer.
    fn leading_elsewhere(&self, begin: usize) -> Option<usize> {
        let is_gap = begin > 0 && is_blank(self.lines[begin - 1].text);
        let end = begin - usize::from(is_gap);
        let far = &self.lines[end.saturating_sub(PARAGRAPH)..end];
        let first = end - far.iter().rev().take_while(|line| !is_blank(line.text)).count();
        let paragraph: Vec<&str> = self.lines[first..end].iter().map(|line| line.text).collect();
        if let Some(line) = origin(&paragraph) {
            return Some(first + line);
        }
        let near = &paragraph[paragraph.len().saturating_sub(LEAD_IN)..];
        // List items and code introduce nothing, unless they end with a colon.
        let is_apart = |line: &&str| bullet(line).is_some() || indent(line) >= 4;
        let is_silent = near.last().is_some_and(|line| is_apart(line) && !line.trim_end().ends_with(':'));
        (!is_silent && leads_elsewhere(&near.join("\n"))).then(|| end.saturating_sub(1))
    }

    /// Returns the line at an offset.
    fn line_at(&self, at: usize) -> usize {
        self.lines.partition_point(|line| line.at.end <= at)
    }

    fn start_of(&self, number: usize) -> usize {
        self.lines.get(number).map_or(self.text.len(), |line| line.at.start)
    }
}

fn closes(line: &str, open: &CodeFence<'_>) -> bool {
    indent(line) == 0 && CodeFence::from_line(line).is_some_and(|fence| fence.closes(open))
}
