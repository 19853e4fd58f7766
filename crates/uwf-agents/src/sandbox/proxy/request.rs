//! Requests to the proxy, read strictly: a request that two programs could read in two ways is refused.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, BufRead, Read, Write};

/// The port of plain HTTP.
pub(super) const HTTP_PORT: u16 = 80;

/// Most bytes of the head of a request.
const MAX_HEAD: usize = 64 << 10;

/// Most bytes of a line within a body.
const MAX_LINE: usize = 4 << 10;

/// Headers for this connection alone. `expect` is answered here.
const OWN_HEADERS: [&str; 9] = [
    "connection",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "upgrade",
];

/// A request.
#[derive(Debug)]
pub(super) struct ProxyRequest {
    /// Its kind.
    pub(super) kind: RequestKind,
    /// The host, in lower case.
    pub(super) host: String,
    /// Its port.
    pub(super) port: u16,
    /// Whether the program waits for an answer before it sends the body.
    pub(super) expects_continue: bool,
    /// Bytes after the head that were already read.
    pub(super) rest: Vec<u8>,
}

/// The kind of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RequestKind {
    /// A connection (`CONNECT`).
    Tunnel,
    /// The answer to a plain request.
    Forward(ForwardedRequest),
}

/// A plain request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ForwardedRequest {
    method: String,
    path: String,
    authority: String,
    headers: Vec<(String, String)>,
    body: BodyLength,
}

/// The length of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodyLength {
    Bytes(u64),
    Chunks,
}

/// Why a request is not served.
#[derive(Debug)]
pub(super) enum RequestFault {
    /// It is malformed.
    Bad(&'static str),
    /// The connection failed.
    Io(io::Error),
}

impl From<io::Error> for RequestFault {
    fn from(error: io::Error) -> RequestFault {
        RequestFault::Io(error)
    }
}

impl ProxyRequest {
    /// Reads the head of a request; `None` if the program sends none.
    pub(super) fn read(mut source: impl Read) -> Result<Option<ProxyRequest>, RequestFault> {
        let mut bytes = Vec::new();
        let mut piece = [0; 4096];
        loop {
            if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                let rest = bytes.split_off(end + 4);
                let head = std::str::from_utf8(&bytes[..end]).map_err(|_| RequestFault::Bad("the head is not text"))?;
                return parse(head, rest).map(Some).map_err(RequestFault::Bad);
            }
            if bytes.len() > MAX_HEAD {
                return Err(RequestFault::Bad("the head of the request is too long"));
            }
            match source.read(&mut piece)? {
                0 if bytes.is_empty() => return Ok(None),
                0 => return Err(RequestFault::Bad("the request is not complete")),
                count => bytes.extend_from_slice(&piece[..count]),
            }
        }
    }

    /// The head for the host, with values in the place of placeholders.
    pub(super) fn head(&self, values: &BTreeMap<&str, &str>) -> String {
        let RequestKind::Forward(ForwardedRequest { method, path, authority, headers, .. }) = &self.kind else {
            return String::new();
        };
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n");
        for (name, value) in headers {
            let value =
                values.iter().fold(value.clone(), |value, (placeholder, secret)| value.replace(placeholder, secret));
            // A text grows without an error.
            let _ = write!(head, "{name}: {value}\r\n");
        }
        head + "\r\n"
    }

    /// Copies the body to the host, by the length in its head.
    pub(super) fn copy_body(&self, source: impl Read, target: &mut impl Write) -> io::Result<()> {
        let RequestKind::Forward(ForwardedRequest { body, .. }) = &self.kind else { return Ok(()) };
        let mut source = io::BufReader::new(self.rest.chain(source));
        match body {
            BodyLength::Bytes(length) => copy_exactly(&mut source, *length, target),
            BodyLength::Chunks => copy_chunks(&mut source, target),
        }
    }
}

fn parse(head: &str, rest: Vec<u8>) -> Result<ProxyRequest, &'static str> {
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, target, version) = (words.next(), words.next(), words.next());
    let (Some(method), Some(target), Some("HTTP/1.1" | "HTTP/1.0"), None) = (method, target, version, words.next())
    else {
        return Err("the first line is not one of HTTP/1.1");
    };
    let headers = lines.map(header).collect::<Result<Vec<_>, _>>()?;
    if method == "CONNECT" {
        let (host, port) = host_and_port(target, None)?;
        return Ok(ProxyRequest { kind: RequestKind::Tunnel, host, port, expects_continue: false, rest });
    }
    if !is_token(method) {
        return Err("the method is malformed");
    }
    let target = target.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("http://")).map(|_| &target[7..]);
    let Some(target) = target else { return Err("only http:// and CONNECT go through this proxy") };
    let at = target.find(['/', '?', '#']).unwrap_or(target.len());
    let (authority, path) = target.split_at(at);
    let (host, port) = host_and_port(authority, Some(HTTP_PORT))?;
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    let body = body_length(&headers)?;
    let value = |name: &str| headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value);
    let expects_continue = value("expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue"));
    let is_own = |name: &str| OWN_HEADERS.iter().any(|own| name.eq_ignore_ascii_case(own));
    let headers = headers.iter().filter(|(name, _)| !is_own(name)).cloned().collect();
    let (method, authority) = (method.to_owned(), authority.to_owned());
    let kind = RequestKind::Forward(ForwardedRequest { method, path, authority, headers, body });
    Ok(ProxyRequest { kind, host, port, expects_continue, rest })
}

fn header(line: &str) -> Result<(String, String), &'static str> {
    let (name, value) = line.split_once(':').ok_or("a header has no colon")?;
    if !is_token(name) {
        return Err("the name of a header is malformed");
    }
    if value.chars().any(|symbol| symbol.is_control() && symbol != '\t') {
        return Err("the value of a header is malformed");
    }
    Ok((name.to_owned(), value.trim().to_owned()))
}

fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// The host and the port of an authority. A name may end with a dot.
fn host_and_port(authority: &str, usual: Option<u16>) -> Result<(String, u16), &'static str> {
    const MALFORMED: &str = "the host is malformed";
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (address, rest) = rest.split_once(']').ok_or(MALFORMED)?;
            (address.parse::<std::net::Ipv6Addr>().map_err(|_| MALFORMED)?.to_string(), rest.strip_prefix(':'))
        }
        None => {
            let (name, port) = authority.split_once(':').map_or((authority, None), |(name, port)| (name, Some(port)));
            let name = name.strip_suffix('.').unwrap_or(name);
            let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
            if name.is_empty() || name.len() > 253 || !name.bytes().all(is_valid) {
                return Err(MALFORMED);
            }
            (name.to_ascii_lowercase(), port)
        }
    };
    let port = match port {
        Some(port) => Some(port.parse().map_err(|_| MALFORMED)?),
        None => usual,
    };
    Ok((host, port.ok_or(MALFORMED)?))
}

fn body_length(headers: &[(String, String)]) -> Result<BodyLength, &'static str> {
    let values = |name: &str| {
        headers
            .iter()
            .filter(move |(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
            .collect()
    };
    let (lengths, codings): (Vec<&str>, Vec<&str>) = (values("content-length"), values("transfer-encoding"));
    match (lengths.as_slice(), codings.as_slice()) {
        ([], []) => Ok(BodyLength::Bytes(0)),
        ([length], []) if length.bytes().all(|byte| byte.is_ascii_digit()) => {
            length.parse().map(BodyLength::Bytes).map_err(|_| "the length of the body is malformed")
        }
        ([], [coding]) if coding.eq_ignore_ascii_case("chunked") => Ok(BodyLength::Chunks),
        _ => Err("the length of the body is not clear"),
    }
}

fn copy_exactly(source: &mut impl Read, length: u64, target: &mut impl Write) -> io::Result<()> {
    let copied = io::copy(&mut source.take(length), target)?;
    if copied == length { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

fn copy_chunks(source: &mut impl BufRead, target: &mut impl Write) -> io::Result<()> {
    loop {
        let line = line(source)?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let is_number = !size.is_empty() && size.bytes().all(|byte| byte.is_ascii_hexdigit());
        let size = u64::from_str_radix(size, 16).ok().filter(|_| is_number).ok_or(io::ErrorKind::InvalidData)?;
        write!(target, "{size:x}\r\n")?;
        if size == 0 {
            // Trailers are left out: a host must not need them.
            while !self::line(source)?.is_empty() {}
            return target.write_all(b"\r\n");
        }
        copy_exactly(source, size, target)?;
        if !self::line(source)?.is_empty() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        target.write_all(b"\r\n")?;
    }
}

/// A line of a body, which ends with CR and LF.
fn line(source: &mut impl BufRead) -> io::Result<String> {
    let mut bytes = Vec::new();
    source.take(MAX_LINE as u64).read_until(b'\n', &mut bytes)?;
    let text = bytes.strip_suffix(b"\r\n").ok_or(io::ErrorKind::InvalidData)?;
    String::from_utf8(text.to_vec()).map_err(|_| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<ProxyRequest>, RequestFault> {
        ProxyRequest::read(text.as_bytes())
    }

    fn sent_on(text: &str, values: &[(&str, &str)]) -> String {
        let request = read(text).unwrap().unwrap();
        let mut sent = request.head(&values.iter().copied().collect()).into_bytes();
        request.copy_body(io::empty(), &mut sent).unwrap();
        String::from_utf8(sent).unwrap()
    }

    #[test]
    fn plain_request_is_sent_on_in_origin_form() {
        let text = "POST http://api.example.org:8080/v1?a=1 HTTP/1.1\r\nHost: other\r\nProxy-Connection: x\r\nX-Key: a PLACE b\r\nContent-Length: 5\r\n\r\nPLACEmore";
        let expected = "POST /v1?a=1 HTTP/1.1\r\nHost: api.example.org:8080\r\nConnection: close\r\nX-Key: a value b\r\nContent-Length: 5\r\n\r\nPLACE";
        assert_eq!(sent_on(text, &[("PLACE", "value")]), expected);
    }

    #[test]
    fn chunks_are_copied_to_their_end() {
        let text = "POST http://a.org/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nT: 1\r\n\r\nGET";
        assert!(sent_on(text, &[]).ends_with("\r\n\r\n3\r\nabc\r\na\r\n0123456789\r\n0\r\n\r\n"));
    }

    #[test]
    fn tunnel_names_host_and_port() {
        for (target, host, port) in [
            ("API.example.org.:443", "api.example.org", 443),
            ("[::1]:8080", "::1", 8080),
            ("10.0.0.1:22", "10.0.0.1", 22),
        ] {
            let request = read(&format!("CONNECT {target} HTTP/1.1\r\n\r\nrest")).unwrap().unwrap();
            assert_eq!((request.kind, request.host.as_str(), request.port), (RequestKind::Tunnel, host, port));
            assert_eq!(request.rest, b"rest");
        }
    }

    #[test]
    fn ambiguous_requests_are_refused() {
        for text in [
            "CONNECT a.org HTTP/1.1\r\n\r\n",
            "CONNECT a.org:99999 HTTP/1.1\r\n\r\n",
            "CONNECT user@a.org:443 HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a.org\r\n\r\n",
            "GET https://a.org/ HTTP/1.1\r\n\r\n",
            "GET http://user:pw@a.org/ HTTP/1.1\r\n\r\n",
            "GET http://a.org/ HTTP/2\r\n\r\n",
            "GET  http://a.org/ HTTP/1.1\r\n\r\n",
            "GET http://a.org/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "GET http://a.org/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "GET http://a.org/ HTTP/1.1\r\nContent-Length: +1\r\n\r\n",
            "GET http://a.org/ HTTP/1.1\r\nA: b\nHost: c\r\n\r\n",
            "GET http://a.org/ HTTP/1.1\r\n folded: x\r\n\r\n",
            "GET http://a.org/ HTTP/1.1\r\nA : b\r\n\r\n",
            "nonsense",
        ] {
            assert!(matches!(read(text), Err(RequestFault::Bad(_))), "{text:?}");
        }
        assert!(read("").unwrap().is_none());
    }
}
