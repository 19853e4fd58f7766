//! Shows an agent's work on stderr. People watch it, its growth keeps the step alive, and it survives if everything else is lost.

use std::io::Write;

use super::transcript::AcpUpdate;

/// Kind of the text being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AcpTextKind {
    Nothing,
    Text,
    Thought,
}

/// The progress of one session.
#[derive(Debug)]
pub(super) struct AcpProgress {
    stream: AcpTextKind,
    at_line_start: bool,
}

impl AcpProgress {
    pub(super) fn new() -> AcpProgress {
        AcpProgress { stream: AcpTextKind::Nothing, at_line_start: true }
    }

    /// Prints what was seen.
    pub(super) fn seen(&mut self, seen: &AcpUpdate) {
        match seen {
            AcpUpdate::Text(text) => self.stream(AcpTextKind::Text, text),
            AcpUpdate::Thought(text) => self.stream(AcpTextKind::Thought, text),
            AcpUpdate::Event(line) => self.line(line),
        }
    }

    /// Prints one line.
    pub(super) fn line(&mut self, line: &str) {
        let lead = if self.at_line_start { "" } else { "\n" };
        self.stream = AcpTextKind::Nothing;
        self.at_line_start = true;
        write(&format!("{lead}acp: {line}\n"));
    }

    fn stream(&mut self, stream: AcpTextKind, text: &str) {
        let mut lead = String::new();
        if stream != self.stream {
            if !self.at_line_start {
                lead.push('\n');
            }
            if stream == AcpTextKind::Thought {
                lead.push_str("acp: thinks: ");
            }
        }
        self.stream = stream;
        if let Some(last) = text.chars().last() {
            self.at_line_start = last == '\n';
        }
        write(&format!("{lead}{text}"));
    }
}

fn write(text: &str) {
    // stderr may be closed; the work continues.
    let _ = std::io::stderr().write_all(text.as_bytes());
}
