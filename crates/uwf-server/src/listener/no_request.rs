//! Reports for bytes that are not an HTTP request. They never reach a route: hyper itself answers, with an empty body, and offers no
//! hook. So its answer is recognized on the connection and replaced by one with a report.

use std::io::{Error, ErrorKind, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::http::StatusCode;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::refusal;
use crate::tunnel::NetworkConnection;

/// Parts of the head around the status: how it begins, and how it continues up to its date, which has a fixed length.
const BEGINNING: &[u8] = b"HTTP/1.1 ";
const REST: &[u8] = b"\r\nconnection: close\r\ncontent-length: 0\r\ndate: ";
const DATE: usize = "Thu, 26 Nov 2026 22:23:26 GMT\r\n\r\n".len();

/// A connection that replaces a head without a body by a report.
pub(super) struct ReportingConnection {
    stream: Box<dyn NetworkConnection>,
    /// The unsent rest of a report, and how many bytes of the head it replaces.
    report: Vec<u8>,
    replaced: usize,
}

impl ReportingConnection {
    pub(super) fn new(stream: Box<dyn NetworkConnection>) -> ReportingConnection {
        ReportingConnection { stream, report: Vec::new(), replaced: 0 }
    }
}

/// The status of a head that hyper sends by itself. Routes always send more headers, and never an empty body.
fn status(sent: &[u8]) -> Option<StatusCode> {
    let rest = sent.strip_prefix(BEGINNING)?;
    let end = rest.iter().position(|byte| *byte == b'\r')?;
    let is_head = rest[end..].strip_prefix(REST).is_some_and(|date| date.len() == DATE);
    let status = StatusCode::from_bytes(rest.get(..3)?).ok()?;
    (is_head && status.is_client_error()).then_some(status)
}

impl AsyncRead for ReportingConnection {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for ReportingConnection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, sent: &[u8]) -> Poll<Result<usize>> {
        let this = &mut *self;
        if this.report.is_empty() {
            match status(sent) {
                Some(status) => (this.report, this.replaced) = (refusal::of_no_request(status), sent.len()),
                None => return Pin::new(&mut this.stream).poll_write(context, sent),
            }
        }
        while !this.report.is_empty() {
            match ready!(Pin::new(&mut this.stream).poll_write(context, &this.report))? {
                0 => return Poll::Ready(Err(Error::from(ErrorKind::WriteZero))),
                count => drop(this.report.drain(..count)),
            }
        }
        Poll::Ready(Ok(this.replaced))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
