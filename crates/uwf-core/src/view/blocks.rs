//! Which markdown block a line begins, as far as it matters to the page around a text (CommonMark 0.31, section 4).

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

/// Columns a line is indented by, and the rest of it.
pub(super) fn indent_of(line: &str) -> (usize, &str) {
    let rest = line.trim_start_matches([' ', '\t']);
    let column = |columns, symbol| if symbol == '\t' { columns / 4 * 4 + 4 } else { columns + 1 };
    (line[..line.len() - rest.len()].chars().fold(0, column), rest)
}

/// Level and text of a heading with `#` marks.
pub(super) fn heading(rest: &str) -> Option<(usize, &str)> {
    let level = rest.chars().take_while(|symbol| *symbol == '#').count();
    let text = &rest[level..];
    let is_heading = (1..=6).contains(&level) && (text.is_empty() || text.starts_with([' ', '\t']));
    is_heading.then(|| (level, text.trim()))
}

/// Level of a heading whose paragraph this line underlines.
pub(super) fn underline_level(rest: &str) -> Option<usize> {
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

/// Whether a line that is not indented much is text that an underline below would make a heading: no list, quote or
/// rule. Inside a paragraph, only what can interrupt one ends it.
pub(super) fn is_text(rest: &str, in_paragraph: bool) -> bool {
    if rest.trim().is_empty() || rest.starts_with('>') {
        return false;
    }
    // An item without text does not interrupt a paragraph, nor does one of a list that does not begin with 1.
    let is_item = |after: &str| if after.trim().is_empty() { !in_paragraph } else { after.starts_with([' ', '\t']) };
    let bullet = rest.strip_prefix(['-', '*', '+']).is_some_and(is_item);
    let digits = rest.chars().take_while(char::is_ascii_digit).count();
    let numbered = digits > 0 && rest[digits..].strip_prefix(['.', ')']).is_some_and(is_item);
    let is_rule_of = |mark: char| rest.chars().all(|symbol| symbol == mark || symbol == ' ' || symbol == '\t');
    let rule = ['-', '*', '_'].into_iter().any(|mark| rest.matches(mark).count() >= 3 && is_rule_of(mark));
    !(bullet || rule || numbered && (!in_paragraph || rest[..digits].parse() == Ok(1)))
}

/// Whether a line may begin a block of HTML, in which nothing is markdown up to the next empty line.
pub(super) fn is_tag(rest: &str) -> bool {
    let after = rest.strip_prefix('<').and_then(|rest| rest.chars().next());
    after.is_some_and(|symbol| symbol.is_ascii_alphabetic() || symbol == '/')
}

/// Whether a line has a heading of HTML, outside of code between backticks. When it cannot be told what is code, nothing is.
pub(super) fn has_html_heading(line: &str, may_be_code: bool) -> bool {
    let is_heading = |rest: &str| {
        let rest = rest.strip_prefix('/').unwrap_or(rest).as_bytes();
        matches!(rest, [b'h' | b'H', b'1'..=b'6', after @ ..] if after.first().is_none_or(|after| !after.is_ascii_alphanumeric()))
    };
    let has_heading = |text: &str| text.split('<').skip(1).any(is_heading);
    if !has_heading(line) {
        return false;
    }
    may_be_code || outside_code(line).is_none_or(|parts| parts.into_iter().any(has_heading))
}

/// The parts of a line outside of code between backticks; `None` when code may begin or end in another line, or an escaped
/// backtick makes it unclear.
pub(super) fn outside_code(line: &str) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find('`') {
        let marks = rest[at..].bytes().take_while(|byte| *byte == b'`').count();
        let inside = &rest[at + marks..];
        let runs = inside.match_indices('`').map(|(at, _)| at).filter(|at| !inside[..*at].ends_with('`'));
        let mut ends = runs.filter(|at| inside[*at..].bytes().take_while(|byte| *byte == b'`').count() == marks);
        let end = ends.next().filter(|_| !rest[..at].ends_with('\\'))?;
        parts.push(&rest[..at]);
        rest = &inside[end + marks..];
    }
    parts.push(rest);
    Some(parts)
}

/// What ends the HTML block that a line begins and does not end itself.
pub(super) fn raw_block(rest: &str) -> Option<&'static str> {
    if !rest.starts_with('<') {
        return None;
    }
    let begins = |begin: &str| {
        let head: String = rest.chars().take(begin.len()).collect();
        let after = rest.get(begin.len()..).and_then(|rest| rest.chars().next());
        let is_tag = begin[1..].starts_with(|symbol: char| symbol.is_ascii_alphabetic());
        let is_declaration = begin == "<!";
        head.eq_ignore_ascii_case(begin)
            && (!is_tag || after.is_none_or(|symbol| symbol.is_whitespace() || symbol == '>'))
            && (!is_declaration || after.is_some_and(|symbol| symbol.is_ascii_alphabetic()))
    };
    let (begin, end) = RAW_BLOCKS.iter().find(|(begin, _)| begins(begin))?;
    (!ends_raw_block(&rest[begin.len()..], end)).then_some(*end)
}

/// Whether a line holds the end of an HTML block.
pub(super) fn ends_raw_block(line: &str, end: &str) -> bool {
    line.to_ascii_lowercase().contains(end)
}

/// A code block between marks.
pub(super) struct CodeFence {
    /// Columns its first line is indented by.
    pub(super) indent: usize,
    mark: char,
    len: usize,
}

impl CodeFence {
    pub(super) fn opened_by(indent: usize, rest: &str) -> Option<CodeFence> {
        let mark = rest.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let len = rest.chars().take_while(|symbol| *symbol == mark).count();
        let info = &rest[len..];
        (len >= 3 && !(mark == '`' && info.contains('`'))).then_some(CodeFence { indent, mark, len })
    }

    pub(super) fn is_closed_by(&self, line: &str) -> bool {
        let (indent, rest) = indent_of(line);
        let len = rest.chars().take_while(|symbol| *symbol == self.mark).count();
        indent <= 3 && len >= self.len && rest[len..].trim().is_empty()
    }

    pub(super) fn marks(&self) -> String {
        self.mark.to_string().repeat(self.len)
    }
}

/// Opened and closed elements of [`CONTAINERS`].
#[derive(Default)]
pub(super) struct Balance {
    open: [i64; CONTAINERS.len()],
}

impl Balance {
    pub(super) fn count(&mut self, line: &str) {
        for tag in line.split('<').skip(1) {
            let (step, name) = tag.strip_prefix('/').map_or((1, tag), |name| (-1, name));
            let name = name.split(|symbol: char| !symbol.is_ascii_alphanumeric()).next().unwrap_or_default();
            if let Some(at) = CONTAINERS.iter().position(|container| container.eq_ignore_ascii_case(name)) {
                self.open[at] += step;
            }
        }
    }

    pub(super) fn is_even(&self) -> bool {
        self.open.iter().all(|open| *open == 0)
    }
}
