//! Why a payload does not fit: a walk over schema and payload together.
//!
//! The validator decides whether a payload fits; this only explains. Its own list of errors would
//! do, but it grows exponentially where alternatives are nested (a union of twelve kinds, five
//! levels deep: 16 seconds). Here each pair of subschema and value is looked at once. What a
//! keyword without subschemas means is still asked of the validator.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use jsonschema::Validator;
use jsonschema::error::ValidationErrorKind;
use serde_json::{Map, Value};

use super::applicators::{branches, dependent, for_item, for_key, single};
use super::branches::none_fits;
use super::document::{Document, Place};
use super::keywords::{self, Holds};
use super::nearest::nearest;
use super::violations::{MAX_VIOLATIONS, Violation};
use super::words::{brief, describe, found, listed};
use super::{leaf, options};
use crate::pointer;

/// Pairs of subschema and value looked at before giving up; about a second of work.
const MAX_VISITS: usize = 100_000;

/// A violation, and what it tells about which of several alternatives was meant.
#[derive(Debug, Clone)]
pub(super) struct Finding {
    pub(super) violation: Violation,
    pub(super) mark: Mark,
}

/// What kind of violation it is, as far as telling alternatives apart needs.
#[derive(Debug, Clone, Eq, PartialEq)]
pub(super) enum Mark {
    /// The value is of another type than these, each with its article.
    Type(Vec<String>),
    /// The value is not the one wanted, or not one of those wanted.
    Value,
    /// Only null would do.
    Null,
    /// Anything else.
    Other,
}

/// What was found for one pair; shared, as a pair is met on many ways.
pub(super) type Findings = Rc<Vec<Finding>>;

pub(super) struct Evaluator<'d, 's> {
    pub(super) document: &'d Document<'s>,
    /// By subschema and value.
    known: HashMap<(usize, usize), Findings>,
    /// Pairs being looked at: a reference back to one of them adds nothing.
    open: HashSet<(usize, usize)>,
    /// Validators of the keywords of a subschema that have no subschemas.
    leaves: HashMap<usize, Option<Rc<Validator>>>,
    /// Keys as values, kept so that no other value gets the address of one.
    #[expect(clippy::vec_box, reason = "a plain vector would move them when it grows")]
    names: Vec<Box<Value>>,
    none: Findings,
}

impl<'d, 's> Evaluator<'d, 's> {
    pub(super) fn new(document: &'d Document<'s>) -> Self {
        Evaluator {
            document,
            known: HashMap::new(),
            open: HashSet::new(),
            leaves: HashMap::new(),
            names: Vec::new(),
            none: Rc::default(),
        }
    }

    /// The violations of a whole payload, each once.
    pub(super) fn root(&mut self, payload: &Value) -> Vec<Violation> {
        let mut violations: Vec<Violation> = Vec::new();
        for finding in self.pair(self.document.root(), payload, "").iter() {
            if !violations.contains(&finding.violation) {
                violations.push(finding.violation.clone());
            }
        }
        violations.truncate(MAX_VIOLATIONS);
        violations
    }

    /// What is wrong with `value`, which is at `path`, under one subschema.
    pub(super) fn pair(&mut self, place: Place<'s>, value: &Value, path: &str) -> Findings {
        if let Value::Bool(allowed) = place.schema {
            return match allowed {
                true => self.none.clone(),
                false => one(path, "false", "nothing is allowed here"),
            };
        }
        let pair = (place.id(), std::ptr::from_ref(value) as usize);
        if let Some(findings) = self.known.get(&pair) {
            return findings.clone();
        }
        if self.known.len() >= MAX_VISITS || !self.open.insert(pair) {
            return self.none.clone();
        }
        let mut found = Vec::new();
        self.leaf(place, value, path, &mut found);
        self.in_place(place, value, path, &mut found);
        match value {
            Value::Object(map) => self.keys(place, value, map, path, &mut found),
            Value::Array(items) => self.items(place, value, items, path, &mut found),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        found.truncate(2 * MAX_VIOLATIONS);
        self.open.remove(&pair);
        let findings = Rc::new(found);
        self.known.insert(pair, findings.clone());
        findings
    }

    pub(super) fn fits(&mut self, place: Place<'s>, value: &Value, path: &str) -> bool {
        self.pair(place, value, path).is_empty()
    }

    /// Keywords without subschemas, by the validator itself.
    fn leaf(&mut self, place: Place<'s>, value: &Value, path: &str, out: &mut Vec<Finding>) {
        let Some(validator) = self.leaf_validator(place) else {
            return;
        };
        for error in validator.iter_errors(value) {
            let message = match error.kind() {
                ValidationErrorKind::Required { property } => self.missing_key(place, property),
                _ => leaf::message(&error),
            };
            let mark = match error.kind() {
                ValidationErrorKind::Type { kind } => match leaf::wanted_types(kind) {
                    only_null if only_null == ["null"] => Mark::Null,
                    types => Mark::Type(types),
                },
                ValidationErrorKind::Constant { expected_value } if expected_value.is_null() => Mark::Null,
                ValidationErrorKind::Constant { .. } | ValidationErrorKind::Enum { .. } => Mark::Value,
                _ => Mark::Other,
            };
            let below = error.instance_path().to_string();
            let keyword = error.kind().keyword().to_owned();
            let path = format!("{path}{below}");
            out.push(Finding { violation: Violation { path, keyword, message }, mark });
        }
    }

    fn leaf_validator(&mut self, place: Place<'s>) -> Option<Rc<Validator>> {
        let root = self.document.root();
        self.leaves
            .entry(place.id())
            .or_insert_with(|| {
                let mut own = leaf_keywords(place.schema.as_object()?);
                if own.is_empty() {
                    return None;
                }
                if let Some(dialect) = root.keyword("$schema") {
                    own.insert("$schema".to_owned(), dialect.clone());
                }
                options().build(&Value::Object(own)).ok().map(Rc::new)
            })
            .clone()
    }

    fn missing_key(&self, place: Place<'s>, property: &Value) -> String {
        let key = property.as_str().unwrap_or_default();
        let described = place
            .keyword("properties")
            .and_then(|properties| properties.get(key))
            .map(|schema| format!(" ({})", describe(self.document, place.enter(schema))))
            .unwrap_or_default();
        format!("missing key `{key}`{described}")
    }

    /// Subschemas that apply to the same value.
    fn in_place(&mut self, place: Place<'s>, value: &Value, path: &str, out: &mut Vec<Finding>) {
        // More than one target is a dynamic reference whose meaning depends on the way taken.
        if let [target] = self.document.targets(place)[..] {
            out.extend_from_slice(&self.pair(target, value, path));
        }
        for branch in branches(place, "allOf") {
            out.extend_from_slice(&self.pair(branch, value, path));
        }
        for keyword in ["anyOf", "oneOf"] {
            self.alternatives(place, keyword, value, path, out);
        }
        if let Some(condition) = single(place, "if") {
            let then = match self.fits(condition, value, path) {
                true => single(place, "then"),
                false => single(place, "else"),
            };
            if let Some(then) = then {
                out.extend_from_slice(&self.pair(then, value, path));
            }
        }
        if let Some(forbidden) = single(place, "not")
            && self.fits(forbidden, value, path)
        {
            let what = describe(self.document, forbidden);
            let message = format!("must not be {what}, found {}", found(value));
            out.extend_from_slice(&one(path, "not", &message));
        }
        for (key, schema) in dependent(place) {
            if value.get(key).is_some() {
                out.extend_from_slice(&self.pair(schema, value, path));
            }
        }
    }

    fn alternatives(&mut self, place: Place<'s>, keyword: &str, value: &Value, path: &str, out: &mut Vec<Finding>) {
        let branches = branches(place, keyword);
        let each: Vec<Findings> = branches.iter().map(|branch| self.pair(*branch, value, path)).collect();
        let fitting: Vec<String> = (1..)
            .zip(&each)
            .filter(|(_, findings)| findings.is_empty())
            .map(|(number, _): (usize, _)| number.to_string())
            .collect();
        if fitting.is_empty() && !each.is_empty() {
            out.extend(none_fits(self.document, keyword, &branches, &each, value, path));
        } else if fitting.len() > 1 && keyword == "oneOf" {
            let message = format!(
                "fits more than one of the {} allowed forms ({}) and must fit exactly one",
                each.len(),
                listed(&fitting, "and")
            );
            out.extend_from_slice(&one(path, keyword, &message));
        }
    }

    fn keys(&mut self, place: Place<'s>, value: &Value, map: &Map<String, Value>, path: &str, out: &mut Vec<Finding>) {
        let names = single(place, "propertyNames");
        let mut evaluated = None;
        for (key, item) in map {
            if let Some(names) = names {
                self.name(names, key, path, out);
            }
            for (keyword, schema) in for_key(place, key) {
                if keyword == "unevaluatedProperties" {
                    let seen = evaluated.get_or_insert_with(|| self.seen_in_place(place, value, path));
                    if seen.key(key) {
                        continue;
                    }
                }
                if schema.schema == &Value::Bool(false) && keyword != "properties" {
                    out.extend_from_slice(&one(path, keyword, &unknown_key(place, key)));
                    continue;
                }
                let below = pointer::join(path, key);
                out.extend_from_slice(&self.pair(schema, item, &below));
            }
        }
    }

    fn name(&mut self, names: Place<'s>, key: &str, path: &str, out: &mut Vec<Finding>) {
        let name = Box::new(Value::from(key));
        for finding in self.pair(names, &name, "").iter() {
            let message = format!("bad key `{}`: {}", brief(key), finding.violation.message);
            out.extend_from_slice(&one(path, "propertyNames", &message));
        }
        self.names.push(name);
    }

    fn items(&mut self, place: Place<'s>, value: &Value, items: &[Value], path: &str, out: &mut Vec<Finding>) {
        let mut evaluated = None;
        for (index, item) in items.iter().enumerate() {
            let below = format!("{path}/{index}");
            for (keyword, schema) in for_item(place, index) {
                if keyword == "unevaluatedItems" {
                    let seen = evaluated.get_or_insert_with(|| self.seen_in_place(place, value, path));
                    if seen.item(index) {
                        continue;
                    }
                }
                out.extend_from_slice(&self.pair(schema, item, &below));
            }
        }
        if let Some(wanted) = single(place, "contains") {
            self.contains(place, wanted, items, path, out);
        }
    }

    fn contains(&mut self, place: Place<'s>, wanted: Place<'s>, items: &[Value], path: &str, out: &mut Vec<Finding>) {
        let count = (0..)
            .zip(items)
            .filter(|(index, item): &(usize, _)| self.fits(wanted, item, &format!("{path}/{index}")))
            .count();
        let bound = |keyword: &str| place.keyword(keyword).and_then(Value::as_u64);
        let what = || describe(self.document, wanted);
        let message = match (bound("minContains").unwrap_or(1), bound("maxContains")) {
            (1, _) if count == 0 => format!("no item is {}", what()),
            (least, _) if (count as u64) < least => {
                format!("expected at least {least} items that are {}, found {count}", what())
            }
            (_, Some(most)) if (count as u64) > most => {
                format!("expected at most {most} items that are {}, found {count}", what())
            }
            (_, _) => return,
        };
        out.extend_from_slice(&one(path, "contains", &message));
    }
}

/// The part of a schema that holds no schemas and says something about values.
fn leaf_keywords(schema: &Map<String, Value>) -> Map<String, Value> {
    let is_leaf = |keyword: &str| {
        !keyword.starts_with('$')
            && keyword != "minContains"
            && keyword != "maxContains"
            && keywords::holds(keyword) == Some(Holds::Data)
    };
    let mut own: Map<String, Value> = schema
        .iter()
        .filter(|(keyword, _)| is_leaf(keyword))
        .map(|(keyword, value)| (keyword.clone(), value.clone()))
        .collect();
    // Before 2019-09 `dependencies` held lists of keys too.
    let lists: Map<String, Value> = schema
        .get("dependencies")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter(|(_, list)| list.is_array())
        .map(|(key, list)| (key.clone(), list.clone()))
        .collect();
    if !lists.is_empty() {
        own.insert("dependencies".to_owned(), Value::Object(lists));
    }
    own
}

fn unknown_key(place: Place<'_>, key: &str) -> String {
    let known: Vec<&str> = place
        .keyword("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Map::keys)
        .map(String::as_str)
        .collect();
    let hint = match nearest(key, known.iter().copied()) {
        Some(near) => format!("; did you mean `{near}`?"),
        None if known.is_empty() => String::new(),
        None => {
            let known: Vec<String> = known.iter().map(|key| format!("`{key}`")).collect();
            format!("; allowed are {}", listed(&known, "and"))
        }
    };
    format!("unknown key `{}`{hint}", brief(key))
}

fn one(path: &str, keyword: &str, message: &str) -> Findings {
    Rc::new(vec![Finding {
        violation: Violation { path: path.to_owned(), keyword: keyword.to_owned(), message: message.to_owned() },
        mark: Mark::Other,
    }])
}
