//! moto, which plays S3 in memory.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use uwf_testing::repository;

/// How long it may take to start.
const PATIENCE: Duration = Duration::from_mins(1);

/// A server with the bucket `team`, ended when the value is dropped.
pub(crate) struct Moto {
    process: Child,
    port: u16,
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Where the programs of the servers are, which are installed first.
pub(crate) fn programs() -> PathBuf {
    let script = repository().join("scripts/s3-servers.sh");
    let found = Command::new(&script).stderr(Stdio::inherit()).output().unwrap();
    assert!(found.status.success(), "{} cannot install the servers: run it to see why", script.display());
    PathBuf::from(String::from_utf8(found.stdout).unwrap().trim())
}

impl Moto {
    pub(crate) fn start() -> Moto {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new(programs().join("moto_server"));
        command.args(["-H", "127.0.0.1", "-p", &port.to_string()]).stdout(Stdio::null()).stderr(Stdio::null());
        let server = Moto { process: command.spawn().unwrap(), port };
        let begun = Instant::now();
        while server.ask("PUT", "/team", "").is_none_or(|answer| !answer.starts_with("HTTP/1.1 200")) {
            assert!(begun.elapsed() < PATIENCE, "moto does not start");
            std::thread::sleep(Duration::from_millis(50));
        }
        server
    }

    /// Does something with an object of a store by hand: moto believes everybody who says who they are.
    pub(crate) fn by_hand(&self, method: &str, key: &str, body: &str) {
        let answer = self.ask(method, &format!("/team/{key}"), body).unwrap();
        assert!(answer.starts_with("HTTP/1.1 2"), "{answer}");
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        let host = format!("127.0.0.1:{}", self.port);
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\ncontent-length: {length}\r\nconnection: close\r\n\
             authorization: AWS4-HMAC-SHA256 Credential=any/20260101/us-east-1/s3/aws4_request\r\n\r\n{body}"
        )
        .ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    }

    /// The variables of a machine that uses a store of this name on it.
    pub(crate) fn variables(&self, store: &str) -> Vec<(String, String)> {
        let endpoint = format!("http://127.0.0.1:{}", self.port);
        let url = format!("s3://team/{store}");
        [
            ("UWF_STORE_URL", url.as_str()),
            ("AWS_ENDPOINT_URL", &endpoint),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ACCESS_KEY_ID", "AKIATEST"),
            ("AWS_SECRET_ACCESS_KEY", "hush-this-is-secret"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
    }

    /// Keeps it from answering, and lets it answer again.
    pub(crate) fn freeze(&self, is_frozen: bool) {
        use rustix::process::{Pid, Signal, kill_process};
        let signal = if is_frozen { Signal::STOP } else { Signal::CONT };
        kill_process(Pid::from_child(&self.process), signal).unwrap();
    }
}
