//! Events as people read them.

use std::collections::HashMap;

use uwf_core::event::{Event, Stream, ToolCall, What};
use uwf_core::text::one_line;
use uwf_core::thread::{Step, ThreadId};
use uwf_core::view;
use uwf_engine::verbs::read::DEFAULT_QUOTA;

use crate::{style, table};

/// Characters of a tool call's arguments and of its result that are shown.
const SHOWN: usize = 100;

/// What stands before each line of a child thread.
const INDENT: &str = "│ ";

/// Draws events one after the other. What an agent says is drawn as it grows, so the drawing knows what it has drawn.
#[derive(Default)]
pub(super) struct Drawing {
    /// Whether the cursor is behind something on its line.
    is_inside_line: bool,
    /// Thread and depth of what was drawn last.
    last: Option<(ThreadId, usize)>,
    /// What was drawn of the running attempts.
    attempts: HashMap<String, Drawn>,
    /// Attempt at each thread's next step.
    running: HashMap<ThreadId, String>,
}

/// What was drawn of an attempt.
#[derive(Default)]
struct Drawn {
    /// The turn it is at.
    turn: usize,
    /// Bytes of its text.
    text: usize,
    /// Tool calls, and of the last whether its result was drawn.
    calls: usize,
    has_text: bool,
}

impl Drawing {
    /// The text that an event adds to the screen.
    pub(super) fn draw(&mut self, event: &Event) -> String {
        match &event.what {
            What::Thread { workflow, prompt } => {
                let id = style::dim(&format!("thread {}", event.thread));
                let task = prompt.trim();
                self.block(event, &format!("\n{} {id}\n{task}\n", style::bold(&one_line(workflow))))
            }
            What::Attempt { attempt, role, agent, .. } => {
                self.running.insert(event.thread.clone(), attempt.clone());
                self.attempts.insert(attempt.clone(), Drawn::default());
                self.block(
                    event,
                    &format!("\n{} by {}\n", style::bold(&format!("▸ {}", one_line(role))), one_line(agent.short())),
                )
            }
            What::Turn { attempt, turn, text, tool_calls, .. } => self.turn(event, attempt, *turn, text, tool_calls),
            What::Output { attempt, stream, text } => {
                if *stream == Stream::Stdout {
                    self.attempts.entry(attempt.clone()).or_default().has_text = true;
                    return self.grow(event, text);
                }
                let lines: Vec<String> = text.trim_end().lines().map(style::dim).collect();
                self.block(event, &(lines.join("\n") + "\n"))
            }
            What::Failed { role, error, node, .. } => {
                let how = node.map(|node| format!("\nwhat it did: uwf thread step-details {node}")).unwrap_or_default();
                self.block(event, &format!("{} {}: {error}{}\n", style::red("✗"), one_line(role), style::dim(&how)))
            }
            What::Step(step) => self.step(event, step),
            What::State { state, why } => {
                let why = why.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
                match state.as_str() {
                    "active" | "running" => String::new(),
                    _ => self.block(event, &format!("{}{why}\n", style::yellow(state))),
                }
            }
            What::End { status, reason } => {
                let reason = reason.as_deref().filter(|reason| reason != status);
                let reason = reason.map(|reason| format!(" ({})", one_line(reason))).unwrap_or_default();
                let done = if status == "completed" { style::green("done") } else { style::red(status) };
                self.block(event, &format!("\n{done}{reason}\n"))
            }
        }
    }

    /// What is new of a turn.
    fn turn(&mut self, event: &Event, attempt: &str, turn: usize, text: &str, calls: &[ToolCall]) -> String {
        let drawn = self.attempts.entry(attempt.to_owned()).or_default();
        if drawn.turn != turn {
            *drawn = Drawn { turn, has_text: drawn.has_text, ..Drawn::default() };
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

    /// A step, as `thread read` has it; the text that was seen growing is not repeated.
    fn step(&mut self, event: &Event, step: &Step) -> String {
        let running = self.running.remove(&event.thread).and_then(|attempt| self.attempts.remove(&attempt));
        let message = if running.is_some_and(|drawn| drawn.has_text) { None } else { step.message.clone() };
        let section = view::section(&Step { message, ..step.clone() }, DEFAULT_QUOTA);
        self.block(event, &format!("\n{}", section.text))
    }

    /// Whole lines.
    fn block(&mut self, event: &Event, text: &str) -> String {
        let mut drawing = self.turn_to(event);
        drawing.push_str(&self.fresh_line());
        for line in text.lines() {
            drawing.push_str(&format!("{}{line}\n", INDENT.repeat(event.depth)));
        }
        drawing
    }

    /// Names the thread when it is another than the one that was drawn last.
    fn turn_to(&mut self, event: &Event) -> String {
        let here = Some((event.thread.clone(), event.depth));
        if self.last == here {
            return String::new();
        }
        let is_first = self.last.is_none() || matches!(event.what, What::Thread { .. });
        self.last = here;
        let name = format!("{}{}\n", INDENT.repeat(event.depth), style::dim(&format!("thread {}", event.thread)));
        self.fresh_line() + if is_first { "" } else { &name }
    }

    /// A text that continues where the last one of this thread ended.
    fn grow(&mut self, event: &Event, text: &str) -> String {
        let mut drawing = self.turn_to(event);
        for part in text.split_inclusive('\n') {
            if !self.is_inside_line {
                drawing.push_str(&INDENT.repeat(event.depth));
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
