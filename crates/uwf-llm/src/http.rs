//! The only module that speaks HTTP. It sends a request, returns status and body, and converts the HTTP library's errors into ours.

use std::io::Read;
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body, BodyReader};

use crate::endpoint::{ModelEndpoint, shown};
use crate::error::{Error, LimitHeaders, LlmTimeoutKind, Result};
use crate::retry::retry_after;

/// Largest reply. Models write some hundred kilobytes; a larger body is a mistake or an attack.
const MAX_REPLY_BYTES: u64 = 64 * 1024 * 1024;

/// Bytes read of an error page.
const MAX_ERROR_BYTES: u64 = 64 * 1024;

/// The variable with a file of certificates that replace Mozilla's.
pub(crate) const CERTIFICATES_VARIABLE: &str = "SSL_CERT_FILE";

/// Bytes read at once.
const CHUNK: usize = 16 * 1024;

/// Time limits of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LlmTimeouts {
    /// For name resolution and the connection, TLS included.
    pub connect: Duration,
    /// Longest silence. It also applies before the first byte, so it limits how long a model may think about an unstreamed reply.
    pub idle: Duration,
    /// For everything: all attempts and the waits between them.
    pub total: Duration,
}

impl Default for LlmTimeouts {
    /// 15 s, 3 min and 20 min: reasoning models are silent for minutes.
    fn default() -> LlmTimeouts {
        let seconds = Duration::from_secs;
        LlmTimeouts { connect: seconds(15), idle: seconds(180), total: seconds(1200) }
    }
}

/// Connections to one endpoint.
#[derive(Debug)]
pub(crate) struct EndpointConnections {
    agent: Agent,
    endpoint: ModelEndpoint,
    timeouts: LlmTimeouts,
}

/// A successful response whose body is being read.
pub(crate) struct IncomingResponse<'a> {
    http: &'a EndpointConnections,
    url: String,
    reader: BodyReader<'static>,
    /// True for `text/event-stream`.
    pub(crate) is_stream: bool,
}

/// Posts JSON with a bearer token. Any successful status counts. Returns the beginning of the response.
///
/// # Errors
/// [`Error`]. It does not contain the token.
pub fn post_with_token(url: &str, token: Option<&str>, body: &Value, limit: Duration) -> Result<String> {
    let endpoint = ModelEndpoint::new(url, "");
    let endpoint = token.map_or(endpoint.clone(), |token| endpoint.api_key(token));
    post_to(url, &endpoint, &[], body, limit)
}

/// Posts JSON with the given headers to a URL that is not a model. Any successful status counts. Returns the beginning of the response, or
/// nothing if it cannot be read.
///
/// # Errors
/// [`Error`]. It contains no header, unless the server repeats one.
pub fn post_json(url: &str, headers: &[(String, String)], body: &Value, limit: Duration) -> Result<String> {
    post_to(url, &ModelEndpoint::new(url, ""), headers, body, limit)
}

fn post_to(
    url: &str,
    endpoint: &ModelEndpoint,
    headers: &[(String, String)],
    body: &Value,
    limit: Duration,
) -> Result<String> {
    let timeouts = LlmTimeouts { connect: limit, idle: limit, total: limit };
    let http = EndpointConnections::new(endpoint, timeouts)?;
    let reply = http.post_with(url, headers, body, Instant::now() + limit)?;
    let mut text = Vec::new();
    // The request succeeded, even if the response cannot be read.
    let _ = reply.reader.take(MAX_ERROR_BYTES).read_to_end(&mut text);
    Ok(String::from_utf8_lossy(&text).into_owned())
}

impl EndpointConnections {
    pub(crate) fn new(endpoint: &ModelEndpoint, timeouts: LlmTimeouts) -> Result<EndpointConnections> {
        let fail = |reason: String| Error::Endpoint { url: shown(&endpoint.base_url), reason };
        if !(endpoint.base_url.starts_with("https://") || endpoint.base_url.starts_with("http://")) {
            return Err(fail("it is not an http or https URL".to_owned()));
        }
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            // A redirected POST would lose its body or its key, so the base URL must be correct.
            .max_redirects(0)
            .user_agent(concat!("uwf/", env!("CARGO_PKG_VERSION")))
            .timeout_resolve(Some(timeouts.connect))
            .timeout_connect(Some(timeouts.connect))
            .timeout_per_read(Some(timeouts.idle))
            .timeout_per_write(Some(timeouts.idle));
        if endpoint.base_url.starts_with("https://") {
            config = config.tls_config(TlsConfig::builder().root_certs(roots().map_err(fail)?).build());
        }
        if endpoint.is_local() {
            config = config.proxy(None);
        }
        Ok(EndpointConnections { agent: config.build().into(), endpoint: endpoint.clone(), timeouts })
    }

    /// Posts a JSON body. Any unsuccessful status is an error.
    pub(crate) fn post(&self, url: &str, body: &Value, deadline: Instant) -> Result<IncomingResponse<'_>> {
        self.post_with(url, &[], body, deadline)
    }

    fn post_with(
        &self,
        url: &str,
        headers: &[(String, String)],
        body: &Value,
        deadline: Instant,
    ) -> Result<IncomingResponse<'_>> {
        let mut request = self.agent.post(url).header("content-type", "application/json");
        for (name, value) in self.endpoint.headers() {
            request = request.header(name, value);
        }
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let request = request.config().timeout_global(Some(self.left(url, deadline)?)).build();
        self.answered(url, request.send(body.to_string()))
    }

    /// Sends a GET request.
    pub(crate) fn get(&self, url: &str, deadline: Instant) -> Result<IncomingResponse<'_>> {
        let mut request = self.agent.get(url);
        for (name, value) in self.endpoint.headers() {
            request = request.header(name, value);
        }
        let request = request.config().timeout_global(Some(self.left(url, deadline)?)).build();
        self.answered(url, request.call())
    }

    /// Sends a GET request whose response has no end. Only silence ends it.
    pub(crate) fn get_endless(&self, url: &str) -> Result<IncomingResponse<'_>> {
        let mut request = self.agent.get(url);
        for (name, value) in self.endpoint.headers() {
            request = request.header(name, value);
        }
        self.answered(url, request.call())
    }

    /// Time left until a deadline.
    fn left(&self, url: &str, deadline: Instant) -> Result<Duration> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(self.timeout(url, LlmTimeoutKind::Total)) } else { Ok(left) }
    }

    fn answered(
        &self,
        url: &str,
        sent: std::result::Result<ureq::http::Response<Body>, ureq::Error>,
    ) -> Result<IncomingResponse<'_>> {
        let response = sent.map_err(|error| self.failed(url, error, false))?;
        let code = response.status().as_u16();
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        if !(200..300).contains(&code) {
            let retry_after = header("retry-after").and_then(|value| retry_after(&value, SystemTime::now()));
            let is_of_limit = |name: &str| name.starts_with("retry-after") || name.contains("ratelimit");
            let of_limits = response.headers().iter().filter(|(name, _)| is_of_limit(name.as_str()));
            let all = of_limits
                .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())))
                .collect();
            let limits = LimitHeaders { retry_after, all };
            let mut body = Vec::new();
            // A partial page is enough: the status already shows the failure.
            let _ = response.into_body().into_reader().take(MAX_ERROR_BYTES).read_to_end(&mut body);
            return Err(Error::refused(&self.endpoint, url, code, limits, &String::from_utf8_lossy(&body)));
        }
        let is_stream = header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
        let reader = response.into_body().into_with_config().limit(MAX_REPLY_BYTES).reader();
        Ok(IncomingResponse { http: self, url: url.to_owned(), reader, is_stream })
    }

    /// Converts an error of the HTTP library. `reading`: the reply had begun.
    fn failed(&self, url: &str, error: ureq::Error, reading: bool) -> Error {
        let (url, reason) = (shown(url), self.endpoint.redact(&reason(&error)));
        match error {
            ureq::Error::Timeout(which) => self.timeout(&url, waited(which)),
            ureq::Error::BodyExceedsLimit(_) => Error::BadReply {
                url,
                reason: format!("it is longer than {MAX_REPLY_BYTES} bytes"),
                body: String::new(),
            },
            ureq::Error::BadUri(_)
            | ureq::Error::Http(_)
            | ureq::Error::InvalidProxyUrl
            | ureq::Error::Rustls(_)
            | ureq::Error::Pem(_) => Error::Endpoint { url, reason },
            // Handshake errors look like errors of reading and writing. A retry would not help.
            ureq::Error::Io(_) if reason.contains("certificate") => Error::Endpoint { url, reason },
            _ if reading => Error::CutStream { url, reason, partial: String::new() },
            _ => Error::Connect { url, reason, partial: String::new() },
        }
    }

    fn timeout(&self, url: &str, which: LlmTimeoutKind) -> Error {
        let after = match which {
            LlmTimeoutKind::Connect => self.timeouts.connect,
            LlmTimeoutKind::Idle => self.timeouts.idle,
            LlmTimeoutKind::Total => self.timeouts.total,
        };
        Error::Timeout { url: shown(url), which, after, partial: String::new() }
    }
}

impl IncomingResponse<'_> {
    /// The next bytes; `None` at the end.
    pub(crate) fn chunk(&mut self) -> Result<Option<Vec<u8>>> {
        let mut buffer = vec![0; CHUNK];
        let read = self.reader.read(&mut buffer).map_err(|error| self.http.failed(&self.url, error.into(), true))?;
        buffer.truncate(read);
        Ok(Some(buffer).filter(|buffer| !buffer.is_empty()))
    }

    /// The whole body as JSON.
    pub(crate) fn json(mut self) -> Result<Value> {
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk()? {
            body.extend(chunk);
        }
        let text = String::from_utf8_lossy(&body);
        let bad = |reason: String| Error::bad_reply(&self.http.endpoint, reason, &text);
        match yaml_tree::json_value(&text) {
            Ok(reply) => Ok(reply),
            // Anthropic sends the arguments of a call as part of the reply. With two equal keys they have two meanings.
            Err(error) if error.path.contains("/input/") => Err(bad(error.to_string())),
            // The rest may have numbers that are not read.
            Err(_) => serde_json::from_str(&text).map_err(|error| bad(format!("it is not JSON ({error})"))),
        }
    }
}

/// Our time limit for a limit of the HTTP library.
fn waited(timeout: ureq::Timeout) -> LlmTimeoutKind {
    match timeout {
        ureq::Timeout::Resolve | ureq::Timeout::Connect => LlmTimeoutKind::Connect,
        ureq::Timeout::PerRead | ureq::Timeout::PerWrite => LlmTimeoutKind::Idle,
        _ => LlmTimeoutKind::Total,
    }
}

/// The error in words that require no knowledge of the HTTP library.
fn reason(error: &ureq::Error) -> String {
    match error {
        ureq::Error::HostNotFound => "no such host".to_owned(),
        ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            "it closed the connection before it was done".to_owned()
        }
        ureq::Error::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}

/// The root certificates: Mozilla's, or the certificates in `SSL_CERT_FILE`. A company that intercepts TLS connections uses that variable.
fn roots() -> std::result::Result<RootCerts, String> {
    let Some(path) = std::env::var_os(CERTIFICATES_VARIABLE).filter(|path| !path.is_empty()) else {
        return Ok(RootCerts::WebPki);
    };
    let fail = |reason: String| {
        format!("cannot read the certificates in {} ({CERTIFICATES_VARIABLE}): {reason}", path.display())
    };
    let pem = std::fs::read(&path).map_err(|error| fail(error.to_string()))?;
    let certificates: Vec<_> = parse_pem(&pem)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(Ok(certificate)),
            Ok(_) => None,
            Err(error) => Some(Err(fail(error.to_string()))),
        })
        .collect::<std::result::Result<_, _>>()?;
    if certificates.is_empty() {
        return Err(fail("it has none".to_owned()));
    }
    Ok(RootCerts::new_with_certs(&certificates))
}
