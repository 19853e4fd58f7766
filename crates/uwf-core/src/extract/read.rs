//! Reads one place of a text as an answer: parses it, types it, judges it.

use std::collections::BTreeSet;

use json_cas::schema::CompiledSchema;
use serde_json::{Map, Value};

use super::keys::SchemaKeys;
use super::left_out;
use super::lines::{CodeFence, KeyLine};
use super::mentions::{KeyChoice, KeyChoices};
use super::scalar::normal;
use super::tree::{RawContent, RawScalarStyle, RawTree};
use super::typed::{TypedValueReader, untyped};
use super::{loose_json, repair, yaml};
use crate::placeholder::is_placeholder;
use crate::schema_shape::{SchemaShape, shape};

/// Most keys that one error names.
pub(super) const MOST_NAMED: usize = 8;

/// Largest header in YAML, in bytes. Longer texts belong below it.
const MAX_HEADER_BYTES: usize = 1 << 20;

/// The answer that is searched for.
pub(super) struct AnswerTarget<'s> {
    pub(super) schema: &'s CompiledSchema,
    pub(super) keys: SchemaKeys<'s>,
    shape: SchemaShape<'s>,
}

/// The reading of one place.
#[derive(Debug, Clone, Default)]
pub(super) struct AnswerReading {
    pub(super) value: Value,
    pub(super) extras: Map<String, Value>,
    pub(super) fixes: Vec<String>,
    /// Why it is not an answer. Empty if it is one.
    pub(super) errors: Vec<String>,
    /// Number of keys of the schema that the text has.
    pub(super) known: usize,
    /// A key is written twice, with different values.
    has_doubles: bool,
    /// See [`ExtractedAnswer::unread`](super::ExtractedAnswer::unread).
    pub(super) unread: String,
    /// The top-level keys of the unread text.
    left_out: Vec<String>,
    /// Whether it was read as valid YAML or JSON, under the names of the schema.
    pub(super) clean: bool,
    /// Whether it contains a placeholder of the format example.
    pub(super) is_example: bool,
    /// Whether it is meant to be JSON but cannot be parsed, so that its value is unknown.
    pub(super) is_broken: bool,
}

/// A tree without the keys that every header may have, and these keys.
struct HeaderSplit {
    inside: RawTree,
    extras: Map<String, Value>,
    /// Number of keys that the schema lists.
    known: usize,
    /// Errors for keys that have two different values.
    twice: Vec<String>,
}

impl<'s> AnswerTarget<'s> {
    pub(super) fn new(schema: &'s CompiledSchema) -> AnswerTarget<'s> {
        let root = schema.value();
        let shape = shape(root, &[root]);
        AnswerTarget { schema, keys: SchemaKeys::of_header(root, &shape), shape }
    }

    /// Whether the answer may be of this type.
    pub(super) fn may_be(&self, name: &str) -> bool {
        self.shape.may_be(self.schema.value(), name)
    }

    /// Returns what a value says for keys with a boolean or with one of several words.
    pub(super) fn choices<'v>(&self, value: &'v Value) -> KeyChoices<'v> {
        let root = self.schema.value();
        let choice = |(key, said): (&String, &'v Value)| {
            let choice = match said {
                Value::Bool(_) => KeyChoice::of_boolean(said),
                Value::String(_) => {
                    let allowed = self.shape.values_of_all(root, key);
                    let is_listed = allowed.contains(&said);
                    is_listed.then(|| KeyChoice::of_strings(said, allowed.into_iter().filter_map(Value::as_str)))?
                }
                _ => return None,
            };
            Some((normal(key), choice))
        };
        value.as_object().into_iter().flatten().filter_map(choice).collect()
    }

    /// Whether it is an object with listed keys, so that text without any of them is not an answer.
    fn is_keyed(&self) -> bool {
        !self.keys.is_empty()
    }

    /// Whether a block is worth reading: one of its lines begins with a key, or it is in braces.
    pub(super) fn is_likely(&self, block: &str) -> bool {
        let mut lines = block.lines().filter(|line| !line.trim().is_empty());
        let Some(first) = lines.next() else { return false };
        if !self.is_keyed() || first.trim_start().starts_with(['{', '[']) || CodeFence::from_line(first).is_some() {
            return true;
        }
        let is_key = |line: &str| KeyLine::split_line(line).is_some_and(|line| self.keys.listed(line.key).is_some());
        is_key(first) || lines.any(is_key)
    }

    /// Whether a block that does not fit seems to be the answer rather than another object with some of its keys.
    pub(super) fn is_meant(&self, reading: &AnswerReading) -> bool {
        let Some(value) = reading.value.as_object() else { return true };
        let required = self.schema.value().get("required").and_then(Value::as_array);
        let has = |key: &Value| key.as_str().is_some_and(|key| value.contains_key(key));
        value.keys().all(|key| self.keys.knows(key)) && reading.left_out.is_empty()
            || required.is_some_and(|keys| !keys.is_empty() && keys.iter().all(has))
    }

    /// Reads a text as JSON, with repairs. If it is the `whole` answer, an object without any known key may be the value.
    pub(super) fn read_json(&self, text: &str, whole: bool) -> Result<AnswerReading, String> {
        let json = loose_json::read(text).map_err(|slip| format!("invalid JSON at {slip}"))?;
        let mut reading = self.judge(&json.raw);
        let is_answer = whole || reading.known > 0 || !self.is_keyed();
        // Keep a valid value exactly as written.
        if json.fixes.is_empty()
            && !reading.has_doubles
            && is_answer
            && reading.extras.is_empty()
            && placeholders(&json.raw).is_none()
            && let Ok(value) = json_cas::json_value(text)
            && self.schema.is_valid(&value)
        {
            return Ok(AnswerReading { value, clean: true, known: reading.known, ..AnswerReading::default() });
        }
        if !reading.left_out.is_empty() || json.has_comments {
            reading.unread = text.trim().to_owned();
        }
        reading.fixes.splice(0..0, json.fixes);
        Ok(reading)
    }

    /// Reads JSON inside a JSON string: `"{\"ok\": true}"`; `None` for any other text.
    pub(super) fn read_quoted_json(&self, text: &str) -> Option<AnswerReading> {
        let inner: String = serde_json::from_str(text).ok()?;
        let is_wanted = inner.trim_start().starts_with(['{', '[']) && !self.may_be("string");
        let mut reading = self.read_json(inner.trim(), true).ok().filter(|_| is_wanted)?;
        reading.fixes.insert(0, "read JSON inside a string".to_owned());
        Some(reading)
    }

    /// Whether a block is meant to be JSON. JSON is never read as YAML.
    fn is_json(&self, block: &str) -> bool {
        let block = block.trim_start();
        block.starts_with('{') || block.starts_with('[') && self.may_be("array")
    }

    /// Reads a block as JSON if it is meant to be JSON. Otherwise reads it as YAML, then with tabs replaced, then line by line. Returns the
    /// first valid reading, or the one with the fewest errors.
    pub(super) fn read_block(&self, block: &str, notation: BlockNotation) -> AnswerReading {
        let block = if notation == BlockNotation::Header { unwrapped(block) } else { block };
        if self.is_json(block) || notation == BlockNotation::Json {
            return self.read_json(block.trim(), false).unwrap_or_else(|error| {
                let known = self.keys.names().filter(|key| names_in_json(block, key)).count();
                AnswerReading { errors: vec![error], known, is_broken: true, ..AnswerReading::default() }
            });
        }
        if block.len() > MAX_HEADER_BYTES {
            let error = format!("the header has {} bytes, the limit is {MAX_HEADER_BYTES}", block.len());
            return AnswerReading { errors: vec![error], ..AnswerReading::default() };
        }
        if is_json_without_braces(block) {
            let errors = vec!["this is JSON without its braces".to_owned()];
            return AnswerReading { errors, known: 1, ..AnswerReading::default() };
        }
        let mut best: Option<AnswerReading> = None;
        let mut why = None;
        let mut offer = |reading: AnswerReading| -> bool {
            // An example stays an example, however it is read.
            let done = reading.errors.is_empty() || reading.is_example;
            if done || best.as_ref().is_none_or(|best| reading.rank() < best.rank()) {
                best = Some(reading);
            }
            done
        };
        match parse(block) {
            Ok(raw) => {
                let mut reading = self.judge(&raw);
                reading.keep_left_out(block, &left_out::comment_lines(block, &raw));
                // Don't search valid YAML with other keys line by line.
                let is_other = self.is_keyed() && reading.known == 0 && matches!(raw.content, RawContent::Map(_));
                if offer(reading) || is_other {
                    return best.unwrap_or_default();
                }
            }
            Err(error) => why = Some(error),
        }
        let blanks = repair::without_tabs(block);
        if let Some(raw) = blanks.as_ref().and_then(|text| yaml::parse(text).ok()) {
            let mut reading = self.judge(&raw);
            let comments = left_out::comment_lines(blanks.as_deref().unwrap_or(block), &raw);
            reading.keep_left_out(block, &comments);
            reading.fixes.insert(0, "read tabs as blanks".to_owned());
            if offer(reading) {
                return best.unwrap_or_default();
            }
        }
        // A rule ends a header, so a code block with a rule is not a header.
        let is_cut =
            notation != BlockNotation::Header && block.trim_end().lines().skip(1).any(|line| line.trim_end() == "---");
        let lines = blanks.as_deref().unwrap_or(block);
        if let Some(raw) = repair::read(lines, self.schema.value()).filter(|_| !is_cut) {
            let mut reading = self.judge(&raw);
            reading.keep_left_out(block, &repair::comment_lines(block));
            reading.clean = false;
            let why = why.as_deref().unwrap_or("its values do not fit");
            reading.fixes.insert(0, format!("read the header line by line ({why})"));
            offer(reading);
        }
        let error = || vec![why.clone().unwrap_or_else(|| "the header is empty".to_owned())];
        let is_key = |line: &&str| KeyLine::split_line(line).is_some_and(|line| self.keys.listed(line.key).is_some());
        let known = block.lines().filter(is_key).count();
        best.unwrap_or_else(|| AnswerReading { errors: error(), known, ..AnswerReading::default() })
    }

    /// Types a tree by the schema and validates it.
    pub(super) fn judge(&self, raw: &RawTree) -> AnswerReading {
        let HeaderSplit { inside, extras, known, twice } = self.split(raw);
        if self.is_keyed() && known == 0 {
            let keys: Vec<String> = self.keys.names().take(MOST_NAMED).map(|key| format!("`{key}`")).collect();
            let errors = vec![format!("none of the keys that are asked for is there: {}", keys.join(", "))];
            return AnswerReading { value: untyped(raw), extras, errors, ..AnswerReading::default() };
        }
        if let Some(errors) = placeholders(&inside) {
            return AnswerReading {
                value: untyped(raw),
                extras,
                errors,
                known,
                is_example: true,
                ..AnswerReading::default()
            };
        }
        if !self.is_keyed() && !self.is_of_its_kind(raw) {
            let errors = vec!["the value does not have the type that the schema asks for".to_owned()];
            return AnswerReading { value: untyped(raw), extras, errors, ..AnswerReading::default() };
        }
        let root = self.schema.value();
        let outcome = TypedValueReader::new(root).read(&inside, &[root], "");
        let mut errors = outcome.errors;
        errors.extend(twice);
        let has_doubles = !errors.is_empty();
        errors.extend(self.schema.violations(&outcome.value).iter().map(|found| in_words(&found.path, &found.message)));
        let clean = outcome.renamed == 0;
        let top = |place: &String| place.split(['.', '[']).next().unwrap_or_default().to_owned();
        let left_out = outcome.left_out.iter().map(top).collect();
        AnswerReading {
            value: outcome.value,
            extras,
            fixes: outcome.fixes,
            errors,
            known,
            clean,
            left_out,
            has_doubles,
            ..AnswerReading::default()
        }
    }

    /// Whether a tree already has a type that the schema accepts. Without keys that identify an answer, any line of prose could be read as
    /// a list with one text.
    fn is_of_its_kind(&self, raw: &RawTree) -> bool {
        let types = self.shape.types(self.schema.value());
        let wanted = |names: &[&str]| types.as_ref().is_some_and(|types| names.iter().any(|name| types.contains(name)));
        match &raw.content {
            RawContent::Map(_) => types.is_none() || wanted(&["object"]),
            RawContent::List(_) => types.is_none() || wanted(&["array"]),
            RawContent::Scalar(_) => wanted(&["string", "number", "integer", "boolean", "null"]),
        }
    }

    /// Separates the keys that every header may have from the others.
    fn split(&self, raw: &RawTree) -> HeaderSplit {
        let RawContent::Map(entries) = &raw.content else {
            return HeaderSplit { inside: raw.clone(), extras: Map::new(), known: 0, twice: Vec::new() };
        };
        let mut twice = Vec::new();
        let mut extras = Map::new();
        let mut inside = Vec::with_capacity(entries.len());
        let mut known = 0;
        for (key, value) in entries {
            known += usize::from(self.keys.listed(key).is_some());
            match self.keys.extra(key) {
                Some(extra) => {
                    let value = untyped(value);
                    if extras.insert(extra.to_owned(), value.clone()).is_some_and(|before| before != value) {
                        twice.push(format!("`{extra}` is written twice, with different values: keep one"));
                    }
                }
                None => inside.push((key.clone(), value.clone())),
            }
        }
        HeaderSplit { inside: raw.with(RawContent::Map(inside)), extras, known, twice }
    }
}

impl AnswerReading {
    /// Keeps the text of a YAML block that the value lacks.
    fn keep_left_out(&mut self, block: &str, comments: &BTreeSet<usize>) {
        self.unread = left_out::sections(block, &self.left_out, comments);
    }

    /// Sort key of readings: the smallest is nearest to an answer.
    pub(super) fn rank(&self) -> (usize, usize, usize) {
        (usize::from(self.known == 0), self.errors.len(), usize::MAX - self.known)
    }
}

/// Returns an error for each place that still has a placeholder of the format example.
fn placeholders(raw: &RawTree) -> Option<Vec<String>> {
    let mut errors = Vec::new();
    raw.visit("", &mut |path, text| {
        if is_placeholder(text) {
            errors.push(format!("{}still the placeholder `{}`", lead(path), text.trim()));
        }
    });
    (!errors.is_empty()).then_some(errors)
}

/// Whether a text that is meant to be JSON has a key, even with wrong quotation marks or none.
pub(super) fn names_in_json(text: &str, key: &str) -> bool {
    let is_mark = |symbol: char| matches!(symbol, '"' | '\'' | '“' | '”' | '„');
    text.match_indices(key).any(|(at, _)| {
        let behind = &text[at + key.len()..];
        behind.starts_with(':') || behind.starts_with(is_mark) && text[..at].ends_with(is_mark)
    })
}

/// The path of a place as the beginning of an error.
fn lead(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!("`{path}`: ") }
}

/// The notation of a block, according to its marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockNotation {
    /// Between rules. A code fence may surround the keys.
    Header,
    /// In a code block whose language is JSON.
    Json,
    /// Unknown.
    Any,
}

/// Whether a block contains the members of a JSON object without its braces.
fn is_json_without_braces(block: &str) -> bool {
    let mut lines = block.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.next().is_some_and(|first| first.starts_with('"') && first.ends_with(',') && first.contains("\":"))
}

/// A block without a code fence inside its marks.
fn unwrapped(block: &str) -> &str {
    let trimmed = block.trim_matches('\n');
    let Some((first, rest)) = trimmed.split_once('\n') else { return block };
    let Some(open) = CodeFence::from_line(first) else { return block };
    let inner = rest.trim_end();
    let last = inner.rsplit('\n').next().unwrap_or("");
    match CodeFence::from_line(last) {
        Some(close) if close.closes(&open) => &inner[..inner.len() - last.len()],
        _ => block,
    }
}

/// Parses a quoted text as JSON, anything else as YAML.
fn parse(block: &str) -> Result<RawTree, String> {
    let trimmed = block.trim();
    if trimmed.starts_with('"')
        && let Ok(text) = serde_json::from_str::<String>(trimmed)
    {
        return Ok(RawTree::scalar(text, RawScalarStyle::Quoted));
    }
    yaml::parse(block)
}

/// Describes a violation, with its place written as `a.b[0]`.
fn in_words(pointer: &str, message: &str) -> String {
    let mut place = String::new();
    for step in pointer.split('/').skip(1) {
        let step = json_cas::pointer::unescape(step);
        match step.parse::<usize>() {
            Ok(index) => place.push_str(&format!("[{index}]")),
            Err(_) if place.is_empty() => place.push_str(&step),
            Err(_) => place.push_str(&format!(".{step}")),
        }
    }
    format!("{}{message}", lead(&place))
}
