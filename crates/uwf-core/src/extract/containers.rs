//! Finds lines inside a container: a comment, an element, a quotation, or a document that a command writes.
//!
//! Text in a container belongs to the container. A value there is an example and not the answer, even on lines of its own. Elements that
//! name an answer, such as `<answer>`, are the exception.

use std::collections::HashMap;

use super::lines::{CodeFence, names_answer};

/// Pairs of marks that begin a line.
const PAIRS: [(&str, &str); 5] =
    [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<<<<<<< ", ">>>>>>> "), ("#+begin_", "#+end_"), ("#+BEGIN_", "#+END_")];

/// Returns for each line of a text whether it is inside a container. The first and last line of a container count as inside. A container
/// without an end does not count, except for a comment. Code blocks are skipped.
pub(super) fn contained<'t>(lines: impl Iterator<Item = &'t str>) -> Vec<bool> {
    let lines: Vec<&str> = lines.collect();
    let ends = ContainerEnds::from_lines(lines.iter().copied());
    let mut container: Option<LineContainer<'_>> = None;
    let mut code: Option<CodeFence<'_>> = None;
    lines
        .iter()
        .copied()
        .enumerate()
        .map(|(number, line)| {
            if let Some(open) = &mut container {
                if open.ends(line) {
                    container = None;
                }
                return true;
            }
            if let Some(open) = &code {
                if CodeFence::from_line(line).is_some_and(|fence| fence.closes(open)) {
                    code = None;
                }
                return false;
            }
            code = CodeFence::from_line(line);
            let is_answer = summary(line).or_else(|| summary(lines.get(number + 1)?)).is_some_and(names_answer);
            let opened =
                LineContainer::opened_by(line).filter(|container| code.is_none() && ends.has(container, number));
            container = opened.filter(|_| !is_answer);
            container.is_some()
        })
        .collect()
}

/// Something that surrounds lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineContainer<'t> {
    /// Ends with a line that contains the mark.
    Marked(&'static str),
    /// An element in angle or square brackets. `depth` counts its open tags.
    Element { name: &'t str, close: char, depth: usize },
    /// A document in a shell command. Ends with a line that consists of the word.
    Document(&'t str),
}

impl<'t> LineContainer<'t> {
    /// Returns the container that a line opens and does not close.
    fn opened_by(line: &'t str) -> Option<LineContainer<'t>> {
        let text = line.trim();
        if let Some((mark, end)) = PAIRS.into_iter().find(|(mark, _)| text.starts_with(mark)) {
            return (!text[mark.len()..].contains(end)).then_some(LineContainer::Marked(end));
        }
        Self::element(text).or_else(|| document(text).map(LineContainer::Document))
    }

    fn element(text: &'t str) -> Option<LineContainer<'t>> {
        let (close, name) = opening(text)?;
        (!names_answer(name) && closings(text, name, close) == 0).then_some(LineContainer::Element {
            name,
            close,
            depth: 1,
        })
    }

    /// Processes a line inside the container. Returns whether it is the last one.
    fn ends(&mut self, line: &str) -> bool {
        match self {
            LineContainer::Marked(end) => line.contains(*end),
            LineContainer::Document(word) => line.trim() == *word,
            LineContainer::Element { name, close, depth } => {
                let opened = opening(line.trim()).is_some_and(|(mark, other)| mark == *close && other == *name);
                *depth = (*depth + usize::from(opened)).saturating_sub(closings(line, name, *close));
                *depth == 0
            }
        }
    }
}

/// Returns the summary of a `<details>` element.
fn summary(line: &str) -> Option<&str> {
    let (_, behind) = line.split_once("<summary>")?;
    behind.split_once("</summary>").map(|(summary, _)| summary)
}

/// Returns the closing bracket and the name of an element that begins a line.
fn opening(text: &str) -> Option<(char, &str)> {
    let (inside, close) = match text.as_bytes().first()? {
        b'<' => (&text[1..], '>'),
        b'[' => (&text[1..], ']'),
        _ => return None,
    };
    let end = inside.find(|symbol: char| !(symbol.is_ascii_alphanumeric() || matches!(symbol, '_' | '-' | ':')))?;
    let (name, behind) = inside.split_at(end);
    let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic()) && behind.contains(close);
    (is_name && behind.starts_with([close, ' ', '='])).then_some((close, name))
}

/// Counts the closing tags of an element in a line.
fn closings(line: &str, name: &str, close: char) -> usize {
    let open = if close == '>' { "</" } else { "[/" };
    line.split(open)
        .skip(1)
        .filter(|tag| tag.strip_prefix(name).is_some_and(|behind| behind.trim_start().starts_with(close)))
        .count()
}

/// Returns the word that ends the document of a shell command: `cat <<'EOF'`.
fn document(text: &str) -> Option<&str> {
    let behind =
        text.rsplit_once("<<")?.1.trim_start_matches(['-', '~']).trim_start().trim_start_matches(['\'', '"', '\\']);
    let end = behind.find(|symbol: char| !(symbol.is_ascii_alphanumeric() || symbol == '_')).unwrap_or(behind.len());
    (end > 0).then(|| &behind[..end])
}

/// The last line that may end each container.
struct ContainerEnds<'t> {
    closings: HashMap<(char, &'t str), usize>,
    words: HashMap<&'t str, usize>,
    marks: HashMap<&'static str, usize>,
}

impl<'t> ContainerEnds<'t> {
    fn from_lines(lines: impl Iterator<Item = &'t str>) -> ContainerEnds<'t> {
        let mut ends = ContainerEnds { closings: HashMap::new(), words: HashMap::new(), marks: HashMap::new() };
        for (number, line) in lines.enumerate() {
            for (open, close) in [("</", '>'), ("[/", ']')] {
                for tag in line.split(open).skip(1) {
                    let name = tag.split([close, ' ']).next().unwrap_or_default();
                    ends.closings.insert((close, name), number);
                }
            }
            for (_, end) in PAIRS.into_iter().filter(|(_, end)| line.contains(end)) {
                ends.marks.insert(end, number);
            }
            let word = line.trim();
            if !word.is_empty() && !word.contains(char::is_whitespace) {
                ends.words.insert(word, number);
            }
        }
        ends
    }

    /// Whether a container that begins in a line has an end.
    fn has(&self, container: &LineContainer<'_>, number: usize) -> bool {
        let last = match container {
            // A page shows nothing below an open comment.
            LineContainer::Marked("-->") => return true,
            LineContainer::Marked(end) => self.marks.get(end),
            LineContainer::Element { name, close, .. } => self.closings.get(&(*close, *name)),
            LineContainer::Document(word) => self.words.get(word),
        };
        last.is_some_and(|last| *last > number)
    }
}

#[cfg(test)]
mod tests {
    use super::contained;

    /// Returns the first symbols of the lines inside a container.
    fn inside(text: &str) -> String {
        let lines = text.lines().zip(contained(text.lines()));
        lines.filter(|(_, inside)| *inside).filter_map(|(line, _)| line.chars().next()).collect()
    }

    #[test]
    fn containers_reach_to_their_end() {
        assert_eq!(inside("<!--\na\n-->\nb"), "<a-");
        assert_eq!(inside("<!-- a\nb"), "<b");
        assert_eq!(inside("<x y=\"z\">\na\n<x>\nb\n</x>\nc\n</x>\nd"), "<a<b<c<");
        assert_eq!(inside("[quote=me]\na\n[/quote]\nb"), "[a[");
        assert_eq!(inside("cat <<EOF\na\nEOF\nb"), "caE");
        assert_eq!(inside("cat <<- 'X' > f\na\n  X\nb"), "ca ");
        assert_eq!(inside("<<<<<<< a\nb\n=======\nc\n>>>>>>> d\ne"), "<b=c>");
        assert_eq!(inside("#+begin_src json\na\n#+end_src\nb"), "#a#");
    }

    #[test]
    fn other_lines_are_not_contained() {
        for text in [
            "<answer>\na\n</answer>",
            "<details>\n<summary>JSON</summary>\na\n</details>",
            "<Final_Answer>\na\n</Final_Answer>",
            "<br>\na",
            "<b>x</b>\na\n</b>",
            "a << b\nc",
            "```\n<x>\n```\na\n</x>",
            "<!-- a -->\nb",
            "[1, 2]\na",
            "<a>\nb\n</ab>",
        ] {
            assert_eq!(inside(text), "", "{text}");
        }
    }
}
