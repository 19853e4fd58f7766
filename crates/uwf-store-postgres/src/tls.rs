//! TLS for the PostgreSQL client, by the same rustls and ring as the rest of uwf.
//!
//! We don't use a published connector, because they all pull in a certificate parser for channel binding. Channel binding protects a
//! password when the certificate is not checked, but `sslmode=verify-full` checks the certificate.

use std::fmt;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream as Encrypted;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject as _};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};

use crate::verifier::SslModeVerifier;

/// The protocol that a server which starts with TLS expects.
const PROTOCOL: &[u8] = b"postgresql";

/// Checks of the server before anything is sent to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TlsTrust {
    /// No checks, unless there are roots to check against.
    Any,
    /// A known authority must have signed the server's certificate.
    Authority,
    /// In addition, the certificate must be for this host.
    Host,
}

/// Makes TLS connections with the configured trust.
#[derive(Clone)]
pub(crate) struct PostgresTls {
    connector: TlsConnector,
}

impl PostgresTls {
    /// Reads the roots. If there are roots, the certificate is checked regardless of `trust`, as in libpq. The host name is checked only
    /// if `trust` requires it.
    pub(crate) fn new(trust: TlsTrust, roots: Option<&Path>) -> Result<PostgresTls, String> {
        let roots = match (trust, roots) {
            (_, Some(path)) if path == Path::new("system") => Some(mozilla()),
            (_, Some(path)) => Some(read(path)?),
            (TlsTrust::Any, None) => {
                default_file().filter(|path| path.is_file()).map(|path| read(&path)).transpose()?
            }
            (TlsTrust::Authority | TlsTrust::Host, None) => Some(read(&default_file().ok_or(NO_ROOTS)?)?),
        };
        let provider = Arc::new(ring::default_provider());
        let verifier = SslModeVerifier::new(roots, trust == TlsTrust::Host, &provider);
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| format!("cannot prepare TLS: {error}"))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        Ok(PostgresTls { connector: TlsConnector::from(Arc::new(config)) })
    }
}

const NO_ROOTS: &str = "no certificates to check the server with: give sslrootcert=FILE or sslrootcert=system";

fn default_file() -> Option<PathBuf> {
    std::env::home_dir().map(|home| home.join(".postgresql/root.crt"))
}

fn mozilla() -> RootCertStore {
    RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() }
}

fn read(path: &Path) -> Result<RootCertStore, String> {
    let failed = |why: String| format!("cannot read the certificates in {} (sslrootcert): {why}", path.display());
    let of_pem = |error: pem::Error| {
        failed(match error {
            pem::Error::Io(error) => error.to_string(),
            other => other.to_string(),
        })
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(of_pem)? {
        roots.add(certificate.map_err(of_pem)?).map_err(|error| failed(error.to_string()))?;
    }
    if roots.is_empty() { Err(failed("it has none".to_owned())) } else { Ok(roots) }
}

impl MakeTlsConnect<Socket> for PostgresTls {
    type Stream = PostgresTlsStream;
    type TlsConnect = ToHost;
    type Error = PostgresTlsError;

    fn make_tls_connect(&mut self, host: &str) -> Result<ToHost, PostgresTlsError> {
        Ok(ToHost { connector: self.connector.clone(), host: host.to_owned() })
    }
}

/// Why a connection could not be encrypted.
#[derive(Debug)]
pub(crate) struct PostgresTlsError(io::Error);

impl PostgresTlsError {
    /// Whether client and server don't trust or understand each other, as opposed to a network failure.
    pub(crate) fn is_refusal(&self) -> bool {
        self.0.kind() == io::ErrorKind::InvalidInput
            || self.0.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<rustls::Error>)
    }
}

impl fmt::Display for PostgresTlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for PostgresTlsError {}

/// A pending connection to one host.
pub(crate) struct ToHost {
    connector: TlsConnector,
    host: String,
}

impl TlsConnect<Socket> for ToHost {
    type Stream = PostgresTlsStream;
    type Error = PostgresTlsError;
    type Future = Pin<Box<dyn Future<Output = Result<PostgresTlsStream, PostgresTlsError>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let invalid = |error| PostgresTlsError(io::Error::new(io::ErrorKind::InvalidInput, error));
            let name = ServerName::try_from(self.host).map_err(invalid)?;
            let encrypted = self.connector.connect(name, socket).await.map_err(PostgresTlsError)?;
            Ok(PostgresTlsStream { encrypted })
        })
    }
}

/// An encrypted connection.
pub(crate) struct PostgresTlsStream {
    encrypted: Encrypted<Socket>,
}

impl TlsStream for PostgresTlsStream {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for PostgresTlsStream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.encrypted).poll_read(context, into)
    }
}

impl AsyncWrite for PostgresTlsStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.encrypted).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.encrypted).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.encrypted).poll_shutdown(context)
    }
}
