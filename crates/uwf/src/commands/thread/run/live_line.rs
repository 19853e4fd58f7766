//! The line at a terminal that shows what the agent of a run does.

use std::time::Instant;

use uwf_core::activity;
use uwf_core::event::{OutputStream, ThreadEvent, ThreadEventKind};
use uwf_core::text::{end, one_line};
use uwf_core::workflow::GROUP_AGENT;
use uwf_engine::thread::state::ThreadState;

use crate::context::CommandContext;
use crate::{style, table, terminal};

/// Columns of a line on a terminal of unknown width.
const COLUMNS: usize = 79;

/// Columns of the path of a branch.
const PATH: usize = 40;

/// Maximum number of bytes kept of the newest output: far more than fits on a line.
const KEPT: usize = 4 << 10;

/// The line of one thread.
pub(super) struct LiveLine<'c> {
    context: &'c CommandContext,
    begun: Instant,
    /// Role and agent of the attempt.
    player: Option<String>,
    /// The newest words of the thread, or of each branch at work; the newest of all come last.
    said: Vec<BranchWords>,
    /// Whether the role is a group, whose own output only repeats what its branches say.
    plays_group: bool,
    is_shown: bool,
}

/// The newest words of a thread or branch.
struct BranchWords {
    /// Path of the branch.
    branch: Option<String>,
    text: String,
    /// Whether they are from a turn, which says more than what the agent prints on stderr.
    is_turn: bool,
}

impl<'c> LiveLine<'c> {
    pub(super) fn new(context: &'c CommandContext) -> LiveLine<'c> {
        LiveLine { context, begun: Instant::now(), player: None, said: Vec::new(), plays_group: false, is_shown: false }
    }

    /// Starts a step.
    pub(super) fn begin(&mut self) {
        self.begun = Instant::now();
        self.player = None;
    }

    /// Shows the line.
    pub(super) fn show(&mut self) {
        let Some(player) = &self.player else { return };
        let known = format!("{player}, {}: ", table::duration(self.begun.elapsed()));
        let columns = terminal::size(&std::io::stderr()).map_or(COLUMNS, |size| size.columns.saturating_sub(1));
        let (branch, said) = self.said.last().map_or((None, ""), |said| (said.branch.as_ref(), said.text.as_str()));
        let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let known = match branch {
            Some(branch) => format!("{known}{}: ", table::excerpt(branch, PATH)),
            None => known,
        };
        self.context.printer.live(&live_line(&known, last, columns));
        self.is_shown = true;
    }

    /// Takes over the news of an event.
    pub(super) fn take(&mut self, event: &ThreadEvent) {
        if self.plays_group && event.depth == 0 && matches!(event.what, ThreadEventKind::Output { .. }) {
            return;
        }
        match &event.what {
            ThreadEventKind::Attempt { role, agent, .. } if event.depth == 0 => {
                self.player = Some(format!("{role} by {agent}"));
                self.plays_group = agent.to_string() == GROUP_AGENT;
                self.said.clear();
            }
            ThreadEventKind::Turn { text, tool_calls, .. } => {
                self.take_words(event);
                let words = match tool_calls.last() {
                    Some(call) => activity::describe_call(&call.name, &call.arguments),
                    None => end(text, KEPT).to_owned(),
                };
                let is_turn = !words.trim().is_empty();
                self.said.push(BranchWords { branch: event.branch.clone(), text: words, is_turn });
            }
            ThreadEventKind::Output { stream: OutputStream::Stderr, .. } if self.shows_turn(event) => {}
            ThreadEventKind::Output { text, .. } => {
                let words = format!("{}{text}", self.take_words(event));
                let text = end(&words, KEPT).to_owned();
                self.said.push(BranchWords { branch: event.branch.clone(), text, is_turn: false });
            }
            // Between two attempts.
            ThreadEventKind::State { state, why: Some(why), .. } if state == ThreadState::Running.name() => {
                self.take_words(event);
                self.said.push(BranchWords { branch: event.branch.clone(), text: why.clone(), is_turn: true });
            }
            ThreadEventKind::State { state, .. } if state == ThreadState::Running.name() => {}
            // A branch at work has the line, not one that has ended or waits.
            ThreadEventKind::Attempt { .. }
            | ThreadEventKind::End { .. }
            | ThreadEventKind::Failed { .. }
            | ThreadEventKind::State { .. }
                if event.branch.is_some() =>
            {
                self.take_words(event);
            }
            _ => {}
        }
    }

    /// Whether the newest words of the branch, or of the thread itself, are from a turn.
    fn shows_turn(&self, event: &ThreadEvent) -> bool {
        self.said.iter().any(|said| said.branch == event.branch && said.is_turn)
    }

    /// Removes and returns the newest words of the branch, or of the thread itself.
    fn take_words(&mut self, event: &ThreadEvent) -> String {
        let position = self.said.iter().position(|said| said.branch == event.branch);
        position.map(|position| self.said.remove(position).text).unwrap_or_default()
    }

    /// Removes the line.
    pub(super) fn clear(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            self.context.printer.clear_line();
        }
    }
}

/// Role, agent and time, then the end of the last output, so that growing output stays visible.
fn live_line(known: &str, said: &str, columns: usize) -> String {
    let known = table::excerpt(known, columns);
    let said = one_line(said);
    let room = columns.saturating_sub(style::width(&known) + 1);
    let symbols = said.char_indices().rev();
    // Start of each symbol, from the end, while the rest fits.
    let widths = symbols.scan(0, |taken, (at, _)| {
        *taken = style::width(&said[at..]);
        (*taken <= room).then_some(at)
    });
    let from = widths.last().unwrap_or(said.len());
    format!("{known} {}", &said[from..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_growing_line_is_seen_growing() {
        assert_eq!(live_line("coder by llm, 3.0 s: ", "reads\u{1b}[2J\u{7}", 80), "coder by llm, 3.0 s: reads");
        let said = format!("{{\"text\": \"{} the end", "word ".repeat(50));
        let grown = live_line("coder by llm, 3.0 s: ", &said, 60);
        assert_eq!(style::width(&grown), 60);
        assert!(grown.starts_with("coder by llm, 3.0 s: ") && grown.ends_with("word the end"), "{grown}");
        assert_eq!(live_line("coder by llm: ", "日本語", 19), "coder by llm: 本語");
        assert_eq!(live_line("coder by llm: ", "said", 8), "coder b… ");
    }
}
