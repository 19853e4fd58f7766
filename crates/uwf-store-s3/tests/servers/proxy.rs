//! A network between a store and its server that goes wrong as told.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// By which a write is made conditional.
const CONDITIONS: [&str; 3] = ["if-match:", "if-none-match:", "x-goog-if-generation-match:"];

/// A request as it passes by.
#[derive(Debug, Clone)]
pub(crate) struct Passing {
    /// From 1.
    pub(crate) number: usize,
    /// `PUT /team/store/heads/a@1`, with the symbols that a client may write as numbers.
    pub(crate) line: String,
}

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Passes,
    /// The server does not get it, and the connection breaks.
    IsLost,
    /// The server does it, and its answer is lost.
    LosesItsAnswer,
    /// It is answered by 503, and not done.
    IsTooMuch,
    /// The server does not get it, and nobody says so.
    Hangs,
    /// It reaches the server without its conditions.
    LosesItsConditions,
    /// Its answer does not say when it was given.
    LosesItsDate,
}

/// A proxy of HTTP, stopped when the value is dropped.
pub(crate) struct Proxy {
    port: u16,
    stopped: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        // It waits for one more connection.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Proxy {
    /// In front of `http://HOST:PORT`: every request waits for `delay`, then `fate` decides.
    pub(crate) fn start(
        server: &str,
        delay: Duration,
        fate: impl Fn(&Passing) -> Fate + Send + Sync + 'static,
    ) -> Proxy {
        let server = server.strip_prefix("http://").unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let stopped = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stopped);
        let shared = Arc::new((fate, AtomicUsize::new(0)));
        let thread = thread::spawn(move || {
            for connection in listener.incoming() {
                if told.load(Ordering::SeqCst) {
                    return;
                }
                let (server, shared) = (server.clone(), Arc::clone(&shared));
                thread::spawn(move || {
                    let (fate, count) = &*shared;
                    // The store must cope with these broken connections.
                    let _ = connection.and_then(|connection| pass(connection, &server, delay, count, fate));
                });
            }
        });
        Proxy { port, stopped, thread: Some(thread) }
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

/// One request for each connection.
fn pass(
    mut from: TcpStream,
    server: &str,
    delay: Duration,
    count: &AtomicUsize,
    fate: &dyn Fn(&Passing) -> Fate,
) -> std::io::Result<()> {
    let (head, body) = read(&mut from)?;
    let line = head.lines().next().unwrap_or_default().trim_end_matches(" HTTP/1.1");
    let line = line.replace("%40", "@").replace("%2F", "/").replace("%2E", ".").replace("%2D", "-");
    thread::sleep(delay);
    let fate = fate(&Passing { number: count.fetch_add(1, Ordering::SeqCst) + 1, line });
    match fate {
        Fate::IsLost => return from.shutdown(Shutdown::Both),
        Fate::Hangs => {
            // Until whoever waits for it gives up.
            let _ = from.read(&mut [0]);
            return Ok(());
        }
        Fate::IsTooMuch => {
            let body = "<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>";
            let length = body.len();
            write!(from, "HTTP/1.1 503 Slow Down\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}")?;
            return Ok(());
        }
        Fate::Passes | Fate::LosesItsAnswer | Fate::LosesItsConditions | Fate::LosesItsDate => (),
    }
    let mut to = TcpStream::connect(server)?;
    let is_kept = |line: &&str| {
        let line = line.to_ascii_lowercase();
        let is_condition = CONDITIONS.iter().any(|condition| line.starts_with(condition));
        let is_lost = is_condition && fate == Fate::LosesItsConditions;
        !is_lost && !line.starts_with("connection:")
    };
    let kept: Vec<&str> = head.trim_end().lines().filter(is_kept).collect();
    write!(to, "{}\r\nConnection: close\r\n\r\n", kept.join("\r\n"))?;
    to.write_all(&body)?;
    let mut answer = Vec::new();
    to.read_to_end(&mut answer)?;
    if fate == Fate::LosesItsAnswer {
        return from.shutdown(Shutdown::Both);
    }
    if fate == Fate::LosesItsDate {
        answer = without_date(&answer);
    }
    from.write_all(&answer)?;
    from.shutdown(Shutdown::Both)
}

fn without_date(answer: &[u8]) -> Vec<u8> {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(answer.len());
    let (head, rest) = answer.split_at(end);
    let head = String::from_utf8_lossy(head);
    let kept: Vec<&str> = head.lines().filter(|line| !line.to_ascii_lowercase().starts_with("date:")).collect();
    [kept.join("\r\n").as_bytes(), rest].concat()
}

fn read(from: &mut TcpStream) -> std::io::Result<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut piece = [0; 16 << 10];
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        let read = from.read(&mut piece)?;
        if read == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&piece[..read]);
    };
    let mut body = bytes.split_off(end);
    let head = String::from_utf8_lossy(&bytes).into_owned();
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    while body.len() < length.unwrap_or(0) {
        let read = from.read(&mut piece)?;
        if read == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        body.extend_from_slice(&piece[..read]);
    }
    Ok((head, body))
}
