//! The frontmatter rung: Markdown with a YAML header, as agents really write it.

use std::collections::BTreeSet;

use json_cas::schema::Schema;

use super::clean::{at_left_edge, clean};
use super::lines::CodeFence;
use super::locate::{AnswerMark, AnswerPlace, Marks, at_start, bare, in_braces};
use super::read::{Reading, Target};
use super::{Extraction, Failure, Found, MAX_ANSWER_BYTES};

/// Reads the header of an agent's raw text, every key typed by the schema.
///
/// An answer that begins the text is taken if it is valid. Otherwise it is looked for between `---` lines, then in
/// code blocks, in braces, behind a `---` that nothing closes, and in lines that begin with keys of the schema; among
/// valid ones of a kind the last counts, since examples are quoted before they are answered. Work is linear in the
/// text, see [`MAX_ANSWER_BYTES`].
pub fn frontmatter(raw: &str, schema: &Schema) -> Extraction {
    if raw.len() > MAX_ANSWER_BYTES {
        let error = format!("the answer has {} bytes, the limit is {MAX_ANSWER_BYTES}", raw.len());
        return Extraction::Failed(Failure::of(error));
    }
    let text = at_left_edge(clean(raw));
    if text.trim().is_empty() {
        return Extraction::Failed(Failure::of("the answer is empty"));
    }
    Search { text: &text, target: Target::new(schema), nearest: None, read: BTreeSet::new() }.run()
}

struct Search<'t> {
    text: &'t str,
    target: Target<'t>,
    nearest: Option<Reading>,
    /// Start and end of the blocks that were read; the same one may be found by several of its marks.
    read: BTreeSet<(usize, usize)>,
}

impl Search<'_> {
    fn run(mut self) -> Extraction {
        match self.find() {
            Some((place, reading)) => Extraction::Found(Found {
                value: reading.value,
                extras: reading.extras,
                fixes: place_fix(&place).into_iter().map(str::to_owned).chain(reading.fixes).collect(),
                body: body(self.text, &place),
            }),
            None => Extraction::Failed(self.failure()),
        }
    }

    fn find(&mut self) -> Option<(AnswerPlace, Reading)> {
        if let Some(found) = self.first() {
            return Some(found);
        }
        let marks = Marks::of(self.text);
        self.best(marks.between_rules(false))
            .or_else(|| self.best(marks.in_fences(self.text)))
            .or_else(|| self.best(marks.between_rules(true)))
            .or_else(|| self.best(in_braces(self.text, false)))
            .or_else(|| {
                let places = marks.unclosed(self.text, &self.target.keys);
                self.best(places)
            })
            .or_else(|| {
                let places = bare(self.text, &self.target.keys);
                self.best(places)
            })
    }

    /// The answer that begins the text: up to the rule that closes it, or where that needs repair, up to where its keys
    /// seem to end, so that the text below an unclosed header is not taken for a value.
    fn first(&mut self) -> Option<(AnswerPlace, Reading)> {
        let mut repaired = None;
        for place in at_start(self.text, &self.target.keys) {
            match self.read(&place) {
                Some(reading) if reading.clean => return Some((place, reading)),
                Some(reading) => repaired = Some((place, reading)),
                None => {}
            }
        }
        repaired
    }

    /// The first valid place that needed no repair, else the first valid one.
    fn best(&mut self, places: Vec<AnswerPlace>) -> Option<(AnswerPlace, Reading)> {
        let mut repaired = None;
        for place in places {
            match self.read(&place) {
                Some(reading) if reading.clean => return Some((place, reading)),
                Some(reading) => repaired = repaired.or(Some((place, reading))),
                None => {}
            }
        }
        repaired
    }

    /// The reading of a place when it is valid; one that is not is remembered if it is the nearest so far.
    fn read(&mut self, place: &AnswerPlace) -> Option<Reading> {
        let block = &self.text[place.block.clone()];
        let range = (place.block.start, place.block.end);
        if self.read.contains(&range) || !self.target.is_likely(block) {
            return None;
        }
        self.read.insert(range);
        let reading = self.target.read_block(block);
        if reading.errors.is_empty() {
            return Some(reading);
        }
        if self.nearest.as_ref().is_none_or(|nearest| reading.rank() < nearest.rank()) {
            self.nearest = Some(reading);
        }
        None
    }

    fn failure(self) -> Failure {
        let keys: Vec<&str> = self.target.keys.names().take(MOST_NAMED).collect();
        let missing = || match self.text.trim_start().starts_with("---\n") && !keys.is_empty() {
            true => vec![format!("the header has none of the keys that are asked for: {}", keys.join(", "))],
            false => vec!["there is no header: the answer must begin with `---`, the keys, and `---` again".to_owned()],
        };
        let errors = self.nearest.filter(|nearest| nearest.known > 0 || self.target.keys.is_empty());
        Failure { errors: errors.map_or_else(missing, |nearest| nearest.errors), candidates: self.read.len() }
    }
}

/// Most keys that are named in an error.
const MOST_NAMED: usize = 8;

/// What is said of an answer that stands in the midst of a text.
pub(super) const IN_THE_TEXT: [&str; 2] =
    ["the header stood in a code block within the text", "the answer was an object in braces within the text"];

/// What was tolerated about where the header stands.
fn place_fix(place: &AnswerPlace) -> Option<&'static str> {
    match place.mark {
        AnswerMark::Start if place.wrapped => Some("the answer stood in a code block"),
        AnswerMark::Start => None,
        AnswerMark::Rules => Some("there was text before the header"),
        AnswerMark::Fence => Some(IN_THE_TEXT[0]),
        AnswerMark::Braces => Some(IN_THE_TEXT[1]),
        AnswerMark::Unclosed => Some("the header was not closed"),
        AnswerMark::Bare => Some("the header had no `---` lines"),
    }
}

/// The text behind the header, or before it if there is nothing behind it.
fn body(text: &str, place: &AnswerPlace) -> String {
    let mut after = text[place.whole.end..].trim();
    if place.wrapped {
        let last = after.rsplit('\n').next().unwrap_or("");
        if CodeFence::of(last).is_some_and(|fence| fence.info.is_empty()) {
            after = after[..after.len() - last.len()].trim_end();
        }
    }
    if after.is_empty() { text[..place.whole.start].trim() } else { after }.to_owned()
}
