//! The way from the machines to the store: it can be slow, it can fail, and it counts what passes.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use uwf_testing::bucket::BucketTraffic;

use crate::network::HUB;
use crate::servers::S3_PORT;

const PORT: u16 = 9000;

/// How long a call takes while the store is slow.
const SLOW: Duration = Duration::from_millis(200);

/// Of so many calls one fails while the store fails.
const ONE_IN: u64 = 10;

/// What the store does besides its work.
#[derive(Debug, Default)]
struct Weather {
    is_slow: AtomicBool,
    is_failing: AtomicBool,
    calls: AtomicU64,
    failed: AtomicU64,
    asked: Mutex<BucketTraffic>,
}

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Passes,
    /// The server does not get it, and the connection breaks.
    IsLost,
    /// It is answered by 503, and not done.
    IsRefused,
    /// The server does it, and its answer is lost: whoever asked does not know.
    LosesItsAnswer,
}

impl Weather {
    fn fate(&self) -> Fate {
        let number = self.calls.fetch_add(1, Ordering::SeqCst);
        if !self.is_failing.load(Ordering::SeqCst) || !number.is_multiple_of(ONE_IN) {
            return Fate::Passes;
        }
        match self.failed.fetch_add(1, Ordering::SeqCst) % 3 {
            0 => Fate::IsLost,
            1 => Fate::IsRefused,
            _ => Fate::LosesItsAnswer,
        }
    }
}

/// The proxy. It ends with the box.
pub(crate) struct Proxy {
    weather: Arc<Weather>,
}

impl Proxy {
    pub(crate) fn start() -> Proxy {
        let listener = TcpListener::bind((HUB, PORT)).unwrap();
        let weather = Arc::<Weather>::default();
        let shared = Arc::clone(&weather);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let weather = Arc::clone(&shared);
                // The store must cope with these broken connections.
                thread::spawn(move || pass(client, &weather));
            }
        });
        Proxy { weather }
    }

    pub(crate) fn endpoint() -> String {
        format!("http://{HUB}:{PORT}")
    }

    pub(crate) fn set_slow(&self, is_slow: bool) {
        self.weather.is_slow.store(is_slow, Ordering::SeqCst);
    }

    pub(crate) fn set_failing(&self, is_failing: bool) {
        self.weather.is_failing.store(is_failing, Ordering::SeqCst);
    }

    /// How many calls have failed.
    pub(crate) fn failed(&self) -> u64 {
        self.weather.failed.load(Ordering::SeqCst)
    }

    /// What was asked since the last call.
    pub(crate) fn take(&self) -> BucketTraffic {
        std::mem::take(&mut self.weather.asked.lock())
    }
}

/// One call for each connection.
fn pass(mut client: TcpStream, weather: &Weather) -> std::io::Result<()> {
    let (head, body) = read(&mut client)?;
    if weather.is_slow.load(Ordering::SeqCst) {
        thread::sleep(SLOW);
    }
    let fate = weather.fate();
    match fate {
        Fate::IsLost => return client.shutdown(Shutdown::Both),
        Fate::IsRefused => {
            let body = "<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>";
            let length = body.len();
            return write!(
                client,
                "HTTP/1.1 503 Slow Down\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
            );
        }
        Fate::Passes | Fate::LosesItsAnswer => {}
    }
    let mut server = TcpStream::connect(("127.0.0.1", S3_PORT))?;
    let is_kept = |line: &&str| !line.to_ascii_lowercase().starts_with("connection:");
    let kept: Vec<&str> = head.trim_end().lines().filter(is_kept).collect();
    write!(server, "{}\r\nConnection: close\r\n\r\n", kept.join("\r\n"))?;
    server.write_all(&body)?;
    let mut answer = Vec::new();
    server.read_to_end(&mut answer)?;
    *weather.asked.lock() += asked(&head, body.len(), body_of(&answer));
    if fate == Fate::LosesItsAnswer {
        return client.shutdown(Shutdown::Both);
    }
    client.write_all(&answer)?;
    client.shutdown(Shutdown::Both)
}

/// The head and the body of a call.
fn read(client: &mut TcpStream) -> std::io::Result<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    while end_of_head(&bytes).is_none() {
        read_more(client, &mut bytes)?;
    }
    let mut body = bytes.split_off(end_of_head(&bytes).unwrap_or_default());
    let head = String::from_utf8_lossy(&bytes).into_owned();
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    while body.len() < length.unwrap_or(0) {
        read_more(client, &mut body)?;
    }
    Ok((head, body))
}

fn read_more(client: &mut TcpStream, bytes: &mut Vec<u8>) -> std::io::Result<()> {
    let mut piece = [0; 16 << 10];
    match client.read(&mut piece)? {
        0 => Err(ErrorKind::UnexpectedEof.into()),
        read => {
            bytes.extend_from_slice(&piece[..read]);
            Ok(())
        }
    }
}

/// Where the body begins.
fn end_of_head(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|end| end + 4)
}

fn body_of(answer: &[u8]) -> usize {
    answer.len() - end_of_head(answer).unwrap_or(answer.len())
}

/// A call as a provider counts it.
fn asked(head: &str, sent: usize, received: usize) -> BucketTraffic {
    let mut words = head.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let is_list = method == "GET" && target.contains("list-type=");
    let one = u64::from;
    BucketTraffic {
        get: one(method == "GET" && !is_list),
        put: one(method == "PUT"),
        list: one(is_list),
        delete: one(method == "DELETE"),
        head: one(method == "HEAD"),
        sent: sent as u64,
        received: received as u64,
    }
}
