//! A server like Slack: its web API, and Socket Mode over a WebSocket.

use std::io::{self, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};
use tokio_tungstenite::tungstenite::{self, Message, WebSocket};

use crate::llm_server::http::read_request;

/// How long a socket waits for a text before it looks for something to send.
const LOOK: Duration = Duration::from_millis(5);

/// Beginning of the request for a WebSocket.
const SOCKET: &[u8] = b"GET /link";

/// Id of the channel that all messages are in.
const CHANNEL: &str = "C0100";

/// A running server.
pub struct SlackServer {
    /// `http://127.0.0.1:PORT`.
    pub url: String,
    state: Arc<Mutex<SlackState>>,
}

#[derive(Default)]
struct SlackState {
    /// Method and body of each call.
    calls: Vec<(String, Value)>,
    /// Envelopes that were not acknowledged yet. Each connection sends them again.
    envelopes: Vec<Value>,
    /// Texts for the next connection, sent before anything else.
    garbage: Vec<String>,
    acknowledged: Vec<String>,
    /// Whether acknowledgements are lost.
    is_deaf: bool,
    /// Number of calls to reject with 429.
    busy: usize,
    /// Connections with an older number end.
    generation: usize,
    sockets: usize,
    /// Number of messages and envelopes.
    count: usize,
    /// Where clients open a WebSocket.
    socket_url: String,
}

impl SlackServer {
    /// Starts a server. It accepts the tokens `xoxb-good` and `xapp-good`.
    ///
    /// # Panics
    /// If it cannot listen.
    pub fn start() -> SlackServer {
        let state = Arc::<Mutex<SlackState>>::default();
        let served = Arc::clone(&state);
        let address = listen(move |client| drop(serve(client, &served)));
        state.lock().socket_url = format!("ws://{address}/link/?ticket=1");
        SlackServer { url: format!("http://{address}"), state }
    }

    /// Starts a server whose WebSockets use TLS, with a certificate for `localhost` and its key, both in PEM.
    ///
    /// # Panics
    /// If it cannot listen, or use the certificate.
    pub fn start_encrypted(certificate: &str, key: &str) -> SlackServer {
        let server = SlackServer::start();
        let chain = CertificateDer::pem_slice_iter(certificate.as_bytes()).collect::<Result<_, _>>();
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("a key");
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("ring has them")
            .with_no_client_auth()
            .with_single_cert(chain.expect("certificates"), key)
            .expect("they match");
        let (config, served) = (Arc::new(config), Arc::clone(&server.state));
        let address = listen(move |client| {
            let Ok(session) = ServerConnection::new(Arc::clone(&config)) else { return };
            let Ok(stream) = client.try_clone() else { return };
            drop(open(StreamOwned::new(session, stream), &client, &served));
        });
        server.state.lock().socket_url = format!("wss://localhost:{}/link", address.port());
        server
    }

    /// Bodies of the calls of a method so far.
    pub fn calls(&self, method: &str) -> Vec<Value> {
        let state = self.state.lock();
        state.calls.iter().filter(|(called, _)| called == method).map(|(_, body)| body.clone()).collect()
    }

    /// Messages with a question or news: those outside of threads.
    pub fn messages(&self) -> Vec<Value> {
        self.calls("chat.postMessage").into_iter().filter(|body| body.get("thread_ts").is_none()).collect()
    }

    /// Texts in threads.
    pub fn responses(&self) -> Vec<String> {
        let calls = self.calls("chat.postMessage").into_iter().filter(|body| body.get("thread_ts").is_some());
        calls.map(|body| body["text"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// A user presses a button of a message. Returns the envelope.
    ///
    /// # Panics
    /// If there is no such button.
    pub fn press(&self, message: &Value, button: usize, (id, name): (&str, &str)) -> Value {
        let blocks = message["blocks"].as_array().expect("blocks");
        let actions = blocks.iter().find(|block| block["type"] == "actions").expect("buttons");
        let value = &actions["elements"][button]["value"];
        assert!(value.is_string(), "{message:#}");
        let ts = &message["ts"];
        self.deliver(
            "interactive",
            json!({
                "type": "block_actions",
                "user": { "id": id, "username": name },
                "container": { "type": "message", "message_ts": ts, "channel_id": CHANNEL },
                "actions": [{ "action_id": format!("uwf-{button}"), "value": value, "action_ts": "1.5" }],
            }),
        )
    }

    /// A user replies in the thread of a message. Returns the envelope.
    pub fn reply(&self, message: &Value, user: &str, text: &str) -> Value {
        let ts = self.number();
        self.deliver("events_api", json!({
            "type": "event_callback",
            "event": {
                "type": "message", "channel": CHANNEL, "user": user, "text": text, "ts": ts, "thread_ts": message["ts"],
            },
        }))
    }

    fn number(&self) -> String {
        let mut state = self.state.lock();
        state.count += 1;
        format!("{}.000", 1000 + state.count)
    }

    fn deliver(&self, kind: &str, payload: Value) -> Value {
        let envelope = json!({ "envelope_id": self.number(), "type": kind, "payload": payload });
        self.send(&envelope);
        envelope
    }

    /// Sends an envelope, until it is acknowledged.
    pub fn send(&self, envelope: &Value) {
        self.state.lock().envelopes.push(envelope.clone());
    }

    /// Ids of the envelopes that were acknowledged, in order.
    pub fn acknowledged(&self) -> Vec<String> {
        self.state.lock().acknowledged.clone()
    }

    /// Loses acknowledgements, or stops losing them.
    pub fn be_deaf(&self, is_deaf: bool) {
        self.state.lock().is_deaf = is_deaf;
    }

    /// Ends all connections.
    pub fn drop_sockets(&self) {
        self.state.lock().generation += 1;
    }

    /// Sends these texts to the next connection first, and rejects some calls before.
    pub fn misbehave(&self, garbage: &[&str], busy: usize) {
        let mut state = self.state.lock();
        (state.garbage, state.busy) = (garbage.iter().map(|text| (*text).to_owned()).collect(), busy);
    }

    /// Number of open WebSockets.
    pub fn sockets(&self) -> usize {
        self.state.lock().sockets
    }
}

/// Serves clients at a free port, each in its own thread. A client whose connection breaks connects again.
fn listen(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it has an address");
    let serve = Arc::new(serve);
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let serve = Arc::clone(&serve);
            thread::spawn(move || serve(client));
        }
    });
    address
}

fn serve(mut client: TcpStream, state: &Mutex<SlackState>) -> io::Result<()> {
    let mut beginning = [0; SOCKET.len()];
    while client.peek(&mut beginning)? < SOCKET.len() {
        thread::sleep(LOOK);
    }
    if beginning == SOCKET {
        return open(client.try_clone()?, &client, state);
    }
    let mut reader = BufReader::new(client.try_clone()?);
    while let Some(request) = read_request(&mut reader, &mut client)? {
        let method = request.path_only().trim_start_matches("/api/").to_owned();
        let token = request.header("authorization").unwrap_or_default().trim_start_matches("Bearer ").to_owned();
        let mut state = state.lock();
        if state.busy > 0 {
            state.busy -= 1;
            write!(client, "HTTP/1.1 429 Slow down\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n")?;
            continue;
        }
        let answer = state.answer(&method, &token, request.body).to_string();
        write!(client, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{answer}", answer.len())?;
    }
    Ok(())
}

impl SlackState {
    fn answer(&mut self, method: &str, token: &str, mut body: Value) -> Value {
        let wanted = if method == "apps.connections.open" { "xapp-good" } else { "xoxb-good" };
        if token != wanted {
            return json!({ "ok": false, "error": "invalid_auth" });
        }
        match method {
            "apps.connections.open" => json!({ "ok": true, "url": self.socket_url }),
            "chat.postMessage" => {
                self.count += 1;
                body["ts"] = format!("{}.000", 1000 + self.count).into();
                self.calls.push((method.to_owned(), body.clone()));
                json!({ "ok": true, "channel": CHANNEL, "ts": body["ts"] })
            }
            "chat.update" => {
                self.calls.push((method.to_owned(), body));
                json!({ "ok": true })
            }
            _ => json!({ "ok": false, "error": "unknown_method" }),
        }
    }
}

/// Opens a WebSocket over a stream of a client, and counts it.
fn open(stream: impl Read + Write, client: &TcpStream, state: &Mutex<SlackState>) -> io::Result<()> {
    client.set_read_timeout(Some(Duration::from_secs(5)))?;
    let socket = tungstenite::accept(stream).map_err(|error| io::Error::other(error.to_string()))?;
    client.set_read_timeout(Some(LOOK))?;
    let (generation, garbage) = {
        let mut state = state.lock();
        state.sockets += 1;
        (state.generation, std::mem::take(&mut state.garbage))
    };
    let ended = carry(socket, generation, garbage, state).map_err(io::Error::other);
    state.lock().sockets -= 1;
    // The client must notice.
    let _ = client.shutdown(Shutdown::Both);
    ended
}

fn carry(
    mut socket: WebSocket<impl Read + Write>,
    generation: usize,
    garbage: Vec<String>,
    state: &Mutex<SlackState>,
) -> Result<(), tungstenite::Error> {
    for text in garbage {
        socket.send(Message::text(text))?;
    }
    socket.send(Message::text(json!({ "type": "hello" }).to_string()))?;
    let mut sent = Vec::new();
    loop {
        let new: Vec<Value> = {
            let state = state.lock();
            if state.generation != generation {
                return Ok(());
            }
            state.envelopes.iter().filter(|envelope| !sent.contains(*envelope)).cloned().collect()
        };
        for envelope in new {
            socket.send(Message::text(envelope.to_string()))?;
            sent.push(envelope);
        }
        match socket.read() {
            Ok(Message::Text(text)) => {
                let acknowledgement: Value = serde_json::from_str(&text).unwrap_or_default();
                let mut state = state.lock();
                if !state.is_deaf {
                    let id = acknowledgement["envelope_id"].as_str().unwrap_or_default().to_owned();
                    state.envelopes.retain(|envelope| envelope["envelope_id"] != id.as_str());
                    sent.retain(|envelope| envelope["envelope_id"] != id.as_str());
                    state.acknowledged.push(id);
                }
            }
            Ok(_) => {}
            Err(tungstenite::Error::Io(error))
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(error) => return Err(error),
        }
    }
}
