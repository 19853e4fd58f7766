//! Splits a stream of bytes into lines.

/// One line of a stream, without its line break.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageLine {
    /// The complete line.
    Whole(Vec<u8>),
    /// A line with this many bytes, more than the cap; its content was dropped.
    TooLong(u64),
}

/// Splits a stream into lines, and never holds more than `cap` bytes of one.
#[derive(Debug)]
pub struct MessageLines {
    cap: usize,
    line: Vec<u8>,
    /// Bytes of the current line, if it exceeds the cap.
    dropped: Option<u64>,
}

impl MessageLines {
    /// Accepts lines of up to `cap` bytes.
    pub fn new(cap: usize) -> MessageLines {
        MessageLines { cap, line: Vec::new(), dropped: None }
    }

    /// Adds the next bytes, and returns the lines that end in them.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<MessageLine> {
        let mut lines = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            match piece.strip_suffix(b"\n") {
                Some(end) => {
                    self.add(end);
                    lines.push(self.take());
                }
                None => self.add(piece),
            }
        }
        lines
    }

    /// Returns the rest after the last line break, at the end of the stream.
    pub fn finish(&mut self) -> Option<MessageLine> {
        (self.dropped.is_some() || !self.line.is_empty()).then(|| self.take())
    }

    fn add(&mut self, piece: &[u8]) {
        let length = piece.len() as u64;
        match &mut self.dropped {
            Some(dropped) => *dropped = dropped.saturating_add(length),
            None if self.line.len() + piece.len() > self.cap => {
                self.dropped = Some(self.line.len() as u64 + length);
                self.line = Vec::new();
            }
            None => self.line.extend_from_slice(piece),
        }
    }

    fn take(&mut self) -> MessageLine {
        let mut line = std::mem::take(&mut self.line);
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        self.dropped.take().map_or(MessageLine::Whole(line), MessageLine::TooLong)
    }
}
