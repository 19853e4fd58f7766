//! The servers of the demonstration: SeaweedFS, which keeps the store, and Temporal. The box has a loopback of its own, so ports
//! are fixed.

use std::fs::File;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use uwf_testing::repository;

use crate::network::HUB;

/// Where SeaweedFS speaks S3. Machines cannot reach it: they go through the proxy.
pub(crate) const S3_ENDPOINT: &str = "http://127.0.0.1:8333";

/// The same as an address.
pub(crate) const S3_ADDRESS: &str = "127.0.0.1:8333";

const FILER: &str = "127.0.0.1:8888";
const TEMPORAL_PORT: &str = "7233";

/// Where Temporal listens: its parts speak with each other on the loopback, whatever address it is given.
const EVERYWHERE: &str = "0.0.0.0";

const BUCKET: &str = "team";
const KEY_ID: &str = "AKIATEST";
const SECRET: &str = "hush-this-is-secret";

/// How long a server may take to start.
const PATIENCE: Duration = Duration::from_mins(1);

/// Installs the servers, which takes a network that the box does not have.
pub(crate) fn install() {
    for script in ["s3-servers.sh", "temporal.sh"] {
        programs(script);
    }
}

/// Where a script has installed its programs.
fn programs(script: &str) -> PathBuf {
    let script = repository().join("scripts").join(script);
    let found = Command::new(&script).stderr(Stdio::inherit()).output().unwrap();
    assert!(found.status.success(), "{} cannot install its servers: run it to see why", script.display());
    PathBuf::from(String::from_utf8(found.stdout).unwrap().trim())
}

/// The variables of a process that uses the store through an endpoint.
pub(crate) fn store_variables(endpoint: &str) -> Vec<(&'static str, String)> {
    [
        ("UWF_STORE_URL", format!("s3://{BUCKET}/uwf")),
        ("AWS_ENDPOINT_URL", endpoint.to_owned()),
        ("AWS_REGION", "us-east-1".to_owned()),
        ("AWS_ACCESS_KEY_ID", KEY_ID.to_owned()),
        ("AWS_SECRET_ACCESS_KEY", SECRET.to_owned()),
    ]
    .into()
}

/// A process that is ended when the value is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The server that keeps the store.
pub(crate) struct SeaweedFs {
    _process: Running,
    _dir: TempDir,
}

impl SeaweedFs {
    pub(crate) fn start() -> SeaweedFs {
        let dir = TempDir::with_prefix("uwf-cluster-s3-").unwrap();
        let config = dir.path().join("s3.json");
        let identity = serde_json::json!({ "identities": [{
            "name": "tester",
            "credentials": [{ "accessKey": KEY_ID, "secretKey": SECRET }],
            "actions": ["Admin", "Read", "Write", "List", "Tagging"],
        }] });
        std::fs::write(&config, identity.to_string()).unwrap();
        let mut command = Command::new(programs("s3-servers.sh").join("weed"));
        command.args(["server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3", "-s3.autoCreateBucket=false"]);
        command.args(["-s3.port.iceberg=0", "-s3.port.lance=0", "-master.volumeSizeLimitMB=64", "-volume.max=20"]);
        command.arg(format!("-dir={}", dir.path().display())).arg(format!("-s3.config={}", config.display()));
        let server = SeaweedFs { _process: run(command, dir.path(), "seaweedfs"), _dir: dir };
        until("SeaweedFS answers", || TcpStream::connect(S3_ADDRESS).is_ok());
        until("SeaweedFS makes a bucket", make_bucket);
        server
    }
}

fn make_bucket() -> bool {
    use std::io::{Read, Write};
    let asked = TcpStream::connect(FILER).and_then(|mut filer| {
        let head = format!("POST /buckets/{BUCKET}/ HTTP/1.1\r\nHost: {FILER}\r\nContent-Length: 0\r\n");
        filer.write_all(format!("{head}Connection: close\r\n\r\n").as_bytes())?;
        let mut answer = String::new();
        filer.read_to_string(&mut answer)?;
        Ok(answer)
    });
    asked.is_ok_and(|answer| answer.starts_with("HTTP/1.1 20"))
}

/// The engine's server. It keeps its state in a file, so that it goes on where it was killed.
pub(crate) struct Temporal {
    program: PathBuf,
    dir: TempDir,
    process: Option<Running>,
}

impl Temporal {
    pub(crate) fn start() -> Temporal {
        let dir = TempDir::with_prefix("uwf-cluster-temporal-").unwrap();
        let mut server = Temporal { program: programs("temporal.sh").join("temporal"), dir, process: None };
        server.run();
        server
    }

    /// Starts it, again after [`Temporal::kill`].
    pub(crate) fn run(&mut self) {
        let mut command = Command::new(&self.program);
        command.args([
            "server",
            "start-dev",
            "--headless",
            "--ip",
            EVERYWHERE,
            "--port",
            TEMPORAL_PORT,
            "--log-level",
            "error",
        ]);
        command.arg("--db-filename").arg(self.dir.path().join("temporal.db")).env("HOME", self.dir.path());
        self.process = Some(run(command, self.dir.path(), "temporal"));
        until("Temporal answers", || self.is_healthy());
    }

    fn is_healthy(&self) -> bool {
        let mut command = Command::new(&self.program);
        command.args(["operator", "cluster", "health", "--address", &Temporal::address()]).env("HOME", self.dir.path());
        command.output().unwrap().status.success()
    }

    /// At once, as kill -9 does.
    pub(crate) fn kill(&mut self) {
        self.process = None;
    }

    pub(crate) fn address() -> String {
        format!("{HUB}:{TEMPORAL_PORT}")
    }
}

fn run(mut command: Command, dir: &Path, name: &str) -> Running {
    let log = File::create(dir.join(format!("{name}.log"))).unwrap();
    command.current_dir(dir).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
    Running(command.spawn().unwrap())
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}
