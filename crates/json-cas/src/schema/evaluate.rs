//! Decides whether a payload fits, and explains why not, by a walk over schema and payload together.
//!
//! Normally the validator decides whether a payload fits, and this module explains why not. The validator has its own list of errors, but
//! it grows exponentially with nested alternatives (a union of twelve kinds, five levels deep: 16 seconds). On some schemas the validator
//! itself has no time bound (see [`super::expansion::is_unbounded`]). For these, this module decides as well: it examines each pair of
//! subschema and value once, up to a limit. In both cases the validator judges keywords without subschemas.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use jsonschema::Validator;
use jsonschema::error::ValidationErrorKind;
use serde_json::{Map, Value};

use super::applicators::{branches, dependent, for_item, for_key, single};
use super::branches::none_fits;
use super::describe::{brief, describe, found, listed};
use super::document::{SchemaDocument, ScopedSubschema};
use super::keywords::{self, KeywordValueKind};
use super::long_enum::{AllowedValues, long_enum};
use super::violation::{FindingKind, Findings, MAX_VIOLATIONS, SchemaFinding, SchemaViolation};
use super::{messages, validator_options};
use crate::nearest::nearest;
use crate::pointer;

/// Pairs of subschema and value examined before the explanation gives up; about a second of work.
const MAX_VISITS: usize = 50_000;

/// Findings about one value before the search stops: twice the number reported, because one finding may be reached in two ways.
const MAX_FINDINGS: usize = 2 * MAX_VIOLATIONS;

/// Pairs of subschema and value examined before the decision gives up. A tree of nodes of one of twelve kinds may have 27,000 pairs (600
/// KB of JSON).
pub(super) const MAX_CHECKS: usize = 1_000_000;

/// The question that a [`SchemaEvaluator`] answers.
#[derive(Debug, Copy, Clone, Eq, PartialEq)]
enum EvaluatorQuestion {
    /// All faults, in words.
    Why,
    /// Whether there is any fault: the first one is enough.
    Whether,
}

/// Whether a value fits, as far as [`MAX_CHECKS`] allows.
#[derive(Debug, Copy, Clone, Eq, PartialEq)]
pub(super) enum SchemaVerdict {
    Fits,
    Faulty,
    /// The limit was reached.
    Unknown,
}

pub(super) struct SchemaEvaluator<'d, 's> {
    pub(super) document: &'d SchemaDocument<'s>,
    /// Findings by subschema and value.
    known: HashMap<(usize, usize), Findings>,
    /// Pairs being examined: a reference back to one of them adds nothing.
    open: HashSet<(usize, usize)>,
    /// For each subschema, the validator of its keywords without subschemas.
    leaves: HashMap<usize, Option<Rc<Validator>>>,
    /// The values of long enums.
    options: HashMap<usize, Rc<AllowedValues>>,
    /// Keys as values. They are kept so that no other value gets the same address.
    #[expect(clippy::vec_box, reason = "a plain vector would move them when it grows")]
    names: Vec<Box<Value>>,
    none: Findings,
    /// Represents any fault if no words are needed.
    fault: Findings,
    question: EvaluatorQuestion,
    /// Pairs that may still be examined.
    left: usize,
    /// Whether the limit was reached.
    gave_up: bool,
}

impl<'d, 's> SchemaEvaluator<'d, 's> {
    /// Whether a payload fits.
    pub(super) fn decide(document: &'d SchemaDocument<'s>, payload: &Value) -> SchemaVerdict {
        SchemaEvaluator::new(document, EvaluatorQuestion::Whether, MAX_CHECKS).verdict(payload)
    }

    fn verdict(&mut self, payload: &Value) -> SchemaVerdict {
        let fits = self.fits(self.document.root(), payload, "");
        match (self.gave_up, fits) {
            (true, _) => SchemaVerdict::Unknown,
            (false, true) => SchemaVerdict::Fits,
            (false, false) => SchemaVerdict::Faulty,
        }
    }

    /// The violations of a payload, each once.
    pub(super) fn explain(document: &'d SchemaDocument<'s>, payload: &Value) -> Vec<SchemaViolation> {
        SchemaEvaluator::new(document, EvaluatorQuestion::Why, MAX_VISITS).root(payload)
    }

    fn new(document: &'d SchemaDocument<'s>, question: EvaluatorQuestion, limit: usize) -> Self {
        SchemaEvaluator {
            document,
            known: HashMap::new(),
            open: HashSet::new(),
            leaves: HashMap::new(),
            options: HashMap::new(),
            names: Vec::new(),
            none: Rc::default(),
            fault: Rc::new(vec![other("", "", String::new())]),
            question,
            left: limit,
            gave_up: false,
        }
    }

    /// Counts work that is not a pair of its own.
    pub(super) fn spend(&mut self, pairs: usize) {
        self.left = self.left.saturating_sub(pairs);
    }

    /// Whether the findings answer the question.
    fn is_enough(&self, found: &[SchemaFinding]) -> bool {
        match self.question {
            EvaluatorQuestion::Whether => !found.is_empty(),
            EvaluatorQuestion::Why => found.len() >= MAX_FINDINGS,
        }
    }

    fn root(&mut self, payload: &Value) -> Vec<SchemaViolation> {
        let mut violations: Vec<SchemaViolation> = Vec::new();
        for finding in self.pair(self.document.root(), payload, "").iter() {
            if !violations.contains(&finding.violation) {
                violations.push(finding.violation.clone());
            }
        }
        violations.truncate(MAX_VIOLATIONS);
        violations
    }

    /// The faults of `value` at `path` under one subschema.
    pub(super) fn pair(&mut self, subschema: ScopedSubschema<'s>, value: &Value, path: &str) -> Findings {
        if let Value::Bool(allowed) = subschema.schema {
            return match allowed {
                true => self.none.clone(),
                false => Rc::new(vec![other(path, "false", "nothing is allowed here".to_owned())]),
            };
        }
        let pair = (subschema.id(), std::ptr::from_ref(value) as usize);
        if let Some(findings) = self.known.get(&pair) {
            return findings.clone();
        }
        if self.left == 0 {
            self.gave_up = true;
            return self.none.clone();
        }
        if !self.open.insert(pair) {
            return self.none.clone();
        }
        self.spend(1);
        let mut found = Vec::new();
        if !self.document.is_only_a_reference(subschema) {
            self.leaf(subschema, value, path, &mut found);
        }
        if !self.is_enough(&found) {
            self.in_place(subschema, value, path, &mut found);
        }
        if !self.is_enough(&found) && !self.document.is_only_a_reference(subschema) {
            self.below(subschema, value, path, &mut found);
        }
        found.truncate(MAX_FINDINGS);
        self.open.remove(&pair);
        let findings = match (self.question, found.is_empty()) {
            (EvaluatorQuestion::Whether, true) => self.none.clone(),
            (EvaluatorQuestion::Whether, false) => self.fault.clone(),
            (EvaluatorQuestion::Why, _) => Rc::new(found),
        };
        self.known.insert(pair, findings.clone());
        findings
    }

    /// The place of a value, computed only if words are needed.
    fn path(&self, path: impl FnOnce() -> String) -> String {
        match self.question {
            EvaluatorQuestion::Why => path(),
            EvaluatorQuestion::Whether => String::new(),
        }
    }

    /// Applies subschemas to the parts of a value.
    fn below(&mut self, subschema: ScopedSubschema<'s>, value: &Value, path: &str, out: &mut Vec<SchemaFinding>) {
        match value {
            Value::Object(map) => self.keys(subschema, value, map, path, out),
            Value::Array(items) => self.items(subschema, value, items, path, out),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    pub(super) fn fits(&mut self, subschema: ScopedSubschema<'s>, value: &Value, path: &str) -> bool {
        self.pair(subschema, value, path).is_empty()
    }

    /// Applies keywords without subschemas by the validator itself, except a long `enum`.
    fn leaf(&mut self, subschema: ScopedSubschema<'s>, value: &Value, path: &str, out: &mut Vec<SchemaFinding>) {
        if let Some(options) = long_enum(subschema)
            && !self.options(subschema, options).has(value)
        {
            match self.question {
                EvaluatorQuestion::Whether => return out.extend_from_slice(&self.fault),
                EvaluatorQuestion::Why => {
                    let message = messages::options_message(options, value);
                    out.push(SchemaFinding::new(path, "enum", message, FindingKind::Value));
                }
            }
        }
        let Some(validator) = self.leaf_validator(subschema) else {
            return;
        };
        if self.question == EvaluatorQuestion::Whether {
            if !validator.is_valid(value) {
                out.extend_from_slice(&self.fault);
            }
            return;
        }
        // A thousand required keys may be missing.
        for error in validator.iter_errors(value).take(MAX_FINDINGS) {
            let message = match error.kind() {
                ValidationErrorKind::Required { property } => self.missing_key(subschema, property),
                _ => messages::message(&error),
            };
            let kind = match error.kind() {
                ValidationErrorKind::Type { kind: wanted } => match messages::wanted_types(wanted) {
                    only_null if only_null == ["null"] => FindingKind::Null,
                    types => FindingKind::Type(types),
                },
                ValidationErrorKind::Constant { expected_value } if expected_value.is_null() => FindingKind::Null,
                ValidationErrorKind::Constant { .. } | ValidationErrorKind::Enum { .. } => FindingKind::Value,
                _ => FindingKind::Other,
            };
            let path = format!("{path}{}", error.instance_path());
            out.push(SchemaFinding::new(&path, error.kind().keyword(), message, kind));
        }
    }

    fn leaf_validator(&mut self, subschema: ScopedSubschema<'s>) -> Option<Rc<Validator>> {
        let root = self.document.root();
        self.leaves
            .entry(subschema.id())
            .or_insert_with(|| {
                let mut own = leaf_keywords(subschema.schema.as_object()?);
                if long_enum(subschema).is_some() {
                    own.remove("enum");
                }
                if own.is_empty() {
                    return None;
                }
                if let Some(dialect) = root.keyword("$schema") {
                    own.insert("$schema".to_owned(), dialect.clone());
                }
                validator_options().build(&Value::Object(own)).ok().map(Rc::new)
            })
            .clone()
    }

    fn options(&mut self, subschema: ScopedSubschema<'s>, options: &[Value]) -> Rc<AllowedValues> {
        self.options.entry(subschema.id()).or_insert_with(|| Rc::new(AllowedValues::from_options(options))).clone()
    }

    fn missing_key(&self, subschema: ScopedSubschema<'s>, property: &Value) -> String {
        let key = property.as_str().unwrap_or_default();
        let described = subschema
            .keyword("properties")
            .and_then(|properties| properties.get(key))
            .map(|schema| format!(" ({})", describe(self.document, subschema.enter(schema))))
            .unwrap_or_default();
        format!("missing key `{key}`{described}")
    }

    /// Applies subschemas to the same value.
    fn in_place(&mut self, subschema: ScopedSubschema<'s>, value: &Value, path: &str, out: &mut Vec<SchemaFinding>) {
        // Several targets are a dynamic reference, whose meaning depends on the path by which it was reached.
        if let [target] = self.document.targets(subschema)[..] {
            out.extend_from_slice(&self.pair(target, value, path));
        }
        if self.document.is_only_a_reference(subschema) {
            return;
        }
        for branch in branches(subschema, "allOf") {
            if self.is_enough(out) {
                return;
            }
            out.extend_from_slice(&self.pair(branch, value, path));
        }
        for keyword in ["anyOf", "oneOf"] {
            self.alternatives(subschema, keyword, value, path, out);
        }
        if let Some(condition) = single(subschema, "if") {
            let then = match self.fits(condition, value, path) {
                true => single(subschema, "then"),
                false => single(subschema, "else"),
            };
            if let Some(then) = then {
                out.extend_from_slice(&self.pair(then, value, path));
            }
        }
        if let Some(forbidden) = single(subschema, "not")
            && self.fits(forbidden, value, path)
        {
            let what = describe(self.document, forbidden);
            let message = format!("must not be {what}, found {}", found(value));
            out.push(other(path, "not", message));
        }
        for (key, schema) in dependent(subschema) {
            if value.get(key).is_some() {
                out.extend_from_slice(&self.pair(schema, value, path));
            }
        }
    }

    fn alternatives(
        &mut self,
        subschema: ScopedSubschema<'s>,
        keyword: &str,
        value: &Value,
        path: &str,
        out: &mut Vec<SchemaFinding>,
    ) {
        let branches = branches(subschema, keyword);
        if self.question == EvaluatorQuestion::Whether {
            if !branches.is_empty() && !self.is_one_of(&branches, keyword, value, path) {
                out.extend_from_slice(&self.fault);
            }
            return;
        }
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
            out.push(other(path, keyword, message));
        }
    }

    /// Whether the required number of alternatives fits.
    fn is_one_of(&mut self, branches: &[ScopedSubschema<'s>], keyword: &str, value: &Value, path: &str) -> bool {
        if keyword == "anyOf" {
            return branches.iter().any(|branch| self.fits(*branch, value, path));
        }
        branches.iter().filter(|branch| self.fits(**branch, value, path)).take(2).count() == 1
    }

    fn keys(
        &mut self,
        subschema: ScopedSubschema<'s>,
        value: &Value,
        map: &Map<String, Value>,
        path: &str,
        out: &mut Vec<SchemaFinding>,
    ) {
        let names = single(subschema, "propertyNames");
        let mut evaluated = None;
        for (key, item) in map {
            if self.is_enough(out) {
                return;
            }
            if let Some(names) = names {
                self.name(names, key, path, out);
            }
            for (keyword, schema) in for_key(self.document, subschema, key) {
                if keyword == "unevaluatedProperties" {
                    let evaluated = evaluated.get_or_insert_with(|| self.evaluated_in_place(subschema, value, path));
                    if evaluated.keys.contains(key) {
                        continue;
                    }
                }
                if schema.schema == &Value::Bool(false) && keyword != "properties" {
                    out.push(other(path, keyword, unknown_key(subschema, key)));
                    continue;
                }
                let below = self.path(|| pointer::join(path, key));
                out.extend_from_slice(&self.pair(schema, item, &below));
            }
        }
    }

    fn name(&mut self, names: ScopedSubschema<'s>, key: &str, path: &str, out: &mut Vec<SchemaFinding>) {
        let name = Box::new(Value::from(key));
        for finding in self.pair(names, &name, "").iter() {
            let message = format!("bad key `{}`: {}", brief(key), finding.violation.message);
            out.push(other(path, "propertyNames", message));
        }
        self.names.push(name);
    }

    fn items(
        &mut self,
        subschema: ScopedSubschema<'s>,
        value: &Value,
        items: &[Value],
        path: &str,
        out: &mut Vec<SchemaFinding>,
    ) {
        let mut evaluated = None;
        for (index, item) in items.iter().enumerate() {
            if self.is_enough(out) {
                return;
            }
            let below = self.path(|| format!("{path}/{index}"));
            for (keyword, schema) in for_item(subschema, index) {
                if keyword == "unevaluatedItems" {
                    let evaluated = evaluated.get_or_insert_with(|| self.evaluated_in_place(subschema, value, path));
                    if evaluated.items.contains(&index) {
                        continue;
                    }
                }
                out.extend_from_slice(&self.pair(schema, item, &below));
            }
        }
        if let Some(wanted) = single(subschema, "contains") {
            self.contains(subschema, wanted, items, path, out);
        }
    }

    fn contains(
        &mut self,
        subschema: ScopedSubschema<'s>,
        wanted: ScopedSubschema<'s>,
        items: &[Value],
        path: &str,
        out: &mut Vec<SchemaFinding>,
    ) {
        let mut count = 0;
        for (index, item) in items.iter().enumerate() {
            let below = self.path(|| format!("{path}/{index}"));
            count += usize::from(self.fits(wanted, item, &below));
        }
        // A whole number may be written as 2.0.
        let whole = |number: &Value| number.as_u64().or_else(|| number.as_f64().map(|float| float as u64));
        let bound = |keyword: &str| subschema.keyword(keyword).and_then(whole);
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
        out.push(other(path, "contains", message));
    }
}

/// The keywords of a schema that contain no schemas and constrain values.
fn leaf_keywords(schema: &Map<String, Value>) -> Map<String, Value> {
    let is_leaf = |keyword: &str| {
        !keyword.starts_with('$')
            && keyword != "minContains"
            && keyword != "maxContains"
            && keywords::holds(keyword) == Some(KeywordValueKind::Data)
    };
    let mut own: Map<String, Value> = schema
        .iter()
        .filter(|(keyword, _)| is_leaf(keyword))
        .map(|(keyword, value)| (keyword.clone(), value.clone()))
        .collect();
    // Before 2019-09, `dependencies` could also hold lists of keys.
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

fn unknown_key(subschema: ScopedSubschema<'_>, key: &str) -> String {
    let known: Vec<&str> = subschema
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

fn other(path: &str, keyword: &str, message: String) -> SchemaFinding {
    SchemaFinding::new(path, keyword, message, FindingKind::Other)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;
    use serde_json::json;

    use super::*;

    /// Schemas with three definitions that reference each other, by keywords that need every rule of the walk.
    fn circular() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            prop::sample::select(vec!["string", "integer", "object", "array", "null"])
                .prop_map(|name| json!({"type": name})),
            (0i64..3).prop_map(|n| json!({"const": n})),
            (0u64..3).prop_map(|n| json!({"minItems": n, "maxProperties": n})),
            Just(json!({"required": ["a"]})),
            Just(json!(true)),
            Just(json!(false)),
        ];
        let below = (prop::sample::select(vec!["a", "b"]), 0..3)
            .prop_map(|(key, n)| json!({"properties": {key: {"$ref": format!("#/$defs/d{n}")}}}));
        let items = (0..3).prop_map(|n| json!({"items": {"$ref": format!("#/$defs/d{n}")}}));
        prop_oneof![3 => leaf, 2 => below, 1 => items].prop_recursive(3, 16, 3, |inner| {
            let list = prop::sample::select(vec!["allOf", "anyOf", "oneOf"]);
            let single = prop::sample::select(vec![
                "not",
                "if",
                "then",
                "else",
                "contains",
                "items",
                "propertyNames",
                "additionalProperties",
                "unevaluatedProperties",
                "unevaluatedItems",
            ]);
            let word = (
                (list, prop::collection::vec(inner.clone(), 1..4))
                    .prop_map(|(keyword, schemas)| (keyword, json!(schemas))),
                (single, inner.clone()),
                inner.prop_map(|schema| ("properties", json!({"a": schema}))),
            );
            word.prop_map(|(a, b, c)| {
                Value::Object([a, b, c].into_iter().map(|(keyword, value)| (keyword.to_owned(), value)).collect())
            })
        })
    }

    fn payload() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![Just(json!(null)), Just(json!("a")), (0i64..3).prop_map(Value::from)];
        leaf.prop_recursive(4, 24, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[abc]", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    #[test]
    fn verdict_is_unknown_when_comparison_costs_too_much() {
        let schema = json!({"items": {"anyOf": [{"type": "null"}, {"$ref": "#"}]}});
        let document = SchemaDocument::new(&schema);
        let verdict = |items: usize| {
            let mut evaluator = SchemaEvaluator::new(&document, EvaluatorQuestion::Whether, 1000);
            evaluator.verdict(&json!(vec![json!([null]); items]))
        };
        assert_eq!([verdict(10), verdict(1000)], [SchemaVerdict::Fits, SchemaVerdict::Unknown]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, rng_seed: RngSeed::Fixed(20_261_122), ..ProptestConfig::default() })]

        /// The walk and the validator agree on small values, where the validator terminates.
        #[test]
        fn the_walk_decides_as_the_validator_does(root in circular(), defs in [circular(), circular(), circular()], payload in payload()) {
            let [d0, d1, d2] = defs;
            let schema = json!({"allOf": [root], "$defs": {"d0": d0, "d1": d1, "d2": d2}});
            if super::super::check(&schema).iter().all(|problem| problem.severity != super::super::SchemaSeverity::Error) {
                let validator = validator_options().build(&schema).unwrap();
                let expected = if validator.is_valid(&payload) { SchemaVerdict::Fits } else { SchemaVerdict::Faulty };
                let document = SchemaDocument::new(&schema);
                prop_assert_eq!(SchemaEvaluator::decide(&document, &payload), expected, "{} under {}", payload, schema);
            }
        }
    }
}
