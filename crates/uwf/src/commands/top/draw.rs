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

use super::threads::TopThreadLine;
use super::{TopMode, TopScreen, TopTextPage};
use crate::style::cut_start;
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
K              kill it, after a question
/              filter by id, workflow, state or role; Esc takes the filter back
t              show or hide finished threads
b              show or hide the branches of groups
q Esc Ctrl-C   leave

Enter, q or Esc closes this page.
";

/// Place of the column with the projects.
const PROJECT_COLUMN: usize = 2;

/// Columns of a workflow, or of the path of a branch.
const WORKFLOW: usize = 20;

/// Columns by which a thread stands further right than the thread above it.
const INDENT: usize = 2;

/// How many times a thread is indented at most.
const MAX_DEPTH: usize = 4;

/// Symbols shown of an id.
const ID: usize = 8;

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
    frame.render_widget(Paragraph::new(footer(top)), foot);
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
    let rows = lines.into_iter().map(|line| {
        let elapsed = line.elapsed.map(|ms| table::duration(Duration::from_millis(ms))).unwrap_or_default();
        let workflow = workflow(&line);
        let id = line.thread.as_str();
        let mut cells = vec![
            Cell::new(id[id.len().saturating_sub(ID)..].to_owned()),
            Cell::new(Span::styled(line.state_in_words, of_state(line.state))),
            Cell::new(workflow),
            Cell::new(text(&line.role)),
            Cell::new(elapsed),
            Cell::new(line.cost),
            Cell::new(text(&line.about)),
        ];
        if has_projects {
            cells.insert(PROJECT_COLUMN, Cell::new(text(&line.project)));
        }
        let style = if line.is_chosen { Style::new().add_modifier(Modifier::REVERSED) } else { Style::new() };
        Row::new(cells).style(style)
    });
    let mut widths = vec![
        Constraint::Length(u16::try_from(ID).unwrap_or_default()),
        Constraint::Length(10),
        Constraint::Max(u16::try_from(WORKFLOW).unwrap_or_default()),
        Constraint::Max(16),
        Constraint::Length(12),
        Constraint::Length(12),
        Constraint::Fill(1),
    ];
    let mut names = vec!["thread", "state", "workflow", "role", "elapsed", "cost", "about"];
    if has_projects {
        widths.insert(PROJECT_COLUMN, Constraint::Max(16));
        names.insert(PROJECT_COLUMN, "project");
    }
    let header = Row::new(names).style(Style::new().add_modifier(Modifier::DIM));
    let table = Table::new(rows, widths);
    frame.render_widget(if has_names { table.header(header) } else { table }, area);
}

/// The workflow of a line, indented below the thread that plays it.
fn workflow(line: &TopThreadLine) -> String {
    let (indent, name) = (INDENT * line.depth.min(MAX_DEPTH), text(&line.workflow));
    // Paths of branches differ at their ends.
    let name = if line.is_branch { cut_start(&name, WORKFLOW - indent).into_owned() } else { name };
    format!("{:indent$}{name}", "")
}

/// Text from outside, as one line that cannot move the cursor.
fn text(from: &str) -> String {
    one_line(from)
}

fn footer(top: &TopScreen<'_>) -> String {
    match &top.mode {
        TopMode::Filter(_) => format!("filter: {}▏  Enter keeps it, Esc takes it back", top.threads.filter()),
        TopMode::Kill(thread) => format!("kill {thread}? y kills it, any other key does not"),
        TopMode::Page(_) => "↑ ↓ PgUp PgDn to move · q to go back".to_owned(),
        TopMode::List if !top.message.is_empty() => one_line(&top.message),
        TopMode::List => {
            "Enter read · l follow · a answer · s step · r run · R retry · p pause · K kill · / filter · t finished · b branches · ? help · q leave".to_owned()
        }
    }
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
