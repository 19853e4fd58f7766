//! Reads the value of an agent's answer.
//!
//! Three places count, in this order: the whole text as JSON; a header at the start, which must then fit the schema; a single value in
//! blocks of its own. Two different values are an error, because uwf never guesses which one the agent meant.

mod agreement;

use std::ops::Range;

use json_cas::schema::CompiledSchema;
use serde_json::{Map, Value};

pub use self::agreement::{contradiction_beside, contradiction_of, self_contradiction_of};
use self::agreement::{contrary_member, drop_summaries};
use super::blocks::{AnswerBlock, AnswerBlockKind, BlockScanResult, blocks};
use super::clean::{at_left_edge, clean, without_wrapper};
use super::echo::{echoes, is_echoed};
use super::lines::{CodeFence, KeyLine, trimmed};
use super::read::{AnswerReading, AnswerTarget, BlockNotation, MOST_NAMED, names_in_json};
use super::thinking::without_thoughts;
use super::{ExtractedAnswer, Extraction, ExtractionFailure, MAX_ANSWER_BYTES, plain_text};
use crate::prompt::AnswerForm;
use crate::text::ellipsize;
use crate::workflow::is_text;

/// Reads the value of an agent's raw text, typed by the schema.
///
/// Reasoning is ignored, and so is text repeated from the prompt: a program that prints its prompt has not answered. `prompt` is called
/// only if it is compared with the text. If the role's output is a text, the whole answer is the output. `form` selects the wording of errors and fixes; it never changes the value. The work is linear
/// in the text, which may have up to [`MAX_ANSWER_BYTES`].
pub fn read(raw: &str, form: AnswerForm, schema: &CompiledSchema, prompt: &dyn Fn() -> String) -> Extraction {
    if raw.len() > MAX_ANSWER_BYTES {
        let error = format!("the answer has {} bytes, the limit is {MAX_ANSWER_BYTES}", raw.len());
        return Extraction::Failed(ExtractionFailure::from_error(error));
    }
    if form == AnswerForm::Frontmatter && is_text(schema.value()) {
        return plain_text::read(raw, schema, prompt);
    }
    let text = clean(raw);
    if text.trim().is_empty() {
        return Extraction::Failed(ExtractionFailure::from_error("the answer is empty"));
    }
    let target = AnswerTarget::new(schema);
    if let Some(whole) = whole(without_wrapper(&text), &target) {
        return match &whole {
            Extraction::Found(found) => contrary_member(&found.value, &target).map_or(whole, |error| {
                Extraction::Failed(ExtractionFailure {
                    candidates: 1,
                    is_final: true,
                    ..ExtractionFailure::from_error(error)
                })
            }),
            Extraction::Failed(_) => whole,
        };
    }
    let said = at_left_edge(without_thoughts(&text));
    if said.trim().is_empty() {
        return Extraction::Failed(ExtractionFailure::from_error("the answer contains only reasoning, and no output"));
    }
    AnswerSearch::new(&said, form, target, prompt).run()
}

/// The words of an answer that are not part of its value, for an answer that [`read`] has accepted; `None` for any other. Most
/// answers begin with their header. For them, the text below is not searched again for another value or a contradiction, which takes
/// most of the time of [`read`].
#[must_use]
pub fn text_beside(raw: &str, schema: &CompiledSchema) -> Option<String> {
    header_answer(raw, schema).or_else(|| match read(raw, AnswerForm::Frontmatter, schema, &String::new) {
        Extraction::Found(found) => Some(found.text()),
        Extraction::Failed(_) => None,
    })
}

/// The same for an answer that begins with its header.
fn header_answer(raw: &str, schema: &CompiledSchema) -> Option<String> {
    if raw.len() > MAX_ANSWER_BYTES || is_text(schema.value()) {
        return None;
    }
    let said = at_left_edge(without_thoughts(&clean(raw)));
    if !said.trim_start().starts_with("---") {
        return None;
    }
    let mut search = AnswerSearch::new(&said, AnswerForm::Frontmatter, AnswerTarget::new(schema), &String::new);
    let found = blocks(&said, &search.target.keys, search.target.may_be("array")).found;
    let first = found.into_iter().next().filter(|block| block.is_first && block.mark == AnswerBlockKind::Header)?;
    let candidate = search.candidate(first).ok()?;
    match search.taken(candidate) {
        Extraction::Found(found) => Some(found.text()),
        Extraction::Failed(_) => None,
    }
}

/// Reads a value that a person typed. The text must be the value or start with it; it is never searched.
pub fn read_typed(text: &str, schema: &CompiledSchema) -> Extraction {
    let (text, target) = (at_left_edge(clean(text)), AnswerTarget::new(schema));
    if let Some(whole) = whole(text.trim(), &target) {
        return whole;
    }
    let first =
        blocks(&text, &target.keys, target.may_be("array")).found.into_iter().next().filter(|block| block.is_first);
    let form = AnswerForm::Frontmatter;
    let mut search = AnswerSearch::new(&text, form, target, &String::new);
    match first.map(|block| search.candidate(block)) {
        Some(Ok(candidate)) => search.taken(candidate),
        Some(Err(reading)) => search.failure(reading.map(|reading| *reading)),
        None if search.target.keys.is_empty() => search.unmarked(),
        None => {
            let keys: Vec<String> = search.target.keys.names().map(|key| format!("`{key}: …`")).collect();
            let error = format!(
                "expected values, not prose: begin with {}, or put such lines between two `---` lines",
                keys.join(", ")
            );
            Extraction::Failed(ExtractionFailure::from_error(error))
        }
    }
}

/// Reads a text that is one JSON value; `None` if it is not JSON.
fn whole(text: &str, target: &AnswerTarget<'_>) -> Option<Extraction> {
    let mut reading = match text.as_bytes().first()? {
        b'"' => target.read_quoted_json(text),
        b'{' | b'[' | b'/' => target.read_json(text, true).ok(),
        _ => None,
    }?;
    if !reading.errors.is_empty() {
        let failure = ExtractionFailure {
            errors: reading.errors,
            candidates: 1,
            header: reading.extras,
            is_final: reading.known > 0,
        };
        return Some(Extraction::Failed(failure));
    }
    let fixes = std::mem::take(&mut reading.fixes);
    Some(Extraction::Found(found(reading, fixes, String::new())))
}

fn found(reading: AnswerReading, fixes: Vec<String>, body: String) -> ExtractedAnswer {
    ExtractedAnswer { value: reading.value, extras: reading.extras, fixes, unread: reading.unread, body }
}

struct AnswerSearch<'t> {
    text: &'t str,
    form: AnswerForm,
    target: AnswerTarget<'t>,
    prompt: &'t dyn Fn() -> String,
    /// Number of blocks read.
    read: usize,
    /// The reading with the fewest errors.
    nearest: Option<AnswerReading>,
    /// Keys every header may carry, from a header that has no others.
    header: Map<String, Value>,
    /// Whether a header, a code block or an object seems to be the answer, but does not fit.
    has_misfit: bool,
}

/// The blocks of an answer, by their readings.
struct SortedBlocks {
    candidates: Vec<AnswerCandidate>,
    /// Ranges of blocks with placeholders of the form.
    examples: Vec<Range<usize>>,
    /// Whether a header or a broken object has keys of the schema, so that it may be the answer.
    has_misfit: bool,
}

/// A block that fits.
#[derive(Clone)]
struct AnswerCandidate {
    block: AnswerBlock,
    reading: AnswerReading,
}

impl AnswerCandidate {
    /// The value in one line, shortened.
    fn shown(&self) -> String {
        ellipsize(&self.reading.value.to_string(), SHOWN).to_string()
    }

    fn line(&self, text: &str) -> usize {
        text[..self.block.whole.start].matches('\n').count() + 1
    }
}

impl<'t> AnswerSearch<'t> {
    fn new(
        text: &'t str,
        form: AnswerForm,
        target: AnswerTarget<'t>,
        prompt: &'t dyn Fn() -> String,
    ) -> AnswerSearch<'t> {
        AnswerSearch { text, form, target, prompt, read: 0, nearest: None, header: Map::new(), has_misfit: false }
    }
}

impl AnswerSearch<'_> {
    fn run(mut self) -> Extraction {
        let BlockScanResult { found: blocks, set_aside, is_endless } =
            blocks(self.text, &self.target.keys, self.target.may_be("array"));
        let echoes = if blocks.is_empty() { Vec::new() } else { echoes(self.text, &(self.prompt)()) };
        let is_echoed = |block: &AnswerBlock| is_echoed(&block.whole, self.text, &echoes);
        // Most answers start with their header. Then the text below it is never searched.
        let is_header = |block: &&AnswerBlock| block.is_first && block.mark == AnswerBlockKind::Header;
        if let Some(first) = blocks.first().filter(is_header).filter(|block| !is_echoed(block)) {
            return match self.candidate(first.clone()) {
                Ok(candidate) => {
                    if let Some(error) = self.other_answer(&blocks[1..], &candidate) {
                        return self.refused_finally(error);
                    }
                    let shown =
                        blocks[1..].iter().filter(|block| self.is_shown(block)).map(|block| block.whole.clone());
                    let silent: Vec<Range<usize>> = shown.chain(echoes).collect();
                    self.agreed_below(candidate, &silent)
                }
                Err(reading) => {
                    let extras = self.extras_only(first);
                    self.has_misfit = extras.is_none() && !self.target.keys.is_empty();
                    self.header = extras.unwrap_or_default();
                    self.failure(reading.map(|reading| *reading))
                }
            };
        }
        if is_endless {
            return self.refused("the answer has too many possible values: reply with the output only");
        }
        let blocks: Vec<AnswerBlock> = blocks.into_iter().filter(|block| !is_echoed(block)).collect();
        let SortedBlocks { mut candidates, examples, has_misfit } = self.sorted(blocks);
        drop_summaries(&mut candidates);
        let has_header = candidates.iter().any(|candidate| candidate.block.mark == AnswerBlockKind::Header);
        if has_misfit && !has_header {
            // A broken object with the keys may be the answer, so no other block is.
            return self.failure(None);
        }
        if let Some(error) = self.contradiction(&candidates) {
            return self.refused_finally(error);
        }
        let mut set_aside = set_aside.into_iter().filter(|block| !is_echoed(block));
        let aside = if candidates.is_empty() { set_aside.find_map(|block| self.candidate(block).ok()) } else { None };
        let talked_about = candidates.first().or(aside.as_ref());
        let talked_about =
            talked_about.map(|candidate| self.talked_about(candidate.block.doubt.unwrap_or_default(), candidate));
        // They all have the same value, so what their texts mention is in the value.
        let silent: Vec<Range<usize>> = candidates.iter().map(|candidate| candidate.block.whole.clone()).collect();
        let silent = [silent, examples, echoes.clone()].concat();
        let sure: Vec<AnswerCandidate> =
            candidates.into_iter().filter(|candidate| candidate.block.doubt.is_none()).collect();
        let unclear: Option<Vec<usize>> = sure.iter().map(|candidate| self.unclear_line(candidate)).collect();
        let unclear = unclear.and_then(|lines| Some(self.talked_about(*lines.first()?, sure.first()?)));
        match sure.into_iter().next() {
            Some(candidate) => match (self.agreed(candidate, &silent), unclear) {
                (Extraction::Found(_), Some(error)) => self.refused(error),
                (extraction, _) => extraction,
            },
            None if echoes
                .iter()
                .any(|echo| self.text[..echo.start].trim().is_empty() && self.text[echo.end..].trim().is_empty()) =>
            {
                self.refused("the answer repeats the prompt")
            }
            None => match talked_about.filter(|_| !self.target.keys.is_empty()) {
                Some(error) => self.refused(error),
                None => self.unmarked(),
            },
        }
    }

    /// The error for a value that is talked about. A line, from 0, says so.
    fn talked_about(&self, doubt: usize, candidate: &AnswerCandidate) -> String {
        let words = ellipsize(self.text.lines().nth(doubt).unwrap_or_default().trim(), SHOWN);
        format!(
            "line {} says `{words}`, so the value {} in line {} seems to be an example, a draft or part of a sentence: \
             reply with the output only",
            doubt + 1,
            candidate.shown(),
            candidate.line(self.text)
        )
    }

    /// Reads all blocks.
    fn sorted(&mut self, blocks: Vec<AnswerBlock>) -> SortedBlocks {
        let mut sorted = SortedBlocks { candidates: Vec::new(), examples: Vec::new(), has_misfit: false };
        let mut headers = Vec::new();
        for block in blocks {
            let is_header = block.mark == AnswerBlockKind::Header;
            let is_sure = block.mark != AnswerBlockKind::Keys && block.doubt.is_none();
            match self.candidate(block.clone()) {
                Ok(candidate) => sorted.candidates.push(candidate),
                Err(Some(reading)) if reading.is_example => sorted.examples.push(block.whole),
                Err(Some(reading)) if is_header && reading.known > 0 => {
                    sorted.has_misfit = true;
                    self.has_misfit = true;
                }
                Err(Some(reading)) if reading.known > 0 => {
                    sorted.has_misfit |= reading.is_broken;
                    self.has_misfit |= is_sure && (reading.is_broken || self.target.is_meant(&reading));
                }
                Err(_) if is_header && is_sure => headers.extend(self.extras_only(&block)),
                Err(_) => {}
            }
        }
        // Headers that differ say nothing.
        headers.dedup();
        if let [_] = headers[..] {
            self.header = headers.swap_remove(0);
        }
        sorted
    }

    /// The keys of a header that has only keys that every header may carry.
    fn extras_only(&self, header: &AnswerBlock) -> Option<Map<String, Value>> {
        let reading = self.target.read_block(&self.text[header.inside.clone()], BlockNotation::Header);
        let has_others = reading.value.as_object().is_none_or(|value| value.len() > reading.extras.len());
        (reading.known == 0 && !has_others).then_some(reading.extras)
    }

    /// Refuses the answer for a reason that concerns the whole text.
    fn refused(&self, error: impl Into<String>) -> Extraction {
        Extraction::Failed(ExtractionFailure {
            candidates: self.read,
            header: self.header.clone(),
            is_final: self.has_misfit,
            ..ExtractionFailure::from_error(error)
        })
    }

    /// Like [`refused`](Self::refused), if no model may read the answer.
    fn refused_finally(&self, error: impl Into<String>) -> Extraction {
        Extraction::Failed(ExtractionFailure {
            candidates: self.read,
            is_final: true,
            ..ExtractionFailure::from_error(error)
        })
    }

    /// Reads a block: a candidate if its value fits the schema, otherwise the failed reading, if there is one.
    fn candidate(&mut self, block: AnswerBlock) -> Result<AnswerCandidate, Option<Box<AnswerReading>>> {
        let mut last = None;
        let mut repaired = None;
        let places = [Some((block.inside.clone(), block.whole.clone())), block.shorter.clone()];
        for (inside, whole) in places.into_iter().flatten() {
            let text = &self.text[inside.clone()];
            if !self.target.is_likely(text) {
                continue;
            }
            self.read += 1;
            // A code block that starts with another code block or with a sentence is an example.
            if block.mark == AnswerBlockKind::Fence && !self.begins_with_value(text) {
                continue;
            }
            let notation = match block.mark {
                AnswerBlockKind::Header => BlockNotation::Header,
                AnswerBlockKind::Fence if block.is_json => BlockNotation::Json,
                _ => BlockNotation::Any,
            };
            let reading = self.target.read_block(text, notation);
            if !reading.errors.is_empty() {
                if self.nearest.as_ref().is_none_or(|nearest| reading.rank() < nearest.rank()) {
                    self.nearest = Some(reading.clone());
                }
                last = Some(Box::new(reading));
                continue;
            }
            if whole != block.whole
                && block.is_closed
                && !self.text[whole.end..].trim_start().starts_with('#')
                && let Some(key) = self.open_text(text, &reading)
            {
                let error =
                    format!("the text of `{key}` continues below a blank line: indent the whole text, or quote it");
                let mut reading = reading;
                reading.errors.push(error);
                last = Some(Box::new(reading));
                continue;
            }
            let is_clean = reading.clean;
            let candidate = AnswerCandidate { block: AnswerBlock { inside, whole, ..block.clone() }, reading };
            if is_clean {
                return Ok(candidate);
            }
            repaired = Some(candidate);
        }
        repaired.ok_or(last)
    }

    /// The key of a free text in the last line of a header that a blank line cuts, so that the paragraphs below may belong to it.
    fn open_text<'h>(&self, header: &'h str, reading: &AnswerReading) -> Option<&'h str> {
        let key = KeyLine::split_line(header.trim_end().lines().last()?)?.key;
        let listed = self.target.keys.listed(key)?;
        let is_free = reading.value.get(listed)?.is_string()
            && !self.target.choices(&reading.value).contains_key(&super::scalar::normal(listed));
        is_free.then_some(key)
    }

    /// Whether the first line of a block, comments aside, can start a value.
    fn begins_with_value(&self, block: &str) -> bool {
        let is_comment = |line: &&str| line.starts_with("//") || line.starts_with("# ") || line.trim().is_empty();
        let first = block.lines().find(|line| !is_comment(line)).unwrap_or_default();
        let is_key = |line: KeyLine<'_>| self.target.keys.knows(line.key) || line.is_word();
        self.target.keys.is_empty() && CodeFence::from_line(first).is_none()
            || first.trim_start().starts_with(['{', '[', '/'])
            || KeyLine::split_line(first).is_some_and(is_key)
    }

    /// The error for a second answer below a header: one that follows at once, or ends the text. It may leave keys out. The last of several
    /// code blocks is one of several examples.
    fn other_answer(&mut self, below: &[AnswerBlock], header: &AnswerCandidate) -> Option<String> {
        let is_blank = |range: Range<usize>| self.text.get(range).is_some_and(|text| text.trim().is_empty());
        let next = below.first().filter(|next| is_blank(header.block.whole.end..next.whole.start));
        let last = below.last().filter(|last| is_blank(last.whole.end..self.text.len()));
        let last = last.filter(|last| last.mark == AnswerBlockKind::Braces || below.len() == 1);
        let counts = |block: &&AnswerBlock| block.doubt.is_none() && block.mark != AnswerBlockKind::Keys;
        let others: Vec<AnswerBlock> = next.into_iter().chain(last).filter(counts).cloned().collect();
        let first = header.reading.value.as_object()?;
        others.into_iter().find_map(|block| {
            let other = self.candidate(block).ok()?;
            let values = other.reading.value.as_object()?;
            let differs = values.iter().any(|(key, value)| first.get(key).is_some_and(|first| first != value));
            differs.then(|| self.two_answers(header, &other))
        })
    }

    /// Returns an error if candidates differ.
    fn contradiction(&self, candidates: &[AnswerCandidate]) -> Option<String> {
        let first = candidates.first()?;
        let differs = |other: &&AnswerCandidate| {
            other.reading.value != first.reading.value || other.reading.extras != first.reading.extras
        };
        candidates.iter().find(differs).map(|other| self.two_answers(first, other))
    }

    fn two_answers(&self, first: &AnswerCandidate, other: &AnswerCandidate) -> String {
        let shown =
            |candidate: &AnswerCandidate| format!("{} in line {}", candidate.shown(), candidate.line(self.text));
        format!("the answer has two different values, {} and {}: give only one", shown(first), shown(other))
    }

    /// Reads the whole text as the value, if the schema lists no keys that could identify one.
    fn unmarked(mut self) -> Extraction {
        if self.target.keys.is_empty() {
            self.read += 1;
            let text = self.text.trim();
            let reading = self.target.read_block(text, BlockNotation::Any);
            if reading.errors.is_empty() {
                let fixes = reading.fixes.clone();
                return Extraction::Found(found(reading, fixes, String::new()));
            }
            // If the schema accepts a string, any prose is one.
            if self.target.schema.is_valid(&Value::from(text)) && !text.starts_with("---") {
                if plain_text::repeats(text, &(self.prompt)()) {
                    return self.refused("the answer repeats the prompt");
                }
                return Extraction::Found(Value::from(text).into());
            }
            return self.failure(Some(reading));
        }
        self.failure(None)
    }

    fn taken(&self, candidate: AnswerCandidate) -> Extraction {
        let AnswerCandidate { block, mut reading } = candidate;
        let fixes = std::mem::take(&mut reading.fixes);
        let place = self.place_fix(&block).map(str::to_owned);
        let body = body(self.text, &block);
        Extraction::Found(found(reading, place.into_iter().chain(fixes).collect(), body))
    }

    /// Describes an unusual place of the value, for the list of fixes.
    fn place_fix(&self, block: &AnswerBlock) -> Option<&'static str> {
        match block.mark {
            _ if block.is_wrapped => Some("the answer stood in a code block"),
            AnswerBlockKind::Header
                if !block.is_closed || block.shorter.as_ref().is_some_and(|(_, whole)| *whole == block.whole) =>
            {
                Some("the header was not closed").filter(|_| !block.is_first)
            }
            AnswerBlockKind::Header => Some("there was text before the header").filter(|_| !block.is_first),
            AnswerBlockKind::Fence | AnswerBlockKind::Braces if self.form == AnswerForm::Json => {
                Some("there was text around the JSON")
            }
            AnswerBlockKind::Fence if block.is_first => Some("the answer stood in a code block"),
            AnswerBlockKind::Fence => Some(IN_THE_TEXT[0]),
            AnswerBlockKind::Braces => Some(IN_THE_TEXT[1]).filter(|_| !block.is_first),
            AnswerBlockKind::Keys => Some("the header had no `---` lines").filter(|_| !block.is_first),
        }
    }

    /// Says why the first object with keys of the schema is not the output.
    fn misplaced_object(&self) -> Option<String> {
        let has_object = |line: &str| {
            let object = line.find('{').map(|at| &line[at..]);
            object.is_some_and(|object| self.target.keys.names().any(|key| names_in_json(object, key)))
        };
        let mut code: Option<CodeFence<'_>> = None;
        for (index, line) in self.text.lines().enumerate() {
            match (&code, CodeFence::from_line(line)) {
                (Some(open), Some(fence)) if fence.closes(open) => code = None,
                (None, fence) => code = fence,
                _ => {}
            }
            if has_object(line) {
                let at = index + 1;
                return Some(match code.filter(|open| !open.may_hold_answer()) {
                    Some(CodeFence { info, .. }) => format!(
                        "the object in line {at} stands in a code block marked `{info}`: mark the block of the output `json`"
                    ),
                    None => format!(
                        "line {at} has an object within a sentence, a list or a quotation: the output must begin its own line"
                    ),
                });
            }
        }
        None
    }

    /// The number of the first line that begins an object or a list.
    fn other_json(&self) -> Option<usize> {
        let begins = |line: &str| line.starts_with('{') || line.starts_with("[{");
        self.text.lines().position(begins).map(|line| line + 1)
    }

    fn failure(self, reading: Option<AnswerReading>) -> Extraction {
        let keys: Vec<&str> = self.target.keys.names().take(MOST_NAMED).collect();
        let missing = || {
            let error = match self.form {
                _ if let Some(misplaced) = self.misplaced_object() => misplaced,
                _ if let Some(line) = self.other_json().filter(|_| !keys.is_empty()) => {
                    format!("the JSON in line {line} has none of the keys that are asked for: {}", keys.join(", "))
                }
                AnswerForm::Json => "the output is not JSON".to_owned(),
                AnswerForm::Frontmatter if self.text.trim_start().starts_with("---\n") && !keys.is_empty() => {
                    format!("the header has none of the keys that are asked for: {}", keys.join(", "))
                }
                AnswerForm::Frontmatter => {
                    "the header is missing: the answer must begin with `---`, the keys, and `---` again".to_owned()
                }
            };
            vec![error]
        };
        let of_use = |reading: &AnswerReading| reading.known > 0 || self.target.keys.is_empty();
        let nearest = reading.filter(of_use).or_else(|| self.nearest.clone().filter(of_use));
        let errors = nearest.map_or_else(missing, |nearest| nearest.errors);
        let is_final = self.has_misfit;
        Extraction::Failed(ExtractionFailure { errors, candidates: self.read, header: self.header, is_final })
    }
}

/// Characters shown of a value in an error.
const SHOWN: usize = 80;

/// Fixes for values in the middle of a text.
pub(super) const IN_THE_TEXT: [&str; 2] =
    ["the header stood in a code block within the text", "the answer was an object in braces within the text"];

/// Returns the text before and after the value.
fn body(text: &str, block: &AnswerBlock) -> String {
    let (before, behind) = (trimmed(&text[..block.whole.start]), block.whole.end);
    let parts: Vec<&str> = match &block.closing {
        Some(closing) if behind <= closing.start => {
            vec![before, trimmed(&text[behind..closing.start]), trimmed(&text[closing.end..])]
        }
        _ => vec![before, trimmed(&text[behind..])],
    };
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// A value without any text, for example from the tool `submit`.
impl From<Value> for ExtractedAnswer {
    fn from(value: Value) -> ExtractedAnswer {
        ExtractedAnswer { value, extras: Map::new(), fixes: Vec::new(), unread: String::new(), body: String::new() }
    }
}
