//! The screen.

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line as TextLine, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Table};
use uwf_core::escapes::without_escapes;
use uwf_core::text::one_line;
use uwf_engine::thread::state::ThreadState;

use super::threads::{TopThreadAbout, TopThreadLine};
use super::{TopMode, TopScreen, TopTextPage};
use crate::style::{cut, cut_start, width};
use crate::table::{self, count};

/// The text for `?`.
pub(super) const HELP: &str = "\
↑ ↓ j k        move; also PgUp, PgDn, Home and End
Enter          read the thread
l              follow it as it happens; Ctrl-C comes back
a              answer what it asks
s              do one step
r              run it until it ends or stops; Ctrl-C comes back
R              retry its failed step
p              pause it, or resume it
K              kill it, after asking
/              filter by id, workflow, state or role; Esc clears the filter
t              show or hide finished threads
b              show or hide the branches of groups
q Esc Ctrl-C   leave

Enter, q or Esc closes this page.
";

/// Names of the columns.
const NAMES: [&str; 8] = ["thread", "state", "project", "workflow", "role", "elapsed", "cost", "about"];

/// Place of the column with the states.
const STATE_COLUMN: usize = 1;

/// Place of the column with the projects.
const PROJECT_COLUMN: usize = 2;

/// Place of the column with the workflows, or the paths of branches.
const WORKFLOW_COLUMN: usize = 3;

/// Columns of a wide screen.
const WIDE: u16 = 100;

/// The most columns of each cell but the last, on a wide screen.
const WIDE_COLUMNS: [u16; NAMES.len() - 1] = [8, 10, 16, 20, 16, 12, 12];

/// The same on a narrow screen.
const NARROW_COLUMNS: [u16; NAMES.len() - 1] = [8, 10, 8, 13, 9, 10, 9];

/// Columns by which a thread stands further right than the thread above it.
const INDENT: usize = 2;

/// How many times a thread is indented at most.
const MAX_DEPTH: usize = 4;

/// Symbols shown of an id.
const ID: usize = 8;

/// Between two parts of the words about a thread.
const SEPARATOR: &str = " · ";

/// The fewest columns in which the task and something else are shown.
const ROOM_FOR_TWO: usize = 40;

/// The keys that the last line names, most useful first.
const KEYS: [&str; 11] = [
    "Enter read",
    "l follow",
    "a answer",
    "s step",
    "r run",
    "R retry",
    "p pause",
    "K kill",
    "/ filter",
    "t finished",
    "b branches",
];

/// The keys that the last line always names.
const LAST_KEYS: &str = "? help · q leave";

/// Draws the whole screen.
pub(super) fn screen(frame: &mut Frame<'_>, top: &mut TopScreen<'_>) {
    let [head, body, foot] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)]).areas(frame.area());
    match &top.mode {
        TopMode::Page(page) => {
            top.rows = usize::from(body.height);
            self::page(frame, page, head, body);
        }
        TopMode::List | TopMode::Filter(_) | TopMode::Kill(_) => {
            frame.render_widget(summary(top), head);
            list(frame, top, body);
        }
    }
    frame.render_widget(Paragraph::new(footer(top, usize::from(foot.width))), foot);
}

fn page(frame: &mut Frame<'_>, page: &TopTextPage, head: Rect, body: Rect) {
    let last = (page.top + usize::from(body.height)).min(page.lines.len());
    let title = format!("{}   lines {}–{} of {}", page.title, page.top + 1, last, page.lines.len());
    frame.render_widget(Paragraph::new(Span::styled(title, Modifier::BOLD)), head);
    let lines = page.lines[page.top..last].iter().map(|line| TextLine::raw(without_escapes(line).into_owned()));
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), body);
}

/// The number of threads, by state.
fn summary(top: &TopScreen<'_>) -> Paragraph<'static> {
    let (shown, all) = top.threads.counts();
    let which = if top.threads.shows_finished() { "thread" } else { "active thread" };
    let mut spans = vec![Span::styled(count(all, which), Modifier::BOLD)];
    for (state, number) in top.threads.by_state() {
        spans.push(Span::raw(" · "));
        spans.push(Span::styled(format!("{number} {}", state.name()), of_state(state)));
    }
    if !top.threads.filter().is_empty() {
        spans.push(Span::raw(format!(" · {shown} with “{}”", top.threads.filter())));
    }
    Paragraph::new(TextLine::from(spans))
}

fn list(frame: &mut Frame<'_>, top: &mut TopScreen<'_>, area: Rect) {
    // On a screen with one line, show the selected thread rather than the column names.
    let has_names = area.height > 1;
    let room = usize::from(area.height) - usize::from(has_names);
    top.rows = room;
    let lines = top.threads.lines(room);
    if lines.is_empty() {
        let nothing = match (top.threads.filter().is_empty(), top.threads.shows_finished()) {
            (false, _) => "no thread passes the filter",
            (true, true) => "no threads",
            (true, false) => "no active threads; t also shows finished ones",
        };
        frame.render_widget(Paragraph::new(nothing), area);
        return;
    }
    // The project is of interest only where there are several.
    let has_projects = lines.iter().any(|line| line.project != lines[0].project);
    let most = if area.width < WIDE { NARROW_COLUMNS } else { WIDE_COLUMNS };
    let mut table: Vec<Vec<Span<'static>>> = vec![NAMES[..most.len()].iter().copied().map(Span::raw).collect()];
    let mut styles = vec![Style::new().add_modifier(Modifier::DIM)];
    let mut abouts = Vec::new();
    for mut line in lines {
        abouts.push(std::mem::take(&mut line.about));
        styles.push(if line.is_chosen { Style::new().add_modifier(Modifier::REVERSED) } else { Style::new() });
        table.push(cells(line, usize::from(most[WORKFLOW_COLUMN])).to_vec());
    }
    // A column is as wide as its texts, so that the rest of the line is left for the task.
    let widest = |at: usize| match at {
        // States change often, and the other columns should not move then.
        STATE_COLUMN => usize::from(most[at]),
        _ => table.iter().map(|cells| cells[at].width()).max().unwrap_or_default(),
    };
    let mut widths: Vec<u16> =
        (0..most.len()).map(|at| most[at].min(u16::try_from(widest(at)).unwrap_or(u16::MAX))).collect();
    if !has_projects {
        widths.remove(PROJECT_COLUMN);
        table.iter_mut().for_each(|cells| drop(cells.remove(PROJECT_COLUMN)));
    }
    // One column is between two cells.
    let room = usize::from(area.width).saturating_sub(widths.iter().map(|width| usize::from(*width) + 1).sum());
    let abouts = abouts.iter().map(|about| self::about(about, room));
    let abouts = std::iter::once("about".to_owned()).chain(abouts).map(Span::raw);
    table.iter_mut().zip(abouts).for_each(|(cells, about)| cells.push(about));
    let widths = widths.into_iter().map(Constraint::Length).chain([Constraint::Fill(1)]);
    let mut rows =
        table.into_iter().zip(styles).map(|(cells, style)| Row::new(cells.into_iter().map(Cell::new)).style(style));
    let header = rows.next().filter(|_| has_names);
    let table = Table::new(rows.collect::<Vec<_>>(), widths);
    let table = match header {
        Some(header) => table.header(header),
        None => table,
    };
    frame.render_widget(table, area);
}

/// The cells of a line up to the words about it, with the project.
fn cells(line: TopThreadLine, workflow_columns: usize) -> [Span<'static>; NAMES.len() - 1] {
    let elapsed = line.elapsed.map(|ms| table::duration(Duration::from_millis(ms))).unwrap_or_default();
    let workflow = workflow(&line, workflow_columns);
    let id = line.thread.as_str();
    [
        Span::raw(id[id.len().saturating_sub(ID)..].to_owned()),
        Span::styled(line.state_in_words, of_state(line.state)),
        Span::raw(text(&line.project)),
        Span::raw(workflow),
        Span::raw(text(&line.role)),
        Span::raw(elapsed),
        Span::raw(line.cost),
    ]
}

/// The workflow of a line, indented below the thread that plays it.
fn workflow(line: &TopThreadLine, columns: usize) -> String {
    let (indent, name) = (INDENT * line.depth.min(MAX_DEPTH), text(&line.workflow));
    // Paths of branches differ at their ends.
    let name = if line.is_branch { cut_start(&name, columns.saturating_sub(indent).max(1)).into_owned() } else { name };
    format!("{:indent$}{name}", "")
}

/// Text from outside, as one line that cannot move the cursor.
fn text(from: &str) -> String {
    one_line(from)
}

fn footer(top: &TopScreen<'_>, columns: usize) -> String {
    match &top.mode {
        TopMode::Filter(_) => format!("filter: {}▏  Enter keeps it, Esc takes it back", top.threads.filter()),
        TopMode::Kill(thread) => format!("kill {thread}? y kills it, any other key does not"),
        TopMode::Page(_) => "↑ ↓ PgUp PgDn to move · q to go back".to_owned(),
        TopMode::List if !top.message.is_empty() => one_line(&top.message),
        TopMode::List => keys(columns),
    }
}

/// The keys, as many as fit.
fn keys(columns: usize) -> String {
    let mut line = String::new();
    for key in KEYS.map(|key| format!("{key} · ")) {
        if width(&line) + width(&key) + width(LAST_KEYS) > columns {
            break;
        }
        line.push_str(&key);
    }
    line + LAST_KEYS
}

/// The words about a thread that fit. The task comes first, because it names the thread; only a narrow screen shows what an agent does now
/// in its place.
fn about(about: &TopThreadAbout, room: usize) -> String {
    let TopThreadAbout { task, why, doing, tokens } = about;
    let tokens = tokens.as_ref().map(|tokens| format!("{tokens} tokens"));
    let now: Vec<String> = tokens.into_iter().chain(doing.clone()).map(|words| text(&words)).collect();
    let (task, rest) = (text(task), why.as_deref().map_or(now.join(" · "), text));
    let is_narrow = room < ROOM_FOR_TWO;
    let words = match doing {
        Some(doing) if is_narrow => text(doing),
        _ if rest.is_empty() => task,
        _ => {
            // A long task leaves the other half of the room.
            let left = room.saturating_sub(width(&rest) + width(SEPARATOR));
            let most = if is_narrow { room } else { left.max(room / 2) };
            format!("{}{SEPARATOR}{rest}", cut(&task, most))
        }
    };
    cut(&words, room).into_owned()
}

/// The colour of a state, as in lists.
fn of_state(state: ThreadState) -> Style {
    if std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) {
        return Style::new();
    }
    match state {
        ThreadState::Active | ThreadState::Paused => Style::new(),
        ThreadState::Running | ThreadState::Completed => Style::new().fg(Color::Green),
        ThreadState::Waiting | ThreadState::Limited => Style::new().fg(Color::Yellow),
        ThreadState::Stuck | ThreadState::Killed | ThreadState::Corrupt => Style::new().fg(Color::Red),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_and_leave_are_always_named() {
        assert_eq!(keys(80), "Enter read · l follow · a answer · s step · r run · R retry · ? help · q leave");
        assert_eq!(keys(10), LAST_KEYS);
        assert!(keys(200).contains("b branches"));
    }

    #[test]
    fn task_comes_before_reason() {
        let (task, why) = ("Fix the login page".to_owned(), Some("agent coder exited with 1".to_owned()));
        let stuck = TopThreadAbout { task, why, ..TopThreadAbout::default() };
        assert_eq!(about(&stuck, 15), "Fix the login …");
        assert_eq!(about(&stuck, 60), "Fix the login page · agent coder exited with 1");
        assert_eq!(about(&stuck, 40), "Fix the login page · agent coder exited…");
    }

    #[test]
    fn running_thread_shows_activity_and_tokens() {
        let (task, tokens) = ("Fix the login page".to_owned(), Some("≥ 1,150".to_owned()));
        let running =
            TopThreadAbout { task, doing: Some("runs pytest".to_owned()), tokens, ..TopThreadAbout::default() };
        assert_eq!(about(&running, 15), "runs pytest");
        assert_eq!(about(&running, 60), "Fix the login page · ≥ 1,150 tokens · runs pytest");
    }
}
