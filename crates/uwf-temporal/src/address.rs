//! The address of Temporal, and the credentials for it.

use std::path::PathBuf;
use std::time::Duration;

use temporalio_client::envconfig::LoadClientConfigProfileOptions;
use temporalio_client::grpc::WorkflowService;
use temporalio_client::tonic::Request;
use temporalio_client::{Client, ClientOptions, ClientTlsOptions, Connection, ConnectionOptions, TlsOptions, Url};
use temporalio_common::protos::temporal::api::workflowservice::v1::DescribeNamespaceRequest;
use tokio::runtime::Runtime;

use crate::error::{EngineError, TemporalFault};

/// Variables with secrets for Temporal's clients.
const SECRETS: [&str; 4] =
    ["TEMPORAL_API_KEY", "TEMPORAL_TLS_CLIENT_KEY_DATA", "TEMPORAL_TLS_CLIENT_CERT_DATA", "TEMPORAL_CODEC_AUTH"];

/// Prefix of variables that are sent as headers of each request. Such a header may be a credential.
const HEADERS: &str = "TEMPORAL_GRPC_META_";

/// The variable in which Temporal's own command finds the address.
const ADDRESS_VARIABLE: &str = "TEMPORAL_ADDRESS";

/// Default port of Temporal.
const PORT: u16 = 7233;

/// How long a server may take to accept a connection.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// Settings of the connection to Temporal. Missing ones are taken from the variables and the file of Temporal's own command:
/// `TEMPORAL_ADDRESS`, `TEMPORAL_NAMESPACE`, `TEMPORAL_API_KEY`, `TEMPORAL_TLS_…`, `TEMPORAL_PROFILE`, `temporal.toml`.
#[derive(Debug, Clone, Default)]
pub struct TemporalAddress {
    /// `HOST:PORT`, or a host alone for port 7233.
    pub address: Option<String>,
    /// The namespace.
    pub namespace: Option<String>,
    /// The task queue.
    pub task_queue: Option<String>,
    /// A client certificate, in PEM.
    pub tls_cert: Option<PathBuf>,
    /// Its private key, in PEM.
    pub tls_key: Option<PathBuf>,
    /// Certificate of the authority that signed the server's certificate, in PEM.
    pub tls_ca: Option<PathBuf>,
}

/// A connection to Temporal.
pub struct TemporalConnection {
    pub(crate) runtime: Runtime,
    pub(crate) client: Client,
    pub(crate) address: String,
    pub(crate) task_queue: String,
}

impl TemporalConnection {
    /// The server's address.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Connects, and checks that the namespace exists.
    ///
    /// # Errors
    /// The server does not answer, rejects the credentials, or does not have the namespace.
    pub fn connect(address: TemporalAddress) -> Result<TemporalConnection, EngineError> {
        let runtime = Runtime::new()
            .map_err(|error| EngineError::new(TemporalFault::Other, format!("no threads for a connection: {error}")))?;
        let task_queue = address.task_queue.clone().unwrap_or_else(|| crate::TASK_QUEUE.to_owned());
        let (client, address) = runtime.block_on(connected(address))?;
        Ok(TemporalConnection { runtime, client, address, task_queue })
    }
}

async fn connected(wanted: TemporalAddress) -> Result<(Client, String), EngineError> {
    let profile = LoadClientConfigProfileOptions::default();
    let (mut connection, mut options) =
        ClientOptions::load_from_config(profile).map_err(|error| EngineError::of_settings(&error))?;
    if wanted.has_files() {
        connection.tls_options = Some(tls(&wanted, connection.tls_options.take())?);
        // Fails only for a URL without a host, and this one has a host.
        let _ = connection.target.set_scheme("https");
    }
    if let Some(namespace) = wanted.namespace {
        options.namespace = namespace;
    }
    if let Some(address) = &wanted.address {
        connection.target = url(address, &connection)?;
    }
    if wanted.address.or_else(|| std::env::var(ADDRESS_VARIABLE).ok()).is_some_and(|address| lacks_port(&address)) {
        // Fails for an address without a host. Connecting rejects that as well.
        let _ = connection.target.set_port(Some(PORT));
    }
    connection.connect_timeout = Some(CONNECT_WITHIN);
    connection.identity = identity();
    let is_encrypted = has_tls(&connection);
    let address = format!(
        "{}:{}",
        connection.target.host_str().unwrap_or_default(),
        connection.target.port_or_known_default().unwrap_or_default()
    );
    let connecting = Connection::connect(connection);
    let connection = tokio::time::timeout(CONNECT_WITHIN, connecting)
        .await
        .map_err(|_| EngineError::unreachable(&address, "not within 10 s"))?
        .map_err(|error| EngineError::of_connecting(&address, is_encrypted, error))?;
    let namespace = options.namespace.clone();
    let mut client = Client::new(connection, options).map_err(|error| EngineError::of_settings(&error))?;
    let asked = DescribeNamespaceRequest { namespace, ..Default::default() };
    let described = client.describe_namespace(Request::new(asked)).await;
    described.map_err(|status| EngineError::of_first_call(&address, is_encrypted, &status))?;
    Ok((client, address))
}

/// Whether a variable may contain a secret for Temporal's clients. Agents never get it.
pub(crate) fn is_secret(variable: &str) -> bool {
    SECRETS.contains(&variable) || variable.starts_with(HEADERS)
}

/// Whether to use TLS. An API key implies it.
fn has_tls(connection: &ConnectionOptions) -> bool {
    connection.tls_options.is_some() || connection.api_key.is_some()
}

fn url(address: &str, connection: &ConnectionOptions) -> Result<Url, EngineError> {
    let scheme = if has_tls(connection) { "https" } else { "http" };
    let text = if address.contains("://") { address.to_owned() } else { format!("{scheme}://{address}") };
    let bad = || {
        EngineError::new(TemporalFault::Misconfigured, format!("`{address}` is not an address"))
            .hint("it is HOST:PORT, such as localhost:7233")
    };
    Url::parse(&text).ok().filter(|url| url.host().is_some() && url.port_or_known_default().is_some()).ok_or_else(bad)
}

/// Whether an address has no port. An address with a scheme has the scheme's port.
fn lacks_port(address: &str) -> bool {
    let port = address.rsplit_once(':').map_or("", |(_, port)| port);
    !address.contains("://") && (port.is_empty() || port.bytes().any(|digit| !digit.is_ascii_digit()))
}

impl TemporalAddress {
    fn has_files(&self) -> bool {
        [&self.tls_cert, &self.tls_key, &self.tls_ca].into_iter().any(Option::is_some)
    }
}

/// Known TLS settings, with the given files in place of the configured ones.
fn tls(wanted: &TemporalAddress, known: Option<TlsOptions>) -> Result<TlsOptions, EngineError> {
    let read = |path: &PathBuf| {
        std::fs::read(path).map_err(|error| {
            EngineError::new(TemporalFault::Misconfigured, format!("cannot read {}: {error}", path.display()))
        })
    };
    let mut options = known.unwrap_or_default();
    if let Some(ca) = &wanted.tls_ca {
        options.server_root_ca_cert = Some(read(ca)?);
    }
    match (&wanted.tls_cert, &wanted.tls_key) {
        (Some(cert), Some(key)) => {
            let (cert, key) = (read(cert)?, read(key)?);
            let own = ClientTlsOptions::builder().client_cert(cert).client_private_key(key).build();
            options.client_tls_options = Some(own);
        }
        (None, None) => {}
        (Some(_), None) | (None, Some(_)) => {
            return Err(EngineError::new(
                TemporalFault::Misconfigured,
                "a client certificate needs its key, and a key its certificate",
            ));
        }
    }
    Ok(options)
}

/// This worker's name on Temporal's pages.
pub(crate) fn identity() -> String {
    let machine = rustix::system::uname();
    format!("uwf {}@{}", std::process::id(), machine.nodename().to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_authority_keeps_client_certificate_from_environment() {
        let dir = tempfile::tempdir().unwrap();
        let ca = dir.path().join("ca.pem");
        std::fs::write(&ca, "authority").unwrap();
        let own = ClientTlsOptions::builder().client_cert(b"cert".to_vec()).client_private_key(b"key".to_vec()).build();
        let known = TlsOptions::builder()
            .server_root_ca_cert(b"another".to_vec())
            .domain("temporal.example".to_owned())
            .client_tls_options(own)
            .build();
        let options = tls(&TemporalAddress { tls_ca: Some(ca), ..TemporalAddress::default() }, Some(known)).unwrap();
        assert_eq!(options.server_root_ca_cert.as_deref(), Some(&b"authority"[..]));
        assert_eq!(options.domain.as_deref(), Some("temporal.example"));
        let own = options.client_tls_options.unwrap();
        assert_eq!((&own.client_cert[..], &own.client_private_key[..]), (&b"cert"[..], &b"key"[..]));
    }

    #[test]
    fn an_address_without_a_port_is_noticed() {
        for address in ["localhost", "127.0.0.1", "[::1]", "localhost:"] {
            assert!(lacks_port(address), "{address}");
        }
        for address in ["localhost:7233", "[::1]:80", "https://temporal.example"] {
            assert!(!lacks_port(address), "{address}");
        }
    }
}
