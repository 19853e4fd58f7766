//! Azurite, Microsoft's emulator of Azure Blob Storage, with the container `team`. It keeps blobs in memory, listens on 127.0.0.1, and
//! exits when the value is dropped.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::installed::{free_ports, programs};

/// Time for it to start.
const PATIENCE: Duration = Duration::from_mins(1);

/// The account.
pub const ACCOUNT: &str = "uwftest";

/// `hush-this-is-a-secret-of-azurite`.
pub const KEY: &str = "aHVzaC10aGlzLWlzLWEtc2VjcmV0LW9mLWF6dXJpdGU=";

/// A SAS token signed with that key. It allows everything until 2099, so the tests need not sign.
pub const SAS: &str = "sv=2021-12-02&ss=b&srt=sco&sp=rwdlac&se=2099-01-01T00:00:00Z&\
                       sig=e8sn7ksefwCzUAqZmLpmXMVCPlQsKm00xXC7sTo3s2w%3D";

const CONTAINER: &str = "team";

/// A running server.
pub struct AzuriteServer {
    process: Child,
    port: u16,
}

impl Drop for AzuriteServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl AzuriteServer {
    /// Installs and starts a server.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start() -> AzuriteServer {
        let programs = programs("s3-servers.sh");
        // Another process may take the port before the server does.
        (0..3).find_map(|_| AzuriteServer::try_start(&programs)).expect("Azurite starts")
    }

    fn try_start(programs: &Path) -> Option<AzuriteServer> {
        let port = free_ports(1)[0];
        let mut command = Command::new(programs.join("azurite-blob"));
        command.args(["--inMemoryPersistence", "--silent", "--disableTelemetry", "--blobPort", &port.to_string()]);
        command.env("AZURITE_ACCOUNTS", format!("{ACCOUNT}:{KEY}"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut server = AzuriteServer { process: command.spawn().expect("azurite-blob is installed"), port };
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE && server.process.try_wait().is_ok_and(|ended| ended.is_none()) {
            if server.makes_container() {
                return Some(server);
            }
            thread::sleep(Duration::from_millis(50));
        }
        None
    }

    fn makes_container(&self) -> bool {
        let status = self.put(&format!("{CONTAINER}?restype=container"), "");
        status.is_ok_and(|status| status == 201)
    }

    /// Writes a blob without the store, and returns the status.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn put(&self, target: &str, body: &str) -> std::io::Result<u16> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        let and = if target.contains('?') { '&' } else { '?' };
        let (host, length) = (format!("127.0.0.1:{}", self.port), body.len());
        write!(
            stream,
            "PUT /{ACCOUNT}/{target}{and}{SAS} HTTP/1.1\r\nhost: {host}\r\nx-ms-blob-type: BlockBlob\r\n\
             content-length: {length}\r\nconnection: close\r\n\r\n{body}"
        )?;
        let mut answer = String::new();
        stream.take(64).read_to_string(&mut answer)?;
        Ok(answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0))
    }

    /// The URL of a store in the container.
    pub fn url(&self, store: &str) -> String {
        format!("az://{CONTAINER}/{store}")
    }

    /// Its endpoint, without the account that paths begin with.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Kills it at once, like kill -9.
    pub fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// The variables of a process that uses a store in the container.
    pub fn variables(&self, store: &str) -> Vec<(String, String)> {
        let mut variables = vec![("UWF_STORE_URL".to_owned(), self.url(store))];
        variables.extend(AzuriteServer::variables_at(&self.endpoint()));
        variables
    }

    /// The credentials of a process that uses this endpoint.
    pub fn variables_at(endpoint: &str) -> Vec<(String, String)> {
        let endpoint = format!("{endpoint}/{ACCOUNT}");
        [("AZURE_STORAGE_ACCOUNT", ACCOUNT), ("AZURE_STORAGE_KEY", KEY), ("AZURE_STORAGE_ENDPOINT", &endpoint)]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into()
    }
}
