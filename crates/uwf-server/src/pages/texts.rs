//! Texts of any length on a page. Long texts are cut and link to the complete text.

use json_cas::NodeHash;
use maud::{Markup, html};
use serde_json::Value;
use uwf_core::text::ellipsize;

use crate::markdown::{self, in_one_line, web_links};

/// Bytes shown of a text.
pub(crate) const SHOWN: usize = 20_000;

/// Bytes shown of a text that is one of many, such as a tool call's result.
pub(crate) const EXCERPT: usize = 4_000;

/// Characters of a first line that represents a text.
const TITLE: usize = 90;

/// A text without formatting; if it is cut, `node` links to the complete one.
pub(crate) fn plain(text: &str, limit: usize, node: Option<NodeHash>) -> Markup {
    let (shown, left) = cut(text, limit);
    html! {
        @if shown.trim().is_empty() { p.quiet { "(empty)" } } @else { pre { (web_links::linked(shown)) } }
        (rest(left, text.len(), node))
    }
}

/// A text in Markdown, with its headings below the headings of the page. A frontmatter header is shown unformatted.
pub(crate) fn prose(text: &str, below: usize, node: Option<NodeHash>) -> Markup {
    let (shown, left) = cut(text, SHOWN);
    let (header, shown) = header(shown);
    html! {
        @if !header.is_empty() { pre { (header) } }
        @if !shown.trim().is_empty() { div.prose { (markdown::markdown(shown, below)) } }
        (rest(left, text.len(), node))
    }
}

/// Splits off the frontmatter header of an agent's answer, which Markdown would read as a heading.
fn header(text: &str) -> (&str, &str) {
    let Some(inside) = text.strip_prefix("---\n") else { return ("", text) };
    let mut end = 4;
    for line in inside.split_inclusive('\n') {
        end += line.len();
        if line.trim_end() == "---" {
            return text.split_at(end);
        }
    }
    ("", text)
}

/// The first line of a text, shortened and without the marks of a heading. It represents the text.
pub(crate) fn first_line(text: &str) -> String {
    let line = text.lines().map(|line| line.trim_start_matches(['#', ' ', '-'])).find(|line| !line.trim().is_empty());
    let line = in_one_line(line.unwrap_or("(empty)")).replace('`', "");
    ellipsize(&line, TITLE).into_owned()
}

/// A value as JSON.
pub(crate) fn json(value: &Value, node: Option<NodeHash>) -> Markup {
    plain(&format!("{value:#}"), SHOWN, node)
}

fn rest(left: usize, all: usize, node: Option<NodeHash>) -> Markup {
    html! {
        @if left > 0 {
            p.small.quiet {
                (size(left)) " more. "
                @if let Some(node) = node { a href={"/cas/" (node) "/raw"} { "All " (size(all)) } }
            }
        }
    }
}

/// The beginning of a text, cut at a line break if one is near, and the number of bytes after it.
fn cut(text: &str, limit: usize) -> (&str, usize) {
    if text.len() <= limit {
        return (text, 0);
    }
    let end = text.floor_char_boundary(limit);
    let end = text[..end].rfind('\n').filter(|at| at * 2 > end).unwrap_or(end);
    (&text[..end], text.len() - end)
}

/// A number of bytes, shortened.
pub(crate) fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{}.{} KB", bytes / 1_000, bytes % 1_000 / 100),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_at_line_end() {
        assert_eq!(cut("short", 5), ("short", 0));
        assert_eq!(cut("a line\nanother", 10), ("a line", 8));
        assert_eq!(cut("a\nvery long line", 12), ("a\nvery long ", 4));
        assert_eq!(cut("ééé", 3), ("é", 4));
        let whole = plain("0123456789", 4, Some(NodeHash::from_u64(1))).into_string();
        assert_eq!(header("---\na: 1\n---\n# Text"), ("---\na: 1\n---\n", "# Text"));
        assert_eq!(header("---\nno end"), ("", "---\nno end"));
        assert!(whole.contains("<pre>0123</pre>") && whole.contains("/raw\">All 10 B</a>"), "{whole}");
    }
}
