//! Markdown inside markdown.

use super::blocks::{
    Balance, CodeFence, ends_raw_block, has_html_heading, heading, indent_of, is_tag, is_text, outside_code, raw_block,
    underline_level,
};
use crate::extract::clean;
use crate::prompt::fence::fenced;

/// A text of somebody else as a part of a page: its highest heading gets `level`, those below it follow; a code block
/// it leaves open is closed; a text that could take in what comes after it, or that has headings of HTML, is fenced as a
/// whole. Ends with a newline,
/// empty when there is nothing to show. Takes time linear in the text.
pub fn embed(text: &str, level: usize) -> String {
    let text = clean::clean(text);
    let text = text.trim_end().trim_start_matches('\n');
    if text.is_empty() {
        return String::new();
    }
    match scan(text) {
        Ok(lines) => write(&lines, level),
        Err(Unclear) => fenced("text", text),
    }
}

/// What ends a comment of HTML. Nothing in it is shown.
const COMMENT_END: &str = "-->";

/// A text that is left open somewhere, or whose structure can't be told for sure.
struct Unclear;

/// What a line is, as far as it matters to the page around it.
enum MarkdownLine<'t> {
    Heading {
        level: usize,
        text: String,
    },
    Other(&'t str),
    /// Marks that close a code block left open at the end.
    Closing(String),
}

fn write(lines: &[MarkdownLine<'_>], level: usize) -> String {
    let levels = lines
        .iter()
        .filter_map(|line| if let MarkdownLine::Heading { level, .. } = line { Some(*level) } else { None });
    let shift = levels.min().map_or(0, |highest| level.saturating_sub(highest));
    let mut out = String::new();
    for line in lines {
        match line {
            MarkdownLine::Heading { level, text } => {
                out.push_str(&"#".repeat((level + shift).min(6)));
                out.push(' ');
                out.push_str(text);
            }
            MarkdownLine::Other(text) => out.push_str(text),
            MarkdownLine::Closing(marks) => out.push_str(marks),
        }
        out.push('\n');
    }
    out
}

fn scan(text: &str) -> Result<Vec<MarkdownLine<'_>>, Unclear> {
    let mut scan = Scan::default();
    for line in text.lines() {
        if !scan.is_inside_block(line)? {
            scan.line(line)?;
        }
    }
    scan.end()
}

/// What is known of a text up to some line.
#[derive(Default)]
struct Scan<'t> {
    lines: Vec<MarkdownLine<'t>>,
    /// The code block the next line is in.
    fence: Option<CodeFence>,
    /// Indentation of the HTML block the next line is in, and what ends it.
    raw: Option<(usize, &'static str)>,
    /// Lines at the end that are text of one paragraph.
    paragraph: usize,
    /// Whether there was no empty line since one that may have begun a block of HTML.
    may_be_html: bool,
    /// Whether code between backticks may go on from a line before, since the last empty one.
    may_be_code: bool,
    balance: Balance,
}

impl<'t> Scan<'t> {
    /// Whether a line is inside a block in which nothing is markdown; it is taken then.
    fn is_inside_block(&mut self, line: &'t str) -> Result<bool, Unclear> {
        let indent = match (&self.fence, self.raw) {
            (Some(fence), _) => fence.indent,
            (None, Some((indent, _))) => indent,
            (None, None) => return Ok(false),
        };
        // An indented block may be in a list; when that ends at this line, the block does too.
        if indent > 0 && !line.trim().is_empty() && indent_of(line).0 < indent {
            return Err(Unclear);
        }
        if self.raw.is_some_and(|(_, end)| end != COMMENT_END) && has_html_heading(line, true) {
            return Err(Unclear);
        }
        if self.fence.as_ref().is_some_and(|fence| fence.is_closed_by(line)) {
            self.fence = None;
        }
        if self.raw.is_some_and(|(_, end)| ends_raw_block(line, end)) {
            self.raw = None;
        }
        self.lines.push(MarkdownLine::Other(line));
        Ok(true)
    }

    fn line(&mut self, line: &'t str) -> Result<(), Unclear> {
        if has_html_heading(line, self.may_be_code) {
            return Err(Unclear);
        }
        self.may_be_code = !line.trim().is_empty() && (self.may_be_code || outside_code(line).is_none());
        self.balance.count(line);
        let (indent, rest) = indent_of(line);
        if indent > 3 {
            // Code, unless a paragraph goes on.
            self.may_be_html &= !rest.is_empty();
            self.lines.push(MarkdownLine::Other(line));
            self.paragraph = if self.paragraph > 0 && !rest.is_empty() { self.paragraph + 1 } else { 0 };
            return Ok(());
        }
        self.may_be_html = !rest.is_empty() && (self.may_be_html || is_tag(rest));
        if let Some(level) = underline_level(rest).filter(|_| self.paragraph > 0) {
            return self.underline(level);
        }
        if let Some((level, text)) = heading(rest) {
            self.lines.push(MarkdownLine::Heading { level, text: text.to_owned() });
            self.paragraph = 0;
            return Ok(());
        }
        self.fence = CodeFence::opened_by(indent, rest);
        self.raw = raw_block(rest).map(|end| (indent, end));
        if self.may_be_html && !is_tag(rest) && (self.fence.is_some() || self.raw.is_some()) {
            return Err(Unclear);
        }
        self.lines.push(MarkdownLine::Other(line));
        let goes_on = self.fence.is_none() && is_text(rest, self.paragraph > 0);
        self.paragraph = if goes_on { self.paragraph + 1 } else { 0 };
        Ok(())
    }

    /// The paragraph becomes a heading, unless it may be a table or HTML, where an underline is none.
    fn underline(&mut self, level: usize) -> Result<(), Unclear> {
        let paragraph = self.lines.split_off(self.lines.len() - self.paragraph);
        let texts: Vec<&str> = paragraph
            .iter()
            .filter_map(|line| if let MarkdownLine::Other(text) = line { Some(text.trim()) } else { None })
            .collect();
        if self.may_be_html || texts.iter().any(|text| text.contains('|')) {
            return Err(Unclear);
        }
        self.lines.push(MarkdownLine::Heading { level, text: texts.join(" ") });
        self.paragraph = 0;
        Ok(())
    }

    fn end(mut self) -> Result<Vec<MarkdownLine<'t>>, Unclear> {
        if self.raw.is_some() || !self.balance.is_even() {
            return Err(Unclear);
        }
        match self.fence {
            None => {}
            // Marks that are indented may belong to a list that has ended by now; those at the margin do not.
            Some(open) if open.indent == 0 => self.lines.push(MarkdownLine::Closing(open.marks())),
            Some(_) => return Err(Unclear),
        }
        Ok(self.lines)
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
    fn what_could_swallow_the_page_is_fenced() {
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
    fn headings_of_html_are_shown_as_they_are_written() {
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
    fn what_is_closed_is_not_fenced() {
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
