//! Builds the tree of a YAML file from the events of its parser, within limits.

use std::collections::{HashMap, HashSet};

use saphyr_parser::{Event, Marker, ScalarStyle, Span, Tag};

use super::problem::{Position, Problems};
use super::source::{MAX_DEPTH, duplicate};
use super::tree::{Data, Entry, Node};

/// Weight of the tree, one per value and per [`TEXT_UNIT`] bytes of text, aliases expanded: what a bomb of
/// aliases can make us hold is some tens of MB.
const MAX_WEIGHT: usize = 250_000;

/// Bytes of text that weigh as much as one value.
const TEXT_UNIT: usize = 64;

/// Something after which the rest of the file cannot be understood.
pub(super) struct Fatal {
    pub(super) code: &'static str,
    pub(super) at: Position,
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

fn fatal<T>(code: &'static str, at: Position, message: &str, hint: Option<&str>) -> Result<T, Fatal> {
    Err(Fatal { code, at, message: message.to_owned(), hint: hint.map(str::to_owned) })
}

pub(super) fn place(marker: Marker) -> Position {
    Position { line: marker.line(), column: marker.col() + 1 }
}

/// A collection that is still open.
struct Frame {
    at: Position,
    anchor: usize,
    kind: FrameKind,
}

enum FrameKind {
    Sequence(Vec<Node>),
    Mapping { entries: Vec<Entry>, keys: HashMap<String, Position>, key: Option<(String, Position)>, merges: Vec<Node> },
}

/// A finished value that aliases may repeat.
struct Anchored {
    node: Node,
    weight: usize,
    height: usize,
}

/// Puts the events of a YAML parser together.
pub(super) struct Builder<'p> {
    problems: &'p mut Problems,
    pub(super) root: Option<Node>,
    stack: Vec<Frame>,
    anchors: HashMap<usize, Anchored>,
    weight: usize,
}

impl Builder<'_> {
    pub(super) fn new(problems: &mut Problems) -> Builder<'_> {
        Builder { problems, root: None, stack: Vec::new(), anchors: HashMap::new(), weight: 0 }
    }

    pub(super) fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), Fatal> {
        let at = place(span.start);
        match event {
            Event::DocumentStart(_) if self.root.is_some() => {
                fatal("many-documents", at, "a second document starts here", Some("keep one document per file"))
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentStart(_) | Event::DocumentEnd => {
                Ok(())
            }
            Event::Alias(id) => self.alias(id, at),
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain && !self.is_text_tag(tag.as_deref(), at, true);
                let node = Node { at, data: Data::Scalar { text: text.into_owned(), plain } };
                self.spend(weigh(&node), at)?;
                self.remember(anchor, &node);
                self.value(node)
            }
            Event::SequenceStart(anchor, tag) => self.open(at, anchor, tag.as_deref(), FrameKind::Sequence(Vec::new())),
            Event::MappingStart(anchor, tag) => {
                let kind =
                    FrameKind::Mapping { entries: Vec::new(), keys: HashMap::new(), key: None, merges: Vec::new() };
                self.open(at, anchor, tag.as_deref(), kind)
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
        }
    }

    /// Whether a tag makes a scalar a text; any tag that is not of the core schema is an error.
    fn is_text_tag(&mut self, tag: Option<&Tag>, at: Position, scalar: bool) -> bool {
        let Some(tag) = tag else { return false };
        let known = match tag.suffix.as_str() {
            "str" | "int" | "float" | "bool" | "null" => scalar,
            "seq" | "map" => !scalar,
            _ => false,
        };
        if !tag.is_yaml_core_schema() && !tag.handle.is_empty() || !known {
            let hint = "quote the text if the `!` belongs to it";
            self.problems.error("tag", at, format!("the tag `{tag}` means nothing here"), Some(hint.to_owned()));
        }
        tag.suffix == "str"
    }

    fn spend(&mut self, weight: usize, at: Position) -> Result<(), Fatal> {
        self.weight += weight;
        if self.weight > MAX_WEIGHT {
            return fatal("too-big", at, "the file holds too many values here, aliases expanded", None);
        }
        Ok(())
    }

    fn open(&mut self, at: Position, anchor: usize, tag: Option<&Tag>, kind: FrameKind) -> Result<(), Fatal> {
        if let Some(Frame { kind: FrameKind::Mapping { key: None, .. }, .. }) = self.stack.last() {
            return fatal("complex-key", at, "a key must be a text", None);
        }
        if self.stack.len() >= MAX_DEPTH {
            return fatal("too-deep", at, &format!("nested deeper than {MAX_DEPTH} levels"), None);
        }
        self.is_text_tag(tag, at, false);
        self.spend(1, at)?;
        self.stack.push(Frame { at, anchor, kind });
        Ok(())
    }

    fn close(&mut self) -> Result<(), Fatal> {
        let Some(Frame { at, anchor, kind }) = self.stack.pop() else {
            return Ok(());
        };
        let data = match kind {
            FrameKind::Sequence(items) => Data::Sequence(items),
            FrameKind::Mapping { mut entries, keys, merges, key: _ } => {
                let mut own: HashSet<String> = keys.into_keys().collect();
                for merge in merges {
                    self.merge(&mut entries, &mut own, merge);
                }
                Data::Mapping(entries)
            }
        };
        let node = Node { at, data };
        self.remember(anchor, &node);
        self.value(node)
    }

    /// Takes the keys of `<<` that the mapping does not have yet.
    fn merge(&mut self, entries: &mut Vec<Entry>, own: &mut HashSet<String>, merge: Node) {
        match merge.data {
            Data::Mapping(more) => {
                entries.extend(more.into_iter().filter(|entry| own.insert(entry.key.clone())));
            }
            Data::Sequence(items) if items.iter().all(|item| matches!(item.data, Data::Mapping(_))) => {
                for item in items {
                    self.merge(entries, own, item);
                }
            }
            Data::Sequence(_) | Data::Scalar { .. } => {
                let message = "`<<` takes a mapping or a list of mappings".to_owned();
                self.problems.error("bad-merge", merge.at, message, None);
            }
        }
    }

    fn remember(&mut self, anchor: usize, node: &Node) {
        if anchor > 0 {
            let (weight, height) = measure(node);
            self.anchors.insert(anchor, Anchored { node: node.clone(), weight, height });
        }
    }

    fn alias(&mut self, id: usize, at: Position) -> Result<(), Fatal> {
        let Some(anchored) = self.anchors.get(&id) else {
            return fatal("bad-alias", at, "this alias stands inside the value it refers to", None);
        };
        if self.stack.len() + anchored.height > MAX_DEPTH {
            return fatal("too-deep", at, &format!("nested deeper than {MAX_DEPTH} levels"), None);
        }
        let weight = anchored.weight;
        self.spend(weight, at)?;
        let mut node = self.anchors[&id].node.clone();
        node.at = at;
        self.value(node)
    }

    /// Puts a finished value where the innermost open collection expects it.
    fn value(&mut self, node: Node) -> Result<(), Fatal> {
        let Some(frame) = self.stack.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match &mut frame.kind {
            FrameKind::Sequence(items) => items.push(node),
            FrameKind::Mapping { key: key @ None, .. } => match node.data {
                Data::Scalar { text, .. } => *key = Some((text, node.at)),
                Data::Sequence(_) | Data::Mapping(_) => {
                    return fatal("complex-key", node.at, "a key must be a text", None);
                }
            },
            FrameKind::Mapping { entries, keys, key: open @ Some(_), merges } => {
                let Some((key, key_at)) = open.take() else {
                    return Ok(());
                };
                if key == "<<" {
                    merges.push(node);
                } else if let Some(first) = keys.get(&key) {
                    self.problems.error("duplicate-key", key_at, duplicate(&key, *first), None);
                } else {
                    keys.insert(key.clone(), key_at);
                    entries.push(Entry { key, key_at, value: node });
                }
            }
        }
        Ok(())
    }
}

fn weigh(node: &Node) -> usize {
    match &node.data {
        Data::Scalar { text, .. } => 1 + text.len() / TEXT_UNIT,
        Data::Sequence(_) | Data::Mapping(_) => 1,
    }
}

/// Weight and height of a tree.
fn measure(node: &Node) -> (usize, usize) {
    let children: Vec<(usize, usize)> = match &node.data {
        Data::Scalar { .. } => Vec::new(),
        Data::Sequence(items) => items.iter().map(measure).collect(),
        Data::Mapping(entries) => entries.iter().map(|entry| measure(&entry.value)).collect(),
    };
    let weight = children.iter().map(|(weight, _)| weight).sum::<usize>() + weigh(node);
    let height = children.iter().map(|(_, height)| height + 1).max().unwrap_or(0);
    (weight, height)
}
