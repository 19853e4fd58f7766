//! How large a schema is once its references are written out.
//!
//! 28 `$defs`, each naming the next twice, are 2 KB of text and 2^28 schemas. Readers that write
//! references out, the validator among them, would never end.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::document::{Document, Place};
use super::keywords::subschemas;
use super::options::MAX_PLAIN_LIST;
use super::problem::SchemaProblem;

/// References that a schema may have when all of them are written out, those of definitions that
/// name each other in a circle counting once. Hand-written schemas have dozens.
const MAX_EXPANDED_REFS: usize = 4096;

/// Longest chain of references into references.
const MAX_REF_DEPTH: usize = 64;

/// Subschemas that may be named by references.
const MAX_TARGETS: usize = 1000;

/// References written out, and `unevaluated…` keywords, that a schema may have before the validator is no longer trusted
/// to end: it looks at a value again for each reference, and for each `unevaluated…` around it twice.
const MAX_PLAIN_REFS: usize = 256;
const MAX_PLAIN_UNEVALUATED: usize = 4;

/// Whether the time to check a value has no bound in the sizes of schema and value: then it is not left to the validator.
/// A schema that refers to itself (twelve kinds of node whose children are any of them: 20 levels of a wrong value took ten
/// seconds), one that is large when written out, one with `unevaluated…` within `unevaluated…` (18 deep: a minute), one with a
/// long list of allowed values (100,000, and 20,000 others in the answer: two minutes).
pub(super) fn is_unbounded(schema: &Value) -> bool {
    let mentioned = Mentioned::of(schema);
    if mentioned.unevaluated > MAX_PLAIN_UNEVALUATED || mentioned.longest > MAX_PLAIN_LIST {
        return true;
    }
    if mentioned.references == 0 {
        return false;
    }
    let document = Document::new(schema);
    Graph::new(&document).is_ok_and(|graph| {
        let circles = circles(&graph.all);
        let in_circle =
            |(number, targets): (usize, &Vec<usize>)| targets.iter().any(|to| circles[*to] == circles[number]);
        graph.all.iter().enumerate().any(in_circle) || graph.size(&circles).refs > MAX_PLAIN_REFS
    })
}

/// What keeps a schema from being judged in bounded time: what `$dynamicRef` means depends on the way that was taken to it,
/// which only the validator knows, and that is not trusted to end.
pub(super) fn unjudgeable(schema: &Value) -> Option<SchemaProblem> {
    let message = "it refers to itself, or has many references, and some are `$dynamicRef` or `$recursiveRef`: judging a \
                   value could take for ever; use `$ref`";
    (is_unbounded(schema) && is_dynamic(schema)).then(|| SchemaProblem::error("", message.to_owned()))
}

fn is_dynamic(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map.iter().any(|(key, value)| {
            matches!(key.as_str(), "$dynamicRef" | "$recursiveRef") && value.is_string() || is_dynamic(value)
        }),
        Value::Array(items) => items.iter().any(is_dynamic),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Words that make a schema costly, wherever they stand; data that looks like them counts too.
#[derive(Debug, Default)]
struct Mentioned {
    references: usize,
    unevaluated: usize,
    /// Length of the longest list that a value is compared with one by one.
    longest: usize,
}

impl Mentioned {
    fn of(schema: &Value) -> Mentioned {
        let mut mentioned = Mentioned::default();
        mentioned.add(schema);
        mentioned
    }

    fn add(&mut self, value: &Value) {
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    match key.as_str() {
                        "$ref" | "$dynamicRef" | "$recursiveRef" => self.references += 1,
                        "unevaluatedProperties" | "unevaluatedItems" => self.unevaluated += 1,
                        "enum" | "anyOf" | "oneOf" | "allOf" => {
                            self.longest = self.longest.max(value.as_array().map_or(0, Vec::len));
                        }
                        _ => {}
                    }
                    self.add(value);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.add(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

/// What is wrong with the size of a schema, if anything.
pub(super) fn problem(document: &Document<'_>) -> Option<SchemaProblem> {
    let message = match Graph::new(document).and_then(|graph| graph.check()) {
        Ok(()) => return None,
        Err(Limit::Refs) => {
            format!("its references amount to more than {MAX_EXPANDED_REFS} when written out")
        }
        Err(Limit::Depth) => {
            format!("its references lead through more than {MAX_REF_DEPTH} others")
        }
        Err(Limit::Circle) => "a reference leads back to itself for the same value, so it means nothing".to_owned(),
        Err(Limit::Targets) => format!("its references name more than {MAX_TARGETS} definitions"),
    };
    Some(SchemaProblem::error("", message))
}

enum Limit {
    Refs,
    Depth,
    Circle,
    Targets,
}

/// Which definitions name which; number 0 is the schema itself.
struct Graph {
    /// All references of a definition, a definition named twice being there twice.
    all: Vec<Vec<usize>>,
    /// Those that apply to the same value as the definition.
    in_place: Vec<Vec<usize>>,
}

impl Graph {
    fn new(document: &Document<'_>) -> Result<Graph, Limit> {
        let mut graph = Graph { all: Vec::new(), in_place: Vec::new() };
        let mut places = vec![document.root()];
        let mut numbers = HashMap::from([(document.root().id(), 0)]);
        while let Some(place) = places.get(graph.all.len()).copied() {
            let mut found = Vec::new();
            collect(document, place, true, &mut found);
            let (mut all, mut in_place) = (Vec::new(), Vec::new());
            for (target, applies_in_place) in found {
                let number = *numbers.entry(target.id()).or_insert_with(|| {
                    places.push(target);
                    places.len() - 1
                });
                all.push(number);
                if applies_in_place {
                    in_place.push(number);
                }
            }
            graph.all.push(all);
            graph.in_place.push(in_place);
            if places.len() > MAX_TARGETS {
                return Err(Limit::Targets);
            }
        }
        Ok(graph)
    }

    fn check(&self) -> Result<(), Limit> {
        // What applies to one value is written out by every validator, however large the value.
        for start in 0..self.in_place.len() {
            let mut walk = InPlace { edges: &self.in_place, open: HashSet::new(), refs: 0 };
            walk.visit(start)?;
        }
        let whole = self.size(&circles(&self.all));
        if whole.refs > MAX_EXPANDED_REFS {
            return Err(Limit::Refs);
        }
        if whole.depth > MAX_REF_DEPTH {
            return Err(Limit::Depth);
        }
        Ok(())
    }

    /// The whole schema written out, each circle once.
    fn size(&self, circles: &[usize]) -> Size {
        let mut sizes: HashMap<usize, Size> = HashMap::new();
        // Circles are numbered so that what a circle names comes before it.
        let last = circles.iter().copied().max().unwrap_or(0);
        for circle in 0..=last {
            let mut size = Size::default();
            for (number, targets) in self.all.iter().enumerate() {
                for target in targets.iter().filter(|_| circles[number] == circle) {
                    let inner = sizes.get(&circles[*target]).copied().unwrap_or_default();
                    size.refs = size.refs.saturating_add(inner.refs).saturating_add(1);
                    size.depth = size.depth.max(inner.depth + 1);
                }
            }
            sizes.insert(circle, size);
        }
        sizes.get(&circles[0]).copied().unwrap_or_default()
    }
}

/// A circle of definitions, written out.
#[derive(Debug, Default, Copy, Clone)]
struct Size {
    refs: usize,
    depth: usize,
}

/// The references in a definition, each with whether it applies in place.
fn collect<'s>(document: &Document<'s>, place: Place<'s>, in_place: bool, found: &mut Vec<(Place<'s>, bool)>) {
    let targets = document.targets(place);
    found.extend(targets.iter().map(|target| (*target, in_place)));
    for (keyword, value) in place.schema.as_object().into_iter().flatten() {
        // Definitions count where they are named.
        if matches!(keyword.as_str(), "$defs" | "definitions") {
            continue;
        }
        let still = in_place && applies_in_place(keyword);
        for schema in below(keyword, value) {
            collect(document, place.enter(schema), still, found);
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
    fn visit(&mut self, number: usize) -> Result<(), Limit> {
        if !self.open.insert(number) {
            return Err(Limit::Circle);
        }
        if self.open.len() > MAX_REF_DEPTH {
            return Err(Limit::Depth);
        }
        for target in &self.edges[number] {
            self.refs += 1;
            if self.refs > MAX_EXPANDED_REFS {
                return Err(Limit::Refs);
            }
            self.visit(*target)?;
        }
        self.open.remove(&number);
        Ok(())
    }
}

/// For every definition the number of its circle: definitions that can reach each other share one,
/// and what a circle names has a lower number (strongly connected components by Tarjan's method).
fn circles(edges: &[Vec<usize>]) -> Vec<usize> {
    let mut search = Circles {
        edges,
        order: vec![None; edges.len()],
        low: vec![0; edges.len()],
        circle: vec![None; edges.len()],
        stack: Vec::new(),
        visited: 0,
        finished: 0,
    };
    for number in 0..edges.len() {
        if search.order[number].is_none() {
            search.visit(number);
        }
    }
    search.circle.into_iter().map(|circle| circle.unwrap_or(0)).collect()
}

struct Circles<'g> {
    edges: &'g [Vec<usize>],
    order: Vec<Option<usize>>,
    low: Vec<usize>,
    circle: Vec<Option<usize>>,
    stack: Vec<usize>,
    visited: usize,
    finished: usize,
}

impl Circles<'_> {
    /// Goes at most [`MAX_TARGETS`] deep.
    fn visit(&mut self, number: usize) {
        self.order[number] = Some(self.visited);
        self.low[number] = self.visited;
        self.visited += 1;
        let height = self.stack.len();
        self.stack.push(number);
        for target in &self.edges[number] {
            match (self.order[*target], self.circle[*target]) {
                (None, _) => {
                    self.visit(*target);
                    self.low[number] = self.low[number].min(self.low[*target]);
                }
                (Some(order), None) => self.low[number] = self.low[number].min(order),
                (Some(_), Some(_)) => {}
            }
        }
        if self.order[number] == Some(self.low[number]) {
            for member in self.stack.split_off(height) {
                self.circle[member] = Some(self.finished);
            }
            self.finished += 1;
        }
    }
}
