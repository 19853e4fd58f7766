//! A problem of a file with its source line, in the form of a compiler's error.

use uwf_core::document::{FileProblem, SchemaSeverity};

use crate::style;

/// Columns shown of the line; minified files have only one line.
const SHOWN: usize = 100;

/// Columns shown before the problem, if the line is cut.
const BEFORE: usize = 60;

/// The problem, its source line with a caret below it, and the hint.
pub(crate) fn text(problem: &FileProblem, source: &str) -> String {
    let FileProblem { severity, code, message, hint, file, line, column } = problem;
    let (message, file) = (style::in_line(message), style::in_line(file));
    let kind = format!("{}[{code}]", severity.as_str());
    let kind = match severity {
        SchemaSeverity::Error => style::red(&kind),
        SchemaSeverity::Warning => style::yellow(&kind),
        SchemaSeverity::Note => style::dim(&kind),
    };
    let mut text = format!("{}: {kind}: {message}\n", style::bold(&format!("{file}:{line}:{column}")));
    let margin = " ".repeat(line.to_string().len());
    let bar = style::dim("|");
    if let Some((content, caret)) = place(source, *line, *column) {
        text.push_str(&format!(
            "{margin} {bar}\n{} {bar} {content}\n{margin} {bar} {caret}\n",
            style::dim(&line.to_string())
        ));
    }
    if let Some(hint) = hint {
        text.push_str(&format!("{margin} {} {}\n", style::dim("= hint:"), style::in_line(hint)));
    }
    text.push('\n');
    text
}

/// The shown part of the line, and the line with the caret.
fn place(source: &str, line: usize, column: usize) -> Option<(String, String)> {
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let symbols: Vec<char> = source.lines().nth(line.checked_sub(1)?)?.chars().collect();
    if symbols.iter().all(|symbol| symbol.is_whitespace()) {
        return None;
    }
    let at = column.saturating_sub(1).min(symbols.len());
    let from = if symbols.len() <= SHOWN { 0 } else { at.saturating_sub(BEFORE) };
    let to = symbols.len().min(from + SHOWN);
    let (before, after) = (if from > 0 { "…" } else { "" }, if to < symbols.len() { "…" } else { "" });
    let content: String = symbols[from..to].iter().collect();
    // Keep tabs, so that the caret is in the right column at any tab width.
    let indent: String = symbols[from..at].iter().map(|symbol| if *symbol == '\t' { '\t' } else { ' ' }).collect();
    let caret = style::red("^");
    Some((
        format!("{before}{}{after}", style::in_line(content.trim_end())),
        format!("{}{indent}{caret}", " ".repeat(before.chars().count())),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(source: &str, line: usize, column: usize) -> Option<String> {
        let (content, caret) = place(source, line, column)?;
        Some(style::render(&format!("{content}\n{caret}"), true, false).into_owned())
    }

    #[test]
    fn the_caret_is_under_its_place() {
        assert_eq!(plain("a: 1\n\tb: é x\n", 2, 7).unwrap(), "\tb: é x\n\t     ^");
        assert_eq!(plain("a: 1", 1, 99).unwrap(), "a: 1\n    ^");
        assert_eq!(plain("a: 1\n\n", 2, 1), None);
        assert_eq!(plain("a: 1", 7, 1), None);
        assert_eq!(plain("", 0, 0), None);
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let line = format!("{}X{}", "a".repeat(300), "b".repeat(300));
        let shown = plain(&line, 1, 301).unwrap();
        let (content, caret) = shown.split_once('\n').unwrap();
        assert_eq!(content.chars().count(), SHOWN + 2);
        assert_eq!(content.chars().position(|symbol| symbol == 'X'), caret.chars().position(|symbol| symbol == '^'));
    }
}
