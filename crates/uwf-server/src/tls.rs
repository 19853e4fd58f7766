//! TLS: the certificate of `uwf serve`, and the roots that `uwf connect` checks a gateway's certificate against.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{Error as PemError, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// The variable with a file of roots that replace Mozilla's.
const ROOTS_VARIABLE: &str = "SSL_CERT_FILE";

/// Files of a server's certificate.
#[derive(Debug, Clone)]
pub struct CertificateFiles {
    /// The certificate and its intermediates, in PEM.
    pub chain: PathBuf,
    /// Its private key, in PEM.
    pub key: PathBuf,
}

/// Why TLS can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ServerTlsError {
    /// A file is missing or has other content.
    #[error("cannot read {what} in {}: {why}", .path.display())]
    File {
        /// Content that the file should have.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// Key and certificate do not match or can't be used.
    #[error("cannot use this certificate and key: {0}")]
    Refused(#[from] rustls::Error),
}

/// TLS for incoming connections.
pub(crate) fn acceptor(certificate: &CertificateFiles) -> Result<TlsAcceptor, ServerTlsError> {
    let chain = certificates(&certificate.chain)?;
    let failed = |error: PemError| file_error("the private key", &certificate.key, &error);
    let key = PrivateKeyDer::from_pem_file(&certificate.key).map_err(failed)?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// TLS for the connection to a gateway.
///
/// # Errors
/// [`ServerTlsError::File`] if the roots that `SSL_CERT_FILE` names can't be read.
pub(crate) fn connector() -> Result<TlsConnector, ServerTlsError> {
    let mut roots = RootCertStore::empty();
    match std::env::var_os(ROOTS_VARIABLE).filter(|path| !path.is_empty()) {
        Some(path) => certificates(Path::new(&path))?.into_iter().try_for_each(|root| roots.add(root))?,
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ServerTlsError> {
    let failed = |error: PemError| file_error("certificates", path, &error);
    let found: Vec<_> =
        CertificateDer::pem_file_iter(path).map_err(failed)?.collect::<Result<_, _>>().map_err(failed)?;
    if found.is_empty() {
        return Err(file_error("certificates", path, &PemError::NoItemsFound));
    }
    Ok(found)
}

fn file_error(what: &'static str, path: &Path, error: &PemError) -> ServerTlsError {
    let why = match error {
        PemError::Io(error) => error.to_string(),
        PemError::NoItemsFound => "it has none".to_owned(),
        other => other.to_string(),
    };
    ServerTlsError::File { what, path: path.to_owned(), why }
}
