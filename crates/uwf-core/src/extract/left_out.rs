//! Text of a block that its value does not contain: keys that the schema lacks, and comments.
//!
//! This text is kept beside the value, because it may say the opposite: `approved: true # see the log`.

use std::collections::BTreeSet;

use super::lines::{KeyLine, indent};
use super::tree::{RawContent, RawTree};

/// Returns the sections of a YAML block that have one of these keys or lines. If a key is not found, returns the whole block.
pub(super) fn sections(block: &str, keys: &[String], lines: &BTreeSet<usize>) -> String {
    if keys.is_empty() && lines.is_empty() {
        return String::new();
    }
    let mut missing: BTreeSet<&str> = keys.iter().map(String::as_str).collect();
    let edge = block.lines().filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or(0);
    let mut kept = String::new();
    let mut section = String::new();
    let mut is_kept = false;
    for (number, line) in block.lines().enumerate() {
        let key =
            KeyLine::split_line(line).filter(|key| key.indent == edge && !line.trim_start().starts_with(['#', '-']));
        let is_comment = line.trim_start().starts_with('#') && indent(line) == edge;
        if key.is_some() || is_comment {
            if is_kept {
                kept.push_str(&section);
            }
            section.clear();
            is_kept = false;
        }
        section.push_str(line);
        section.push('\n');
        is_kept |= lines.contains(&number) || key.is_some_and(|key| missing.remove(key.key));
    }
    if is_kept {
        kept.push_str(&section);
    }
    let text = if missing.is_empty() { &kept } else { block };
    text.trim_matches('\n').trim_end().to_owned()
}

/// Returns the numbers of the lines with a comment, for a tree that was read from the block. Text that a scalar keeps as `uncut` is not a
/// comment.
pub(super) fn comment_lines(block: &str, raw: &RawTree) -> BTreeSet<usize> {
    if !block.contains('#') {
        return BTreeSet::new();
    }
    let mut texts = Vec::new();
    scalars(raw, &mut texts);
    let mut lines = BTreeSet::new();
    let mut at = 0;
    for (number, line) in block.split_inclusive('\n').enumerate() {
        let begins = line.match_indices('#').map(|(offset, _)| offset).find(|offset| {
            let is_apart = line[..*offset].ends_with([' ', '\t']) || *offset == 0;
            is_apart && !texts.iter().any(|text| text.contains(&(at + offset)))
        });
        if begins.is_some() {
            lines.insert(number);
        }
        at += line.len();
    }
    lines
}

/// Returns the comments of a value's text, without their marks.
pub(super) fn comments(text: &str) -> String {
    let comment = |line: &&str| {
        let is_apart = |at: usize| line[..at].trim_end().is_empty() || line[..at].ends_with([' ', '\t', ',']);
        let begins =
            ["#", "//"].into_iter().flat_map(|mark| line.match_indices(mark).map(|(at, mark)| (at, at + mark.len())));
        begins.filter(|(at, _)| is_apart(*at)).min()
    };
    text.lines().filter_map(|line| comment(&line).map(|(_, end)| format!("{}\n", line[end..].trim()))).collect()
}

/// Collects the places of all scalars.
fn scalars(raw: &RawTree, into: &mut Vec<std::ops::Range<usize>>) {
    match &raw.content {
        RawContent::Scalar(scalar) => {
            if let Some(mut range) = raw.range() {
                range.end += scalar.uncut.as_ref().map_or(0, String::len);
                into.push(range);
            }
        }
        RawContent::List(items) => items.iter().for_each(|item| scalars(item, into)),
        RawContent::Map(entries) => entries.iter().for_each(|(_, value)| scalars(value, into)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::yaml;
    use super::*;

    #[test]
    fn sections_with_lost_text_are_kept_whole() {
        let block = "a: 1\nb:\n  - x\n\n  - y\n# why\nc: 3 # no\n";
        let kept = |keys: &[&str], lines: &[usize]| {
            let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
            sections(block, &keys, &lines.iter().copied().collect())
        };
        assert_eq!(kept(&[], &[]), "");
        assert_eq!(kept(&["b"], &[]), "b:\n  - x\n\n  - y");
        assert_eq!(kept(&["a"], &[5, 6]), "a: 1\n# why\nc: 3 # no");
        assert_eq!(kept(&["d"], &[]), block.trim_end());
    }

    #[test]
    fn comments_are_distinguished_from_text() {
        let block = "# a\nb: c # d\ne: \"f # g\"\nh: |\n  # i\n  j\nk: l#m\nn: #42\n";
        assert_eq!(comment_lines(block, &yaml::parse(block).unwrap()), BTreeSet::from([0]));
        let block = "b: [1, 2] # c\nd:\n  # e\n  f: g\n";
        assert_eq!(comment_lines(block, &yaml::parse(block).unwrap()), BTreeSet::from([0, 2]));
    }
}
