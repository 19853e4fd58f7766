//! Tables for people.

use crate::style;

/// Columns of texts under headings; the last column is not padded.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings.
    pub(crate) fn new(headings: &[&str]) -> Table {
        Table { rows: vec![headings.iter().map(|heading| style::dim(heading)).collect()] }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The table as text, each row on one line.
    pub(crate) fn text(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|column| {
                self.rows.iter().filter_map(|row| row.get(column)).map(|cell| style::width(cell)).max().unwrap_or(0)
            })
            .collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate() {
                line.push_str(cell);
                if column + 1 < row.len() {
                    line.push_str(&" ".repeat(widths[column] - style::width(cell) + 2));
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// A time (Unix milliseconds) as people read it, UTC: `2026-11-21 22:05:31`.
pub(crate) fn time(unix_ms: u64) -> String {
    uwf_core::view::time(unix_ms)
}

/// The beginning of a text in one line of at most `chars` characters.
pub(crate) fn excerpt(text: &str, chars: usize) -> String {
    let is_gap = |symbol: char| symbol.is_whitespace() || symbol.is_control();
    let words = text.split(is_gap).filter(|word| !word.is_empty());
    let symbols =
        words.enumerate().flat_map(|(index, word)| (index > 0).then_some(' ').into_iter().chain(word.chars()));
    let mut line: Vec<char> = symbols.take(chars + 1).collect();
    if line.len() > chars {
        line.truncate(chars.saturating_sub(1));
        line.push('…');
    }
    line.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpts_are_short_lines() {
        assert_eq!(excerpt(" Fix\n the\tbug ", 11), "Fix the bug");
        assert_eq!(excerpt("Fix the bug now", 11), "Fix the bu…");
        assert_eq!(excerpt("Fix the bug now", 12), "Fix the bug…");
        assert_eq!(excerpt("Fix the bug now", 15), "Fix the bug now");
        assert_eq!(excerpt("äöüß", 3), "äö…");
        assert_eq!(excerpt("", 3), "");
    }

    #[test]
    fn columns_line_up_whatever_is_emphasised() {
        let mut table = Table::new(&["name", "hash"]);
        table.row(vec![style::bold("a"), "1".to_owned()]);
        table.row(vec!["longer".to_owned(), "2".to_owned()]);
        assert_eq!(style::render(&table.text(), true, false), "name    hash\na       1\nlonger  2\n");
    }
}
