//! The size of a schema with its references written out.
//!
//! 28 `$defs` that each reference the next one twice are 2 KB of text and 2^28 schemas. Readers that write references out, such as the
//! validator, would never finish.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::document::{SchemaDocument, ScopedSubschema};
use super::keywords::subschemas;
use super::long_enum::MAX_PLAIN_LIST;
use super::problem::SchemaProblem;

/// Maximum number of references with all references written out. References within a circle of definitions count once. Hand-written
/// schemas have dozens.
const MAX_EXPANDED_REFS: usize = 4096;

/// Longest chain of references through other references.
const MAX_REF_DEPTH: usize = 64;

/// Maximum number of subschemas named by references.
const MAX_TARGETS: usize = 1000;

/// Number of written-out references, and of `unevaluated…` keywords, up to which the validator is trusted to finish. It examines a value
/// again for each reference, and twice for each enclosing `unevaluated…`.
const MAX_PLAIN_REFS: usize = 256;
const MAX_PLAIN_UNEVALUATED: usize = 4;

/// Whether the time to check a value is not bounded by the sizes of schema and value. Then the validator must not decide. Such schemas
/// are:
///
/// * a schema that refers to itself (twelve kinds of node with children of any kind: 20 levels of a wrong value took ten seconds)
/// * a schema that is large when written out
/// * a schema with `unevaluated…` within `unevaluated…` (18 deep: a minute)
/// * a schema with a long list of allowed values (100,000, and 20,000 others in the answer: two minutes)
pub(super) fn is_unbounded(schema: &Value) -> bool {
    let mentioned = KeywordCounts::count(schema);
    if mentioned.unevaluated > MAX_PLAIN_UNEVALUATED || mentioned.longest > MAX_PLAIN_LIST {
        return true;
    }
    if mentioned.references == 0 {
        return false;
    }
    let document = SchemaDocument::new(schema);
    DefinitionGraph::new(&document).is_ok_and(|graph| {
        let reached = graph.reached();
        (0..reached.len()).any(|number| reached[number][number]) || graph.size().refs > MAX_PLAIN_REFS
    })
}

/// Why a schema can't be judged in bounded time, if that is the case. The meaning of `$dynamicRef` depends on the path by which it was
/// reached. Only the validator knows that path, and on such a schema it is not trusted to finish.
pub(super) fn unjudgeable(schema: &Value) -> Option<SchemaProblem> {
    let message = "it refers to itself, or has many references, and some are `$dynamicRef` or `$recursiveRef`: judging a \
                   value could take for ever; use `$ref`";
    (is_unbounded(schema) && is_dynamic(schema)).then(|| SchemaProblem::error("", message.to_owned()))
}

fn is_dynamic(schema: &Value) -> bool {
    let mut is_dynamic = false;
    each_entry(schema, &mut |key, value| {
        is_dynamic |= matches!(key, "$dynamicRef" | "$recursiveRef") && value.is_string();
    });
    is_dynamic
}

/// Visits every key of every object, with its value.
fn each_entry(value: &Value, look: &mut impl FnMut(&str, &Value)) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            look(key, value);
            each_entry(value, look);
        }),
        Value::Array(items) => items.iter().for_each(|item| each_entry(item, look)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Counts keywords that make a schema expensive, anywhere in it. Data that looks like such keywords counts as well.
#[derive(Debug, Default)]
struct KeywordCounts {
    references: usize,
    unevaluated: usize,
    /// Length of the longest list whose entries are compared with a value one by one.
    longest: usize,
}

impl KeywordCounts {
    fn count(schema: &Value) -> KeywordCounts {
        let mut mentioned = KeywordCounts::default();
        each_entry(schema, &mut |key, value| match key {
            "$ref" | "$dynamicRef" | "$recursiveRef" => mentioned.references += 1,
            "unevaluatedProperties" | "unevaluatedItems" => mentioned.unevaluated += 1,
            "enum" | "anyOf" | "oneOf" | "allOf" => {
                mentioned.longest = mentioned.longest.max(value.as_array().map_or(0, Vec::len));
            }
            _ => {}
        });
        mentioned
    }
}

/// The problem with the size of a schema, if it has one.
pub(super) fn problem(document: &SchemaDocument<'_>) -> Option<SchemaProblem> {
    let message = match DefinitionGraph::new(document).and_then(|graph| graph.check()) {
        Ok(()) => return None,
        Err(ExpansionLimit::Refs) => {
            format!("its references amount to more than {MAX_EXPANDED_REFS} when written out")
        }
        Err(ExpansionLimit::Depth) => {
            format!("its references lead through more than {MAX_REF_DEPTH} others")
        }
        Err(ExpansionLimit::Circle) => {
            "a reference leads back to itself for the same value, so it means nothing".to_owned()
        }
        Err(ExpansionLimit::Targets) => format!("its references name more than {MAX_TARGETS} definitions"),
    };
    Some(SchemaProblem::error("", message))
}

enum ExpansionLimit {
    Refs,
    Depth,
    Circle,
    Targets,
}

/// The definitions and their references. Number 0 is the schema itself.
struct DefinitionGraph {
    /// All references of a definition. A definition that is named twice appears twice.
    all: Vec<Vec<usize>>,
    /// The references that apply to the same value as the definition.
    in_place: Vec<Vec<usize>>,
}

impl DefinitionGraph {
    fn new(document: &SchemaDocument<'_>) -> Result<DefinitionGraph, ExpansionLimit> {
        let mut graph = DefinitionGraph { all: Vec::new(), in_place: Vec::new() };
        let mut subschemas = vec![document.root()];
        let mut numbers = HashMap::from([(document.root().id(), 0)]);
        while let Some(subschema) = subschemas.get(graph.all.len()).copied() {
            let mut found = Vec::new();
            collect(document, subschema, true, &mut found);
            let (mut all, mut in_place) = (Vec::new(), Vec::new());
            for (target, applies_in_place) in found {
                let number = *numbers.entry(target.id()).or_insert_with(|| {
                    subschemas.push(target);
                    subschemas.len() - 1
                });
                all.push(number);
                if applies_in_place {
                    in_place.push(number);
                }
            }
            graph.all.push(all);
            graph.in_place.push(in_place);
            if subschemas.len() > MAX_TARGETS {
                return Err(ExpansionLimit::Targets);
            }
        }
        Ok(graph)
    }

    fn check(&self) -> Result<(), ExpansionLimit> {
        // Every validator writes out what applies to one value, however large the value is.
        for start in 0..self.in_place.len() {
            let mut walk = InPlace { edges: &self.in_place, open: HashSet::new(), refs: 0 };
            walk.visit(start)?;
        }
        let whole = self.size();
        if whole.refs > MAX_EXPANDED_REFS {
            return Err(ExpansionLimit::Refs);
        }
        if whole.depth > MAX_REF_DEPTH {
            return Err(ExpansionLimit::Depth);
        }
        Ok(())
    }

    /// For each definition, the definitions it reaches directly or indirectly.
    fn reached(&self) -> Vec<Vec<bool>> {
        let from = |start: &Vec<usize>| {
            let mut reached = vec![false; self.all.len()];
            let mut open = start.clone();
            while let Some(number) = open.pop() {
                if !std::mem::replace(&mut reached[number], true) {
                    open.extend(&self.all[number]);
                }
            }
            reached
        };
        self.all.iter().map(from).collect()
    }

    /// The size of the whole schema written out. Definitions that reach each other form a circle, which is written out once.
    fn size(&self) -> ExpansionSize {
        let reached = self.reached();
        let leads_back = |a: usize, b: usize| reached[a][b] && reached[b][a];
        // A circle gets the number of its first definition.
        let circle_of = |number: usize| (0..number).find(|first| leads_back(*first, number)).unwrap_or(number);
        self.size_of(0, &(0..self.all.len()).map(circle_of).collect::<Vec<_>>(), &mut HashMap::new())
    }

    fn size_of(&self, circle: usize, circles: &[usize], known: &mut HashMap<usize, ExpansionSize>) -> ExpansionSize {
        if let Some(size) = known.get(&circle) {
            return *size;
        }
        let mut size = ExpansionSize::default();
        let members = (0..circles.len()).filter(|number| circles[*number] == circle);
        for target in members.flat_map(|number| &self.all[number]) {
            let is_inside = circles[*target] == circle;
            let inner =
                if is_inside { ExpansionSize::default() } else { self.size_of(circles[*target], circles, known) };
            size.refs = size.refs.saturating_add(inner.refs).saturating_add(1);
            size.depth = size.depth.max(inner.depth + 1);
        }
        known.insert(circle, size);
        size
    }
}

/// The size of a written-out circle of definitions.
#[derive(Debug, Default, Copy, Clone)]
struct ExpansionSize {
    refs: usize,
    depth: usize,
}

/// Collects the references in a definition, each with whether it applies to the same value.
fn collect<'s>(
    document: &SchemaDocument<'s>,
    subschema: ScopedSubschema<'s>,
    in_place: bool,
    found: &mut Vec<(ScopedSubschema<'s>, bool)>,
) {
    let targets = document.targets(subschema);
    found.extend(targets.iter().map(|target| (*target, in_place)));
    for (keyword, value) in subschema.schema.as_object().into_iter().flatten() {
        // Definitions count where they are named.
        if matches!(keyword.as_str(), "$defs" | "definitions") {
            continue;
        }
        let still = in_place && applies_in_place(keyword);
        for schema in below(keyword, value) {
            collect(document, subschema.enter(schema), still, found);
        }
    }
}

fn applies_in_place(keyword: &str) -> bool {
    matches!(
        keyword,
        "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" | "dependentSchemas" | "dependencies"
    )
}

fn below<'s>(keyword: &str, value: &'s Value) -> impl Iterator<Item = &'s Value> {
    subschemas(keyword, value, "").into_iter().map(|(_, schema)| schema)
}

/// Writes out what applies to one value.
struct InPlace<'g> {
    edges: &'g [Vec<usize>],
    open: HashSet<usize>,
    refs: usize,
}

impl InPlace<'_> {
    fn visit(&mut self, number: usize) -> Result<(), ExpansionLimit> {
        if !self.open.insert(number) {
            return Err(ExpansionLimit::Circle);
        }
        if self.open.len() > MAX_REF_DEPTH {
            return Err(ExpansionLimit::Depth);
        }
        for target in &self.edges[number] {
            self.refs += 1;
            if self.refs > MAX_EXPANDED_REFS {
                return Err(ExpansionLimit::Refs);
            }
            self.visit(*target)?;
        }
        self.open.remove(&number);
        Ok(())
    }
}
