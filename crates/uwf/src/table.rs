//! Tables for people.

use std::borrow::Cow;
use std::time::Duration;

use uwf_core::node::TokenCounts;
use uwf_core::text::one_line;

use crate::style;
use crate::terminal;

/// Minimum columns of a cell if its table is too wide for the terminal.
const MIN_CELL: usize = 8;

/// Prefix of a note.
const NOTE_INDENT: &str = "    ";

/// Columns between two cells.
const GAP: usize = 2;

/// Columns of text under headings; the last column is not padded.
#[derive(Debug, Default)]
pub(crate) struct TextTable {
    rows: Vec<Vec<String>>,
    /// Notes below rows, by the row's position.
    notes: Vec<(usize, String)>,
    /// Positions of the columns that are cut on a narrow terminal.
    flexible: Vec<usize>,
    /// Position of the column with thread ids.
    ids: Option<usize>,
    /// Position of the column with paths of branches.
    paths: Option<usize>,
}

impl TextTable {
    /// A table with these headings. On a narrow terminal the last column is cut.
    pub(crate) fn new(headings: &[&str]) -> TextTable {
        TextTable {
            rows: vec![headings.iter().map(|heading| style::dim(heading)).collect()],
            notes: Vec::new(),
            flexible: vec![headings.len().saturating_sub(1)],
            ids: None,
            paths: None,
        }
    }

    /// Marks the column with paths of branches. Paths differ at their ends, so on a narrow terminal their beginnings are cut.
    pub(crate) fn paths(mut self, column: Option<usize>) -> TextTable {
        self.paths = column;
        self
    }

    /// Marks the column with thread ids. Ids differ at their ends, so on a narrow terminal their beginnings are cut, before any other
    /// column is.
    pub(crate) fn ids(mut self, column: Option<usize>) -> TextTable {
        self.ids = column;
        self
    }

    /// Marks columns that are also cut on a narrow terminal, the widest first.
    pub(crate) fn flexible(mut self, columns: impl IntoIterator<Item = usize>) -> TextTable {
        self.flexible.extend(columns);
        self
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells.iter().map(|cell| style::in_line(cell)).collect());
    }

    /// Adds a line below the last row.
    pub(crate) fn note(&mut self, text: &str) {
        self.notes.push((self.rows.len() - 1, format!("{NOTE_INDENT}{}", style::dim(&style::in_line(text)))));
    }

    /// The table as text, one line per row; if possible, no line is longer than the terminal on stdout is wide.
    pub(crate) fn text(&self) -> String {
        self.within(terminal::size(&std::io::stdout()).map(|size| size.columns))
    }

    /// The table in this many columns.
    fn within(&self, limit: Option<usize>) -> String {
        let widths = self.widths(limit);
        let mut text = String::new();
        for (at, row) in self.rows.iter().enumerate() {
            let mut line = String::new();
            for ((column, cell), width) in row.iter().enumerate().zip(&widths) {
                let cell = match Some(column) {
                    ids if ids == self.ids => end(cell, *width),
                    paths if paths == self.paths && at > 0 => style::cut_start(cell, *width),
                    _ => style::cut(cell, *width),
                };
                line.push_str(&cell);
                if column + 1 < row.len() {
                    line.push_str(&" ".repeat(width - style::width(&cell) + GAP));
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
            for (_, note) in self.notes.iter().filter(|(row, _)| *row == at) {
                text.push_str(&style::cut(note, limit.unwrap_or(usize::MAX)));
                text.push('\n');
            }
        }
        text
    }

    /// Width of each column.
    fn widths(&self, limit: Option<usize>) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let cells = |column: usize| self.rows.iter().filter_map(move |row| row.get(column));
        let mut widths: Vec<usize> =
            (0..columns).map(|column| cells(column).map(|cell| style::width(cell)).max().unwrap_or(0)).collect();
        let room = limit.unwrap_or(usize::MAX).saturating_sub(GAP * columns.saturating_sub(1));
        if let Some(ids) = self.ids.filter(|ids| self.flexible.contains(ids)) {
            let excess = widths.iter().sum::<usize>().saturating_sub(room);
            widths[ids] = widths[ids].saturating_sub(excess).max(MIN_CELL.min(widths[ids]));
        }
        while widths.iter().sum::<usize>() > room {
            let widest = self
                .flexible
                .iter()
                .copied()
                .filter(|column| widths.get(*column).is_some_and(|width| *width > MIN_CELL));
            let Some(widest) = widest.max_by_key(|column| widths[*column]) else { break };
            widths[widest] -= 1;
        }
        widths
    }
}

/// The end of an id, in this many columns.
fn end(cell: &str, width: usize) -> Cow<'_, str> {
    let is_id = cell.bytes().all(|byte| byte.is_ascii_alphanumeric());
    match cell.get((cell.len() + 1).saturating_sub(width)..) {
        Some(end) if is_id && cell.len() > width => Cow::from(format!("…{end}")),
        _ => style::cut(cell, width),
    }
}

/// A number in groups of three digits.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The tokens of an agent at work, as far as they are known: `1,200`, or `≥ 1,150` if it has not counted all kinds.
pub(crate) fn tokens_so_far(tokens: &TokenCounts) -> Option<String> {
    match (tokens.input, tokens.output) {
        (None, None) => None,
        (Some(input), Some(output)) => Some(grouped(input.saturating_add(output))),
        (known, None) | (None, known) => known.map(|known| format!("≥ {}", grouped(known))),
    }
}

/// A time in Unix milliseconds as text in UTC: `2026-11-21 22:05:31`.
pub(crate) fn time(unix_ms: u64) -> String {
    uwf_core::view::time(unix_ms)
}

/// A duration as text: `1.2 s`, `3 min 4 s`.
pub(crate) fn duration(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    match seconds {
        0..60 => format!("{:.1} s", elapsed.as_secs_f64()),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// The age of a time as text (both in Unix milliseconds): `3 min ago`. If it is older than a month, the date; if it is in the future, the
/// time.
pub(crate) fn ago(unix_ms: u64, now_ms: u64) -> String {
    let Some(seconds) = now_ms.checked_sub(unix_ms).map(|elapsed| elapsed / 1000) else { return time(unix_ms) };
    match seconds {
        0..60 => "just now".to_owned(),
        60..3600 => format!("{} min ago", seconds / 60),
        3600..86_400 => format!("{} h ago", seconds / 3600),
        86_400..172_800 => "1 day ago".to_owned(),
        172_800..2_592_000 => format!("{} days ago", seconds / 86_400),
        _ => time(unix_ms).split(' ').next().unwrap_or_default().to_owned(),
    }
}

/// A count with its noun: `1 step`, `3 steps`.
pub(crate) fn count(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Most lines of a reason.
const REASON_LINES: usize = 20;

/// The lines of a reason, such as the failures of several branches, each of at most this many columns, without escape sequences.
pub(crate) fn reason(why: &str, columns: usize) -> Vec<String> {
    let all = why.lines().filter(|line| !line.trim().is_empty());
    let mut lines: Vec<String> = all.clone().take(REASON_LINES).map(|line| excerpt(line, columns)).collect();
    match all.count().saturating_sub(REASON_LINES) {
        0 => {}
        more => lines.push(format!("… and {more} more")),
    }
    lines
}

/// Words about the time that agents worked in these attempts together, and how long they waited for a place.
pub(crate) fn work_time(took_ms: u64, waited_ms: u64, attempts: usize) -> String {
    let together = if attempts > 1 { format!(" in {attempts} attempts") } else { String::new() };
    let took = duration(Duration::from_millis(took_ms)) + &together;
    match waited_ms {
        0 => took,
        waited => format!("{took} (waited {})", duration(Duration::from_millis(waited))),
    }
}

/// The beginning of a text as one line of at most this many columns, without escape sequences.
pub(crate) fn excerpt(text: &str, columns: usize) -> String {
    style::cut(&one_line(text), columns).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_apart() {
        assert_eq!([0, 7, 1000, 1_234_567].map(grouped), ["0", "7", "1,000", "1,234,567"]);
    }

    #[test]
    fn partly_counted_tokens_are_a_minimum() {
        let tokens = |input, output| tokens_so_far(&TokenCounts { input, output, ..TokenCounts::default() });
        assert_eq!(tokens(Some(1150), None).as_deref(), Some("≥ 1,150"));
        assert_eq!(tokens(Some(1150), Some(50)).as_deref(), Some("1,200"));
        assert_eq!(tokens(None, None), None);
    }

    #[test]
    fn excerpts_are_short_lines() {
        assert_eq!(excerpt(" Fix\n the\tbug ", 11), "Fix the bug");
        assert_eq!(excerpt("Fix the bug now", 11), "Fix the bu…");
        assert_eq!(excerpt("Fix the bug now", 12), "Fix the bug…");
        assert_eq!(excerpt("Fix the bug now", 15), "Fix the bug now");
        assert_eq!(excerpt("äöüß", 3), "äö…");
        assert_eq!(excerpt("", 3), "");
        assert_eq!(excerpt("\u{1b}[31mred\u{1b}[0m\u{7}alert", 20), "red alert");
        assert_eq!(excerpt("日本語の文", 7), "日本語…");
        assert_eq!(excerpt(&"long ".repeat(1000), 10), "long long…");
    }

    #[test]
    fn times_are_shown_in_words() {
        let now = 1_795_298_731_000;
        let back = |seconds: u64| ago(now - seconds * 1000, now);
        assert_eq!(
            [back(0), back(59), back(60), back(3599), back(3600), back(86_399), back(86_400), back(29 * 86_400)],
            ["just now", "just now", "1 min ago", "59 min ago", "1 h ago", "23 h ago", "1 day ago", "29 days ago"]
        );
        assert_eq!(back(30 * 86_400), "2026-10-22");
        assert_eq!(ago(now + 1000, now), "2026-11-21 22:05:32");
    }

    #[test]
    fn columns_line_up_whatever_is_emphasised() {
        let mut table = TextTable::new(&["name", "hash"]);
        table.row(vec![style::bold("a"), "1".to_owned()]);
        table.row(vec!["longer".to_owned(), "2".to_owned()]);
        assert_eq!(style::render(&table.text(), true, false), "name    hash\na       1\nlonger  2\n");
    }

    #[test]
    fn ids_are_cut_at_their_beginnings() {
        let mut table = TextTable::new(&["thread", "steps"]).flexible([0]).ids(Some(0));
        table.row(vec!["01M84K4HXK7T9NNASSVRDMQ22G".to_owned(), "4".to_owned()]);
        table.row(vec![style::bold("total"), "4".to_owned()]);
        assert_eq!(
            style::render(&table.within(Some(17)), true, false),
            "thread      steps\n…SVRDMQ22G  4\ntotal       4\n"
        );
    }

    #[test]
    fn paths_are_cut_after_ids() {
        let mut table = TextTable::new(&["branch", "thread"]).flexible([0]).paths(Some(0)).ids(Some(1));
        table.row(vec!["work.fixes.finding-1".to_owned(), "01M84K4HXK7T9NNASSVRDMQ22G".to_owned()]);
        assert_eq!(table.within(Some(30)).lines().last(), Some("work.fixes.finding-1  …RDMQ22G"));
        assert_eq!(table.within(Some(20)).lines().last(), Some("…finding-1  …RDMQ22G"));
    }

    #[test]
    fn a_table_fits_the_terminal() {
        let mut table = TextTable::new(&["id", "task", "why"]).flexible([1]);
        table.row(vec!["0123456789".to_owned(), "日本語の長い文です".to_owned(), style::red("because it is broken")]);
        table.row(vec!["0123456789".to_owned(), "short".to_owned(), String::new()]);
        let fitted = |limit| style::render(&table.within(limit), true, false).into_owned();
        assert_eq!(
            fitted(None),
            "id          task                why\n0123456789  日本語の長い文です  because it is broken\n0123456789  short\n"
        );
        assert_eq!(
            fitted(Some(40)),
            "id          task           why\n0123456789  日本語の長い…  because it i…\n0123456789  short\n"
        );
        assert!(fitted(Some(40)).lines().all(|line| style::width(line) <= 40));
        assert_eq!(
            fitted(Some(10)),
            "id          task      why\n0123456789  日本語…   because…\n0123456789  short\n",
            "what names a thing is never cut"
        );
    }
}
