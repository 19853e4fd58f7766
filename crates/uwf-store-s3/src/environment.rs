//! Environment variables: the credentials, and the server to use.

use std::collections::BTreeMap;

use json_cas::RemoteFault;
use ureq::tls::{PemItem, RootCerts, parse_pem};

/// Prefixes of the relevant variables.
const BEGINNINGS: [&str; 3] = ["AWS_", "AZURE_", "GOOGLE_"];

/// Other relevant variables.
const NAMES: [&str; 8] = [
    "CLOUDSDK_CONFIG",
    "GCE_METADATA_HOST",
    "GCE_METADATA_IP",
    "GCE_METADATA_ROOT",
    "HOME",
    "IDENTITY_ENDPOINT",
    "SSL_CERT_FILE",
    "STORAGE_EMULATOR_HOST",
];

/// The relevant variables, including secrets.
#[derive(Clone)]
pub(crate) struct BucketEnvironment(BTreeMap<String, String>);

/// A problem with the environment.
pub(crate) type Trouble = (RemoteFault, String);

pub(crate) fn denied(message: impl Into<String>) -> Trouble {
    (RemoteFault::Denied, message.into())
}

impl BucketEnvironment {
    pub(crate) fn new(variables: impl IntoIterator<Item = (String, String)>) -> BucketEnvironment {
        let decides = |name: &str| BEGINNINGS.iter().any(|begin| name.starts_with(begin)) || NAMES.contains(&name);
        BucketEnvironment(variables.into_iter().filter(|(name, value)| decides(name) && !value.is_empty()).collect())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The first of these variables that is set.
    pub(crate) fn first(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.get(name))
    }

    /// All variables whose names have this prefix.
    pub(crate) fn beginning(&self, begin: &str) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().filter(move |(name, _)| name.starts_with(begin)).map(|(name, value)| (&**name, &**value))
    }

    /// The roots that certificates are checked against: Mozilla's, or the ones in `SSL_CERT_FILE`.
    pub(crate) fn roots(&self) -> Result<RootCerts, Trouble> {
        let Some(path) = self.get("SSL_CERT_FILE") else { return Ok(RootCerts::WebPki) };
        let fail = |reason: String| {
            (RemoteFault::Unreachable, format!("the certificates in {path} (SSL_CERT_FILE) cannot be read: {reason}"))
        };
        let pem = std::fs::read(path).map_err(|error| fail(error.to_string()))?;
        let mut certificates = Vec::new();
        for item in parse_pem(&pem) {
            if let PemItem::Certificate(certificate) = item.map_err(|error| fail(error.to_string()))? {
                certificates.push(certificate);
            }
        }
        if certificates.is_empty() {
            return Err(fail("it has none".to_owned()));
        }
        Ok(RootCerts::new_with_certs(&certificates))
    }
}

/// Checks that an endpoint has a scheme, which decides whether the connection is encrypted.
pub(crate) fn checked_endpoint(url: String, variable: &str) -> Result<String, Trouble> {
    if url.starts_with("http://") || url.starts_with("https://") {
        return Ok(url.trim_end_matches('/').to_owned());
    }
    let message = format!("the endpoint ({variable}) must begin with http:// or https://");
    Err((RemoteFault::Unreachable, message))
}
