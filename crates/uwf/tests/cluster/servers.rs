//! The servers of the demonstration: SeaweedFS, which keeps the store, and Temporal. The box has a loopback of its own, so ports
//! are fixed.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use uwf_testing::installed::programs;
use uwf_testing::s3_server::{self, KEY_ID, S3Server, SECRET};

use crate::network::HUB;

/// Where SeaweedFS speaks S3. Machines cannot reach it: they go through the proxy.
pub(crate) const S3_PORT: u16 = 8333;

const TEMPORAL_PORT: &str = "7233";

/// Where Temporal listens: its parts speak with each other on the loopback, whatever address it is given.
const EVERYWHERE: &str = "0.0.0.0";

/// How long a server may take to start.
const PATIENCE: Duration = Duration::from_mins(1);

/// Installs the servers, which takes a network that the box does not have.
pub(crate) fn install() {
    for script in ["s3-servers.sh", "temporal.sh"] {
        programs(script);
    }
}

/// The variables of a process that uses the store through an endpoint.
pub(crate) fn store_variables(endpoint: &str) -> Vec<(&'static str, String)> {
    [
        ("UWF_STORE_URL", "s3://team/uwf".to_owned()),
        ("AWS_ENDPOINT_URL", endpoint.to_owned()),
        ("AWS_REGION", "us-east-1".to_owned()),
        ("AWS_ACCESS_KEY_ID", KEY_ID.to_owned()),
        ("AWS_SECRET_ACCESS_KEY", SECRET.to_owned()),
    ]
    .into()
}

/// The server that keeps the store.
pub(crate) fn seaweedfs() -> S3Server {
    let ports = (S3_PORT..).take(s3_server::PORTS).collect();
    S3Server::start_on(s3_server::S3ServerKind::SeaweedFs, ports).expect("the ports are free in a box of one's own")
}

/// A process that is ended when the value is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The engine's server. It keeps its state in a file, so that it continues where it was killed.
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
