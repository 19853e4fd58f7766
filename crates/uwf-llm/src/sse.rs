//! Server-sent events (the `text/event-stream` of the HTML standard): bytes in, events out.
//!
//! Pure: it reads nothing and knows no provider. However the bytes are cut, the same events come out. Its buffer holds
//! one unfinished line and one unfinished event, so it is as bounded as the body it is fed with.

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerSentEvent {
    /// Its kind; empty when none was given.
    pub event: String,
    /// Its lines of data, joined by newlines.
    pub data: String,
}

/// Puts events together from bytes as they come.
#[derive(Debug, Clone, Default)]
pub struct Parser {
    line: Vec<u8>,
    event: String,
    data: Option<String>,
    /// The last byte was a carriage return, whose line feed belongs to it.
    after_return: bool,
    /// A first line was seen: no byte order mark can come any more.
    begun: bool,
}

impl Parser {
    /// A parser at the beginning of a stream.
    pub fn new() -> Parser {
        Parser::default()
    }

    /// Takes the next bytes; returns the events they complete.
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

    /// The stream has ended. The standard drops an event without an empty line after it; some servers leave that line
    /// out at the very end, so it is given here and whoever reads it decides.
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
            // Comments (an empty field name), ids and retry times do not concern us.
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<ServerSentEvent> {
        let event = std::mem::take(&mut self.event);
        self.data.take().map(|data| ServerSentEvent { event, data })
    }
}
