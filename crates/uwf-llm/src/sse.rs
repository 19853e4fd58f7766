//! Server-sent events (the `text/event-stream` of the HTML standard): bytes in, events out.
//!
//! Pure: it does no I/O and is independent of providers. The events don't depend on how the bytes are split. The buffer holds one
//! unfinished line and one unfinished event, so the size of the body bounds it.

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerSentEvent {
    /// Its type; empty if none was given.
    pub event: String,
    /// Its data lines, joined by newlines.
    pub data: String,
}

/// Parses events from bytes as they arrive.
#[derive(Debug, Clone, Default)]
pub struct SseParser {
    line: Vec<u8>,
    event: String,
    data: Option<String>,
    /// Whether the last byte was a carriage return. A line feed after it belongs to the same line end.
    after_return: bool,
    /// Whether a first line was seen. A byte order mark can only come before it.
    begun: bool,
}

impl SseParser {
    /// A parser at the beginning of a stream.
    pub fn new() -> SseParser {
        SseParser::default()
    }

    /// Adds bytes, and returns the events they complete.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<ServerSentEvent> {
        let mut events = Vec::new();
        for &byte in bytes {
            let ends_return = std::mem::replace(&mut self.after_return, byte == b'\r');
            match byte {
                b'\n' if ends_return => {}
                b'\n' | b'\r' => events.extend(self.end_line()),
                _ => self.line.push(byte),
            }
        }
        events
    }

    /// Ends the stream. The standard drops an event without an empty line after it. Some servers omit the last empty line, so this returns
    /// the event and the caller decides.
    pub fn finish(mut self) -> Option<ServerSentEvent> {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.dispatch()
    }

    fn end_line(&mut self) -> Option<ServerSentEvent> {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let line = if self.begun { &*line } else { line.strip_prefix('\u{feff}').unwrap_or(&line) };
        self.begun = true;
        if line.is_empty() {
            return self.dispatch();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            // Comments (an empty field name), ids and retry times are not needed.
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<ServerSentEvent> {
        let event = std::mem::take(&mut self.event);
        self.data.take().map(|data| ServerSentEvent { event, data })
    }
}
