//! A real proxy that connects to other servers (`CONNECT`), like the proxy of a network without direct access.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;

/// A running proxy. It resolves every name to this machine: its clients need not, and cannot, resolve names.
pub struct TestProxy {
    /// `127.0.0.1:PORT`.
    pub address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl TestProxy {
    /// Starts a proxy. `answer` returns the status for the head of a request; with 200 the proxy connects.
    ///
    /// # Panics
    /// If it cannot listen.
    pub fn start(answer: impl Fn(&str) -> u16 + Send + Sync + 'static) -> TestProxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it has an address").to_string();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let (heads, answer) = (asked.clone(), Arc::new(answer));
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (heads, answer) = (heads.clone(), answer.clone());
                // A client whose connection breaks retries.
                thread::spawn(move || drop(serve(client, &heads, &*answer)));
            }
        });
        TestProxy { address, asked }
    }

    /// Heads of the requests so far.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().clone()
    }
}

fn serve(mut client: TcpStream, heads: &Mutex<Vec<String>>, answer: &dyn Fn(&str) -> u16) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte)?;
        head.extend(byte);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    heads.lock().push(head.clone());
    let status = answer(&head);
    if status != 200 {
        return write!(client, "HTTP/1.1 {status} No\r\ncontent-length: 0\r\n\r\n");
    }
    let target = head.strip_prefix("CONNECT ").and_then(|rest| rest.split(' ').next()).unwrap_or_default();
    let port = target.rsplit(':').next().and_then(|port| port.parse().ok()).unwrap_or(0);
    let server = TcpStream::connect(("127.0.0.1", port))?;
    client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
    let (from, to) = (client.try_clone()?, server.try_clone()?);
    thread::spawn(move || pass(from, to));
    pass(server, client)
}

/// Passes on bytes from one side until its end.
fn pass(mut from: TcpStream, mut to: TcpStream) -> io::Result<()> {
    io::copy(&mut from, &mut to)?;
    to.shutdown(Shutdown::Write)
}
