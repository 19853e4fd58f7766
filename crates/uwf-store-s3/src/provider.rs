//! The provider of a bucket: everything in which Amazon S3, Google Cloud Storage and Azure Blob Storage differ for a store.
//!
//! All of them have what a store relies on: writes that succeed only if the object doesn't exist, or only if it is still the version that
//! was read; listings that show all earlier writes; a `Date` in each answer; and the time at which an object was written.

mod amazon;
mod azure;
mod google;
mod profile;

use object_store::{ClientOptions, RetryConfig};

use crate::client::Client;
use crate::environment::{Environment, Trouble};
use crate::key_servers::KeyServers;
use crate::tag::Tag;
use crate::transport::Wire;

/// The provider of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Provider {
    /// Amazon, and every other server with the S3 protocol.
    S3,
    Google,
    Azure,
}

/// URL schemes. The first one of each provider is displayed; the provider's tools write the others.
const SCHEMES: [(&str, Provider); 7] = [
    ("s3://", Provider::S3),
    ("gs://", Provider::Google),
    ("gcs://", Provider::Google),
    ("az://", Provider::Azure),
    ("azure://", Provider::Azure),
    ("abfs://", Provider::Azure),
    ("abfss://", Provider::Azure),
];

impl Provider {
    /// The provider for a URL's scheme, and the rest of the URL.
    pub(crate) fn of(url: &str) -> Option<(Provider, &str)> {
        SCHEMES.iter().find_map(|(scheme, provider)| Some((*provider, url.strip_prefix(scheme)?)))
    }

    pub(crate) fn scheme(self) -> &'static str {
        match self {
            Provider::S3 => "s3://",
            Provider::Google => "gs://",
            Provider::Azure => "az://",
        }
    }

    /// The form of a URL.
    pub(crate) fn form(self) -> &'static str {
        match self {
            Provider::S3 => "s3://BUCKET/PREFIX",
            Provider::Google => "gs://BUCKET/PREFIX",
            Provider::Azure => "az://CONTAINER/PREFIX",
        }
    }

    /// The provider's word for a bucket.
    pub(crate) fn container(self) -> &'static str {
        match self {
            Provider::S3 | Provider::Google => "bucket",
            Provider::Azure => "container",
        }
    }

    /// Symbols allowed in bucket names besides a-z and 0-9.
    pub(crate) fn symbols(self) -> &'static [u8] {
        match self {
            Provider::S3 => b".-",
            Provider::Google => b".-_",
            Provider::Azure => b"-",
        }
    }

    /// Whether conditional writes compare generations, not the tags in listings. A generation is a number that is never reused.
    pub(crate) fn has_generations(self) -> bool {
        self == Provider::Google
    }

    /// The headers for "if it doesn't exist" and "if it is unchanged".
    pub(crate) fn conditions(self) -> (&'static str, &'static str) {
        match self {
            Provider::S3 | Provider::Azure => ("If-None-Match", "If-Match"),
            Provider::Google => ("x-goog-if-generation-match: 0", "x-goog-if-generation-match"),
        }
    }

    /// A tag that no object has.
    pub(crate) fn tag_of_nothing(self) -> Tag {
        let etag = "\"0123456789abcdef0123456789abcdef\"".to_owned();
        Tag::new(Some(etag), self.has_generations().then(|| "1".to_owned()))
    }

    /// The servers that give out its keys.
    pub(crate) fn key_servers(self, environment: &Environment) -> KeyServers {
        match self {
            Provider::S3 => amazon::key_servers(),
            Provider::Google => google::key_servers(environment),
            Provider::Azure => azure::key_servers(environment),
        }
    }

    /// The client of a bucket.
    ///
    /// # Errors
    /// If the environment is incomplete or invalid. No server is contacted.
    pub(crate) fn client(
        self,
        environment: &Environment,
        bucket: &str,
        wire: Wire,
    ) -> Result<Box<dyn Client>, Trouble> {
        match self {
            Provider::S3 => amazon::client(environment, bucket, wire).map(|client| Box::new(client) as Box<dyn Client>),
            Provider::Google => google::client(environment, bucket, wire).map(|client| Box::new(client) as _),
            Provider::Azure => azure::client(environment, bucket, wire).map(|client| Box::new(client) as _),
        }
    }
}

/// Plain HTTP is used only if the endpoint's URL says so.
fn options() -> ClientOptions {
    ClientOptions::new().with_allow_http(true)
}

/// The caller retries, because only the caller knows what a second attempt may find.
fn no_retries() -> RetryConfig {
    RetryConfig { max_retries: 0, ..RetryConfig::default() }
}

/// Why a client can't be created, without the library's own prefix.
fn reason(error: &object_store::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}
