//! Servers that speak S3: moto and SeaweedFS.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::{Kind, free_ports, programs};

/// How long a server may take to start.
const PATIENCE: Duration = Duration::from_mins(1);

pub(super) const KEY_ID: &str = "AKIATEST";
pub(super) const SECRET: &str = "hush-this-is-secret";

/// A server, ended when the value is dropped.
pub(super) struct Process {
    kind: Kind,
    dir: TempDir,
    ports: Vec<u16>,
    process: Child,
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Process {
    pub(super) fn start(kind: Kind) -> Process {
        // The ports may be taken between finding and using them.
        (0..3)
            .find_map(|_| Process::try_start(kind))
            .unwrap_or_else(|| panic!("{kind:?} does not start: `scripts/s3-servers.sh` prints where its program is"))
    }

    fn try_start(kind: Kind) -> Option<Process> {
        let dir = TempDir::with_prefix("uwf-s3-").unwrap();
        let ports = free_ports(if kind == Kind::Moto { 1 } else { 8 });
        let process = spawn(kind, &dir, &ports);
        let mut server = Process { kind, dir, ports, process };
        if !server.answers() {
            return None;
        }
        server.make_bucket("team");
        Some(server)
    }

    fn answers(&mut self) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE && self.process.try_wait().unwrap().is_none() {
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

    /// Without the store: the store makes none.
    fn make_bucket(&self, bucket: &str) {
        let begun = Instant::now();
        loop {
            let status = match self.filer_port() {
                Some(filer) => status("POST", filer, &format!("/buckets/{bucket}/")),
                None => status("PUT", self.s3_port(), &format!("/{bucket}")),
            };
            if matches!(status, 200 | 201) {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{:?} makes no bucket: {status}", self.kind);
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    pub(super) fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.s3_port())
    }

    /// At once, as kill -9 does.
    pub(super) fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Writes an object without the store, to moto, which believes everybody who says who they are.
    pub(super) fn put(&self, path: &str, body: &str) {
        let answer = ask("PUT", self.s3_port(), path, body).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }

    /// With what it had on its disk.
    pub(super) fn restart(&mut self) {
        self.process = spawn(self.kind, &self.dir, &self.ports);
        assert!(self.answers(), "it does not start again");
    }
}

/// The variables of a process that is to use a server with these keys.
pub(crate) fn environment(endpoint: &str, key_id: &str, secret: &str) -> Vec<(String, String)> {
    let variables = [
        ("AWS_ENDPOINT_URL", endpoint),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ACCESS_KEY_ID", key_id),
        ("AWS_SECRET_ACCESS_KEY", secret),
    ];
    variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn spawn(kind: Kind, dir: &TempDir, ports: &[u16]) -> Child {
    let programs = programs();
    let log = File::create(dir.path().join("log")).unwrap();
    let mut command = match kind {
        Kind::Moto => {
            let mut command = Command::new(programs.join("moto_server"));
            command.args(["-H", "127.0.0.1", "-p"]).arg(ports[0].to_string());
            command
        }
        Kind::SeaweedFs | Kind::Azurite | Kind::Google => seaweedfs(programs, dir, ports),
    };
    command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap()
}

fn seaweedfs(programs: PathBuf, dir: &TempDir, ports: &[u16]) -> Command {
    let data = dir.path().join("data");
    fs::create_dir_all(&data).unwrap();
    let config = dir.path().join("s3.json");
    let identity = serde_json::json!({ "identities": [{
        "name": "tester",
        "credentials": [{ "accessKey": KEY_ID, "secretKey": SECRET }],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }] });
    fs::write(&config, identity.to_string()).unwrap();
    let mut command = Command::new(programs.join("weed"));
    command.args(["server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3", "-s3.autoCreateBucket=false"]);
    command.args(["-s3.port.iceberg=0", "-s3.port.lance=0", "-master.volumeSizeLimitMB=64", "-volume.max=20"]);
    command.arg(format!("-dir={}", data.display())).arg(format!("-s3.config={}", config.display()));
    let names = ["s3", "filer", "master", "volume"].map(|name| [format!("{name}.port"), format!("{name}.port.grpc")]);
    // First the two that are asked: S3 and the filer.
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

/// The status of an answer; 0 when there is none.
fn status(method: &str, port: u16, path: &str) -> u16 {
    let answer = ask(method, port, path, "").unwrap_or_default();
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
}
