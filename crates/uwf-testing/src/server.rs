//! A real `uwf serve` process, and raw requests to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;

use crate::TestHome;

/// Time for a server to start, and to answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server, which is killed when the value is dropped.
pub struct TestServer {
    process: Child,
    /// `127.0.0.1:PORT`.
    pub address: String,
    /// Its secret: from its environment, or from the printed link; empty if it has another one.
    pub secret: String,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestServerResponse {
    /// The status code.
    pub status: u16,
    /// Lower-case names and values, in order.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

impl TestServerResponse {
    /// The body, parsed.
    ///
    /// # Panics
    /// If it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {}: {:?}", self.status, self.body))
    }

    /// A header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

impl TestServer {
    /// Starts `uwf serve` on a free port of loopback.
    ///
    /// # Panics
    /// If it does not print its address within some seconds.
    pub fn start(home: &TestHome, args: &[&str]) -> TestServer {
        TestServer::start_at(home, "127.0.0.1:0", args)
    }

    /// The same at an address.
    ///
    /// # Panics
    /// As [`TestServer::start`].
    pub fn start_at(home: &TestHome, address: &str, args: &[&str]) -> TestServer {
        TestServer::spawn_serve(home.command(&["serve", "--address", address]), args)
    }

    /// The same at a free port, with environment variables.
    ///
    /// # Panics
    /// As [`TestServer::start`].
    pub fn start_with(home: &TestHome, args: &[&str], environment: &[(&str, &str)]) -> TestServer {
        let mut command = home.command(&["serve", "--address", "127.0.0.1:0"]);
        command.envs(environment.iter().copied());
        TestServer::spawn_serve(command, args)
    }

    /// The same, with limits set by `ulimit`: `-Sn 64` is 64 open files.
    ///
    /// # Panics
    /// As [`TestServer::start`].
    pub fn start_limited(home: &TestHome, args: &[&str], limits: &str) -> TestServer {
        let server = home.command(&["serve", "--address", "127.0.0.1:0"]);
        TestServer::spawn_serve(limited(home, &server, limits), args)
    }

    fn spawn_serve(mut command: Command, args: &[&str]) -> TestServer {
        command.args(args).stdout(Stdio::null()).stderr(Stdio::piped());
        let chosen =
            command.get_envs().find(|(name, _)| *name == "WORKFLOW_DASHBOARD_SECRET").and_then(|(_, value)| value);
        let chosen = chosen.map(|secret| secret.to_string_lossy().into_owned()).unwrap_or_default();
        let mut process = command.spawn().expect("uwf serve starts");
        let stderr = process.stderr.take().expect("its stderr is a pipe");
        // From here on it is killed whatever happens.
        let mut server = TestServer { process, address: String::new(), secret: String::new() };
        let (send, lines) = mpsc::channel();
        // Read to the end, so that the server never blocks on its output.
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let _ = send.send(line);
            }
        });
        let mut said = String::new();
        loop {
            let line = lines.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("no link was printed: {said}"));
            if let Some((before, after)) = line.split_once("/login") {
                server.address = before.rsplit("://").next().unwrap_or_default().to_owned();
                server.secret = after.strip_prefix("?token=").map_or(chosen, |secret| secret.trim().to_owned());
                return server;
            }
            said.push_str(&line);
            said.push('\n');
        }
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Kills it with SIGKILL and waits for its exit.
    ///
    /// # Panics
    /// If waiting fails.
    pub fn kill(&mut self) {
        let _ = self.process.kill();
        self.process.wait().expect("a child can be waited for");
    }

    /// GET by a script with the secret.
    pub fn get(&self, path: &str) -> TestServerResponse {
        self.send("GET", path, &[("authorization", &self.bearer()), ("accept", "application/json")], "")
    }

    /// GET by a browser that is logged in.
    pub fn page(&self, path: &str) -> TestServerResponse {
        self.send("GET", path, &[("cookie", &self.cookie()), ("accept", "text/html")], "")
    }

    /// POST of JSON by a script with the secret.
    pub fn post(&self, path: &str, body: &Value) -> TestServerResponse {
        let headers = [("authorization", &*self.bearer()), ("content-type", "application/json")];
        self.send("POST", path, &headers, &body.to_string())
    }

    /// The header value by which a script proves that it has the secret.
    pub fn bearer(&self) -> String {
        format!("Bearer {}", self.secret)
    }

    /// The cookie from logging in.
    ///
    /// # Panics
    /// If the server sets none.
    pub fn cookie(&self) -> String {
        let answer = self.send("GET", &format!("/login?token={}", self.secret), &[], "");
        let cookie = answer.header("set-cookie").unwrap_or_else(|| panic!("no cookie: {answer:?}"));
        cookie.split(';').next().unwrap_or_default().to_owned()
    }

    /// The server's own path, which only its users know, from the redirect after logging in: `/~…`.
    ///
    /// # Panics
    /// If it does not redirect.
    pub fn own_path(&self) -> String {
        let answer = self.send("GET", &format!("/login?token={}", self.secret), &[], "");
        let target = answer.header("location").unwrap_or_else(|| panic!("no redirect: {answer:?}"));
        target.trim_end_matches('/').to_owned()
    }

    /// Sends a request unchanged. `host` is the server's address unless a header sets it.
    ///
    /// # Panics
    /// If the server does not answer.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> TestServerResponse {
        let mut stream = self.open(method, path, headers, body);
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("the answer can be read");
        parsed(&bytes)
    }

    /// Sends a request and returns before reading the answer, for streams.
    ///
    /// # Panics
    /// If the server is not running.
    pub fn open(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).expect("the server is there");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
        let mut request =
            format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
        if headers.iter().all(|(name, _)| *name != "host") {
            request.push_str(&format!("host: {}\r\n", self.address));
        }
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str("\r\n");
        request.push_str(body);
        stream.write_all(request.as_bytes()).expect("the request can be sent");
        stream
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A command started by a shell that has set limits.
pub(crate) fn limited(home: &TestHome, command: &Command, limits: &str) -> Command {
    let mut shell = Command::new("sh");
    home.prepare(&mut shell);
    shell.args(["-c", &format!("ulimit {limits} && exec \"$@\""), "sh"]);
    shell.arg(command.get_program()).args(command.get_args());
    shell
}

fn parsed(bytes: &[u8]) -> TestServerResponse {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("headers end");
    let head = String::from_utf8_lossy(&bytes[..end]);
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).expect("a status");
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let is_chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
    let body = &bytes[end + 4..];
    let body = if is_chunked { unchunked(body) } else { body.to_vec() };
    TestServerResponse { status, headers, body: String::from_utf8_lossy(&body).into_owned() }
}

/// A body without the sizes of its chunks.
fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = bytes.windows(2).position(|two| two == b"\r\n") {
        let size = usize::from_str_radix(&String::from_utf8_lossy(&bytes[..end]), 16).unwrap_or(0);
        let Some(chunk) = bytes.get(end + 2..end + 2 + size).filter(|_| size > 0) else { break };
        body.extend(chunk);
        bytes = bytes.get(end + 4 + size..).unwrap_or_default();
    }
    body
}
