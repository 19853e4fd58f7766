//! A PostgreSQL server for one test, on loopback and on a socket.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::installed::{free_ports, programs};
use crate::processes::signal;

/// Time for a server to start on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// Every client can log in as any user.
const TRUSTING: &str = "local all all trust\nhost all all 127.0.0.1/32 trust\n";

/// A server whose superuser is `postgres`. It exits when the value is dropped, or with the thread that started it.
pub struct PostgresServer {
    dir: TempDir,
    programs: PathBuf,
    port: u16,
    settings: Vec<String>,
    process: Option<Child>,
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        // A stopped server does not receive other signals.
        self.signal("CONT");
        self.stop("QUIT");
    }
}

impl PostgresServer {
    /// Starts a server that accepts every client, with these additional settings (`name=value`).
    ///
    /// # Panics
    /// If it does not start.
    pub fn start(settings: &[&str]) -> PostgresServer {
        PostgresServer::with(settings, TRUSTING, |_| {})
    }

    /// The same with access rules (`pg_hba.conf`), and files for its data directory.
    ///
    /// # Panics
    /// If it does not start.
    pub fn with(settings: &[&str], who: &str, files: impl FnOnce(&Path)) -> PostgresServer {
        let dir = TempDir::new().expect("a temporary directory");
        fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).expect("the server gets there");
        // Written data is in the kernel, which survives a crash of the server, so fsync is not needed.
        let settings = ["fsync=off"].iter().chain(settings).map(|&setting| setting.to_owned()).collect();
        let programs = programs("postgres.sh");
        let mut server = PostgresServer { dir, programs, port: free_ports(1)[0], settings, process: None };
        let data = server.socket();
        fs::create_dir(&data).expect("a directory of a test's own");
        give_to_postgres(&data);
        let mut made = server.program("initdb");
        made.args(["--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "-D"]);
        let made = made.arg(&data).output().expect("initdb can be started");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        fs::write(data.join("pg_hba.conf"), who).expect("a file of a test's own");
        files(&data);
        for file in fs::read_dir(&data).expect("initdb made it") {
            give_to_postgres(&file.expect("a file").path());
        }
        server.run();
        server
    }

    /// Starts it again after [`PostgresServer::stop`].
    ///
    /// # Panics
    /// If it does not start within a minute.
    pub fn run(&mut self) {
        let data = self.socket();
        let mut command = self.program("postgres");
        command.arg("-D").arg(&data).args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-k"]).arg(&data);
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        let log = fs::File::options().create(true).append(true).open(self.dir.path().join("log"));
        let log = log.expect("a file of a test's own");
        command.stdout(log.try_clone().expect("a second handle")).stderr(log);
        self.process = Some(command.spawn().expect("postgres can be started"));
        let begun = Instant::now();
        let mut ready = self.program("pg_isready");
        ready.arg("-h").arg(&data).args(["-p", &self.port.to_string()]).stdout(Stdio::null());
        while !ready.status().expect("pg_isready can be started").success() {
            let ended = self.process.as_mut().and_then(|process| process.try_wait().ok().flatten());
            assert!(ended.is_none() && begun.elapsed() < PATIENCE, "it does not start: {ended:?}\n{}", self.log());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Sends it a signal, such as `STOP`.
    pub fn signal(&self, name: &str) {
        if let Some(process) = &self.process {
            signal(process.id(), name);
        }
    }

    /// Stops it: `INT` aborts transactions, `QUIT` is a crash.
    pub fn stop(&mut self, name: &str) {
        self.signal(name);
        if let Some(mut process) = self.process.take() {
            let _ = process.wait();
        }
    }

    /// Runs a statement as superuser in a database: one line per row, with `|` between columns.
    ///
    /// # Panics
    /// If the server rejects it.
    pub fn sql(&self, database: &str, statement: &str) -> String {
        let mut command = self.program("psql");
        command.arg("-h").arg(self.socket()).args(["-U", "postgres", "-p", &self.port.to_string(), "-d", database]);
        let done = command.args(["-qAtc", statement]).output().expect("psql can be started");
        assert!(done.status.success(), "{statement}: {}{}", String::from_utf8_lossy(&done.stderr), self.log());
        String::from_utf8_lossy(&done.stdout).into_owned()
    }

    /// Its port on 127.0.0.1, which is also part of its socket's name.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The directory of its socket, which is also its data directory.
    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// Its log.
    pub fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }

    /// A program of the server as a non-root user, because it rejects root. It exits with this thread, even if the test is killed.
    fn program(&self, name: &str) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "QUIT"]);
        if is_root() {
            command.args(["--reuid=postgres", "--regid=postgres", "--init-groups"]);
        }
        command.arg("--").arg(self.programs.join(name)).stdin(Stdio::null()).current_dir("/");
        command
    }
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

fn give_to_postgres(path: &Path) {
    if !is_root() {
        return;
    }
    let users = fs::read_to_string("/etc/passwd").expect("a list of users");
    let line = users.lines().find(|line| line.starts_with("postgres:"));
    let mut ids = line.expect("`scripts/postgres.sh` makes the user").split(':').skip(2).map(|id| id.parse().ok());
    chown(path, ids.next().flatten(), ids.next().flatten()).expect("root may give it away");
    let mode = if path.is_dir() { 0o700 } else { 0o600 };
    fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("its permissions can be set");
}
