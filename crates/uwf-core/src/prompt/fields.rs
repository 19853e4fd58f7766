//! Describes each key of an answer in words.

use serde_json::{Map, Value};

use super::example::bare;
use crate::schema_shape::{SchemaShape, UnlistedKeyRule, shape};
use crate::text::one_line;

/// Deepest nesting that is described. Only the types of deeper values are named.
const MAX_DEPTH: usize = 6;

/// Most lists within lists that are described in one line.
const MAX_LISTS: usize = 3;

/// Most lines of the list. Later keys of a larger schema are left out.
const MAX_LINES: usize = 200;

/// The list of keys, one per line; empty if the schema has none.
pub(super) fn fields(root: &Value) -> String {
    let here = shape(root, &[root]);
    let above = here.all.iter().map(|map| std::ptr::from_ref(*map)).collect();
    let mut list = FieldListWriter { root, lines: Vec::new(), above };
    list.place(&here, 0);
    if list.lines.len() > MAX_LINES {
        list.lines.truncate(MAX_LINES);
        list.lines.push("- and more".to_owned());
    }
    list.lines.iter().map(|line| format!("{line}\n")).collect()
}

struct FieldListWriter<'s> {
    root: &'s Value,
    lines: Vec<String>,
    /// Schemas of the objects around the current place, to detect a recursive shape.
    above: Vec<*const Map<String, Value>>,
}

impl<'s> FieldListWriter<'s> {
    /// The keys of an object, of the objects in a list, or of each alternative.
    fn place(&mut self, here: &SchemaShape<'s>, depth: usize) {
        if depth >= MAX_DEPTH || self.lines.len() > MAX_LINES {
            return;
        }
        for key in here.keys() {
            let schemas = here.property(key).unwrap_or_default();
            let value = shape(self.root, &schemas);
            let need = if here.required().contains(&key) { "required" } else { "optional" };
            self.key(key, need, &value, depth);
        }
        if here.keys().is_empty()
            && here.own_types().is_some_and(|types| types.contains("object"))
            && let UnlistedKeyRule::Allowed(schemas) = here.unlisted()
        {
            let value = shape(self.root, &schemas);
            self.line(depth, &format!("any key: {}", self.type_in_words(&value)), &value);
            self.below(&value, depth + 1);
        }
        if here.own_types().is_some_and(|types| types.contains("array")) {
            let item = shape(self.root, &here.item(0));
            self.line(depth, &format!("a {}", self.type_in_words(here)), here);
            self.below(&item, depth + 1);
        }
        self.alternatives(here, depth);
    }

    fn key(&mut self, key: &str, need: &str, value: &SchemaShape<'s>, depth: usize) {
        let words = self.type_in_words(value);
        if self.holds_itself(value) || self.members_hold_it(value) {
            self.line(depth, &format!("`{key}` ({need}): {words} of the same shape as above"), value);
            return;
        }
        self.line(depth, &format!("`{key}` ({need}): {words}"), value);
        self.below(value, depth + 1);
    }

    /// Describes the content of a value: its keys, or the keys of its members.
    fn below(&mut self, value: &SchemaShape<'s>, depth: usize) {
        if self.holds_itself(value) {
            return;
        }
        let entered = value.all.iter().map(|map| std::ptr::from_ref(*map));
        let before = self.above.len();
        self.above.extend(entered);
        let is_list = value.own_types().is_some_and(|types| types.contains("array"));
        if is_list {
            let item = shape(self.root, &value.item(0));
            self.below(&item, depth);
            self.alternatives(value, depth);
        } else {
            self.keys_below(value, depth);
        }
        self.above.truncate(before);
    }

    fn keys_below(&mut self, value: &SchemaShape<'s>, depth: usize) {
        if value.own_types().is_some_and(|types| types.contains("object")) || !value.keys().is_empty() {
            self.place(value, depth);
        } else {
            self.alternatives(value, depth);
        }
    }

    /// Describes the alternatives that have keys. If there are several, each is below a line of its own.
    fn alternatives(&mut self, here: &SchemaShape<'s>, depth: usize) {
        for group in &here.groups {
            let branches = group.iter().map(|branch| shape(self.root, &[branch]));
            let has_more =
                |branch: &SchemaShape<'s>| !branch.keys_of_all(self.root).is_empty() || !branch.item(0).is_empty();
            let keyed: Vec<SchemaShape<'s>> =
                branches.filter(|branch| has_more(branch) && !self.holds_itself(branch)).collect();
            for (at, branch) in keyed.iter().enumerate() {
                if keyed.len() > 1 {
                    let lead = if at == 0 { "either" } else { "or" };
                    self.line(depth, &format!("{lead}:"), branch);
                }
                self.below(branch, depth + usize::from(keyed.len() > 1));
            }
        }
    }

    /// Whether a list has members of a shape that contains the list.
    fn members_hold_it(&self, value: &SchemaShape<'s>) -> bool {
        self.holds_itself(&shape(self.root, &value.item(0)))
    }

    fn holds_itself(&self, value: &SchemaShape<'s>) -> bool {
        value.all.iter().any(|map| self.above.contains(&std::ptr::from_ref(*map)))
    }

    fn line(&mut self, depth: usize, what: &str, value: &SchemaShape<'s>) {
        let mut line = format!("{}- {what}", "  ".repeat(depth));
        let limits = limits(value);
        if !limits.is_empty() {
            line.push_str(&format!(", {}", limits.join(", ")));
        }
        if let Some(description) = value.text("description").map(one_line).filter(|text| !text.is_empty()) {
            line.push_str(&format!(" — {description}"));
        }
        self.lines.push(line);
    }

    fn type_in_words(&self, value: &SchemaShape<'s>) -> String {
        self.type_to_depth(value, MAX_LISTS)
    }

    fn type_to_depth(&self, value: &SchemaShape<'s>, lists: usize) -> String {
        if let Some(allowed) = value.allowed() {
            return match allowed.as_slice() {
                [only] => format!("`{}`", bare(only)),
                several => {
                    let words: Vec<String> = several.iter().map(|word| format!("`{}`", bare(word))).collect();
                    format!("one of {}", words.join(", "))
                }
            };
        }
        if let Some(types) = value.own_types() {
            let mut words: Vec<String> = types.iter().map(|name| self.type_word(name, value, lists)).collect();
            words.sort_by_key(|word| word == "null");
            return words.join(" or ");
        }
        let Some(group) = value.groups.first() else { return "any value".to_owned() };
        let mut words: Vec<String> = Vec::new();
        for branch in *group {
            let word = self.type_to_depth(&shape_once(self.root, branch), lists);
            if !words.contains(&word) {
                words.push(word);
            }
        }
        words.sort_by_key(|word| word == "null");
        words.join(" or ")
    }

    fn type_word(&self, name: &str, value: &SchemaShape<'s>, lists: usize) -> String {
        match name {
            "string" => match value.text("format") {
                Some("cas_ref") => "hash of a stored node (13 symbols)".to_owned(),
                Some(format) => format!("text ({format})"),
                None => "text".to_owned(),
            },
            "boolean" => "`true` or `false`".to_owned(),
            "integer" => "whole number".to_owned(),
            "array" => {
                let item = shape(self.root, &value.item(0));
                if lists == 0 || (item.all.is_empty() && item.groups.is_empty()) {
                    return "list".to_owned();
                }
                list_of(&self.type_to_depth(&item, lists - 1))
            }
            other => other.to_owned(),
        }
    }
}

/// A branch without its alternatives, so that recursive alternatives end.
fn shape_once<'s>(root: &'s Value, branch: &'s Value) -> SchemaShape<'s> {
    let mut once = shape(root, &[branch]);
    once.groups.clear();
    once
}

/// Describes a list of some members.
fn list_of(member: &str) -> String {
    for (one, many) in
        [("text", "texts"), ("object", "objects"), ("number", "numbers"), ("whole number", "whole numbers")]
    {
        if member == one {
            return format!("list of {many}");
        }
    }
    match member.strip_prefix("list") {
        Some(rest) => format!("list of lists{rest}"),
        None => format!("list, each member {member}"),
    }
}

/// Limits that a model can respect.
fn limits(value: &SchemaShape<'_>) -> Vec<String> {
    const LIMITS: [(&str, &str); 10] = [
        ("minimum", "at least {}"),
        ("exclusiveMinimum", "more than {}"),
        ("maximum", "at most {}"),
        ("exclusiveMaximum", "less than {}"),
        ("multipleOf", "a multiple of {}"),
        ("minLength", "at least {} characters"),
        ("maxLength", "at most {} characters"),
        ("minItems", "at least {} of them"),
        ("maxItems", "at most {} of them"),
        ("pattern", "matching `{}`"),
    ];
    let limit = |(key, words): (&str, &str)| value.keyword(key).next().map(|limit| words.replace("{}", &bare(limit)));
    LIMITS.into_iter().filter_map(limit).collect()
}
