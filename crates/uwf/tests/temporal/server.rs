//! A server of Temporal of the test's own.

use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use uwf_testing::installed::{free_ports, programs};

/// How long it may take to start, with all tries.
const PATIENCE: Duration = Duration::from_mins(2);

/// How long one try may take. A server that another one has robbed of a port that it chose itself may listen, and never answer.
const TRY: Duration = Duration::from_secs(30);

/// A server that keeps its state in a file, ended when the value is dropped.
pub(crate) struct Server {
    dir: TempDir,
    program: PathBuf,
    port: u16,
    process: Option<Child>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Server {
    pub(crate) fn start() -> Server {
        let program = programs("temporal.sh").join("temporal");
        let mut server = Server { dir: TempDir::new().unwrap(), program, port: 0, process: None };
        let begun = Instant::now();
        loop {
            server.port = free_ports(1)[0];
            if server.has_started() {
                return server;
            }
            assert!(begun.elapsed() < PATIENCE, "the server does not start");
            server.stop();
            server.dir = TempDir::new().unwrap();
        }
    }

    /// Starts it again after [`Server::stop`].
    pub(crate) fn run(&mut self) {
        let begun = Instant::now();
        while !self.has_started() {
            assert!(begun.elapsed() < PATIENCE, "the server does not start");
            self.stop();
        }
    }

    /// Starts it, and waits until it answers. Returns whether it does.
    fn has_started(&mut self) -> bool {
        let mut command = Command::new(&self.program);
        command.args(["server", "start-dev", "--headless", "--ip", "127.0.0.1", "--log-level", "error"]);
        command.args(["--port", &self.port.to_string(), "--db-filename"]).arg(self.database());
        command.env("HOME", self.dir.path());
        let process = self.process.insert(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            if process.try_wait().unwrap().is_some() || begun.elapsed() > TRY {
                return false;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        while !self.ask(&["operator", "cluster", "health"]).0 {
            if begun.elapsed() > TRY {
                return false;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        true
    }

    /// Ends it at once.
    pub(crate) fn stop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// What Temporal's own command says.
    pub(crate) fn ask(&self, args: &[&str]) -> (bool, String) {
        let mut command = Command::new(&self.program);
        command.args(args).args(["--address", &self.address()]).env("HOME", self.dir.path());
        let done = command.output().unwrap();
        (done.status.success(), String::from_utf8_lossy(&done.stdout).into_owned())
    }

    /// The state of a thread's workflow, such as Running.
    pub(crate) fn status(&self, thread: &str) -> String {
        let (_, described) = self.ask(&["workflow", "describe", "-w", &format!("uwf-{thread}"), "--output", "json"]);
        let described: serde_json::Value = serde_json::from_str(&described).unwrap_or_default();
        described["workflowExecutionInfo"]["status"].as_str().unwrap_or("none").to_owned()
    }

    /// All it has written.
    pub(crate) fn written(&self) -> Vec<u8> {
        let files = std::fs::read_dir(self.dir.path()).unwrap().map(|file| file.unwrap().path());
        files.filter(|file| file.is_file()).flat_map(|file| std::fs::read(file).unwrap()).collect()
    }

    fn database(&self) -> PathBuf {
        self.dir.path().join("temporal.db")
    }
}
