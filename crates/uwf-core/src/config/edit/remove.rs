//! Removes a key from a text.

use super::path::KeyPath;
use super::splice::{next_line, spliced};
use super::tree::{EditTree, ValueForm};
use yaml_tree::MappingEntry;

/// The text without the key; `None` if its form is not understood.
pub(super) fn remove(tree: &EditTree<'_>, path: &KeyPath) -> Option<String> {
    let found = tree.along(path.parts());
    if found.len() != path.parts().len() {
        return None;
    }
    let (entry, above) = found.split_last()?;
    let parent = above.last().map(|entry| &entry.value).or(tree.root.as_ref())?;
    match ValueForm::from_node(parent) {
        ValueForm::Block(_) => {
            let from = tree.text[..entry.key_span.start].rfind('\n').map_or(0, |newline| newline + 1);
            Some(spliced(tree.text, from, next_line(tree.text, entry.end()), ""))
        }
        // The last key of a mapping in braces leaves null, like the last line of a block.
        ValueForm::Flow(entries) if entries.len() == 1 => {
            above.last().map(|_| spliced(tree.text, parent.span.start, parent.span.end, "null"))
        }
        ValueForm::Flow(entries) => from_braces(tree.text, entries, entry),
        ValueForm::Nothing | ValueForm::Scalar(_) | ValueForm::Alias | ValueForm::List | ValueForm::FlowList => None,
    }
}

/// Removes a key and one comma beside it.
fn from_braces(text: &str, entries: &[MappingEntry], entry: &MappingEntry) -> Option<String> {
    let at = entries.iter().position(|other| std::ptr::eq(other, entry))?;
    let (from, to) = match (at.checked_sub(1).and_then(|before| entries.get(before)), entries.get(at + 1)) {
        (_, Some(next)) => (entry.key_span.start, next.key_span.start),
        (Some(before), None) => (before.end(), entry.end()),
        (None, None) => return None,
    };
    // Keep a comment between two keys.
    let (gap_from, gap_to) =
        if from == entry.key_span.start { (entry.end(), to) } else { (from, entry.key_span.start) };
    (!text[gap_from..gap_to].contains('#')).then(|| spliced(text, from, to, ""))
}
