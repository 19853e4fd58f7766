//! A PostgreSQL server of the test's own.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use uwf_testing::installed::{free_ports, programs};

/// How long it may take to start.
const PATIENCE: Duration = Duration::from_mins(1);

/// A server with the database `work`, ended when the value is dropped.
pub(crate) struct Postgres {
    dir: TempDir,
    programs: PathBuf,
    port: u16,
    process: Option<Child>,
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Postgres {
    pub(crate) fn start() -> Postgres {
        let programs = programs("postgres.sh");
        let dir = TempDir::new().unwrap();
        fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let port = free_ports(1)[0];
        let mut server = Postgres { dir, programs, port, process: None };
        let data = server.data();
        fs::create_dir(&data).unwrap();
        give_to_postgres(&data);
        let mut made = server.program("initdb");
        made.args(["--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "-D"])
            .arg(&data);
        let made = made.output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        server.run();
        let mut created = server.program("createdb");
        let created =
            created.args(["-h", "127.0.0.1", "-U", "postgres", "-p", &port.to_string(), "work"]).output().unwrap();
        assert!(created.status.success(), "{}", String::from_utf8_lossy(&created.stderr));
        server
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// Starts it, again after [`Postgres::stop`].
    pub(crate) fn run(&mut self) {
        let data = self.data();
        let mut command = self.program("postgres");
        command.arg("-D").arg(&data).args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-c", "fsync=off"]);
        // Its transactions would be counted, too.
        command.args(["-c", "autovacuum=off", "-k"]);
        self.process = Some(command.arg(&data).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        let begun = Instant::now();
        let mut ready = self.program("pg_isready");
        ready.args(["-h", "127.0.0.1", "-p", &self.port.to_string()]).stdout(Stdio::null());
        while !ready.status().unwrap().success() {
            assert!(begun.elapsed() < PATIENCE, "the server does not start");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// What its superuser wants done or to know.
    pub(crate) fn sql(&self, statement: &str) -> String {
        let mut command = self.program("psql");
        command.args([
            "-h",
            "127.0.0.1",
            "-U",
            "postgres",
            "-p",
            &self.port.to_string(),
            "-d",
            "work",
            "-qAtc",
            statement,
        ]);
        let done = command.output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    }

    /// Ends it at once, with what was being done.
    pub(crate) fn stop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = kill_process(Pid::from_child(&process), Signal::QUIT);
            let _ = process.wait();
        }
    }

    /// The variables of a machine that uses a schema of this name on it.
    pub(crate) fn variables(&self, store: &str) -> Vec<(String, String)> {
        let url = format!("postgres://postgres@127.0.0.1:{}/work?schema={store}", self.port);
        vec![("UWF_STORE_URL".to_owned(), url)]
    }

    /// A program of the server, as the user it may run as.
    fn program(&self, name: &str) -> Command {
        let program = self.programs.join(name);
        if !rustix::process::geteuid().is_root() {
            return Command::new(program);
        }
        let mut command = Command::new("setpriv");
        let (user, group) = postgres_ids();
        command
            .args([format!("--reuid={user}"), format!("--regid={group}")])
            .args(["--clear-groups", "--"])
            .arg(program);
        command.current_dir("/");
        command
    }
}

fn give_to_postgres(path: &Path) {
    if rustix::process::geteuid().is_root() {
        let (user, group) = postgres_ids();
        chown(path, Some(user), Some(group)).unwrap();
    }
}

fn postgres_ids() -> (u32, u32) {
    let users = fs::read_to_string("/etc/passwd").unwrap();
    let line = users.lines().find(|line| line.starts_with("postgres:")).expect("the package makes the user postgres");
    let mut fields = line.split(':').skip(2).map(|id| id.parse().unwrap());
    (fields.next().unwrap(), fields.next().unwrap())
}
