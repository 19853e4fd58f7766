//! Lines out of a stream of bytes.

/// One line of a stream, without its line break.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageLine {
    /// All of it.
    Whole(Vec<u8>),
    /// It had this many bytes, more than the cap; they were not kept.
    TooLong(u64),
}

/// Cuts a stream into lines and never holds more than `cap` bytes of one.
#[derive(Debug)]
pub struct MessageLines {
    cap: usize,
    line: Vec<u8>,
    /// Bytes of the current line when it is over the cap.
    dropped: Option<u64>,
}

impl MessageLines {
    /// A line may have `cap` bytes.
    pub fn new(cap: usize) -> MessageLines {
        MessageLines { cap, line: Vec::new(), dropped: None }
    }

    /// The lines that end in these bytes, which follow those of the last call.
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

    /// What stood after the last line break when the stream ended.
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
