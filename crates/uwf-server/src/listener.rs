//! Accepts connections, with TLS if the server has a certificate, and answers their requests.

mod no_request;

use std::collections::VecDeque;
use std::io::{Error, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::http::Request;
use futures_util::{StreamExt, stream};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

use self::no_request::ReportingConnection;
use crate::tunnel::NetworkConnection;

/// How long a TLS handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// Most handshakes at once, in all and from one address. One more ends the oldest: an honest client finishes within milliseconds, and must
/// not be kept out by a client that begins a thousand and finishes none.
const MOST_HANDSHAKES: (usize, usize) = (1000, 32);

/// How long to wait when no connection can be accepted, for instance because of too many open files.
const PAUSE: Duration = Duration::from_millis(200);

/// A connection, after the TLS handshake if the server has a certificate.
type Accepted = (Box<dyn NetworkConnection>, SocketAddr);

/// A listening socket.
pub(crate) struct ServerSocket {
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    handshakes: JoinSet<Option<Accepted>>,
    /// Handshakes, oldest first, including those that have ended since.
    begun: VecDeque<(IpAddr, AbortHandle)>,
}

/// How long a client may take to send a request. Sending an answer may take any time, as events do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestReadTimeouts {
    /// For the head. Also counts between two requests, so that an idle connection ends.
    pub(crate) head: Duration,
    /// For its body.
    pub(crate) body: Duration,
}

impl RequestReadTimeouts {
    /// Enough for the largest body on a slow line: 2 MiB in a minute are 280 kbit/s.
    pub(crate) const USUAL: RequestReadTimeouts =
        RequestReadTimeouts { head: Duration::from_secs(30), body: Duration::from_mins(1) };
}

/// Address of the client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClientAddress(pub(crate) SocketAddr);

impl ServerSocket {
    pub(crate) fn new(listener: TcpListener, tls: Option<TlsAcceptor>) -> ServerSocket {
        ServerSocket { listener, tls, handshakes: JoinSet::new(), begun: VecDeque::new() }
    }

    /// Answers all clients, for ever. Requests carry their [`ClientAddress`].
    pub(crate) async fn serve(mut self, router: Router, patience: RequestReadTimeouts) {
        loop {
            let (stream, from) = self.accept().await;
            tokio::spawn(answer(stream, from, router.clone(), patience));
        }
    }

    /// Begins TLS in a task of its own, so that a slow client holds up no other.
    fn begin(&mut self, tls: &TlsAcceptor, stream: TcpStream, from: SocketAddr) {
        self.make_room(from.ip());
        let handshake = tls.accept(stream);
        let task = self.handshakes.spawn(async move {
            let stream = tokio::time::timeout(HANDSHAKE, handshake).await.ok()?.ok()?;
            Some((Box::new(stream) as Box<dyn NetworkConnection>, from))
        });
        self.begun.push_back((from.ip(), task));
    }

    /// Ends the oldest handshake of an address that has too many, or the oldest of all.
    fn make_room(&mut self, from: IpAddr) {
        self.begun.retain(|(_, task)| !task.is_finished());
        let of_address = self.begun.iter().filter(|(address, _)| *address == from).count();
        let oldest = match (self.begun.len() >= MOST_HANDSHAKES.0, of_address >= MOST_HANDSHAKES.1) {
            (_, true) => self.begun.iter().position(|(address, _)| *address == from),
            (true, false) => Some(0),
            (false, false) => None,
        };
        if let Some((_, task)) = oldest.and_then(|at| self.begun.remove(at)) {
            task.abort();
        }
    }

    async fn accept(&mut self) -> Accepted {
        loop {
            let accepted = tokio::select! {
                Some(done) = self.handshakes.join_next() => match done {
                    Ok(Some(ready)) => return ready,
                    _ => continue,
                },
                accepted = self.listener.accept() => accepted,
            };
            let Ok((stream, from)) = accepted else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            // Send small events at once.
            let _ = stream.set_nodelay(true);
            match self.tls.clone() {
                Some(tls) => self.begin(&tls, stream, from),
                None => return (Box::new(stream), from),
            }
        }
    }
}

/// Answers the requests of one connection.
async fn answer(stream: Box<dyn NetworkConnection>, from: SocketAddr, router: Router, patience: RequestReadTimeouts) {
    let service = router.map_request(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(ClientAddress(from));
        request.map(|body| within(body, patience.body))
    });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(patience.head);
    let connection =
        server.serve_connection(TokioIo::new(ReportingConnection::new(stream)), TowerToHyperService::new(service));
    // The client caused any error here: it disconnected, is too slow, or does not speak HTTP.
    let _ = connection.with_upgrades().await;
}

/// A body that fails unless all of its bytes arrive in time.
fn within(body: Incoming, patience: Duration) -> Body {
    if body.is_end_stream() {
        return Body::empty();
    }
    let deadline = Instant::now() + patience;
    Body::from_stream(stream::unfold(Body::new(body).into_data_stream(), move |mut chunks| async move {
        let next = timeout_at(deadline, chunks.next()).await;
        let next = next.unwrap_or_else(|_| Some(Err(axum::Error::new(Error::from(ErrorKind::TimedOut)))));
        Some((next?, chunks))
    }))
}

#[cfg(test)]
mod tests {
    use axum::body::Bytes;
    use axum::routing::{get, post};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    const SHORT: Duration = Duration::from_millis(200);

    /// Everything that a client receives if it sends this and then waits until the connection ends.
    async fn answered(sent: &str) -> String {
        let router = Router::new()
            .route(
                "/",
                post(|body: Result<Bytes, axum::extract::rejection::BytesRejection>| async move {
                    format!("whole: {}", body.is_ok())
                }),
            )
            .route(
                "/events",
                get(|| async {
                    Body::from_stream(stream::unfold(0, |beat| async move {
                        tokio::time::sleep(SHORT).await;
                        (beat < 5).then(|| (Ok::<_, Error>(format!("beat {beat}")), beat + 1))
                    }))
                }),
            );
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(
            ServerSocket::new(listener, None).serve(router, RequestReadTimeouts { head: SHORT, body: 2 * SHORT }),
        );
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(sent.as_bytes()).await.unwrap();
        let mut got = Vec::new();
        let read = tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut got));
        read.await.expect("the connection ends").unwrap();
        String::from_utf8(got).unwrap()
    }

    #[tokio::test]
    async fn unfinished_request_is_disconnected() {
        // Nothing, part of a head, and nothing after an answered request.
        assert_eq!(answered("").await, "");
        assert!(!answered("POST / HTTP/1.1\r\nhost: a\r\n").await.contains("whole"));
        let idle = answered("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nab").await;
        assert!(idle.starts_with("HTTP/1.1 200") && idle.ends_with("whole: true"), "{idle}");
        let half = answered("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\na").await;
        assert!(half.ends_with("whole: false"), "{half}");
    }

    #[tokio::test]
    async fn an_answer_may_take_longer_than_a_request() {
        let events = answered("GET /events HTTP/1.1\r\nhost: a\r\n\r\n").await;
        assert!(events.contains("beat 0") && events.contains("beat 4"), "{events}");
    }
}
