//! A scripted model provider: a real HTTP server on 127.0.0.1 that records requests and sends scripted answers.
//!
//! The path of a request selects the wire (`/chat/completions`, `/messages`, `/responses`, `…:generateContent`, `/models`). Its `stream`
//! (for Gemini the path) decides whether the answer is streamed, so one script serves every client. It stops when it is dropped.

mod anthropic;
mod gemini;
pub(crate) mod http;
mod openai;
mod responses;
mod say;
mod script;
mod script_file;

pub use http::LlmServerRequest;
pub use say::{ScriptedAnswer, ScriptedUsage};
pub use script::LlmScript;

use std::io::Write;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use parking_lot::Mutex;
use serde_json::json;

use http::{LlmServerResponse, read_request};

/// A running server.
pub struct LlmServer {
    address: SocketAddr,
    shared: Arc<LlmServerState>,
    acceptor: Option<JoinHandle<()>>,
}

struct LlmServerState {
    script: Mutex<LlmScript>,
    requests: Mutex<Vec<LlmServerRequest>>,
    connections: Mutex<Vec<TcpStream>>,
    stopping: AtomicBool,
}

impl LlmServer {
    /// Starts a server. A list of answers is given in order; a closure decides by the request.
    ///
    /// # Panics
    /// If no port is free.
    pub fn start(script: impl Into<LlmScript>) -> LlmServer {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(LlmServerState {
            script: Mutex::new(script.into()),
            requests: Mutex::default(),
            connections: Mutex::default(),
            stopping: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        let acceptor = thread::spawn(move || accept(&listener, &accepting));
        LlmServer { address, shared, acceptor: Some(acceptor) }
    }

    /// Base URL for OpenAI-compatible clients, ending in `/v1`.
    pub fn url(&self) -> String {
        format!("{}/v1", self.origin())
    }

    /// The server without a path, as clients of Anthropic expect it.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every request so far, oldest first.
    pub fn requests(&self) -> Vec<LlmServerRequest> {
        self.shared.requests.lock().clone()
    }

    /// The requests to a model, oldest first, without lists of models and probes of clients.
    pub fn asked(&self) -> Vec<LlmServerRequest> {
        self.requests().into_iter().filter(LlmServerRequest::asks).collect()
    }
}

impl Drop for LlmServer {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // Wakes the acceptor.
        drop(TcpStream::connect(self.address));
        for connection in self.shared.connections.lock().iter() {
            let _ = connection.shutdown(Shutdown::Both);
        }
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<LlmServerState>) {
    for stream in listener.incoming() {
        if shared.stopping.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        if let Ok(kept) = stream.try_clone() {
            shared.connections.lock().push(kept);
        }
        let shared = Arc::clone(shared);
        thread::spawn(move || serve(stream, &shared));
    }
}

/// Answers the requests of one connection, until one side closes it.
fn serve(mut stream: TcpStream, shared: &LlmServerState) {
    let Ok(reading) = stream.try_clone() else { return };
    // Each piece must leave at once, separately.
    let _ = stream.set_nodelay(true);
    let mut reading = std::io::BufReader::new(reading);
    while let Ok(Some(request)) = read_request(&mut reading, &mut stream) {
        shared.requests.lock().push(request.clone());
        let keep = respond(&request, shared).send(&mut stream).unwrap_or(false);
        if !keep || stream.flush().is_err() {
            break;
        }
    }
    let _ = stream.shutdown(Shutdown::Both);
}

fn respond(request: &LlmServerRequest, shared: &LlmServerState) -> LlmServerResponse {
    if !request.asks() {
        let script = shared.script.lock();
        return match request.path_only() {
            path if path.ends_with("/models") => LlmServerResponse::json(200, &models(script.models())),
            path => LlmServerResponse::json(404, &json!({ "error": { "message": format!("nothing at {path}") } })),
        };
    }
    let (number, say) = shared.script.lock().next(request);
    thread::sleep(say.delay);
    let path = request.path_only();
    if path.ends_with("/messages") {
        anthropic::response(&say, request, number)
    } else if path.ends_with("/responses") {
        responses::response(&say, request, number)
    } else if path.ends_with("/chat/completions") {
        openai::response(&say, request, number)
    } else {
        gemini::response(&say, request)
    }
}

/// A list that clients of both OpenAI and Anthropic can read.
fn models(names: &[String]) -> serde_json::Value {
    let model = |name: &String| json!({ "id": name, "object": "model", "type": "model", "display_name": name });
    json!({ "object": "list", "data": names.iter().map(model).collect::<Vec<_>>(), "has_more": false })
}
