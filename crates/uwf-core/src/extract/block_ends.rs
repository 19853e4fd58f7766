//! Finds where a header or a value in braces ends.

use std::collections::BTreeSet;
use std::ops::Range;

use super::keys::SchemaKeys;
use super::lines::{CodeFence, KeyLine, bullet, indent, is_blank, is_rule};

/// Returns the part of a range that can be a header. A heading, a rule or a code block ends it. After an empty line, only a new key of the
/// schema or the continuation of an unfinished value belongs to it.
pub(super) fn cut(text: &str, range: Range<usize>, keys: &SchemaKeys<'_>) -> Range<usize> {
    let mut end = range.start;
    let mut after_blank = false;
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut is_open = false;
    let mut at = range.start;
    for full in text[range.clone()].split_inclusive('\n') {
        let line = full.trim_end_matches('\n');
        at += full.len();
        if is_blank(line) {
            after_blank = true;
            continue;
        }
        let key = KeyLine::split_line(line).filter(|line| keys.knows(line.key));
        let own = key.filter(|key| key.indent == 0);
        let goes_on = is_open && (line.starts_with([' ', '\t']) || bullet(line).is_some());
        let is_next = own.is_some_and(|key| keys.has(key.key) || keys.extra(key.key).is_some())
            && line.starts_with(char::is_alphabetic);
        let heading = line.starts_with("## ") || (after_blank && line.starts_with("# "));
        let fence = indent(line) == 0 && CodeFence::from_line(line).is_some();
        let again = own.is_some_and(|key| seen.contains(keys.listed(key.key).unwrap_or(key.key)));
        let ends = heading || is_rule(line) || fence || (after_blank && (again || !goes_on && !is_next));
        if !seen.is_empty() && ends {
            return range.start..end;
        }
        if let Some(key) = own {
            seen.insert(keys.listed(key.key).unwrap_or(key.key));
            is_open = key.value.is_empty() || key.value.starts_with(['|', '>', '#']);
        } else if seen.is_empty()
            && let Some(key) = key
        {
            seen.insert(keys.listed(key.key).unwrap_or(key.key));
        }
        after_blank = false;
        end = at;
    }
    range.start..range.end.max(end)
}

/// Returns the offset after the brace that closes the one at `start`, skipping strings. `budget` limits the bytes read.
pub(super) fn balanced(text: &str, start: usize, budget: &mut usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut in_text = false;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(start) {
        *budget = budget.checked_sub(1)?;
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}
