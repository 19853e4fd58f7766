//! Builds an example answer with placeholders as values. It parses but never counts as an answer.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value};
use yaml_tree::write::{ScalarContext, scalar};

use crate::placeholder::{ANY, CHOICE, EXACTLY, HASH, KEY, TEXT, WORDS, is_placeholder, placeholder};
use crate::schema_shape::{SchemaShape, Schemas, UnlistedKeyRule, shape};

/// Deepest nesting in the example. Each choice between alternatives counts as a level. A recursive shape is shown once.
const MAX_LEVELS: usize = 12;

/// Deepest nesting of alternatives whose values are listed like an `enum`.
const MAX_CHOICES: usize = 4;

/// Most values of an `enum` in the example. The list below it has all of them.
const MAX_SHOWN: usize = 6;

/// Most examples of one schema. The list below them has all forms.
const MAX_EXAMPLES: usize = 6;

/// The example of a schema's first form.
pub(super) fn example(root: &Value) -> Value {
    ExampleWriter::new(root, BTreeMap::new()).whole()
}

/// One example for each form of the answer: for each alternative of an `anyOf` or `oneOf` that has an object or a list.
pub(super) fn examples(root: &Value) -> Vec<Value> {
    let mut found: Vec<Value> = Vec::new();
    let mut shown = BTreeSet::new();
    let mut open = VecDeque::from([BTreeMap::new()]);
    while let Some(choices) = open.pop_front().filter(|_| found.len() < MAX_EXAMPLES) {
        let mut writer = ExampleWriter::new(root, choices);
        let value = writer.whole();
        let ExampleWriter { choices, forms, .. } = writer;
        for (group, count) in forms.into_iter().filter(|(group, _)| !choices.contains_key(group)) {
            let others = (1..count).filter(|form| shown.insert((group, *form)));
            open.extend(others.map(|form| choices.clone().into_iter().chain([(group, form)]).collect()));
        }
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

/// A group of alternatives of a schema.
type FormGroup = *const Value;

struct ExampleWriter<'s> {
    root: &'s Value,
    /// Schemas of the objects and lists around the current place.
    above: Vec<*const Map<String, Value>>,
    /// The alternative to show of a group. Other groups show their first.
    choices: BTreeMap<FormGroup, usize>,
    /// The groups in this example, with the number of their forms.
    forms: Vec<(FormGroup, usize)>,
}

impl<'s> ExampleWriter<'s> {
    fn new(root: &'s Value, choices: BTreeMap<FormGroup, usize>) -> ExampleWriter<'s> {
        ExampleWriter { root, above: Vec::new(), choices, forms: Vec::new() }
    }

    fn whole(&mut self) -> Value {
        let here = shape(self.root, &[self.root]);
        let value = match here.may_be(self.root, "object") && here.types(self.root).is_none() {
            true => self.object(&here, 0),
            false => self.place(&here, 0),
        };
        // An example of constants alone would be a valid answer, and an agent that repeats its prompt would give it.
        if has_placeholder(&value) { value } else { without_values(&value) }
    }

    fn place(&mut self, here: &SchemaShape<'s>, level: usize) -> Value {
        if let Some(allowed) = self.listed(here, MAX_CHOICES) {
            return choice(allowed);
        }
        if level < MAX_LEVELS
            && let Some(chosen) = self.chosen_branch(here)
        {
            return match self.place(&chosen, level + 1) {
                Value::String(text) => Value::String(self.or_null(here, text)),
                other => other,
            };
        }
        let types = here.own_types();
        let is = |name: &str| types.as_ref().is_some_and(|types| types.contains(name));
        let holds_itself = here.all.iter().any(|map| self.above.contains(&std::ptr::from_ref(*map)));
        if level < MAX_LEVELS && !holds_itself && (is("object") || is("array")) {
            let before = self.above.len();
            self.above.extend(here.all.iter().map(|map| std::ptr::from_ref(*map)));
            let value = if is("object") { self.object(here, level) } else { self.list(here, level) };
            self.above.truncate(before);
            return value;
        }
        let words = types
            .filter(|types| !types.is_empty())
            .map(|types| types.iter().map(|name| word(name, here)).collect::<Vec<_>>());
        Value::String(placeholder(&words.map_or_else(|| ANY.to_owned(), |words| null_last(words).join(" or "))))
    }

    fn object(&mut self, here: &SchemaShape<'s>, level: usize) -> Value {
        let mut map = Map::new();
        for key in here.keys() {
            let schemas: Schemas<'s> = here.property(key).unwrap_or_default();
            map.insert(key.to_owned(), self.place(&shape(self.root, &schemas), level + 1));
        }
        if map.is_empty() {
            let value = match here.unlisted() {
                UnlistedKeyRule::Allowed(schemas) => self.place(&shape(self.root, &schemas), level + 1),
                UnlistedKeyRule::Refused | UnlistedKeyRule::Unspecified => Value::String(placeholder(ANY)),
            };
            map.insert(placeholder(KEY), value);
        }
        Value::Object(map)
    }

    fn list(&mut self, here: &SchemaShape<'s>, level: usize) -> Value {
        let item = shape(self.root, &here.item(0));
        Value::Array(vec![self.place(&item, level + 1)])
    }

    /// The only values that are allowed here: of `const` and `enum`, or of alternatives that all have one of these or are `null`.
    fn listed(&self, here: &SchemaShape<'s>, depth: usize) -> Option<ListedValues<'s>> {
        let Some(group) = here.groups.first().copied() else {
            return Some(ListedValues { values: here.allowed()?, or_null: false });
        };
        let mut listed = ListedValues { values: Vec::new(), or_null: false };
        for branch in group.iter().filter(|_| depth > 0) {
            let chosen = here.choose(self.root, 0, branch);
            match self.listed(&chosen, depth - 1) {
                Some(more) => listed.add(more),
                None if chosen.own_types().is_some_and(|types| types.iter().all(|name| *name == "null")) => {
                    listed.or_null = true;
                }
                None => return None,
            }
        }
        (!listed.values.is_empty()).then_some(listed)
    }

    /// The shape with an alternative that allows more than `null`: the chosen one of those with objects or lists, otherwise the first.
    fn chosen_branch(&mut self, here: &SchemaShape<'s>) -> Option<SchemaShape<'s>> {
        let (root, group) = (self.root, *here.groups.first()?);
        let types = |branch: &'s Value| shape(root, &[branch]).types(root);
        let is_null = |branch: &'s Value| types(branch).is_some_and(|types| types.iter().all(|name| *name == "null"));
        let is_nested =
            |branch: &'s Value| types(branch).is_some_and(|types| types.contains("object") || types.contains("array"));
        let branches: Vec<&'s Value> = group.iter().filter(|branch| !is_null(branch)).collect();
        let branch = if branches.len() > 1 && branches.iter().any(|branch| is_nested(branch)) {
            let form = self.choices.get(&group.as_ptr()).copied().unwrap_or(0);
            self.forms.push((group.as_ptr(), branches.len()));
            branches.get(form)
        } else {
            let is_open = |branch: &&&'s Value| shape(root, &[**branch]).allowed().is_none();
            branches.iter().find(is_open).or_else(|| branches.first())
        };
        let branch = branch.copied().or_else(|| group.first())?;
        Some(here.choose(root, 0, branch))
    }

    fn or_null(&self, here: &SchemaShape<'s>, text: String) -> String {
        let nullable = here.types(self.root).is_some_and(|types| types.contains("null"));
        match text.strip_suffix('>') {
            Some(open) if nullable && !text.contains("null") => format!("{open} or null>"),
            _ => text,
        }
    }
}

/// The only values of a place.
struct ListedValues<'s> {
    values: Vec<&'s Value>,
    /// Whether an alternative of type `null` is allowed as well.
    or_null: bool,
}

impl<'s> ListedValues<'s> {
    fn add(&mut self, more: ListedValues<'s>) {
        self.or_null |= more.or_null;
        for value in more.values {
            if !self.values.contains(&value) {
                self.values.push(value);
            }
        }
    }
}

/// A constant as it is, or a placeholder with the values to choose from.
fn choice(allowed: ListedValues<'_>) -> Value {
    let ListedValues { values, or_null } = allowed;
    let or_null = or_null && !values.contains(&&Value::Null);
    let mut words: Vec<String> = values.iter().take(MAX_SHOWN).map(|value| bare(value)).collect();
    if values.len() > MAX_SHOWN {
        words.push("…".to_owned());
    }
    Value::String(match (values.as_slice(), words.as_slice()) {
        ([only], _) if !or_null => return (*only).clone(),
        (_, [only]) => placeholder(&format!("{only}{CHOICE}null")),
        (_, several) if or_null => placeholder(&format!("{} or null", several.join(CHOICE))),
        (_, several) => placeholder(&several.join(CHOICE)),
    })
}

fn has_placeholder(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.values().any(has_placeholder),
        Value::Array(items) => items.iter().any(has_placeholder),
        Value::String(text) => is_placeholder(text),
        _ => false,
    }
}

/// The value with a placeholder for each constant.
fn without_values(value: &Value) -> Value {
    match value {
        Value::Object(map) if !map.is_empty() => {
            Value::Object(map.iter().map(|(key, value)| (key.clone(), without_values(value))).collect())
        }
        Value::Array(items) if !items.is_empty() => Value::Array(items.iter().map(without_values).collect()),
        constant => Value::String(placeholder(&format!("{EXACTLY}{}", bare(constant)))),
    }
}

/// A value in the form of a header.
pub(super) fn bare(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn word(name: &str, shape: &SchemaShape<'_>) -> String {
    match name {
        "boolean" => "true or false".to_owned(),
        "string" => match shape.text("format") {
            Some("cas_ref") => HASH.to_owned(),
            Some(format) if WORDS.contains(&format) => format.to_owned(),
            _ => TEXT.to_owned(),
        },
        "array" => "list".to_owned(),
        other => other.to_owned(),
    }
}

fn null_last(mut words: Vec<String>) -> Vec<String> {
    words.sort_by_key(|word| word == "null");
    words
}

/// Renders a value as block YAML, for examples only: placeholders are unquoted.
pub(super) fn to_yaml(value: &Value) -> String {
    let mut text = String::new();
    block(value, 0, &mut text);
    text
}

/// A value on one line.
fn inline(value: &Value) -> String {
    match value {
        Value::String(text) if !is_placeholder(text) => scalar(text, ScalarContext::Block),
        other => bare(other),
    }
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
}

fn block(value: &Value, depth: usize, text: &mut String) {
    let blanks = "  ".repeat(depth);
    match value {
        empty if is_empty(empty) => text.push_str(&format!("{blanks}{empty}\n")),
        Value::Object(map) => {
            for (key, value) in map {
                text.push_str(&format!("{blanks}{key}:"));
                nested(value, depth, text);
            }
        }
        Value::Array(items) => {
            for item in items {
                let mut inner = String::new();
                block(item, depth + 1, &mut inner);
                // The first line of a member follows its dash.
                text.push_str(&format!("{blanks}- {}", inner.trim_start()));
            }
        }
        scalar => text.push_str(&format!("{blanks}{}\n", inline(scalar))),
    }
}

fn nested(value: &Value, depth: usize, text: &mut String) {
    match value {
        empty if is_empty(empty) => text.push_str(&format!(" {empty}\n")),
        Value::Object(_) | Value::Array(_) => {
            text.push('\n');
            block(value, depth + 1, text);
        }
        scalar => text.push_str(&format!(" {}\n", inline(scalar))),
    }
}
