//! Events as text for people.

use std::collections::HashMap;

use uwf_core::event::{EventToolCall, OutputStream, ThreadEvent, ThreadEventKind};
use uwf_core::text::one_line;
use uwf_core::thread::{Step, ThreadId};
use uwf_core::view;
use uwf_engine::views::read::DEFAULT_QUOTA;

use crate::commands::thread::step::{self, denied_calls};
use crate::{style, table};

/// Maximum number of characters shown of a tool call's arguments, and of its result.
const SHOWN: usize = 100;

/// Prefix of each line of a child thread.
const INDENT: &str = "│ ";

/// Prefix of each line of a thread: the path of a branch, or its depth.
fn prefix(event: &ThreadEvent) -> String {
    match event.branch.as_ref().or(event.within.as_ref()) {
        Some(branch) => style::dim(&format!("{} {INDENT}", one_line(branch))),
        None => INDENT.repeat(event.depth),
    }
}

/// Draws events one by one. It keeps track of what it drew, because an agent's text is drawn while it grows.
#[derive(Default)]
pub(super) struct EventRenderer {
    /// Whether the cursor is not at the start of a line.
    is_inside_line: bool,
    /// Thread and depth of the last drawn event.
    last: Option<(ThreadId, usize)>,
    /// The drawn parts of the running attempts.
    attempts: HashMap<String, AttemptDrawing>,
    /// The running attempt of each thread.
    running: HashMap<ThreadId, String>,
}

/// The drawn part of an attempt.
#[derive(Default)]
struct AttemptDrawing {
    /// The current turn.
    turn: usize,
    /// Drawn bytes of its text.
    text: usize,
    /// Number of drawn tool calls, and whether the last one's result was drawn.
    calls: usize,
    has_text: bool,
}

impl EventRenderer {
    /// The text to add to the screen for an event.
    pub(super) fn draw(&mut self, event: &ThreadEvent) -> String {
        match &event.what {
            // Its task repeats the task and the steps of the thread that plays its group.
            ThreadEventKind::Thread { .. } if event.branch.is_some() => {
                self.block(event, &format!("{}\n", style::dim(&format!("thread {}", event.thread))))
            }
            ThreadEventKind::Thread { workflow, prompt } => {
                let id = style::dim(&format!("thread {}", event.thread));
                // The task of a child thread repeats the task and the steps of the thread above it.
                let task = if event.depth == 0 { prompt.trim().to_owned() } else { table::excerpt(prompt, SHOWN) };
                self.block(event, &format!("\n{} {id}\n{task}\n", style::bold(&one_line(workflow))))
            }
            ThreadEventKind::Attempt { attempt, role, agent, .. } => {
                self.running.insert(event.thread.clone(), attempt.clone());
                self.attempts.insert(attempt.clone(), AttemptDrawing::default());
                self.block(
                    event,
                    &format!("\n{} by {}\n", style::bold(&format!("▸ {}", one_line(role))), one_line(agent.short())),
                )
            }
            ThreadEventKind::Turn { attempt, turn, text, tool_calls, .. } => {
                self.turn(event, attempt, *turn, text, tool_calls)
            }
            ThreadEventKind::Output { attempt, stream, text } => {
                if *stream == OutputStream::Stdout {
                    self.attempts.entry(attempt.clone()).or_default().has_text = true;
                    return self.grow(event, text);
                }
                let lines: Vec<String> = text.trim_end().lines().map(style::dim).collect();
                self.block(event, &(lines.join("\n") + "\n"))
            }
            ThreadEventKind::Failed { role, error, node, denied, .. } => {
                let how = node.map(|node| format!("\ndetails: uwf thread step-details {node}")).unwrap_or_default();
                let denied = denied_calls(denied);
                let (mark, how) = (style::red("✗"), style::dim(&how));
                self.block(event, &format!("{mark} {}: {error}{denied}{how}\n", one_line(role)))
            }
            ThreadEventKind::Step(step) => self.step(event, step),
            ThreadEventKind::State { state, why, .. } => {
                let why = why.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
                match state.as_str() {
                    // Between two attempts of a step.
                    "running" if !why.is_empty() => {
                        self.block(event, &format!("{}\n", style::dim(&format!("running{why}"))))
                    }
                    "active" | "running" => String::new(),
                    _ => self.block(event, &format!("{}{why}\n", style::yellow(state))),
                }
            }
            ThreadEventKind::End { status, reason, outcome, condition } => {
                let ending = step::ending_in_words(
                    Some(outcome.as_ref().unwrap_or(status)),
                    condition.as_deref(),
                    reason.as_deref(),
                );
                self.block(event, &format!("\n{ending}\n"))
            }
        }
    }

    /// The new part of a turn.
    fn turn(&mut self, event: &ThreadEvent, attempt: &str, turn: usize, text: &str, calls: &[EventToolCall]) -> String {
        let drawn = self.attempts.entry(attempt.to_owned()).or_default();
        if drawn.turn != turn {
            *drawn = AttemptDrawing { turn, has_text: drawn.has_text, ..AttemptDrawing::default() };
        }
        let new_text = text.get(drawn.text..).unwrap_or_default().to_owned();
        let new_calls = calls.get(drawn.calls..).unwrap_or_default();
        drawn.text = text.len();
        drawn.calls = calls.len();
        drawn.has_text |= !text.is_empty();
        let mut drawing = String::new();
        if !new_text.is_empty() {
            drawing.push_str(&self.grow(event, &new_text));
        }
        for call in new_calls {
            let arguments = table::excerpt(&call.arguments, SHOWN);
            drawing.push_str(
                &self.block(event, &format!("{} {} {}\n", style::dim("→"), call.name, style::dim(&arguments))),
            );
        }
        drawing
    }

    /// A step in the form of `thread read`, without text that was already drawn.
    fn step(&mut self, event: &ThreadEvent, step: &Step) -> String {
        let running = self.running.remove(&event.thread).and_then(|attempt| self.attempts.remove(&attempt));
        let message = if running.is_some_and(|drawn| drawn.has_text) { None } else { step.message.clone() };
        let section = view::section(&Step { message, ..step.clone() }, DEFAULT_QUOTA);
        self.block(event, &format!("\n{}", section.text))
    }

    /// A block of whole lines.
    fn block(&mut self, event: &ThreadEvent, text: &str) -> String {
        let mut drawing = self.turn_to(event);
        drawing.push_str(&self.fresh_line());
        for line in text.lines() {
            drawing.push_str(&format!("{}{line}\n", prefix(event)));
        }
        drawing
    }

    /// Names the thread if it differs from the last drawn one.
    fn turn_to(&mut self, event: &ThreadEvent) -> String {
        let here = Some((event.thread.clone(), event.depth));
        if self.last == here {
            return String::new();
        }
        // Each line of a branch names it.
        let is_named =
            self.last.is_none() || event.branch.is_some() || matches!(event.what, ThreadEventKind::Thread { .. });
        self.last = here;
        let name = format!("{}{}\n", prefix(event), style::dim(&format!("thread {}", event.thread)));
        self.fresh_line() + if is_named { "" } else { &name }
    }

    /// Text that continues the last text of this thread.
    fn grow(&mut self, event: &ThreadEvent, text: &str) -> String {
        let mut drawing = self.turn_to(event);
        for part in text.split_inclusive('\n') {
            if !self.is_inside_line {
                drawing.push_str(&prefix(event));
            }
            drawing.push_str(part);
            self.is_inside_line = !part.ends_with('\n');
        }
        drawing
    }

    fn fresh_line(&mut self) -> String {
        if std::mem::take(&mut self.is_inside_line) { "\n".to_owned() } else { String::new() }
    }
}
