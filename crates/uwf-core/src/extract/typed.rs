//! Reads a raw tree as a value, each place by its type in the schema.

use std::cell::Cell;
use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::lines::{bullets, dedent};
use super::scalar::{self, normal};
use super::tree::{RawContent, RawScalar, RawScalarStyle, RawTree, below};
use super::yaml;
use crate::schema_shape::{SchemaShape, Schemas, UnlistedKeyRule, shape};

/// Most branches of `anyOf` and `oneOf` that are tried for one answer. After that, the first branch is used.
const MAX_BRANCHES: usize = 4096;

/// Most values of `enum`s that one answer is compared with. After that, places are read without them and the validator decides whether they
/// fit. Without a limit, comparing 20,000 unknown words with 100,000 values would take minutes.
const MAX_COMPARED: usize = 1_000_000;

/// The reading of one place.
#[derive(Debug, Default)]
pub(super) struct TypedValue {
    pub(super) value: Value,
    /// Tolerances applied, in words.
    pub(super) fixes: Vec<String>,
    /// Number of places that do not fit their type. The validator reports them in its own words.
    pub(super) misfits: usize,
    /// Errors that the validator cannot detect: keys written twice.
    pub(super) errors: Vec<String>,
    /// Number of keys that were taken for listed keys with another spelling.
    pub(super) renamed: usize,
    /// Places whose text the value lacks: keys that the schema does not have, and comments.
    pub(super) left_out: Vec<String>,
    /// See [`scalar::ScalarReading::strained`].
    strained: usize,
}

impl TypedValue {
    fn rank(&self) -> (usize, usize, usize) {
        (self.misfits + self.errors.len(), self.fixes.len(), self.strained)
    }

    fn absorb(&mut self, other: TypedValue) -> Value {
        self.fixes.extend(other.fixes);
        self.errors.extend(other.errors);
        self.left_out.extend(other.left_out);
        self.misfits += other.misfits;
        self.renamed += other.renamed;
        self.strained += other.strained;
        other.value
    }

    fn fix(&mut self, path: &str, what: &str) {
        self.fixes.push(if path.is_empty() { what.to_owned() } else { format!("`{path}`: {what}") });
    }
}

/// Reads answers for one schema.
pub(super) struct TypedValueReader<'s> {
    root: &'s Value,
    branches: Cell<usize>,
    compared: Cell<usize>,
}

impl<'s> TypedValueReader<'s> {
    pub(super) fn new(root: &'s Value) -> TypedValueReader<'s> {
        TypedValueReader { root, branches: Cell::new(MAX_BRANCHES), compared: Cell::new(MAX_COMPARED) }
    }

    /// Returns the value of a raw tree under schemas that all apply.
    pub(super) fn read(&self, raw: &RawTree, schemas: &[&'s Value], path: &str) -> TypedValue {
        self.place(raw, &shape(self.root, schemas), path)
    }

    fn place(&self, raw: &RawTree, shape: &SchemaShape<'s>, path: &str) -> TypedValue {
        let Some(group) = shape.groups.first().filter(|group| !group.is_empty()) else {
            return self.settled(raw, shape, path);
        };
        let left = self.branches.get();
        let tried = if left < group.len() { &group[..1] } else { group };
        self.branches.set(left - tried.len().min(left));
        let outcomes = tried.iter().map(|branch| self.place(raw, &shape.choose(self.root, 0, branch), path));
        outcomes.min_by_key(TypedValue::rank).unwrap_or_default()
    }

    /// Reads a place without alternatives.
    fn settled(&self, raw: &RawTree, shape: &SchemaShape<'s>, path: &str) -> TypedValue {
        let Some(left) = self.compared.get().checked_sub(shape.listed_values()) else {
            return TypedValue { value: untyped(raw), ..TypedValue::default() };
        };
        self.compared.set(left);
        let types = shape.own_types();
        let may = |name: &str| types.as_ref().is_none_or(|types| types.contains(name));
        match &raw.content {
            RawContent::Scalar(written) => self.scalar(raw, written, shape, types.as_ref(), path),
            RawContent::List(items) if may("array") => self.list(items, shape, path),
            RawContent::Map(entries) if may("object") => self.object(entries, shape, path),
            RawContent::Map(_) if may("array") => self.wrapped(raw, shape, path),
            RawContent::List(items) if may("object") && items.len() == 1 => {
                let mut outcome = self.settled(&items[0], shape, path);
                outcome.fix(path, "took the only member of a list");
                outcome
            }
            RawContent::List(_) | RawContent::Map(_) if may("string") => match as_text(raw) {
                Some(text) => {
                    let mut outcome = TypedValue { value: text.into(), ..TypedValue::default() };
                    outcome.fix(path, "kept as the text it was written as");
                    outcome
                }
                None => misfit(raw),
            },
            RawContent::List(_) | RawContent::Map(_) => misfit(raw),
        }
    }

    fn scalar(
        &self,
        raw: &RawTree,
        written: &RawScalar,
        shape: &SchemaShape<'s>,
        types: Option<&BTreeSet<&str>>,
        path: &str,
    ) -> TypedValue {
        let fit = match shape.allowed() {
            Some(allowed) => scalar::choose(written, &allowed),
            None => scalar::read(written, types),
        };
        if let Some(fit) = fit {
            let strained = usize::from(fit.strained);
            let mut outcome = TypedValue { value: fit.value, strained, ..TypedValue::default() };
            if written.uncut.as_deref().is_some_and(|uncut| outcome.value != uncut) {
                outcome.left_out.push(path.to_owned());
            }
            if let Some(fix) = fit.fix {
                outcome.fix(path, &fix);
            }
            return outcome;
        }
        let may = |name: &str| types.is_none_or(|types| types.contains(name));
        if may("array") && !may("string") {
            return self.list_from_scalar(raw, written, shape, path);
        }
        if may("object")
            && !may("string")
            && let Some(tree) = flow(&written.text).filter(is_map)
        {
            let mut outcome = self.settled(&tree, shape, path);
            outcome.fix(path, "read the text as an object");
            return outcome;
        }
        misfit(raw)
    }

    fn list_from_scalar(&self, raw: &RawTree, written: &RawScalar, shape: &SchemaShape<'s>, path: &str) -> TypedValue {
        let is_written = !raw.is_empty() && !written.text.trim().is_empty();
        // `null` is not an empty list, unless it is a way to write nothing.
        if is_written && scalar::core(&written.text).is_null() {
            return misfit(raw);
        }
        if !is_written {
            let mut outcome = TypedValue { value: Value::Array(Vec::new()), ..TypedValue::default() };
            outcome.fix(path, "nothing written, read as an empty list");
            return outcome;
        }
        if written.style.is_bare() && scalar::says_none(&written.text) && !self.may_be_member(raw, shape) {
            let mut outcome = TypedValue { value: Value::Array(Vec::new()), ..TypedValue::default() };
            outcome.fix(path, &format!("read `{}` as an empty list", written.text.trim()));
            return outcome;
        }
        if let Some(RawTree { content: RawContent::List(items), .. }) = flow(&written.text) {
            let mut outcome = self.list(&items, shape, path);
            outcome.fix(path, "read the text as a list");
            return outcome;
        }
        // A list that is broken could have any members.
        if written.style.is_bare() && written.text.trim_start().starts_with('[') {
            return misfit(raw);
        }
        let lines = match written.style {
            RawScalarStyle::Plain | RawScalarStyle::Token => raw.source().unwrap_or(&written.text),
            RawScalarStyle::Quoted => &written.text,
        };
        if let Some(items) = with_quoted_members(written) {
            let mut outcome = self.list(&items, shape, path);
            outcome.fix(path, &format!("split into {} members", items.len()));
            return outcome;
        }
        let parts = bullets(lines).or_else(|| by_commas(&written.text));
        // Quotation marks around `a, b.rs` may keep it together.
        if written.style == RawScalarStyle::Quoted && by_commas(&written.text).is_some() {
            return misfit(raw);
        }
        let Some(parts) = parts else { return self.wrapped(raw, shape, path) };
        let items: Vec<RawTree> = parts.into_iter().map(|part| RawTree::scalar(part, written.style)).collect();
        let mut outcome = self.list(&items, shape, path);
        outcome.fix(path, &format!("split into {} members", items.len()));
        outcome
    }

    /// Whether a list may have this exact member, because the schema lists it.
    fn may_be_member(&self, raw: &RawTree, list: &SchemaShape<'s>) -> bool {
        let member = shape(self.root, &list.item(0));
        let RawContent::Scalar(written) = &raw.content else { return false };
        member.allowed().is_some_and(|allowed| scalar::choose(written, &allowed).is_some())
    }

    /// Reads one value as a list of one, if the schema requires a list.
    fn wrapped(&self, raw: &RawTree, shape: &SchemaShape<'s>, path: &str) -> TypedValue {
        let mut outcome = self.list(std::slice::from_ref(raw), shape, path);
        outcome.fix(path, "one value, read as a list of one");
        outcome
    }

    fn list(&self, items: &[RawTree], shape: &SchemaShape<'s>, path: &str) -> TypedValue {
        let mut outcome = TypedValue::default();
        let mut values = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let read = self.read(item, &shape.item(index), &format!("{path}[{index}]"));
            values.push(outcome.absorb(read));
        }
        outcome.value = Value::Array(values);
        outcome
    }

    fn object(&self, entries: &[(String, RawTree)], shape: &SchemaShape<'s>, path: &str) -> TypedValue {
        let mut outcome = TypedValue::default();
        let mut map = Map::new();
        let named = names(entries, shape, path, &mut outcome);
        let required = shape.required();
        for (key, raw) in named {
            let place = below(path, key);
            let Some(schemas) = self.schemas_of(key, shape, &place, &mut outcome) else { continue };
            let read = self.read(raw, &schemas, &place);
            if read.misfits > 0 && !required.contains(&key) && writes_null(raw) {
                outcome.fix(&place, "left out, since nothing was written");
                continue;
            }
            map.insert(key.to_owned(), outcome.absorb(read));
        }
        outcome.misfits += required.iter().filter(|key| !map.contains_key(**key)).count();
        outcome.value = Value::Object(map);
        outcome
    }

    /// Schemas of a key, `None` if the value can't have the key.
    fn schemas_of(
        &self,
        key: &str,
        shape: &SchemaShape<'s>,
        place: &str,
        outcome: &mut TypedValue,
    ) -> Option<Schemas<'s>> {
        if let Some(schemas) = shape.property(key) {
            return Some(schemas);
        }
        match shape.unlisted() {
            UnlistedKeyRule::Allowed(schemas) => Some(schemas),
            UnlistedKeyRule::Refused | UnlistedKeyRule::Unspecified => {
                outcome.fix(place, "left out, the schema has no such key");
                outcome.left_out.push(place.to_owned());
                None
            }
        }
    }
}

/// The entries under their names in the schema. A key in other case or with other separators counts as the listed key that it can only mean.
/// A key that is written twice, in whatever spelling, counts once if both values are the same.
fn names<'k, 'r>(
    entries: &'r [(String, RawTree)],
    shape: &SchemaShape<'k>,
    path: &str,
    outcome: &mut TypedValue,
) -> Vec<(&'r str, &'r RawTree)>
where
    'k: 'r,
{
    let listed = shape.keys();
    let mut named: Vec<(&'r str, &'r RawTree)> = Vec::with_capacity(entries.len());
    let mut places = std::collections::BTreeMap::new();
    for (key, raw) in entries {
        let name = if listed.contains(&key.as_str()) { key.as_str() } else { meant(key, &listed).unwrap_or(key) };
        if name != key {
            outcome.renamed += 1;
            outcome.fix(path, &format!("read the key `{key}` as `{name}`"));
        }
        let Some(&at) = places.get(name) else {
            places.insert(name, named.len());
            named.push((name, raw));
            continue;
        };
        if named[at].1.says_the_same(raw) {
            outcome.fix(path, &format!("`{name}` is written twice, with the same value"));
        } else {
            outcome.errors.push(format!("`{name}` is written twice, with different values: keep one"));
        }
    }
    named
}

/// The one listed key that a written key can mean.
fn meant<'k>(key: &str, listed: &[&'k str]) -> Option<&'k str> {
    let normal_key = scalar::normal_key(key)?;
    let mut near = listed.iter().filter(|name| normal(name) == normal_key);
    match (near.next(), near.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    }
}

fn is_map(raw: &RawTree) -> bool {
    matches!(raw.content, RawContent::Map(_))
}

fn writes_null(raw: &RawTree) -> bool {
    matches!(&raw.content, RawContent::Scalar(RawScalar { text, style, uncut: None }) if style.is_bare() && scalar::core(text).is_null())
}

/// Parses a list or an object that is written as a text.
fn flow(text: &str) -> Option<RawTree> {
    let text = text.trim();
    let wrapped = (text.starts_with('[') && text.ends_with(']')) || (text.starts_with('{') && text.ends_with('}'));
    if !wrapped {
        return None;
    }
    yaml::parse(text).ok()
}

/// Members of `a.rs, b.rs`. Only if no member contains a blank, so that sentences stay whole.
fn by_commas(text: &str) -> Option<Vec<String>> {
    // A comma within brackets or quotation marks separates nothing: `src/{a,b}.rs`.
    if text.contains(['[', ']', '{', '}', '(', ')', '"', '\'']) {
        return None;
    }
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    let words = parts.len() > 1 && parts.iter().all(|part| !part.is_empty() && !part.contains(char::is_whitespace));
    words.then(|| parts.into_iter().map(str::to_owned).collect())
}

/// Members of `a.rs, "b, c.rs"`. Only if members without quotation marks have no blank, so that sentences stay whole.
fn with_quoted_members(written: &RawScalar) -> Option<Vec<RawTree>> {
    if written.style != RawScalarStyle::Plain || !written.text.contains(['"', '\'']) {
        return None;
    }
    let RawTree { content: RawContent::List(items), .. } = yaml::parse(&format!("[{}]", written.text)).ok()? else {
        return None;
    };
    let is_member = |item: &RawTree| match &item.content {
        RawContent::Scalar(RawScalar { text, style, .. }) => {
            *style == RawScalarStyle::Quoted || !text.contains(char::is_whitespace)
        }
        RawContent::List(_) | RawContent::Map(_) => false,
    };
    (items.len() > 1 && items.iter().all(is_member)).then_some(items)
}

/// A list or map as it was written, as text.
fn as_text(raw: &RawTree) -> Option<String> {
    if let Some(source) = raw.source() {
        let text = dedent(source);
        // The source of a list at the edge begins after its first bullet.
        let is_cut =
            matches!(&raw.content, RawContent::List(items) if items.len() > 1) && !text.starts_with(['-', '[']);
        return Some(if is_cut { format!("- {text}") } else { text });
    }
    let RawContent::List(items) = &raw.content else { return None };
    let texts: Option<Vec<&str>> = items
        .iter()
        .map(|item| match &item.content {
            RawContent::Scalar(scalar) => Some(scalar.text.as_str()),
            RawContent::List(_) | RawContent::Map(_) => None,
        })
        .collect();
    texts.map(|texts| texts.join("\n"))
}

fn misfit(raw: &RawTree) -> TypedValue {
    TypedValue { value: untyped(raw), misfits: 1, ..TypedValue::default() }
}

/// The value, read without a schema.
pub(super) fn untyped(raw: &RawTree) -> Value {
    match &raw.content {
        RawContent::Scalar(written) => scalar::read(written, None).map_or(Value::Null, |fit| fit.value),
        RawContent::List(items) => items.iter().map(untyped).collect(),
        RawContent::Map(entries) => entries.iter().map(|(key, value)| (key.clone(), untyped(value))).collect(),
    }
}
