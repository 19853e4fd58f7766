//! Shows an agent's work on stderr. People watch it, its growth keeps the step alive, and it survives if everything else is lost.

use std::io::Write;

use super::transcript::Seen;

/// Kind of the text being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stream {
    Nothing,
    Text,
    Thought,
}

/// The progress of one session.
#[derive(Debug)]
pub(super) struct AcpProgress {
    stream: Stream,
    at_line_start: bool,
}

impl AcpProgress {
    pub(super) fn new() -> AcpProgress {
        AcpProgress { stream: Stream::Nothing, at_line_start: true }
    }

    /// Prints what was seen.
    pub(super) fn seen(&mut self, seen: &Seen) {
        match seen {
            Seen::Text(text) => self.stream(Stream::Text, text),
            Seen::Thought(text) => self.stream(Stream::Thought, text),
            Seen::Event(line) => self.line(line),
        }
    }

    /// Prints one line.
    pub(super) fn line(&mut self, line: &str) {
        let lead = if self.at_line_start { "" } else { "\n" };
        self.stream = Stream::Nothing;
        self.at_line_start = true;
        write(&format!("{lead}acp: {line}\n"));
    }

    fn stream(&mut self, stream: Stream, text: &str) {
        let mut lead = String::new();
        if stream != self.stream {
            if !self.at_line_start {
                lead.push('\n');
            }
            if stream == Stream::Thought {
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
