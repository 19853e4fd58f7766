//! Azure Blob Storage: settings from the environment.

use std::collections::HashMap;

use object_store::azure::{AzureAuthorizer, AzureConfigKey, MicrosoftAzure, MicrosoftAzureBuilder};
use object_store::client::{HttpRequestBody, HttpService};
use object_store::list::PaginatedListStore;
use object_store::path::Path;
use object_store::{Error, ObjectStore, Result};
use ureq::http::Request;

use super::{no_retries, options, reason};
use crate::client::BucketClient;
use crate::environment::{BucketEnvironment, Trouble, checked_endpoint, denied};
use crate::key_servers::{KeyServers, authority};
use crate::transport::TransportConnector;
use crate::wait::wait_for;

/// Settings of the client.
type Settings = HashMap<AzureConfigKey, String>;

/// Names in the Azure tools, and the client's settings.
const OTHER_NAMES: [(&str, AzureConfigKey); 4] = [
    ("AZURE_STORAGE_ACCOUNT", AzureConfigKey::AccountName),
    ("AZURE_STORAGE_KEY", AzureConfigKey::AccessKey),
    ("AZURE_STORAGE_SERVICE_ENDPOINT", AzureConfigKey::Endpoint),
    ("IDENTITY_ENDPOINT", AzureConfigKey::MsiEndpoint),
];

/// Account, key and endpoint of the emulator. They are the same everywhere, and the key is not secret.
///
/// <https://learn.microsoft.com/azure/storage/common/storage-use-azurite>
const EMULATOR: [(AzureConfigKey, &str); 3] = [
    (AzureConfigKey::AccountName, "devstoreaccount1"),
    (
        AzureConfigKey::AccessKey,
        "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
    ),
    (AzureConfigKey::Endpoint, "http://127.0.0.1:10000/devstoreaccount1"),
];

pub(super) fn key_servers(environment: &BucketEnvironment) -> KeyServers {
    let login = environment.first(&["AZURE_STORAGE_AUTHORITY_HOST", "AZURE_AUTHORITY_HOST"]);
    let machine = ["AZURE_MSI_ENDPOINT", "AZURE_IDENTITY_ENDPOINT", "IDENTITY_ENDPOINT"];
    KeyServers {
        machines: vec![environment.first(&machine).map_or_else(|| "169.254.169.254".to_owned(), authority)],
        logins: vec![login.map_or_else(|| "login.microsoftonline.com".to_owned(), authority)],
        none: "no credentials found: no key, SAS token or client secret in the environment, and this machine has no \
               managed identity",
    }
}

/// The client of a container, with its own deletion.
pub(super) struct AzureClient {
    client: MicrosoftAzure,
    wire: TransportConnector,
    account: String,
    /// The URL of the container.
    container: String,
}

/// The client of a container.
///
/// A connection string takes precedence over single variables. Credentials come from the first of these: a token, a key, a federated
/// token, a client secret, a SAS token, or the machine's identity, which the client asks for.
pub(super) fn client(
    environment: &BucketEnvironment,
    container: &str,
    wire: TransportConnector,
) -> Result<AzureClient, Trouble> {
    let settings = settings(environment)?;
    let Some(account) = settings.get(&AzureConfigKey::AccountName).cloned() else {
        return Err(denied(
            "the storage account is missing: set AZURE_STORAGE_ACCOUNT or AZURE_STORAGE_CONNECTION_STRING",
        ));
    };
    let endpoint = match settings.get(&AzureConfigKey::Endpoint) {
        Some(url) => checked_endpoint(url.clone(), "AZURE_STORAGE_ENDPOINT")?,
        None => format!("https://{account}.blob.core.windows.net"),
    };
    let builder = settings
        .into_iter()
        .fold(MicrosoftAzureBuilder::new(), |builder, (key, value)| builder.with_config(key, value));
    let client = builder
        .with_endpoint(endpoint.clone())
        .with_container_name(container)
        .with_client_options(options())
        .with_retry(no_retries())
        .with_http_connector(wire.clone())
        .build()
        .map_err(|error| denied(format!("its credentials cannot be used: {}", reason(&error))))?;
    Ok(AzureClient { client, wire, account, container: format!("{endpoint}/{container}") })
}

fn settings(environment: &BucketEnvironment) -> Result<Settings, Trouble> {
    let mut settings = Settings::new();
    for (name, value) in environment.beginning("AZURE_") {
        if let Ok(key) = name.to_ascii_lowercase().parse() {
            settings.insert(key, value.to_owned());
        }
    }
    for (name, key) in OTHER_NAMES {
        if let Some(value) = environment.get(name) {
            settings.entry(key).or_insert_with(|| value.to_owned());
        }
    }
    // In Kubernetes, the host ends with `/`, but the client appends a path that begins with one.
    if let Some(host) = settings.get_mut(&AzureConfigKey::AuthorityHost) {
        host.truncate(host.trim_end_matches('/').len());
    }
    // We always set the endpoint, which has the same effect.
    settings.remove(&AzureConfigKey::UseFabricEndpoint);
    let is_emulator = settings.remove(&AzureConfigKey::UseEmulator).is_some_and(|value| is_true(&value));
    if let Some(text) = environment.get("AZURE_STORAGE_CONNECTION_STRING") {
        // Keys of another account are not valid for this one.
        for key in [AzureConfigKey::Token, AzureConfigKey::AccessKey, AzureConfigKey::SasKey] {
            settings.remove(&key);
        }
        settings.extend(connection_string(text)?);
    } else if is_emulator {
        for (key, value) in EMULATOR {
            settings.entry(key).or_insert_with(|| value.to_owned());
        }
    }
    Ok(settings)
}

fn is_true(value: &str) -> bool {
    matches!(&*value.to_ascii_lowercase(), "1" | "true" | "on" | "yes" | "y")
}

/// The settings in a connection string. Messages never repeat it, because it contains the key.
///
/// <https://learn.microsoft.com/azure/storage/common/storage-configure-connection-string>
fn connection_string(text: &str) -> Result<Settings, Trouble> {
    let malformed = |why: &str| denied(format!("AZURE_STORAGE_CONNECTION_STRING {why}"));
    let mut said: HashMap<String, &str> = HashMap::new();
    for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').ok_or_else(|| malformed("has a part that is not NAME=VALUE"))?;
        said.insert(name.to_ascii_lowercase(), value);
    }
    if said.get("usedevelopmentstorage").is_some_and(|value| is_true(value)) {
        return Ok(EMULATOR.map(|(key, value)| (key, value.to_owned())).into());
    }
    let endpoint = said.get("blobendpoint").map(|endpoint| (*endpoint).to_owned());
    // With a SAS token, the host may be the only place that names the account.
    let of_host = || Some(authority(endpoint.as_deref()?).split('.').next()?.to_owned());
    let account = said.get("accountname").map(|account| (*account).to_owned()).or_else(of_host);
    let account = account.ok_or_else(|| malformed("has neither AccountName nor BlobEndpoint"))?;
    let endpoint = endpoint.unwrap_or_else(|| {
        let scheme = said.get("defaultendpointsprotocol").unwrap_or(&"https");
        let suffix = said.get("endpointsuffix").unwrap_or(&"core.windows.net");
        format!("{scheme}://{account}.blob.{suffix}")
    });
    let mut settings = Settings::from([(AzureConfigKey::AccountName, account), (AzureConfigKey::Endpoint, endpoint)]);
    for (name, key) in [("accountkey", AzureConfigKey::AccessKey), ("sharedaccesssignature", AzureConfigKey::SasKey)] {
        settings.extend(said.get(name).map(|value| (key, (*value).to_owned())));
    }
    Ok(settings)
}

impl BucketClient for AzureClient {
    fn objects(&self) -> &dyn ObjectStore {
        &self.client
    }

    fn lists(&self) -> &dyn PaginatedListStore {
        &self.client
    }

    /// The library would delete a single blob by a batch of one, which costs as much as a write, whereas this request is free. Besides, an
    /// answer within an answer has neither a status nor a code that could be distinguished.
    fn delete(&self, path: &Path) -> Result<()> {
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| Error::Generic { store: "Azure", source };
        let request = Request::delete(format!("{}/{path}", self.container)).header("content-length", "0");
        let mut request = request.body(HttpRequestBody::empty()).map_err(|error| failed(error.into()))?;
        let credential = wait_for(self.client.credentials().get_credential())?;
        AzureAuthorizer::new(&credential, &self.account).try_authorize(&mut request)?;
        let answer = wait_for(self.wire.call(request)).map_err(|error| failed(error.into()))?;
        match answer.status().as_u16() {
            200..=299 | 404 => Ok(()),
            status => Err(failed(format!("it was answered {status}").into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<Settings, Trouble> {
        let owned = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        settings(&BucketEnvironment::new(owned))
    }

    fn pairs(pairs: &[(AzureConfigKey, &str)]) -> Settings {
        pairs.iter().map(|(key, value)| (*key, (*value).to_owned())).collect()
    }

    use AzureConfigKey::{AccessKey, AccountName, AuthorityHost, Endpoint, SasKey};

    #[test]
    fn account_and_key_accept_names_of_all_tools() {
        for (account, key) in [
            ("AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_KEY"),
            ("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT_KEY"),
            ("AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCESS_KEY"),
        ] {
            assert_eq!(of(&[(account, "me"), (key, "k")]), Ok(pairs(&[(AccountName, "me"), (AccessKey, "k")])));
        }
        let login = of(&[("AZURE_AUTHORITY_HOST", "https://login.example/")]);
        assert_eq!(login, Ok(pairs(&[(AuthorityHost, "https://login.example")])));
    }

    #[test]
    fn a_connection_string_says_all_of_it() {
        let of = |text: &str| of(&[("AZURE_STORAGE_CONNECTION_STRING", text), ("AZURE_STORAGE_KEY", "of another")]);
        let text =
            "DefaultEndpointsProtocol=https;AccountName=me;AccountKey=a+b/c==;EndpointSuffix=core.chinacloudapi.cn";
        let endpoint = (Endpoint, "https://me.blob.core.chinacloudapi.cn");
        assert_eq!(of(text), Ok(pairs(&[(AccountName, "me"), (AccessKey, "a+b/c=="), endpoint])));
        let text = "BlobEndpoint=https://me.blob.core.windows.net/;SharedAccessSignature=sv=1&sig=x%3D;";
        let endpoint = (Endpoint, "https://me.blob.core.windows.net/");
        assert_eq!(of(text), Ok(pairs(&[(AccountName, "me"), (SasKey, "sv=1&sig=x%3D"), endpoint])));
        assert_eq!(of("UseDevelopmentStorage=true"), Ok(pairs(&EMULATOR)));
    }

    #[test]
    fn malformed_connection_string_is_not_shown() {
        for (text, told) in
            [("hush", "has a part that is not NAME=VALUE"), ("AccountKey=hush", "has neither AccountName")]
        {
            let (_, message) = of(&[("AZURE_STORAGE_CONNECTION_STRING", text)]).unwrap_err();
            assert!(message.contains(told) && !message.contains("hush"), "{message}");
        }
    }
}
