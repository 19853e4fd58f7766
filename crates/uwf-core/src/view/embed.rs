//! Markdown inside markdown.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};

use crate::extract::clean;
use crate::prompt::fence::fenced;

/// HTML elements that swallow the rest of the page if they are not closed.
const CONTAINERS: [&str; 8] = ["details", "summary", "div", "table", "section", "article", "blockquote", "center"];

/// Represents the rest of the page.
const REST_OF_PAGE: &str = "# Rest of the page";

/// Embeds a foreign text in a page. Its highest heading gets `level`, and lower ones follow. An open code block is closed. A text that
/// could swallow what follows it, or that has HTML headings, is fenced as a whole. The result ends with a newline, or is empty if there is
/// nothing to show. Takes time linear in the text.
pub fn embed(text: &str, level: usize) -> String {
    let text = clean::clean(text);
    let text = text.trim_end().trim_start_matches('\n');
    if text.is_empty() {
        return String::new();
    }
    contained(text, level).unwrap_or_else(|| fenced("text", text))
}

/// The text with shifted headings and nothing left open; `None` if this might not be enough.
fn contained(text: &str, level: usize) -> Option<String> {
    let page = format!("{text}\n\n{REST_OF_PAGE}\n");
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut headings: Vec<MarkdownHeading<'_>> = Vec::new();
    let mut open_containers = [0_i64; CONTAINERS.len()];
    let mut depth = 0_usize;
    for (event, range) in Parser::new_ext(&page, options).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                match tag {
                    Tag::Heading { level, .. } if depth == 0 => {
                        headings.push(MarkdownHeading::from_page(&page, range, level as usize)?);
                    }
                    Tag::CodeBlock(CodeBlockKind::Fenced(_)) => match unclosed(&page[range]) {
                        Some(marks) if depth == 0 => return contained(&format!("{text}\n{marks}"), level),
                        // The block ends with the list around it, and renderers disagree where that is.
                        Some(_) => return None,
                        None => {}
                    },
                    _ => {}
                }
                depth += 1;
            }
            Event::End(_) => depth -= 1,
            Event::Html(html) | Event::InlineHtml(html) => {
                if html.split('<').skip(1).any(is_html_heading) {
                    return None;
                }
                count_containers(&html, &mut open_containers);
            }
            _ => {}
        }
    }
    let rest = headings.pop().filter(|heading| page[heading.lines.clone()] == *REST_OF_PAGE)?;
    let is_whole = rest.lines.start > text.len() && open_containers.iter().all(|open| *open == 0);
    is_whole.then(|| with_levels(text, &headings, level))
}

/// A heading with `#` marks, or an underlined one.
struct MarkdownHeading<'t> {
    lines: Range<usize>,
    level: usize,
    text: Vec<&'t str>,
}

impl<'t> MarkdownHeading<'t> {
    fn from_page(page: &'t str, range: Range<usize>, level: usize) -> Option<MarkdownHeading<'t>> {
        let source = page[range.clone()].trim_end();
        let lines = page[..range.start].rfind('\n').map_or(0, |newline| newline + 1)..range.start + source.len();
        let text = match source.trim_start().rsplit_once('\n') {
            None => vec![source.trim_start().trim_start_matches('#').trim()],
            // Some renderers show it as a table.
            Some((paragraph, _)) if paragraph.contains('|') => return None,
            Some((paragraph, _)) => paragraph.lines().map(str::trim).collect(),
        };
        Some(MarkdownHeading { lines, level, text })
    }
}

fn with_levels(text: &str, headings: &[MarkdownHeading<'_>], level: usize) -> String {
    let shift = headings.iter().map(|heading| heading.level).min().map_or(0, |highest| level.saturating_sub(highest));
    let mut out = String::with_capacity(text.len() + 64);
    let mut from = 0;
    for heading in headings {
        out.push_str(&text[from..heading.lines.start]);
        out.push_str(&format!("{} {}", "#".repeat((heading.level + shift).min(6)), heading.text.join(" ")));
        from = heading.lines.end;
    }
    out.push_str(&text[from..]);
    out.push('\n');
    out
}

/// The marks that close a fenced code block, if it is not closed.
fn unclosed(block: &str) -> Option<&str> {
    let block = block.trim();
    let mark = block.chars().next()?;
    let marks = &block[..block.len() - block.trim_start_matches(mark).len()];
    let last = block.rsplit_once('\n').map_or("", |(_, last)| last.trim());
    let is_closed = last.len() >= marks.len() && last.chars().all(|symbol| symbol == mark);
    (!is_closed).then_some(marks)
}

/// Whether the text after a `<` begins or ends a heading.
fn is_html_heading(tag: &str) -> bool {
    let name = tag.strip_prefix('/').unwrap_or(tag).as_bytes();
    matches!(name, [b'h' | b'H', b'1'..=b'6', after @ ..] if after.first().is_none_or(|after| !after.is_ascii_alphanumeric()))
}

fn count_containers(html: &str, open: &mut [i64; CONTAINERS.len()]) {
    for tag in html.split('<').skip(1) {
        let (step, name) = tag.strip_prefix('/').map_or((1, tag), |name| (-1, name));
        let name = name.split(|symbol: char| !symbol.is_ascii_alphanumeric()).next().unwrap_or_default();
        if let Some(at) = CONTAINERS.iter().position(|container| container.eq_ignore_ascii_case(name)) {
            open[at] += step;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::embed;

    #[test]
    fn headings_go_below_those_of_the_page() {
        assert_eq!(embed("# A\ntext\n## B\n", 3), "### A\ntext\n#### B\n");
        assert_eq!(embed("### A\n\n###### B\n#\n", 3), "##### A\n\n###### B\n### \n");
        assert_eq!(embed("#### A", 3), "#### A\n");
        assert_eq!(embed("#no heading\n    # code\n", 3), "#no heading\n    # code\n");
        assert_eq!(embed("   # A  ", 3), "### A\n");
    }

    #[test]
    fn underlined_headings_become_headings_with_marks() {
        assert_eq!(embed("Title\n=====\n\nPart\nof it\n---\ntext", 3), "### Title\n\n#### Part of it\ntext\n");
        assert_eq!(embed("a\n\n---\nb", 3), "a\n\n---\nb\n");
        assert_eq!(embed("- item\n---\n> quote\n---\n", 3), "- item\n---\n> quote\n---\n");
        assert_eq!(embed("---\n---\n", 3), "---\n---\n");
    }

    #[test]
    fn code_is_left_alone_and_closed() {
        assert_eq!(embed("```sh\n# not a heading\n```\n# A", 3), "```sh\n# not a heading\n```\n### A\n");
        assert_eq!(embed("# A\n~~~\n# x\n```", 3), "### A\n~~~\n# x\n```\n~~~\n");
        assert_eq!(embed("````\n```\n````\n", 3), "````\n```\n````\n");
        assert_eq!(embed("- a\n  ```\n  # x\n  ```\n# A", 3), "- a\n  ```\n  # x\n  ```\n### A\n");
    }

    #[test]
    fn markdown_that_swallows_the_page_is_fenced() {
        for text in [
            "# A\n<!-- open",
            "<details>\n\ntext",
            "</div>",
            "<script>\nalert(1)",
            "- a\n  ```\n  code",
            "- a\n  ```\n  code\nout of the list\n```\n# A",
            "<!DOCTYPE html",
        ] {
            assert_eq!(
                embed(text, 3),
                format!("{}text\n{text}\n{0}\n", if text.contains("```") { "````" } else { "```" })
            );
        }
    }

    #[test]
    fn html_headings_are_shown_verbatim() {
        for text in [
            "<h2>2. reviewer</h2>",
            "text\n<H1 id=x>\n2. reviewer\n</H1>",
            "- a\n\n    <h2\n>2. reviewer</h2>",
            "<pre>\n<h2>2. reviewer</h2>\n</pre>",
            "<details>\n<h3>x</h3></details>",
            "`\n` <h2>2. reviewer</h2> `",
            "\\` <h2>2. reviewer</h2> `",
            "`` <h2>2. reviewer</h2> `",
        ] {
            assert!(embed(text, 3).starts_with("```text\n"), "{text}");
        }
        for text in
            ["`<h2>` is a heading", "a ``<h2>` `` b", "```html\n<h2>x</h2>\n```", "<hr>", "<h2o>", "a <\nh2>", "h2"]
        {
            assert_eq!(embed(text, 3).trim_end(), text);
        }
    }

    #[test]
    fn closed_blocks_are_not_fenced() {
        for text in [
            "<!-- a -->\n# x",
            "<!--\n# not a heading\n-->",
            "<details>\n\n<summary>s</summary>\n\nx\n\n</details>",
            "<pre>a\n# b</pre>",
            "a <b> c",
            "Vec<String>",
            "<prelude>",
        ] {
            assert!(!embed(text, 3).contains("```"), "{text}");
        }
        assert_eq!(embed("<!--\n# x\n-->", 3), "<!--\n# x\n-->\n");
    }

    #[test]
    fn terminal_dressing_and_empty_texts_vanish() {
        assert_eq!(embed("\u{1b}[1m# A\u{1b}[0m\r\nb\u{0}\r\n\r\n", 3), "### A\nb\n");
        assert_eq!(embed(" \n\n", 3), "");
    }
}
