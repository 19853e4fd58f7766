//! Whose bucket it is: all in which Amazon S3, Google Cloud Storage and Azure Blob Storage differ for a store.
//!
//! What a store relies on, all of them have: a write that is made only if there is no object, or only if it is still the version
//! that was read; listings that show what was written before; a `Date` in each answer, and when an object was written.

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

/// Whose bucket it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Provider {
    /// Amazon, and every server that speaks S3.
    S3,
    Google,
    Azure,
}

/// Beginnings of URLs. The first of each provider is the one that is shown; the others are what its tools write.
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
    /// By the beginning of a URL; what follows it.
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

    /// How a URL must look.
    pub(crate) fn form(self) -> &'static str {
        match self {
            Provider::S3 => "s3://BUCKET/PREFIX",
            Provider::Google => "gs://BUCKET/PREFIX",
            Provider::Azure => "az://CONTAINER/PREFIX",
        }
    }

    /// What it calls a bucket.
    pub(crate) fn container(self) -> &'static str {
        match self {
            Provider::S3 | Provider::Google => "bucket",
            Provider::Azure => "container",
        }
    }

    /// Symbols a bucket's name is made of besides a-z and 0-9.
    pub(crate) fn symbols(self) -> &'static [u8] {
        match self {
            Provider::S3 => b".-",
            Provider::Google => b".-_",
            Provider::Azure => b"-",
        }
    }

    /// Whether it compares generations, each of which is a number that never comes back, and not the tags that it lists.
    pub(crate) fn has_generations(self) -> bool {
        self == Provider::Google
    }

    /// The headers for "if there is none" and "if it is still this one".
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

    /// Where its keys come from.
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
    /// What is wrong with the environment. Nothing is contacted.
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

/// Plain HTTP is spoken only to an endpoint that says so.
fn options() -> ClientOptions {
    ClientOptions::new().with_allow_http(true)
}

/// Whoever calls tries again, as it knows what a second try may find.
fn no_retries() -> RetryConfig {
    RetryConfig { max_retries: 0, ..RetryConfig::default() }
}

/// Why a client cannot be made, without the name of the library's part around it.
fn reason(error: &object_store::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}
