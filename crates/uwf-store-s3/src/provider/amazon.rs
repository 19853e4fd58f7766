//! Amazon S3 and every other server with the S3 protocol: settings from the environment and profiles.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey, S3ConditionalPut};

use super::profile::{self, Settings};
use super::{no_retries, options};
use crate::environment::{BucketEnvironment, Trouble, checked_endpoint, denied};
use crate::key_servers::KeyServers;
use crate::transport::TransportConnector;

pub(super) fn key_servers() -> KeyServers {
    KeyServers {
        machines: ["169.254.169.254", "169.254.170.2"].map(str::to_owned).into(),
        logins: Vec::new(),
        none: "no keys found: not in the environment, not in a profile, and not from this machine",
    }
}

/// The client of a bucket.
///
/// Keys come from the first of these sources, in the order of the AWS tools: the environment; the role of a container or a web identity,
/// which the client reads itself; the profile; the machine, which the client asks.
pub(super) fn client(
    environment: &BucketEnvironment,
    bucket: &str,
    wire: TransportConnector,
) -> Result<AmazonS3, Trouble> {
    let mut builder = AmazonS3Builder::new();
    for (name, value) in environment.amazon()? {
        if let Ok(key) = name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>() {
            builder = builder.with_config(key, value);
        }
    }
    let endpoint = builder.get_config_value(&AmazonS3ConfigKey::S3Endpoint);
    let endpoint = endpoint.or_else(|| builder.get_config_value(&AmazonS3ConfigKey::Endpoint));
    if let Some(url) = endpoint {
        checked_endpoint(url, "AWS_ENDPOINT_URL")?;
    }
    builder
        .with_bucket_name(bucket)
        .with_conditional_put(S3ConditionalPut::ETagMatch)
        .with_disable_bulk_delete(true)
        .with_client_options(options())
        .with_retry(no_retries())
        .with_http_connector(wire)
        .build()
        .map_err(|error| denied(error.to_string()))
}

impl BucketEnvironment {
    /// The variables, completed with settings from the profile.
    fn amazon(&self) -> Result<BTreeMap<String, String>, Trouble> {
        let own = self.beginning("AWS_").map(|(name, value)| (name.to_owned(), value.to_owned()));
        let mut settings: BTreeMap<String, String> = own.collect();
        // AWS_REGION takes precedence over AWS_DEFAULT_REGION.
        if let Some(region) = self.get("AWS_REGION").or_else(|| self.get("AWS_DEFAULT_REGION")) {
            settings.insert("AWS_REGION".to_owned(), region.to_owned());
        }
        let has_keys = self.get("AWS_ACCESS_KEY_ID").is_some() || self.get("AWS_SECRET_ACCESS_KEY").is_some();
        let has_role = ["AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_SKIP_SIGNATURE"]
            .into_iter()
            .chain(["AWS_CONTAINER_CREDENTIALS_FULL_URI"])
            .any(|name| self.get(name).is_some());
        let profile = self.profile()?;
        for (key, value) in profile.iter().flatten() {
            let name = match &**key {
                "region" => "AWS_REGION",
                "endpoint_url" => "AWS_ENDPOINT_URL",
                "aws_access_key_id" if !has_keys && !has_role => "AWS_ACCESS_KEY_ID",
                "aws_secret_access_key" if !has_keys && !has_role => "AWS_SECRET_ACCESS_KEY",
                "aws_session_token" if !has_keys && !has_role => "AWS_SESSION_TOKEN",
                _ => continue,
            };
            settings.entry(name.to_owned()).or_insert_with(|| value.clone());
        }
        let is_complete = has_keys || has_role || settings.contains_key("AWS_ACCESS_KEY_ID");
        if let (false, Some(profile)) = (is_complete, &profile) {
            self.has_plain_keys(profile)?;
        }
        if !is_complete && self.get("AWS_EC2_METADATA_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"))
        {
            return Err(denied("no keys found: not in the environment and not in a profile"));
        }
        Ok(settings)
    }

    fn profile_name(&self) -> &str {
        self.get("AWS_PROFILE").or_else(|| self.get("AWS_DEFAULT_PROFILE")).unwrap_or("default")
    }

    /// The settings of the profile in both files. `credentials` takes precedence.
    fn profile(&self) -> Result<Option<Settings>, Trouble> {
        let home = |name: &str| self.get("HOME").map(|home| Path::new(home).join(".aws").join(name));
        let file = |variable: &str, name: &str| self.get(variable).map(PathBuf::from).or_else(|| home(name));
        let mut found: Option<Settings> = None;
        let files = [file("AWS_CONFIG_FILE", "config"), file("AWS_SHARED_CREDENTIALS_FILE", "credentials")];
        for path in files.iter().flatten() {
            let text = match std::fs::read_to_string(path) {
                Ok(text) => text,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => return Err(denied(format!("{} cannot be read: {error}", path.display()))),
            };
            if let Some(settings) = profile::find(&text, self.profile_name()) {
                found.get_or_insert_default().extend(settings);
            }
        }
        match self.get("AWS_PROFILE") {
            Some(name) if found.is_none() => {
                let looked: Vec<String> = files.iter().flatten().map(|path| path.display().to_string()).collect();
                Err(denied(format!("profile `{name}` (AWS_PROFILE) is not in {}", looked.join(" or "))))
            }
            _ => Ok(found),
        }
    }

    /// Rejects a profile that gets its keys from elsewhere. Don't treat it as a profile without keys, because then the machine's keys
    /// would be used.
    fn has_plain_keys(&self, profile: &Settings) -> Result<(), Trouble> {
        let elsewhere =
            ["role_arn", "sso_session", "sso_start_url", "sso_account_id", "credential_process", "login_session"];
        match elsewhere.iter().find(|key| profile.contains_key(**key)) {
            None => Ok(()),
            Some(key) => Err(denied(format!(
                "the profile `{0}` gets its keys by `{key}`, which uwf does not: `aws configure export-credentials --profile {0} \
                 --format env` puts them into the environment",
                self.profile_name()
            ))),
        }
    }
}
