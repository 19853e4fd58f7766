//! A stream of lines over HTTP that never ends by itself.

use std::time::Duration;

use crate::endpoint::ModelEndpoint;
use crate::error::Result;
use crate::http::{EndpointConnections, IncomingResponse, LlmTimeouts};

/// Longest line. The rest of a longer line is skipped.
const MAX_LINE: usize = 256 << 10;

/// A server whose responses are lines.
#[derive(Debug)]
pub struct LineServer(EndpointConnections);

/// A response that is being read.
pub struct LineStream<'s> {
    response: IncomingResponse<'s>,
    lines: LineSplitter,
}

impl LineServer {
    /// A server at a URL, with a bearer token if it needs one. A connection ends after `idle` without a byte.
    ///
    /// # Errors
    /// [`crate::Error::Endpoint`] if the URL or the certificates cannot be used.
    pub fn new(url: &str, token: Option<&str>, connect: Duration, idle: Duration) -> Result<LineServer> {
        let endpoint = ModelEndpoint::new(url, "");
        let endpoint = token.map_or(endpoint.clone(), |token| endpoint.api_key(token));
        Ok(LineServer(EndpointConnections::new(&endpoint, LlmTimeouts { connect, idle, total: idle })?))
    }

    /// Requests the lines at a URL of this server.
    ///
    /// # Errors
    /// [`crate::Error`].
    pub fn open(&self, url: &str) -> Result<LineStream<'_>> {
        Ok(LineStream { response: self.0.get_endless(url)?, lines: LineSplitter::default() })
    }
}

impl LineStream<'_> {
    /// The next line, without its end; `None` if the server has ended the response.
    ///
    /// # Errors
    /// [`crate::Error`] if the connection breaks or is silent for too long.
    pub fn next_line(&mut self) -> Result<Option<String>> {
        loop {
            if let Some(line) = self.lines.take() {
                return Ok(Some(line));
            }
            match self.response.chunk()? {
                Some(chunk) => self.lines.push(&chunk),
                None => return Ok(None),
            }
        }
    }
}

/// Splits bytes into lines of limited length.
#[derive(Default)]
struct LineSplitter {
    lines: std::collections::VecDeque<String>,
    begun: Vec<u8>,
    is_too_long: bool,
}

impl LineSplitter {
    fn push(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let content = part.strip_suffix(b"\n").unwrap_or(part);
            self.is_too_long |= self.begun.len() + content.len() > MAX_LINE;
            if self.is_too_long {
                self.begun.clear();
            } else {
                self.begun.extend(content);
            }
            if content.len() < part.len() {
                let line = String::from_utf8_lossy(&std::mem::take(&mut self.begun)).into_owned();
                if !std::mem::take(&mut self.is_too_long) {
                    self.lines.push_back(line);
                }
            }
        }
    }

    fn take(&mut self) -> Option<String> {
        self.lines.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_joined_and_huge_ones_skipped() {
        let mut lines = LineSplitter::default();
        let huge = "x".repeat(MAX_LINE);
        for part in ["a", "b\n\nc\n", &huge, "y", &huge, "\nd", "\n"] {
            lines.push(part.as_bytes());
        }
        let all: Vec<String> = std::iter::from_fn(|| lines.take()).collect();
        assert_eq!(all, ["ab", "", "c", "d"]);
    }
}
