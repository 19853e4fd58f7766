//! A machine controlled by an attacker: it connects to a gateway like `uwf connect`, and sends scripted answers.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::thread::JoinHandle;

use futures_util::{SinkExt, StreamExt};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::oneshot;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

/// Bytes copied at once.
const CHUNK: usize = 64 << 10;

/// Its answer to a path.
#[derive(Debug, Clone)]
pub struct HostileResponse {
    /// The status code.
    pub status: u16,
    /// Names and values. The values can be bytes that are not ASCII.
    pub headers: Vec<(&'static str, Vec<u8>)>,
    /// The body.
    pub body: String,
}

impl HostileResponse {
    /// An answer 200 with this content type.
    pub fn of_type(kind: &str, body: &str) -> HostileResponse {
        HostileResponse {
            status: 200,
            headers: vec![("content-type", kind.as_bytes().to_vec())],
            body: body.to_owned(),
        }
    }

    /// The same with one more header.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: &str) -> HostileResponse {
        self.headers.push((name, value.as_bytes().to_vec()));
        self
    }
}

/// A received request: method and path, and all headers.
pub type Received = (String, Vec<(String, String)>);

/// A machine, connected until the value is dropped.
pub struct HostileMachine {
    answers: Arc<Mutex<HashMap<String, HostileResponse>>>,
    received: Arc<Mutex<Vec<Received>>>,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl HostileMachine {
    /// Connects to the gateway at `address` (`127.0.0.1:PORT`) with the token of `name`.
    ///
    /// # Panics
    /// If the gateway rejects it.
    pub fn connect(address: &str, name: &str, token: &str) -> HostileMachine {
        let (answers, received) = (Arc::default(), Arc::default());
        let (end, ended) = oneshot::channel();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let service = HostileService { answers: Arc::clone(&answers), received: Arc::clone(&received) };
        let (address, path, token) =
            (address.to_owned(), format!("/api/gateway/connect/{name}"), format!("Bearer {token}"));
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                tokio::select! {
                    () = serve(&address, &path, &token, service, ready) => {}
                    _ = ended => {}
                }
            });
        });
        is_ready.recv().expect("the gateway lets the machine in");
        HostileMachine { answers, received, end: Some(end), thread: Some(thread) }
    }

    /// Sets the answer to a path with its query, or to a path with any query that has no answer of its own.
    pub fn answers(&self, path: &str, answer: HostileResponse) {
        self.answers.lock().insert(path.to_owned(), answer);
    }

    /// Requests received so far.
    pub fn received(&self) -> Vec<Received> {
        self.received.lock().clone()
    }
}

impl Drop for HostileMachine {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[derive(Clone)]
struct HostileService {
    answers: Arc<Mutex<HashMap<String, HostileResponse>>>,
    received: Arc<Mutex<Vec<Received>>>,
}

impl HostileService {
    fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let path = request.uri().path_and_query().map_or("", |path| path.as_str());
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let headers = request.headers().iter().map(|(name, value)| (name.to_string(), text(value))).collect();
        let line = format!("{} {path}", request.method());
        self.received.lock().push((line, headers));
        let answers = self.answers.lock();
        let answer = answers.get(path).or_else(|| answers.get(path.split('?').next()?)).cloned();
        drop(answers);
        let answer = answer.unwrap_or(HostileResponse { status: 404, headers: Vec::new(), body: String::new() });
        let mut response = Response::new(Full::new(Bytes::from(answer.body)));
        *response.status_mut() = hyper::StatusCode::from_u16(answer.status).expect("a status");
        for (name, value) in answer.headers {
            let value = HeaderValue::from_bytes(&value).expect("a value that HTTP can carry");
            response.headers_mut().append(HeaderName::from_static(name), value);
        }
        response
    }
}

/// Speaks HTTP/2 in the binary frames of a WebSocket.
async fn serve(address: &str, path: &str, token: &str, service: HostileService, ready: std::sync::mpsc::Sender<()>) {
    let mut handshake = format!("ws://{address}{path}").into_client_request().expect("a request");
    let headers = handshake.headers_mut();
    headers.insert("authorization", HeaderValue::from_str(token).expect("a header"));
    headers.insert("x-uwf-version", HeaderValue::from_static(env!("CARGO_PKG_VERSION")));
    let stream = tokio::net::TcpStream::connect(address).await.expect("the gateway is there");
    let (socket, _) = tokio_tungstenite::client_async(handshake, stream).await.expect("the gateway opens a tunnel");
    let (mut sink, mut frames) = socket.split();
    let (outside, inside) = tokio::io::duplex(CHUNK);
    let (mut bytes, mut into) = tokio::io::split(inside);
    let receive = async {
        while let Some(Ok(message)) = frames.next().await {
            if let Message::Binary(chunk) = message
                && into.write_all(&chunk).await.is_err()
            {
                break;
            }
        }
    };
    let send = async {
        let mut chunk = vec![0; CHUNK];
        while let Ok(length @ 1..) = bytes.read(&mut chunk).await {
            if sink.send(Message::binary(chunk[..length].to_vec())).await.is_err() {
                break;
            }
        }
    };
    let answering = service_fn(move |request| {
        let answer = service.answer(&request);
        async move { Ok::<_, Infallible>(answer) }
    });
    let http = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
    let _ = ready.send(());
    tokio::select! {
        () = receive => {}
        () = send => {}
        _ = http.serve_connection(TokioIo::new(outside), answering) => {}
    }
}
