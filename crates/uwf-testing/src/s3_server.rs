//! Servers that speak S3, each on its own ports: moto and SeaweedFS. Each has the bucket `team`.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::installed::{free_ports, programs};

/// Time for a server to start.
const PATIENCE: Duration = Duration::from_mins(1);

/// The id of SeaweedFS's key; moto accepts any.
pub const KEY_ID: &str = "AKIATEST";

/// The secret of that key.
pub const SECRET: &str = "hush-this-is-secret";

/// Ports of SeaweedFS.
pub const PORTS: usize = 8;

const BUCKET: &str = "team";

/// The implementation of S3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum S3ServerKind {
    /// In memory; accepts any key.
    Moto,
    /// On the disk; accepts one key.
    SeaweedFs,
}

/// A server, which is killed when the value is dropped.
pub struct S3Server {
    kind: S3ServerKind,
    dir: TempDir,
    ports: Vec<u16>,
    process: Child,
}

impl Drop for S3Server {
    fn drop(&mut self) {
        self.kill();
    }
}

impl S3Server {
    /// Installs and starts a server.
    ///
    /// # Panics
    /// If it cannot be installed or does not start.
    pub fn start(kind: S3ServerKind) -> S3Server {
        // Other processes may take the ports before the server does.
        (0..3)
            .find_map(|_| S3Server::start_on(kind, free_ports(if kind == S3ServerKind::Moto { 1 } else { PORTS })))
            .unwrap_or_else(|| panic!("{kind:?} does not start: `scripts/s3-servers.sh` prints where its program is"))
    }

    /// The same on these ports; SeaweedFS needs [`PORTS`]. `None` if it does not start there. S3 is on the first port.
    ///
    /// # Panics
    /// If it cannot be installed.
    pub fn start_on(kind: S3ServerKind, ports: Vec<u16>) -> Option<S3Server> {
        let dir = TempDir::with_prefix("uwf-s3-").expect("a directory");
        let process = spawn(kind, &dir, &ports);
        let mut server = S3Server { kind, dir, ports, process };
        if !server.answers() {
            return None;
        }
        server.make_bucket();
        Some(server)
    }

    fn answers(&mut self) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE && self.process.try_wait().expect("a process").is_none() {
            let all = [self.s3_port()].into_iter().chain(self.filer_port()).all(|port| status("GET", port, "/") != 0);
            if all {
                return true;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        false
    }

    fn s3_port(&self) -> u16 {
        self.ports[0]
    }

    fn filer_port(&self) -> Option<u16> {
        self.ports.get(1).copied()
    }

    /// Creates the bucket directly, because the store never does.
    fn make_bucket(&self) {
        let begun = Instant::now();
        loop {
            let status = match self.filer_port() {
                Some(filer) => status("POST", filer, &format!("/buckets/{BUCKET}/")),
                None => status("PUT", self.s3_port(), &format!("/{BUCKET}")),
            };
            if matches!(status, 200 | 201) {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{:?} makes no bucket: {status}", self.kind);
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Its endpoint: `http://127.0.0.1:PORT`.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.s3_port())
    }

    /// Kills it at once, like kill -9.
    pub fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Sends a request for an object without the store. Only moto accepts it, because it does not check credentials. `path` is
    /// `/BUCKET/KEY`.
    ///
    /// # Panics
    /// If the server rejects it.
    pub fn by_hand(&self, method: &str, path: &str, body: &str) {
        let answer = ask(method, self.s3_port(), path, body).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 2"), "{answer}");
    }

    /// The variables of a process that uses the store of this name on it.
    pub fn variables(&self, store: &str) -> Vec<(String, String)> {
        let url = ("UWF_STORE_URL".to_owned(), format!("s3://{BUCKET}/{store}"));
        [url].into_iter().chain(environment(&self.endpoint(), KEY_ID, SECRET)).collect()
    }

    /// The id of its process.
    pub fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Starts it again with the data on its disk.
    ///
    /// # Panics
    /// If it does not start.
    pub fn restart(&mut self) {
        let begun = Instant::now();
        self.process = spawn(self.kind, &self.dir, &self.ports);
        while !self.answers() {
            assert!(begun.elapsed() < PATIENCE, "it does not start again");
            // Another process may have had one of its ports for a moment.
            std::thread::sleep(Duration::from_millis(200));
            self.process = spawn(self.kind, &self.dir, &self.ports);
        }
    }
}

/// The variables of a process that uses a server with these keys.
pub fn environment(endpoint: &str, key_id: &str, secret: &str) -> Vec<(String, String)> {
    let variables = [
        ("AWS_ENDPOINT_URL", endpoint),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ACCESS_KEY_ID", key_id),
        ("AWS_SECRET_ACCESS_KEY", secret),
    ];
    variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn spawn(kind: S3ServerKind, dir: &TempDir, ports: &[u16]) -> Child {
    let programs = programs("s3-servers.sh");
    let log = File::create(dir.path().join("log")).expect("a log");
    let mut command = match kind {
        S3ServerKind::Moto => {
            let mut command = Command::new(programs.join("moto_server"));
            command.args(["-H", "127.0.0.1", "-p"]).arg(ports[0].to_string());
            command
        }
        S3ServerKind::SeaweedFs => seaweedfs(programs, dir, ports),
    };
    command
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("a log"))
        .stderr(log)
        .spawn()
        .expect("the server is installed")
}

fn seaweedfs(programs: PathBuf, dir: &TempDir, ports: &[u16]) -> Command {
    let data = dir.path().join("data");
    fs::create_dir_all(&data).expect("a directory");
    let config = dir.path().join("s3.json");
    let identity = serde_json::json!({ "identities": [{
        "name": "tester",
        "credentials": [{ "accessKey": KEY_ID, "secretKey": SECRET }],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }] });
    fs::write(&config, identity.to_string()).expect("a file");
    let mut command = Command::new(programs.join("weed"));
    command.args(["server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3", "-s3.autoCreateBucket=false"]);
    command.args(["-s3.port.iceberg=0", "-s3.port.lance=0", "-master.volumeSizeLimitMB=64", "-volume.max=20"]);
    command.arg(format!("-dir={}", data.display())).arg(format!("-s3.config={}", config.display()));
    let names = ["s3", "filer", "master", "volume"].map(|name| [format!("{name}.port"), format!("{name}.port.grpc")]);
    // First the two ports that receive requests: S3 and the filer.
    let ports = [ports[0], ports[2], ports[1], ports[3], ports[4], ports[5], ports[6], ports[7]];
    command.args(names.as_flattened().iter().zip(ports).map(|(name, port)| format!("-{name}={port}")));
    command.current_dir(dir.path());
    command
}

/// The beginning of the answer to a plain request.
fn ask(method: &str, port: u16, path: &str, body: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {length}\r\nConnection: close\r\n\
         Authorization: AWS4-HMAC-SHA256 Credential=any/20260101/us-east-1/s3/aws4_request\r\n\r\n{body}"
    )?;
    let mut answer = String::new();
    stream.take(64).read_to_string(&mut answer)?;
    Ok(answer)
}

/// The status of an answer; 0 without an answer.
fn status(method: &str, port: u16, path: &str) -> u16 {
    let answer = ask(method, port, path, "").unwrap_or_default();
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
}
