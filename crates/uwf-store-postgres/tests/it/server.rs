//! A PostgreSQL server of the test's own, on loopback and on a socket, which ends with the test.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio_postgres::{NoTls, SimpleQueryMessage};
use uwf_store_postgres::PostgresStore;

/// How long a server may take to start, or to stop, on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// Who may come in: the superuser by the socket, `ann` as she is, everybody else with a password.
const WHO: &str = "local all postgres trust\nlocal all all scram-sha-256\n\
    host all ann 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n";

/// A database `work` that belongs to `ann`, whose password is `s3cret`.
pub(crate) struct Server {
    dir: TempDir,
    pub port: u16,
    settings: String,
    process: Option<Child>,
}

/// A transaction that is neither committed nor rolled back.
pub(crate) struct Transaction {
    _client: tokio_postgres::Client,
    _runtime: tokio::runtime::Runtime,
}

impl Server {
    pub(crate) fn start() -> Server {
        Server::with("", WHO, |_| {})
    }

    /// A server with more settings, who may come in, and files that its data directory is to have.
    pub(crate) fn with(settings: &str, who: &str, files: impl FnOnce(&Path)) -> Server {
        let dir = TempDir::new().unwrap();
        fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let data = dir.path().join("data");
        fs::create_dir(&data).unwrap();
        give_to_postgres(&data);
        let made = as_postgres("initdb")
            .args(["--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "-D"])
            .arg(&data)
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        fs::write(data.join("pg_hba.conf"), who).unwrap();
        files(&data);
        for file in fs::read_dir(&data).unwrap() {
            give_to_postgres(&file.unwrap().path());
        }
        // What a server has written survives its crash without this: it is in the kernel, and that is not what ends here.
        let settings = format!("fsync=off\n{settings}");
        let mut server = Server { dir, port: free_port(), settings, process: None };
        server.run();
        server.sql("postgres", "create role ann login password 's3cret'");
        server.sql("postgres", "create database work owner ann");
        server
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// Starts it again after [`Server::stop`]; on the thread that made it, with which it ends.
    pub(crate) fn run(&mut self) {
        let data = self.data();
        let mut command = as_postgres("postgres");
        command.arg("-D").arg(&data).args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-k"]).arg(&data);
        self.settings.lines().for_each(|setting| {
            command.args(["-c", setting]);
        });
        let log = fs::File::options().create(true).append(true).open(self.dir.path().join("log")).unwrap();
        self.process = Some(command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap());
        let begun = Instant::now();
        while self.try_sql("postgres", "select 1").is_err() {
            let ended = self.process.as_mut().unwrap().try_wait().unwrap();
            assert!(
                ended.is_none() && begun.elapsed() < PATIENCE,
                "the server did not start: {ended:?}\n{}",
                self.log()
            );
            thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(process) = &self.process {
            let _ = kill_process(Pid::from_child(process), signal);
        }
    }

    /// Ends it: `INT` lets transactions end with an error, `QUIT` is a crash.
    pub(crate) fn stop(&mut self, signal: Signal) {
        self.signal(signal);
        if let Some(mut process) = self.process.take() {
            process.wait().unwrap();
        }
    }

    /// What the superuser wants done, and the first column of what it answers.
    pub(crate) fn sql(&self, database: &str, statement: &str) -> Vec<String> {
        self.try_sql(database, statement).unwrap_or_else(|error| panic!("{statement}: {error:?}\n{}", self.log()))
    }

    fn try_sql(&self, database: &str, statement: &str) -> Result<Vec<String>, tokio_postgres::Error> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (client, connection) = self.superuser(database).connect(NoTls).await?;
            tokio::spawn(connection);
            let answer = client.simple_query(statement).await?;
            let rows = answer.iter().filter_map(|message| match message {
                SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or("null").to_owned()),
                _ => None,
            });
            Ok(rows.collect())
        })
    }

    /// Begins a transaction of the superuser with a statement; it goes on until the value is dropped.
    pub(crate) fn lock(&self, database: &str, statement: &str) -> Transaction {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let client = runtime.block_on(async {
            let (client, connection) = self.superuser(database).connect(NoTls).await.unwrap();
            tokio::spawn(connection);
            client.batch_execute(&format!("begin; {statement}")).await.unwrap();
            client
        });
        Transaction { _client: client, _runtime: runtime }
    }

    fn superuser(&self, database: &str) -> tokio_postgres::Config {
        let mut config = tokio_postgres::Config::new();
        config.host_path(self.data()).port(self.port).user("postgres").dbname(database);
        config
    }

    /// The URL of a schema, for `ann`.
    pub(crate) fn url(&self, schema: &str) -> String {
        format!("postgres://ann@127.0.0.1:{}/work?schema={schema}", self.port)
    }

    /// A store that is ready.
    pub(crate) fn store(&self, schema: &str) -> PostgresStore {
        let store = PostgresStore::open(&self.url(schema)).unwrap();
        store.init().unwrap();
        store
    }

    /// The directory of its socket.
    pub(crate) fn socket(&self) -> PathBuf {
        self.data()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.signal(Signal::CONT);
        self.stop(Signal::QUIT);
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A program of the server, by a user that is not root, which it refuses to be run by. It ends when this thread does, also when
/// the test is killed.
fn as_postgres(program: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "QUIT"]);
    if rustix::process::geteuid().is_root() {
        command.args(["--reuid=postgres", "--regid=postgres", "--init-groups"]);
    }
    command.arg("--").arg(programs().join(program)).stdin(Stdio::null()).current_dir("/");
    command
}

/// Where the programs are: Debian has those of the server where no PATH leads to.
fn programs() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let debian = versions.map(|version| version.path().join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = debian
        .chain(std::env::split_paths(&path))
        .find(|dir| dir.join("postgres").is_file() && dir.join("initdb").is_file());
    found.expect("these tests need the server of PostgreSQL: `scripts/postgres.sh` installs it")
}

fn give_to_postgres(path: &Path) {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let users = fs::read_to_string("/etc/passwd").unwrap();
    let line = users
        .lines()
        .find(|line| line.starts_with("postgres:"))
        .expect("`scripts/postgres.sh` makes the user postgres");
    let mut ids = line.split(':').skip(2).map(|id| id.parse().unwrap());
    let (user, group) = (ids.next().unwrap(), ids.next().unwrap());
    chown(path, Some(user), Some(group)).unwrap();
    fs::set_permissions(path, PermissionsExt::from_mode(if path.is_dir() { 0o700 } else { 0o600 })).unwrap();
}
