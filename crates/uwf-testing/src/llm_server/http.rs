//! The part of HTTP/1.1 that clients of models use.
//!
//! Don't use `tiny_http`: it sends chunks of 8 KB, so that events of a stream would not leave one by one. It also hides the connection,
//! which a scripted answer must cut, stall or close.

use std::io::{self, BufRead, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::say::{AnswerDelivery, ScriptedAnswer};

/// Largest body.
const MAX_BODY: usize = 64 * 1024 * 1024;

/// Gemini's path for a streamed answer; in the other APIs the body requests it.
const GEMINI_STREAM: &str = ":streamGenerateContent";

/// Paths of requests to a model.
const ASKING: [&str; 5] = ["/chat/completions", "/messages", "/responses", ":generateContent", GEMINI_STREAM];

/// A received request.
#[derive(Debug, Clone, PartialEq)]
pub struct LlmServerRequest {
    /// `GET`, `POST`.
    pub method: String,
    /// Path with its query.
    pub path: String,
    /// Headers in their order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Body as text.
    pub text: String,
    /// Body as JSON; null if it is not JSON.
    pub body: Value,
}

impl LlmServerRequest {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// True if it is a request to a model, rather than for a list of models or a probe.
    pub fn asks(&self) -> bool {
        let path = self.path_only();
        self.method == "POST" && ASKING.iter().any(|asking| path.ends_with(asking))
    }

    /// True if the answer must be streamed.
    pub fn streams(&self) -> bool {
        self.path_only().ends_with(GEMINI_STREAM) || self.body.get("stream").and_then(Value::as_bool).unwrap_or(false)
    }

    pub(crate) fn path_only(&self) -> &str {
        self.path.split('?').next().unwrap_or_default()
    }
}

/// Reads the next request of a connection; `None` at its end.
pub(crate) fn read_request(reader: &mut impl BufRead, stream: &mut TcpStream) -> io::Result<Option<LlmServerRequest>> {
    let Some(first) = line(reader)? else { return Ok(None) };
    let mut words = first.split_whitespace();
    let (method, path) = (words.next().unwrap_or_default().to_owned(), words.next().unwrap_or_default().to_owned());
    let mut headers = Vec::new();
    while let Some(header) = line(reader)?.filter(|line| !line.is_empty()) {
        if let Some((name, value)) = header.split_once(':') {
            headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    let header = |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    if header("expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue")) {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    let bytes = if header("transfer-encoding").is_some_and(|value| value.contains("chunked")) {
        chunked(reader)?
    } else {
        let length = header("content-length").and_then(|value| value.parse().ok()).unwrap_or(0);
        exactly(reader, length)?
    };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let body = serde_json::from_str(&text).unwrap_or_default();
    Ok(Some(LlmServerRequest { method, path, headers, text, body }))
}

fn line(reader: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    reader.read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    Ok(Some(String::from_utf8_lossy(&line).trim_end().to_owned()))
}

fn exactly(reader: &mut impl Read, length: usize) -> io::Result<Vec<u8>> {
    if length > MAX_BODY {
        return Err(io::Error::other("the body is too long"));
    }
    let mut bytes = vec![0; length];
    reader.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn chunked(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    loop {
        let size = line(reader)?.unwrap_or_default();
        let size =
            usize::from_str_radix(size.split(';').next().unwrap_or_default().trim(), 16).map_err(io::Error::other)?;
        all.extend(exactly(reader, size.min(MAX_BODY - all.len().min(MAX_BODY)))?);
        line(reader)?;
        if size == 0 {
            return Ok(all);
        }
    }
}

/// An answer in the form of a wire, ready to send.
pub(crate) struct LlmServerResponse {
    status: u16,
    headers: Vec<(String, String)>,
    content: LlmResponseContent,
    travel: AnswerDelivery,
    pause: Duration,
}

enum LlmResponseContent {
    Body(String),
    Events(Vec<String>),
}

impl LlmServerResponse {
    pub(crate) fn json(status: u16, body: &Value) -> LlmServerResponse {
        LlmServerResponse::new(status, "application/json", LlmResponseContent::Body(body.to_string()))
    }

    /// The events of a stream, each `event: …\ndata: …`.
    pub(crate) fn events(events: Vec<String>) -> LlmServerResponse {
        LlmServerResponse::new(200, "text/event-stream", LlmResponseContent::Events(events))
    }

    fn new(status: u16, content_type: &str, content: LlmResponseContent) -> LlmServerResponse {
        let headers = vec![("content-type".to_owned(), content_type.to_owned())];
        LlmServerResponse { status, headers, content, travel: AnswerDelivery::Whole, pause: Duration::ZERO }
    }

    /// A scripted answer in the form of a wire.
    pub(crate) fn from_answer(
        say: &ScriptedAnswer,
        request: &LlmServerRequest,
        body: &dyn Fn() -> Value,
        events: &dyn Fn() -> Vec<String>,
    ) -> LlmServerResponse {
        let response = match &say.raw {
            Some(raw) => {
                LlmServerResponse::new(raw.status, &raw.content_type, LlmResponseContent::Body(raw.body.clone()))
            }
            None if request.streams() && !say.never_streams => LlmServerResponse::events(events()),
            None => LlmServerResponse::json(200, &body()),
        };
        let headers = response.headers.iter().chain(&say.headers).cloned().collect();
        LlmServerResponse { headers, travel: say.travel, pause: say.pause, ..response }
    }

    /// Sends it; true if the connection can continue.
    pub(crate) fn send(&self, stream: &mut TcpStream) -> io::Result<bool> {
        if self.travel == AnswerDelivery::HangUp {
            return Ok(false);
        }
        let mut head = format!("HTTP/1.1 {} Scripted\r\n", self.status);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        match &self.content {
            LlmResponseContent::Body(body) => {
                head.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
                stream.write_all(head.as_bytes())?;
                self.send_body(stream, body.as_bytes())
            }
            LlmResponseContent::Events(events) => {
                head.push_str("transfer-encoding: chunked\r\n\r\n");
                stream.write_all(head.as_bytes())?;
                self.send_events(stream, events)
            }
        }
    }

    fn send_body(&self, stream: &mut TcpStream, body: &[u8]) -> io::Result<bool> {
        match self.travel {
            AnswerDelivery::Cut(bytes) | AnswerDelivery::Stall(bytes) => {
                stream.write_all(&body[..bytes.min(body.len())])?;
            }
            AnswerDelivery::Trickle(bytes, pause) => {
                for piece in body.chunks(bytes) {
                    thread::sleep(pause);
                    stream.write_all(piece)?;
                }
            }
            AnswerDelivery::Whole | AnswerDelivery::HangUp => stream.write_all(body)?,
        }
        self.end(stream)
    }

    fn send_events(&self, stream: &mut TcpStream, events: &[String]) -> io::Result<bool> {
        let kept = match self.travel {
            AnswerDelivery::Cut(pieces) | AnswerDelivery::Stall(pieces) => &events[..pieces.min(events.len())],
            AnswerDelivery::Whole | AnswerDelivery::HangUp | AnswerDelivery::Trickle(..) => events,
        };
        for (number, event) in kept.iter().enumerate() {
            if number > 0 {
                thread::sleep(self.pause);
            }
            let bytes = format!("{event}\n\n");
            let (size, pause) = match self.travel {
                AnswerDelivery::Trickle(size, pause) => (size, pause),
                _ => (bytes.len(), Duration::ZERO),
            };
            for piece in bytes.as_bytes().chunks(size) {
                thread::sleep(pause);
                chunk(stream, piece)?;
            }
        }
        let goes_on = self.end(stream)?;
        if goes_on {
            stream.write_all(b"0\r\n\r\n")?;
        }
        Ok(goes_on)
    }

    /// Ends the answer after the last piece; true if it is complete.
    fn end(&self, stream: &mut TcpStream) -> io::Result<bool> {
        match self.travel {
            AnswerDelivery::Whole | AnswerDelivery::Trickle(..) => Ok(true),
            AnswerDelivery::HangUp | AnswerDelivery::Cut(_) => Ok(false),
            // Wait until the client closes its side. It has no reason to send more.
            AnswerDelivery::Stall(_) => stream.read(&mut [0; 1]).map(|_| false),
        }
    }
}

fn chunk(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    // One write, so that a piece is one packet.
    let mut framed = format!("{:x}\r\n", bytes.len()).into_bytes();
    framed.extend(bytes);
    framed.extend(b"\r\n");
    stream.write_all(&framed)
}
