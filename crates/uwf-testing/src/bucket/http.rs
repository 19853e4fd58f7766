//! The part of HTTP/1.1 that clients of buckets use.

use std::fmt::Write as _;
use std::io::{self, BufRead, Write};
use std::net::TcpStream;
use std::time::SystemTime;

/// Largest body.
const MAX_BODY: usize = 64 << 20;

/// A received request.
#[derive(Debug)]
pub(super) struct BucketServerRequest {
    pub(super) method: String,
    pub(super) path: String,
    query: String,
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl BucketServerRequest {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn query(&self, name: &str) -> Option<String> {
        let pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.into_iter().find(|(known, _)| *known == name).map(|(_, value)| decoded(value))
    }

    /// The key within the bucket; `None` for another bucket.
    pub(super) fn key(&self, bucket: &str) -> Option<String> {
        let path = decoded(&self.path);
        let (named, key) = path.strip_prefix('/')?.split_once('/').unwrap_or((&path[1..], ""));
        (named == bucket).then(|| key.to_owned())
    }

    pub(super) fn is_list(&self) -> bool {
        self.method == "GET" && self.query("list-type").is_some()
    }
}

/// An answer.
#[derive(Debug)]
pub(super) struct BucketServerResponse {
    pub(super) status: &'static str,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
}

impl BucketServerResponse {
    pub(super) fn empty(status: &'static str) -> BucketServerResponse {
        BucketServerResponse { status, headers: Vec::new(), body: Vec::new() }
    }

    pub(super) fn error(status: &'static str, code: &str) -> BucketServerResponse {
        BucketServerResponse {
            body: format!("<Error><Code>{code}</Code></Error>").into_bytes(),
            ..BucketServerResponse::empty(status)
        }
    }

    /// Sends it, without the body for a HEAD request.
    pub(super) fn send(&self, mut stream: &TcpStream, now: SystemTime, is_head: bool) -> io::Result<()> {
        let now = httpdate::fmt_http_date(now);
        let mut text = format!("HTTP/1.1 {}\r\ndate: {now}\r\nserver: bucket in memory\r\n", self.status);
        for (name, value) in &self.headers {
            // Writing to a String never fails.
            let _ = write!(text, "{name}: {value}\r\n");
        }
        let _ = write!(text, "content-length: {}\r\n\r\n", self.body.len());
        let mut bytes = text.into_bytes();
        if !is_head {
            bytes.extend_from_slice(&self.body);
        }
        stream.write_all(&bytes)
    }
}

/// Reads the next request of a connection; `None` at its end.
pub(super) fn read(reader: &mut impl BufRead) -> io::Result<Option<BucketServerRequest>> {
    let Some(first) = line(reader)? else { return Ok(None) };
    let mut words = first.split_whitespace();
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut headers = Vec::new();
    while let Some(header) = line(reader)?.filter(|line| !line.is_empty()) {
        if let Some((name, value)) = header.split_once(':') {
            headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    let mut request = BucketServerRequest {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers,
        body: Vec::new(),
    };
    let length = request.header("content-length").and_then(|value| value.parse().ok()).unwrap_or(0_usize);
    if length > MAX_BODY {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    request.body.resize(length, 0);
    reader.read_exact(&mut request.body)?;
    Ok(Some(request))
}

fn line(reader: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    Ok((!line.is_empty()).then(|| line.trim_end().to_owned()))
}

/// A text with every `%XX` decoded.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let pair = after.get(..2).and_then(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok());
        match pair.filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
