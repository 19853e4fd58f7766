//! A server like ntfy: topics with messages, JSON publishing, and a stream of lines for each topic.

use std::io::{self, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::llm_server::http::{LlmServerRequest, read_request};

/// How often a stream looks for new messages.
const LOOK: Duration = Duration::from_millis(5);

/// A running server. It keeps all messages.
pub struct NtfyServer {
    /// `http://127.0.0.1:PORT`.
    pub url: String,
    state: Arc<Mutex<NtfyState>>,
}

#[derive(Default)]
struct NtfyState {
    /// All messages, oldest first.
    messages: Vec<Value>,
    /// Lines and gibberish to send to the next stream before anything else.
    garbage: Option<String>,
    /// Number of requests to reject with 429.
    busy: usize,
    /// The token that publishing and reading need.
    token: Option<String>,
    /// Streams with an older number end.
    generation: usize,
    /// Number of open streams.
    streams: usize,
    /// Values of `since` in requests for streams.
    since: Vec<String>,
}

impl NtfyServer {
    /// Starts a server; with a token, only requests with it are accepted.
    ///
    /// # Panics
    /// If it cannot listen.
    pub fn start(token: Option<&str>) -> NtfyServer {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("it has an address"));
        let state = Arc::new(Mutex::new(NtfyState { token: token.map(str::to_owned), ..NtfyState::default() }));
        let served = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let state = Arc::clone(&served);
                // A client whose connection breaks connects again.
                thread::spawn(move || drop(serve(client, &state)));
            }
        });
        NtfyServer { url, state }
    }

    /// Messages of a topic so far, oldest first.
    pub fn messages(&self, topic: &str) -> Vec<Value> {
        self.state.lock().messages.iter().filter(|message| message["topic"] == topic).cloned().collect()
    }

    /// A person writes to a topic.
    pub fn write(&self, topic: &str, text: &str) {
        self.state.lock().publish(json!({ "topic": topic, "message": text }));
    }

    /// A person presses a button of a message: its action is performed.
    ///
    /// # Panics
    /// If there is no such button, or if it does not post to a topic of this server.
    pub fn press(&self, message: &Value, button: usize) {
        let action = &message["actions"][button];
        assert_eq!((&action["action"], &action["method"]), (&json!("http"), &json!("POST")), "{message:#}");
        let topic = action["url"].as_str().and_then(|url| url.strip_prefix(&self.url)).expect("its own URL");
        self.write(topic.trim_start_matches('/'), action["body"].as_str().expect("a body"));
    }

    /// Delivers a message a second time.
    pub fn repeat(&self, message: &Value) {
        self.state.lock().messages.push(message.clone());
    }

    /// Ends all streams.
    pub fn drop_streams(&self) {
        self.state.lock().generation += 1;
    }

    /// Sends this to the next stream first, and rejects some requests before.
    pub fn misbehave(&self, garbage: &str, busy: usize) {
        let mut state = self.state.lock();
        (state.garbage, state.busy) = (Some(garbage.to_owned()), busy);
    }

    /// Number of open streams.
    pub fn streams(&self) -> usize {
        self.state.lock().streams
    }

    /// The positions from which streams were requested.
    pub fn since(&self) -> Vec<String> {
        self.state.lock().since.clone()
    }
}

impl NtfyState {
    fn publish(&mut self, mut message: Value) -> Value {
        message["id"] = format!("m{:04}", self.messages.len()).into();
        message["event"] = "message".into();
        self.messages.push(message.clone());
        message
    }
}

fn serve(mut client: TcpStream, state: &Mutex<NtfyState>) -> io::Result<()> {
    let mut reader = BufReader::new(client.try_clone()?);
    while let Some(request) = read_request(&mut reader, &mut client)? {
        let path = request.path_only().trim_matches('/').to_owned();
        if let Some((status, headers)) = rejection(&request, &path, state) {
            write!(client, "HTTP/1.1 {status} No\r\n{headers}content-length: 2\r\n\r\n{{}}")?;
            continue;
        }
        if request.method == "GET" {
            return stream(client, &request, path.trim_end_matches("/json"), state);
        }
        let message = match path.is_empty() {
            true => request.body,
            false => json!({ "topic": path, "message": request.text }),
        };
        let published = state.lock().publish(message).to_string();
        write!(client, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{published}", published.len())?;
    }
    Ok(())
}

/// Status and headers for a request that is not served. Buttons of a topic without protection need no token.
fn rejection(request: &LlmServerRequest, path: &str, state: &Mutex<NtfyState>) -> Option<(u16, &'static str)> {
    let mut state = state.lock();
    if state.busy > 0 {
        state.busy -= 1;
        return Some((429, "retry-after: 1\r\n"));
    }
    let needs_token = request.method == "GET" || path.is_empty();
    let wanted = state.token.as_ref().filter(|_| needs_token).map(|token| format!("Bearer {token}"));
    wanted.filter(|wanted| request.header("authorization") != Some(wanted)).map(|_| (403, ""))
}

fn stream(mut client: TcpStream, request: &LlmServerRequest, topic: &str, state: &Mutex<NtfyState>) -> io::Result<()> {
    let since = request.path.split_once("since=").map_or("all", |(_, since)| since).to_owned();
    write!(client, "HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\ntransfer-encoding: chunked\r\n\r\n")?;
    let mut send = |text: &str| -> io::Result<()> {
        write!(client, "{:x}\r\n{text}\r\n", text.len())?;
        client.flush()
    };
    let (generation, garbage, mut next) = {
        let mut state = state.lock();
        state.streams += 1;
        state.since.push(since.clone());
        let after = state.messages.iter().rposition(|message| message["id"] == since.as_str());
        (state.generation, state.garbage.take(), after.map_or(0, |position| position + 1))
    };
    let sent = (|| {
        send(&format!("{}\n", json!({ "id": "open", "event": "open", "topic": topic })))?;
        garbage.iter().try_for_each(|garbage| send(garbage))?;
        loop {
            let new: Vec<Value> = {
                let state = state.lock();
                if state.generation != generation {
                    return Ok(());
                }
                let new = state.messages[next..].to_vec();
                next = state.messages.len();
                new
            };
            for message in new.iter().filter(|message| message["topic"] == topic) {
                send(&format!("{message}\n"))?;
            }
            thread::sleep(LOOK);
        }
    })();
    state.lock().streams -= 1;
    sent
}
