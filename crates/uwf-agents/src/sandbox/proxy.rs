//! The proxy through which a program in a sandbox reaches the hosts that its policy lists, and no others.
//!
//! It listens on a socket file, which is the program's only way out. `request.rs` reads what a program asks for, `upstream.rs` connects to
//! the host. The proxy looks names up itself: the program can neither choose an address nor ask a name server.
//!
//! It never sees inside TLS that the program speaks. A request in plain HTTP to the host of a secret gets the secret here, and leaves over
//! TLS.

mod request;
mod upstream;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use uwf_core::config::{HostPattern, SecretHost};

use crate::progress;
use request::{ProxyRequest, RequestFault, RequestKind};
use upstream::{HostConnection, HostConnectionFault};

/// Most connections at the same time. A program that opens more gets errors.
const MAX_CONNECTIONS: usize = 256;

/// Most refused hosts that are reported.
const MAX_REFUSED: usize = 50;

/// Time in which a program must send the head of a request.
const HEAD_LIMIT: Duration = Duration::from_mins(1);

/// Bytes copied at once.
const PIECE: usize = 32 << 10;

/// The hosts that the proxy allows, and the secrets that it adds.
pub(super) struct ProxyRules {
    /// The agent, for messages.
    pub(super) agent: String,
    /// The hosts.
    pub(super) hosts: Vec<HostPattern>,
    /// The secrets.
    pub(super) secrets: Vec<ProxySecret>,
}

/// A secret that the program does not see.
pub(super) struct ProxySecret {
    /// The text that the program has instead.
    pub(super) placeholder: String,
    /// Its value.
    pub(super) value: String,
    /// The host that gets it.
    pub(super) host: SecretHost,
}

/// Hosts that were refused.
#[derive(Clone, Default)]
pub(super) struct RefusedHosts(Arc<Mutex<BTreeSet<String>>>);

impl RefusedHosts {
    fn add(&self, host: &str, agent: &str) {
        let mut hosts = self.0.lock();
        if hosts.len() < MAX_REFUSED && hosts.insert(host.to_owned()) {
            progress::line(&format!("{agent}: its sandbox refused {host}"));
        }
    }

    /// Takes the hosts that were refused since the last call.
    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock()).into_iter().collect()
    }
}

/// Serves the proxy on a socket file until this process ends.
pub(super) fn serve(socket: &Path, rules: ProxyRules, refused: RefusedHosts) -> io::Result<()> {
    let listener = UnixListener::bind(socket)?;
    let rules = Arc::new(rules);
    let open = Arc::new(AtomicUsize::new(0));
    std::thread::Builder::new().name("sandbox-proxy".to_owned()).spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { continue };
            if open.fetch_add(1, Ordering::SeqCst) >= MAX_CONNECTIONS {
                open.fetch_sub(1, Ordering::SeqCst);
                continue;
            }
            let (rules, refused, open_here) = (Arc::clone(&rules), refused.clone(), Arc::clone(&open));
            let served = std::thread::Builder::new().spawn(move || {
                // The program has gone, or the host; either sees the end of its connection.
                let _ = ProxyConnection { rules: &rules, refused: &refused }.serve(&stream);
                let _ = stream.shutdown(Shutdown::Both);
                open_here.fetch_sub(1, Ordering::SeqCst);
            });
            if served.is_err() {
                open.fetch_sub(1, Ordering::SeqCst);
            }
        }
    })?;
    Ok(())
}

/// One connection of the program.
struct ProxyConnection<'c> {
    rules: &'c ProxyRules,
    refused: &'c RefusedHosts,
}

impl ProxyConnection<'_> {
    fn serve(&self, stream: &UnixStream) -> io::Result<()> {
        stream.set_read_timeout(Some(HEAD_LIMIT))?;
        let request = match ProxyRequest::read(stream) {
            Ok(Some(request)) => request,
            Ok(None) => return Ok(()),
            Err(RequestFault::Io(error)) => return Err(error),
            Err(RequestFault::Bad(why)) => return answer(stream, "400 Bad Request", why),
        };
        stream.set_read_timeout(None)?;
        let secrets = self.secrets_for(&request);
        let target = secrets.first().map_or_else(
            || SecretHost { host: request.host.clone(), port: request.port, has_tls: false },
            |secret| secret.host.clone(),
        );
        let listed = self.rules.hosts.iter().find(|listed| listed.includes(&target.host, target.port));
        let Some(listed) = listed else { return self.refuse(stream, &request, "") };
        let upstream = match HostConnection::connect(&target, listed) {
            Ok(upstream) => upstream,
            Err(HostConnectionFault::Forbidden(address)) => {
                return self.refuse(stream, &request, &format!(" ({address})"));
            }
            Err(HostConnectionFault::Failed(why)) => {
                return answer(stream, "502 Bad Gateway", &format!("cannot reach {}: {why}", target.host));
            }
        };
        match request.kind {
            RequestKind::Tunnel => {
                (&*stream).write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
                tunnel(stream, upstream, &request.rest)
            }
            RequestKind::Forward(_) => self.forward(stream, &request, upstream, &secrets),
        }
    }

    /// The secrets of the host that a plain request is for. A tunnel is encrypted by the program.
    fn secrets_for(&self, request: &ProxyRequest) -> Vec<&ProxySecret> {
        let is_plain = matches!(request.kind, RequestKind::Forward(_));
        let is_for = |secret: &&ProxySecret| {
            let SecretHost { host, port, has_tls } = &secret.host;
            *host == request.host && (request.port == *port || *has_tls && request.port == request::HTTP_PORT)
        };
        self.rules.secrets.iter().filter(|_| is_plain).filter(is_for).collect()
    }

    fn refuse(&self, stream: &UnixStream, request: &ProxyRequest, more: &str) -> io::Result<()> {
        let name = format!("{}:{}{more}", request.host, request.port);
        let ProxyRules { agent, hosts, .. } = self.rules;
        self.refused.add(&name, agent);
        let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
        let words = format!("the sandbox of agent `{agent}` does not allow {name}; allowed: {}", hosts.join(", "));
        answer(stream, "403 Forbidden", &words)
    }

    /// Sends a request on, and its answer back.
    fn forward(
        &self,
        stream: &UnixStream,
        request: &ProxyRequest,
        mut upstream: HostConnection,
        secrets: &[&ProxySecret],
    ) -> io::Result<()> {
        let values: BTreeMap<&str, &str> =
            secrets.iter().map(|secret| (secret.placeholder.as_str(), secret.value.as_str())).collect();
        upstream.write_all(request.head(&values).as_bytes())?;
        if request.expects_continue {
            (&*stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        request.copy_body(stream, &mut upstream)?;
        upstream.flush()?;
        let mut piece = vec![0; PIECE];
        loop {
            let count = match upstream.read(&mut piece) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                // A host may end TLS without saying so; the answer's length shows whether it is whole.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                Err(error) => return Err(error),
            };
            (&*stream).write_all(&piece[..count])?;
        }
    }
}

/// Answers a request that is not sent on.
fn answer(mut stream: &UnixStream, status: &str, words: &str) -> io::Result<()> {
    let body = format!("uwf: {words}\n");
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(format!("{head}{body}").as_bytes())
}

/// Copies both directions until both have ended.
fn tunnel(stream: &UnixStream, upstream: HostConnection, first: &[u8]) -> io::Result<()> {
    let host = upstream.into_stream()?;
    (&host).write_all(first)?;
    let (from_host, to_program) = (host.try_clone()?, stream.try_clone()?);
    let back = std::thread::Builder::new().spawn(move || {
        // An error ends the direction, as the end of the data does.
        let _ = io::copy(&mut &from_host, &mut &to_program);
        let _ = to_program.shutdown(Shutdown::Write);
    })?;
    let _ = io::copy(&mut &*stream, &mut &host);
    let _ = host.shutdown(Shutdown::Write);
    let _ = back.join();
    Ok(())
}
