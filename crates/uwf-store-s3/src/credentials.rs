//! Who one is to the server, and which server it is: what the environment and the profiles say.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use json_cas::RemoteFault;
use object_store::ClientOptions;
use object_store::RetryConfig;
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey, S3ConditionalPut};
use ureq::tls::{PemItem, RootCerts, parse_pem};

use crate::profile::{self, Settings};
use crate::transport::{Transport, Wire};

/// The variables that decide; secrets are among them.
#[derive(Clone)]
pub(crate) struct Environment(BTreeMap<String, String>);

/// What is wrong, and what with.
pub(crate) type Trouble = (RemoteFault, String);

fn denied(message: impl Into<String>) -> Trouble {
    (RemoteFault::Denied, message.into())
}

impl Environment {
    pub(crate) fn new(variables: impl IntoIterator<Item = (String, String)>) -> Environment {
        let counts = |(name, value): &(String, String)| {
            (name.starts_with("AWS_") || matches!(&**name, "HOME" | "SSL_CERT_FILE")) && !value.is_empty()
        };
        Environment(variables.into_iter().filter(counts).collect())
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The roots certificates are checked against: Mozilla's, or those of `SSL_CERT_FILE`.
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
            return Err(fail("there is none".to_owned()));
        }
        Ok(RootCerts::new_with_certs(&certificates))
    }

    /// The client of a bucket.
    ///
    /// Keys come from the environment, else from a role of a container or a web identity, which the client reads there itself,
    /// else from the profile, else the client asks the machine for them: the order of the tools of AWS.
    pub(crate) fn client(&self, bucket: &str, transport: Arc<Transport>) -> Result<AmazonS3, Trouble> {
        let mut builder = AmazonS3Builder::new();
        for (name, value) in self.settings()? {
            if let Ok(key) = name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>() {
                builder = builder.with_config(key, value);
            }
        }
        let endpoint = builder.get_config_value(&AmazonS3ConfigKey::S3Endpoint);
        let endpoint = endpoint.or_else(|| builder.get_config_value(&AmazonS3ConfigKey::Endpoint));
        if endpoint.is_some_and(|url| !url.starts_with("http://") && !url.starts_with("https://")) {
            let message = "the endpoint (AWS_ENDPOINT_URL) has to begin with http:// or https://";
            return Err((RemoteFault::Unreachable, message.to_owned()));
        }
        builder
            .with_bucket_name(bucket)
            .with_conditional_put(S3ConditionalPut::ETagMatch)
            .with_disable_bulk_delete(true)
            .with_client_options(ClientOptions::new().with_allow_http(true))
            // Whoever calls tries again, as it knows what a second try may find.
            .with_retry(RetryConfig { max_retries: 0, ..RetryConfig::default() })
            .with_http_connector(Wire(transport))
            .build()
            .map_err(|error| denied(error.to_string()))
    }

    /// The variables, with what the profile says where they say nothing.
    fn settings(&self) -> Result<BTreeMap<String, String>, Trouble> {
        let mut settings = self.0.clone();
        // The one counts before the other.
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
            return Err(denied("there are no keys: not in the environment and not in a profile"));
        }
        Ok(settings)
    }

    fn profile_name(&self) -> &str {
        self.get("AWS_PROFILE").or_else(|| self.get("AWS_DEFAULT_PROFILE")).unwrap_or("default")
    }

    /// What both files say of the profile, `credentials` first.
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
                Err(denied(format!("there is no profile `{name}` (AWS_PROFILE) in {}", looked.join(" or "))))
            }
            _ => Ok(found),
        }
    }

    /// A profile that gets its keys elsewhere must not be taken for one without, whose keys the machine has.
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
