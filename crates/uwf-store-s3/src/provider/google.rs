//! Google Cloud Storage, by its XML API: settings from the environment and from the files of Google's tools.
//!
//! <https://cloud.google.com/docs/authentication/application-default-credentials>

use std::path::{Path, PathBuf};

use object_store::gcp::{GoogleCloudStorage, GoogleCloudStorageBuilder, GoogleConfigKey};
use serde_json::Value;

use super::{no_retries, options, reason};
use crate::environment::{BucketEnvironment, Trouble, checked_endpoint, denied};
use crate::key_servers::KeyServers;
use crate::transport::TransportConnector;

/// Credential types that the client can use.
const KINDS: [&str; 2] = ["authorized_user", "service_account"];

/// Token for an emulator. Emulators accept any token, as Google's libraries expect.
const EMULATOR_TOKEN: &str = "emulator";

pub(super) fn key_servers(environment: &BucketEnvironment) -> KeyServers {
    let host = environment.first(&["GCE_METADATA_HOST", "GCE_METADATA_ROOT"]).unwrap_or("metadata.google.internal");
    let address = environment.get("GCE_METADATA_IP").unwrap_or("169.254.169.254");
    KeyServers {
        machines: [host, address].map(str::to_owned).into(),
        logins: ["accounts.google.com", "oauth2.googleapis.com"].map(str::to_owned).into(),
        none: "no credentials found: GOOGLE_APPLICATION_CREDENTIALS names no file, `gcloud auth application-default \
               login` left none, and this machine provides none",
    }
}

/// The client of a bucket.
///
/// Credentials come from the first of these: a variable with a token or a key, the file named by `GOOGLE_APPLICATION_CREDENTIALS`, the
/// file that gcloud left, or the machine, which the client asks.
pub(super) fn client(
    environment: &BucketEnvironment,
    bucket: &str,
    wire: TransportConnector,
) -> Result<GoogleCloudStorage, Trouble> {
    let mut builder = GoogleCloudStorageBuilder::new();
    for (name, value) in environment.beginning("GOOGLE_") {
        if let Ok(key) = name.to_ascii_lowercase().parse::<GoogleConfigKey>() {
            builder = builder.with_config(key, value);
        }
    }
    let has = |builder: &GoogleCloudStorageBuilder, key| builder.get_config_value(&key).is_some();
    let has_own = [GoogleConfigKey::BearerToken, GoogleConfigKey::ServiceAccount, GoogleConfigKey::ServiceAccountKey]
        .into_iter()
        .any(|key| has(&builder, key));
    if let Some(host) = environment.get("STORAGE_EMULATOR_HOST") {
        // The host may lack a scheme.
        let url = if host.contains("://") { host.to_owned() } else { format!("http://{host}") };
        builder = builder.with_base_url(&checked_endpoint(url, "STORAGE_EMULATOR_HOST")?);
        if !has_own {
            builder = builder.with_bearer_token(EMULATOR_TOKEN);
        }
    } else if !has_own {
        builder = match credentials_file(environment)? {
            Some(path) => builder.with_application_credentials(path.to_string_lossy()),
            None => builder,
        };
    }
    if let Some(url) = builder.get_config_value(&GoogleConfigKey::BaseUrl) {
        checked_endpoint(url, "GOOGLE_BASE_URL")?;
    }
    builder
        .with_bucket_name(bucket)
        .with_client_options(options())
        .with_retry(no_retries())
        .with_http_connector(wire)
        .build()
        .map_err(|error| denied(format!("its credentials cannot be used: {}", reason(&error))))
}

/// The credentials file, of a usable type: the named one, or else gcloud's, if it exists.
fn credentials_file(environment: &BucketEnvironment) -> Result<Option<PathBuf>, Trouble> {
    let named = environment.get("GOOGLE_APPLICATION_CREDENTIALS").map(PathBuf::from);
    let of_gcloud = || {
        let own = environment.get("CLOUDSDK_CONFIG").map(PathBuf::from);
        let dir = own.or_else(|| Some(Path::new(environment.get("HOME")?).join(".config/gcloud")))?;
        Some(dir.join("application_default_credentials.json")).filter(|path| path.exists())
    };
    let Some(path) = named.or_else(of_gcloud) else { return Ok(None) };
    let shown = path.display();
    let text = std::fs::read(&path).map_err(|error| denied(format!("{shown} cannot be read: {error}")))?;
    let said: Value = serde_json::from_slice(&text)
        .map_err(|_| denied(format!("{shown} is not a file with credentials of Google: it is not JSON")))?;
    match said["type"].as_str() {
        Some(kind) if KINDS.contains(&kind) => Ok(Some(path)),
        Some(kind) => Err(denied(format!(
            "the credentials in {shown} are of the type `{kind}`, which uwf does not know; `gcloud auth print-access-token` \
             prints a token for GOOGLE_BEARER_TOKEN, which holds for an hour"
        ))),
        None => Err(denied(format!("{shown} is not a file with credentials of Google: it has no `type`"))),
    }
}
