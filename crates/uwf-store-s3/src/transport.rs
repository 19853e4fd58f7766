//! Sends requests to the server: the HTTP client below a provider's client.
//!
//! It never retries, because only the caller knows whether a failed request may have taken effect.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use http_body_util::BodyExt;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody, HttpService,
};
use parking_lot::Mutex;
use ureq::http::request::Parts;
use ureq::http::{HeaderMap, Method, Request, Response};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Proxy};

use crate::failure::{self, BucketFailure};
use crate::key_servers::{KeyServers, RequestTarget, no_login};
use crate::listing;
use crate::parallel::READS_AT_ONCE;
use crate::requests::RequestCounters;

/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(3);

/// How long connecting may take to the address at which cloud machines find their keys. On other machines nothing answers there.
const CONNECT_TO_MACHINE: Duration = Duration::from_secs(1);

/// How long a server may take to start an answer. A server that hangs leaves time for another attempt.
const ANSWER: Duration = Duration::from_secs(5);

/// How long the bytes of one request or answer may take.
const BYTES: Duration = Duration::from_mins(2);

/// Largest object that is read.
const MAX_BYTES: u64 = 1 << 30;

/// Sends requests, counts them, and remembers what servers report about themselves.
#[derive(Debug)]
pub(crate) struct BucketTransport {
    agent: Agent,
    machine_agent: Agent,
    keys: KeyServers,
    /// Whether the machine's server gave out something. Then this is a cloud machine, and a server that doesn't answer is only down for a
    /// moment.
    machine_gave: AtomicBool,
    pub(crate) counted: RequestCounters,
    /// The time on the server's clock, and when it was received by ours.
    clock: Mutex<Option<(SystemTime, Instant)>>,
    /// The server's own name.
    server: Mutex<Option<String>>,
}

impl BucketTransport {
    pub(crate) fn new(roots: RootCerts, keys: KeyServers) -> BucketTransport {
        let agent = |connect, proxy, resolve| {
            let tls = TlsConfig::builder().root_certs(roots.clone()).build();
            Agent::config_builder()
                .proxy(proxy)
                .http_status_as_error(false)
                .max_redirects(0)
                .max_redirects_will_error(false)
                .tls_config(tls)
                .user_agent(concat!("uwf-store-s3/", env!("CARGO_PKG_VERSION")))
                .max_idle_connections(2 * READS_AT_ONCE)
                .max_idle_connections_per_host(READS_AT_ONCE)
                .timeout_resolve(resolve)
                .timeout_connect(Some(connect))
                .timeout_recv_response(Some(ANSWER))
                .timeout_send_body(Some(BYTES))
                .timeout_recv_body(Some(BYTES))
                .build()
                .new_agent()
        };
        BucketTransport {
            agent: agent(CONNECT, Proxy::try_from_env(), None),
            // No proxy, because the machine's keys are not for others. Resolving is limited as well: Google's address is a name that is
            // unknown elsewhere.
            machine_agent: agent(CONNECT_TO_MACHINE, None, Some(CONNECT_TO_MACHINE)),
            keys,
            machine_gave: AtomicBool::default(),
            counted: RequestCounters::default(),
            clock: Mutex::default(),
            server: Mutex::default(),
        }
    }

    /// The current time on the server's clock; `None` if the server never sent it. Setting this machine's clock has no influence.
    pub(crate) fn server_now(&self) -> Option<SystemTime> {
        let clock = *self.clock.lock();
        clock.map(|(told, when)| told + when.elapsed())
    }

    /// The server's own name.
    pub(crate) fn server(&self) -> Option<String> {
        self.server.lock().clone()
    }

    fn listen(&self, headers: &HeaderMap) {
        let text = |name: &str| headers.get(name)?.to_str().ok();
        if let Some(server_time) = text("date").and_then(|date| httpdate::parse_http_date(date).ok()) {
            *self.clock.lock() = Some((server_time, Instant::now()));
        }
        if let Some(server) = text("server") {
            *self.server.lock() = Some(server.chars().take(60).collect());
        }
    }

    fn send(&self, parts: Parts, body: &[u8]) -> Result<Response<Vec<u8>>, BucketFailure> {
        let host = parts.uri.host().unwrap_or_default().to_owned();
        let asked = self.keys.asked(&parts.uri);
        let agent = if asked == RequestTarget::Machine { &self.machine_agent } else { &self.agent };
        if asked == RequestTarget::Store {
            self.counted.count(&parts);
        }
        match (asked, exchange(agent, parts, body)) {
            (RequestTarget::Machine | RequestTarget::Login, Ok(answer)) if answer.status().is_success() => {
                self.machine_gave.fetch_or(asked == RequestTarget::Machine, Ordering::Relaxed);
                Ok(answer)
            }
            (RequestTarget::Machine, Ok(answer)) => Err(self.keys.refused(&host, &answer)),
            (RequestTarget::Machine, Err(_)) if !self.machine_gave.load(Ordering::Relaxed) => Err(self.keys.no_keys()),
            (RequestTarget::Login, Ok(answer)) => Err(no_login(&host, &answer)),
            (RequestTarget::Store, Ok(answer)) => {
                self.listen(answer.headers());
                Ok(answer)
            }
            (_, Err(error)) => {
                Err(BucketFailure::Silent { reason: format!("{host} does not answer: {}", reason(&error)) })
            }
        }
    }
}

fn exchange(agent: &Agent, parts: Parts, body: &[u8]) -> Result<Response<Vec<u8>>, ureq::Error> {
    let answer = match parts.method {
        Method::GET | Method::HEAD | Method::DELETE => agent.run(Request::from_parts(parts, ())),
        _ => agent.run(Request::from_parts(parts, body)),
    }?;
    let (parts, body) = answer.into_parts();
    Ok(Response::from_parts(parts, body.into_with_config().limit(MAX_BYTES).read_to_vec()?))
}

/// The cause of a failure, without the terms of the HTTP library.
fn reason(error: &ureq::Error) -> String {
    match error {
        ureq::Error::HostNotFound => "no such host".to_owned(),
        ureq::Error::Timeout(_) => "it took too long".to_owned(),
        ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            "it closed the connection before it was done".to_owned()
        }
        ureq::Error::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}

/// Whether the provider's client understands an answer. The client would keep only the text of any other answer. Each provider has its own
/// codes, and no code means something else to another provider.
fn is_answer(answer: &Response<Vec<u8>>) -> bool {
    let code = || failure::code(answer);
    match answer.status().as_u16() {
        200..=299 | 304 | 412 => true,
        404 => !failure::is_of_missing_bucket(&code()),
        // Azure's answer to creating an existing object. Any other conflict may be over in a moment.
        409 => code() == "BlobAlreadyExists",
        _ => false,
    }
}

/// The transport with the interface that the clients expect.
#[derive(Debug, Clone)]
pub(crate) struct TransportConnector(pub(crate) Arc<BucketTransport>);

#[async_trait]
impl HttpService for TransportConnector {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        // `Unknown` keeps the client from retrying.
        let fail = |failure| HttpError::new(HttpErrorKind::Unknown, failure);
        let is_list = listing::is_asked(&parts.uri);
        let answer = self.0.send(parts, &body).map_err(fail)?;
        if !is_answer(&answer) {
            return Err(fail(BucketFailure::refused(&answer)));
        }
        let answer = if is_list { answer.map(listing::readable) } else { answer };
        Ok(answer.map(HttpResponseBody::from))
    }
}

impl HttpConnector for TransportConnector {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::thread;

    use super::*;

    /// Answers a request with this status; `None` closes the connection without an answer.
    fn serve(mut stream: TcpStream, status: Option<u16>) {
        let _ = stream.read(&mut [0; 4096]);
        if let Some(status) = status {
            let _ = write!(stream, "HTTP/1.1 {status} So\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        }
    }

    /// The outcomes of several requests to a machine's server.
    fn told(statuses: &'static [Option<u16>]) -> Vec<Result<u16, BucketFailure>> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = thread::spawn(move || {
            statuses.iter().for_each(|status| serve(listener.accept().unwrap().0, *status));
        });
        let keys = KeyServers { machines: vec![address.clone()], logins: vec![], none: "there are no keys" };
        let transport = BucketTransport::new(RootCerts::WebPki, keys);
        let ask = |_: &Option<u16>| {
            let parts = Request::get(format!("http://{address}/token")).body(()).unwrap().into_parts().0;
            transport.send(parts, b"").map(|answer| answer.status().as_u16())
        };
        let told = statuses.iter().map(ask).collect();
        server.join().unwrap();
        told
    }

    #[test]
    fn temporary_credential_failure_differs_from_missing_keys() {
        let none = || Err(BucketFailure::NoKeys { reason: "there are no keys".to_owned() });
        let silent = |reason: &str| Err(BucketFailure::Silent { reason: format!("127.0.0.1 {reason}") });
        let busy = |status: u16| silent(&format!("gives no keys: it answered {status}"));
        assert_eq!(told(&[None, Some(403), Some(404)]), [none(), none(), none()]);
        assert_eq!(told(&[Some(408), Some(429), Some(503)]), [busy(408), busy(429), busy(503)]);
        let broken = silent("does not answer: it closed the connection before it was done");
        assert_eq!(told(&[Some(200), None, Some(404)]), [Ok(200), broken, none()]);
    }
}
