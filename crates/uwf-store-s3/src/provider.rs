//! The provider of a bucket: everything in which Amazon S3, Google Cloud Storage and Azure Blob Storage differ for a store.
//!
//! All of them have what a store relies on: writes that succeed only if the object doesn't exist, or only if it is still the version that
//! was read; listings that show all earlier writes; a `Date` in each answer; and the time at which an object was written.

mod amazon;
mod azure;
mod google;
mod profile;

use object_store::{ClientOptions, RetryConfig};

use crate::client::BucketClient;
use crate::environment::{BucketEnvironment, Trouble};
use crate::key_servers::KeyServers;
use crate::tag::ObjectTag;
use crate::transport::TransportConnector;

/// The provider of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BucketProvider {
    /// Amazon, and every other server with the S3 protocol.
    S3,
    Google,
    Azure,
}

/// URL schemes. The first one of each provider is displayed; the provider's tools write the others.
const SCHEMES: [(&str, BucketProvider); 7] = [
    ("s3://", BucketProvider::S3),
    ("gs://", BucketProvider::Google),
    ("gcs://", BucketProvider::Google),
    ("az://", BucketProvider::Azure),
    ("azure://", BucketProvider::Azure),
    ("abfs://", BucketProvider::Azure),
    ("abfss://", BucketProvider::Azure),
];

impl BucketProvider {
    /// The provider for a URL's scheme, and the rest of the URL.
    pub(crate) fn split_url(url: &str) -> Option<(BucketProvider, &str)> {
        SCHEMES.iter().find_map(|(scheme, provider)| Some((*provider, url.strip_prefix(scheme)?)))
    }

    pub(crate) fn scheme(self) -> &'static str {
        match self {
            BucketProvider::S3 => "s3://",
            BucketProvider::Google => "gs://",
            BucketProvider::Azure => "az://",
        }
    }

    /// The form of a URL.
    pub(crate) fn form(self) -> &'static str {
        match self {
            BucketProvider::S3 => "s3://BUCKET/PREFIX",
            BucketProvider::Google => "gs://BUCKET/PREFIX",
            BucketProvider::Azure => "az://CONTAINER/PREFIX",
        }
    }

    /// The provider's word for a bucket.
    pub(crate) fn container(self) -> &'static str {
        match self {
            BucketProvider::S3 | BucketProvider::Google => "bucket",
            BucketProvider::Azure => "container",
        }
    }

    /// Symbols allowed in bucket names besides a-z and 0-9.
    pub(crate) fn symbols(self) -> &'static [u8] {
        match self {
            BucketProvider::S3 => b".-",
            BucketProvider::Google => b".-_",
            BucketProvider::Azure => b"-",
        }
    }

    /// Whether conditional writes compare generations, not the tags in listings. A generation is a number that is never reused.
    pub(crate) fn has_generations(self) -> bool {
        self == BucketProvider::Google
    }

    /// The headers for "if it doesn't exist" and "if it is unchanged".
    pub(crate) fn conditions(self) -> (&'static str, &'static str) {
        match self {
            BucketProvider::S3 | BucketProvider::Azure => ("If-None-Match", "If-Match"),
            BucketProvider::Google => ("x-goog-if-generation-match: 0", "x-goog-if-generation-match"),
        }
    }

    /// A tag that no object has.
    pub(crate) fn tag_of_nothing(self) -> ObjectTag {
        let etag = "\"0123456789abcdef0123456789abcdef\"".to_owned();
        ObjectTag::new(Some(etag), self.has_generations().then(|| "1".to_owned()))
    }

    /// The servers that give out its keys.
    pub(crate) fn key_servers(self, environment: &BucketEnvironment) -> KeyServers {
        match self {
            BucketProvider::S3 => amazon::key_servers(),
            BucketProvider::Google => google::key_servers(environment),
            BucketProvider::Azure => azure::key_servers(environment),
        }
    }

    /// The client of a bucket.
    ///
    /// # Errors
    /// If the environment is incomplete or invalid. No server is contacted.
    pub(crate) fn client(
        self,
        environment: &BucketEnvironment,
        bucket: &str,
        wire: TransportConnector,
    ) -> Result<Box<dyn BucketClient>, Trouble> {
        match self {
            BucketProvider::S3 => {
                amazon::client(environment, bucket, wire).map(|client| Box::new(client) as Box<dyn BucketClient>)
            }
            BucketProvider::Google => google::client(environment, bucket, wire).map(|client| Box::new(client) as _),
            BucketProvider::Azure => azure::client(environment, bucket, wire).map(|client| Box::new(client) as _),
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
