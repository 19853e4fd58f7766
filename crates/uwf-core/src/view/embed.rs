//! Markdown inside markdown.

use crate::extract::clean;
use crate::prompt::fence::fenced;

/// HTML elements that, left open, take the rest of the page into themselves.
const CONTAINERS: [&str; 8] = ["details", "summary", "div", "table", "section", "article", "blockquote", "center"];

/// Beginnings of HTML blocks that last until their end is found, be it the end of the page.
const RAW_BLOCKS: [(&str, &str); 8] = [
    ("<!--", "-->"),
    ("<script", "</script>"),
    ("<pre", "</pre>"),
    ("<style", "</style>"),
    ("<textarea", "</textarea>"),
    ("<![cdata[", "]]>"),
    ("<?", "?>"),
    ("<!", ">"),
];

/// What a line is, as far as it matters to the page around it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Line<'t> {
    Heading { level: usize, text: String },
    Other(&'t str),
}

/// A text that is left open somewhere, or whose structure can't be told for sure.
struct Unclear;

/// A text of somebody else as a part of a page: its highest heading gets `level`, those below it follow; a code block
/// it leaves open is closed; a text that could take in what comes after it is fenced as a whole. Ends with a newline,
/// empty when there is nothing to show. Takes time linear in the text.
pub fn embed(text: &str, level: usize) -> String {
    let text = clean::clean(text);
    let text = text.trim_end().trim_start_matches('\n');
    if text.is_empty() {
        return String::new();
    }
    match lines(text) {
        Ok((lines, open)) => write(&lines, open.as_deref(), level),
        Err(Unclear) => fenced("text", text),
    }
}

fn write(lines: &[Line<'_>], open: Option<&str>, level: usize) -> String {
    let highest = lines.iter().filter_map(|line| if let Line::Heading { level, .. } = line { Some(*level) } else { None }).min();
    let shift = highest.map_or(0, |highest| level.saturating_sub(highest));
    let mut out = String::new();
    for line in lines {
        match line {
            Line::Heading { level, text } => {
                out.push_str(&"#".repeat((level + shift).min(6)));
                out.push(' ');
                out.push_str(text);
            }
            Line::Other(text) => out.push_str(text),
        }
        out.push('\n');
    }
    if let Some(marks) = open {
        out.push_str(marks);
        out.push('\n');
    }
    out
}

/// The lines, and the marks that close a code block left open at the end.
fn lines(text: &str) -> Result<(Vec<Line<'_>>, Option<String>), Unclear> {
    let mut lines: Vec<Line<'_>> = Vec::new();
    let mut fence: Option<Fence> = None;
    let mut raw_until: Option<&str> = None;
    let mut paragraph = 0;
    let mut balance = Balance::default();
    for line in text.lines() {
        if let Some(open) = &fence {
            if open.is_left_by(line) {
                return Err(Unclear);
            }
            if open.is_closed_by(line) {
                fence = None;
            }
            lines.push(Line::Other(line));
            continue;
        }
        if let Some(end) = raw_until {
            if contains(line, end) {
                raw_until = None;
            }
            lines.push(Line::Other(line));
            continue;
        }
        balance.count(line);
        let (indent, rest) = indent_of(line);
        let is_code = indent > 3 && paragraph == 0;
        if let Some(level) = underline_level(rest).filter(|_| indent <= 3 && paragraph > 0) {
            let text = heading_of(&lines[lines.len() - paragraph..]);
            lines.truncate(lines.len() - paragraph);
            lines.push(Line::Heading { level, text });
            paragraph = 0;
            continue;
        }
        if indent <= 3 {
            if let Some(heading) = atx(rest) {
                lines.push(heading);
                paragraph = 0;
                continue;
            }
            fence = Fence::opened_by(indent, rest);
            raw_until = raw_block(rest);
        }
        lines.push(Line::Other(line));
        paragraph = if fence.is_some() || is_code || !continues_paragraph(rest, paragraph) { 0 } else { paragraph + 1 };
    }
    if raw_until.is_some() || !balance.is_even() {
        return Err(Unclear);
    }
    match fence {
        None => Ok((lines, None)),
        // Marks that are indented may belong to a list that has ended by now; those at the margin do not.
        Some(open) if open.indent == 0 => Ok((lines, Some(open.marks()))),
        Some(_) => Err(Unclear),
    }
}

/// A code block between marks.
struct Fence {
    indent: usize,
    mark: char,
    len: usize,
}

impl Fence {
    fn opened_by(indent: usize, rest: &str) -> Option<Fence> {
        let mark = rest.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let len = rest.chars().take_while(|symbol| *symbol == mark).count();
        let info = &rest[len..];
        (len >= 3 && !(mark == '`' && info.contains('`'))).then_some(Fence { indent, mark, len })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let (indent, rest) = indent_of(line);
        let len = rest.chars().take_while(|symbol| *symbol == self.mark).count();
        indent <= 3 && len >= self.len && rest[len..].trim().is_empty()
    }

    /// Whether the list this block may be in ends at this line, and the block with it.
    fn is_left_by(&self, line: &str) -> bool {
        self.indent > 0 && !line.trim().is_empty() && indent_of(line).0 < self.indent
    }

    fn marks(&self) -> String {
        self.mark.to_string().repeat(self.len)
    }
}

/// Opened and closed elements of [`CONTAINERS`].
#[derive(Default)]
struct Balance {
    open: [i64; CONTAINERS.len()],
}

impl Balance {
    fn count(&mut self, line: &str) {
        for tag in line.split('<').skip(1) {
            let (step, name) = tag.strip_prefix('/').map_or((1, tag), |name| (-1, name));
            let name: &str = name.split(|symbol: char| !symbol.is_ascii_alphanumeric()).next().unwrap_or_default();
            if let Some(at) = CONTAINERS.iter().position(|container| container.eq_ignore_ascii_case(name)) {
                self.open[at] += step;
            }
        }
    }

    fn is_even(&self) -> bool {
        self.open.iter().all(|open| *open == 0)
    }
}

/// Columns a line is indented by, and the rest of it.
fn indent_of(line: &str) -> (usize, &str) {
    let rest = line.trim_start_matches([' ', '\t']);
    let indent = line[..line.len() - rest.len()].chars().fold(0, |columns, symbol| if symbol == '\t' { columns / 4 * 4 + 4 } else { columns + 1 });
    (indent, rest)
}

fn atx(rest: &str) -> Option<Line<'static>> {
    let level = rest.chars().take_while(|symbol| *symbol == '#').count();
    let text = &rest[level..];
    let is_heading = (1..=6).contains(&level) && (text.is_empty() || text.starts_with([' ', '\t']));
    is_heading.then(|| Line::Heading { level, text: text.trim().to_owned() })
}

/// Level of a heading whose paragraph this line underlines.
fn underline_level(rest: &str) -> Option<usize> {
    let rest = rest.trim_end();
    let of_only = |mark: char| !rest.is_empty() && rest.chars().all(|symbol| symbol == mark);
    if of_only('=') {
        Some(1)
    } else if of_only('-') {
        Some(2)
    } else {
        None
    }
}

/// Text of a heading made of a paragraph.
fn heading_of(paragraph: &[Line<'_>]) -> String {
    let texts = paragraph.iter().map(|line| match line {
        Line::Other(text) => text.trim(),
        Line::Heading { text, .. } => text,
    });
    texts.collect::<Vec<_>>().join(" ")
}

/// Whether a line is text that an underline below would make a heading: no list, quote, table or rule. Inside a
/// paragraph, only what can interrupt one ends it.
fn continues_paragraph(rest: &str, paragraph: usize) -> bool {
    if rest.trim().is_empty() || rest.starts_with(['>', '<', '|']) {
        return false;
    }
    let bullet = rest.strip_prefix(['-', '*', '+']).is_some_and(|after| after.is_empty() || after.starts_with([' ', '\t']));
    let digits = rest.chars().take_while(char::is_ascii_digit).count();
    let numbered = digits > 0 && rest[digits..].strip_prefix(['.', ')']).is_some_and(|after| after.is_empty() || after.starts_with([' ', '\t']));
    let rule = rest.len() >= 3 && ['-', '*', '_'].iter().any(|mark| rest.chars().all(|symbol| symbol == *mark || symbol == ' '));
    // A list item's own text may be underlined only by lines that belong to the list, which are indented.
    !(bullet || rule || numbered && (paragraph == 0 || rest.starts_with("1")))
}

/// What ends the HTML block that a line begins and does not end itself.
fn raw_block(rest: &str) -> Option<&'static str> {
    if !rest.starts_with('<') {
        return None;
    }
    let (begin, end) = RAW_BLOCKS.iter().find(|(begin, _)| {
        let head: String = rest.chars().take(begin.len()).collect();
        let after = rest.get(begin.len()..).and_then(|rest| rest.chars().next());
        let is_tag = begin[1..].starts_with(|symbol: char| symbol.is_ascii_alphabetic());
        let is_declaration = *begin == "<!";
        head.eq_ignore_ascii_case(begin)
            && (!is_tag || after.is_none_or(|symbol| symbol.is_whitespace() || symbol == '>'))
            && (!is_declaration || after.is_some_and(|symbol| symbol.is_ascii_alphabetic()))
    })?;
    (!contains(&rest[begin.len()..], end)).then_some(*end)
}

fn contains(line: &str, end: &str) -> bool {
    line.to_ascii_lowercase().contains(end)
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
            assert_eq!(embed(text, 3), format!("{}text\n{text}\n{0}\n", if text.contains("```") { "````" } else { "```" }));
        }
    }

    #[test]
    fn what_is_closed_is_not_fenced() {
        for text in ["<!-- a -->\n# x", "<!--\n# not a heading\n-->", "<details>\n\n<summary>s</summary>\n\nx\n\n</details>", "<pre>a\n# b</pre>", "a <b> c", "Vec<String>", "<prelude>"] {
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
