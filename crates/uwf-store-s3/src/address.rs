//! The address of a store: `s3://bucket/prefix`, `gs://bucket/prefix`, `az://container/prefix`.

use json_cas::{RemoteError, RemoteFault};
use object_store::path::Path;

use crate::provider::BucketProvider;

/// A bucket, and the prefix of the store's keys in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BucketAddress {
    pub(crate) provider: BucketProvider,
    pub(crate) bucket: String,
    /// Empty, or segments with `/` between them.
    pub(crate) prefix: String,
}

impl BucketAddress {
    /// Parses the URL of a store.
    ///
    /// # Errors
    /// [`RemoteFault::Misnamed`] with what the URL lacks. The message doesn't repeat a user or a password.
    pub(crate) fn parse(url: &str) -> Result<BucketAddress, RemoteError> {
        let fail = |message: &str| RemoteError {
            store: shown(url),
            fault: RemoteFault::Misnamed,
            message: message.to_owned(),
            source: None,
        };
        let Some((provider, rest)) = BucketProvider::split_url(url) else {
            return Err(fail("its URL must be s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or az://CONTAINER/PREFIX"));
        };
        let (form, container) = (provider.form(), provider.container());
        if rest.contains('@') {
            return Err(fail(&match provider {
                BucketProvider::Azure => {
                    format!("its URL must be {form}; the account comes from AZURE_STORAGE_ACCOUNT")
                }
                BucketProvider::S3 | BucketProvider::Google => {
                    "keys do not belong into its URL: they come from the environment or a profile".to_owned()
                }
            }));
        }
        if rest.contains(['?', '#']) {
            return Err(fail(&format!("its URL must be {form}, nothing after it; settings come from the environment")));
        }
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if !is_bucket(bucket, provider.symbols()) {
            let more: String = provider.symbols().iter().map(|byte| format!(" {}", char::from(*byte))).collect();
            let message =
                format!("its URL lacks a {container}: {form}, with 3 to 63 of a-z 0-9{more} as the {container}");
            return Err(fail(&message));
        }
        let prefix = prefix.trim_end_matches('/');
        let is_plain = Path::parse(prefix).is_ok_and(|path| path.as_ref() == prefix);
        if !is_plain || !prefix.chars().all(is_plain_symbol) {
            return Err(fail("the prefix in its URL must be segments of A-Z a-z 0-9 _ . - with one / between them"));
        }
        Ok(BucketAddress { provider, bucket: bucket.to_owned(), prefix: prefix.to_owned() })
    }

    /// The URL as people write it.
    pub(crate) fn url(&self) -> String {
        let scheme = self.provider.scheme();
        match &*self.prefix {
            "" => format!("{scheme}{}", self.bucket),
            prefix => format!("{scheme}{}/{prefix}", self.bucket),
        }
    }
}

/// Symbols that need escaping elsewhere are excluded, so that a key reads the same everywhere.
fn is_plain_symbol(symbol: char) -> bool {
    symbol.is_ascii_alphanumeric() || matches!(symbol, '_' | '.' | '-' | '/')
}

fn is_bucket(bucket: &str, symbols: &[u8]) -> bool {
    let is_symbol = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || symbols.contains(&byte);
    (3..=63).contains(&bucket.len()) && bucket.bytes().all(is_symbol)
}

/// An invalid URL, without what may be a password.
fn shown(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return if url.contains('@') { "…".to_owned() } else { url.to_owned() };
    };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    match rest.rsplit_once('@') {
        Some((_, place)) => format!("{scheme}://…@{place}"),
        None => format!("{scheme}://{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_is_bucket_with_optional_prefix() {
        for (url, provider, bucket, prefix) in [
            ("s3://team", BucketProvider::S3, "team", ""),
            ("s3://team/", BucketProvider::S3, "team", ""),
            ("s3://team/uwf", BucketProvider::S3, "team", "uwf"),
            ("s3://my.team-1/a/b_c/", BucketProvider::S3, "my.team-1", "a/b_c"),
            ("gs://my_team.1/uwf", BucketProvider::Google, "my_team.1", "uwf"),
            ("az://team-1/a/b", BucketProvider::Azure, "team-1", "a/b"),
        ] {
            let address = BucketAddress::parse(url).unwrap();
            let parts = (address.provider, &*address.bucket, &*address.prefix);
            assert_eq!(parts, (provider, bucket, prefix), "{url}");
            assert_eq!(address.url(), url.trim_end_matches('/'));
        }
    }

    #[test]
    fn other_spellings_are_the_same_store() {
        for (url, name) in [
            ("gcs://team/uwf", "gs://team/uwf"),
            ("azure://team/uwf", "az://team/uwf"),
            ("abfs://team/uwf/", "az://team/uwf"),
            ("abfss://team/uwf", "az://team/uwf"),
        ] {
            assert_eq!(BucketAddress::parse(url).unwrap().url(), name);
        }
    }

    #[test]
    fn incomplete_url_names_the_missing_part() {
        for (url, told) in [
            ("team/uwf", "s3://BUCKET/PREFIX"),
            ("http://team/uwf", "s3://BUCKET/PREFIX"),
            ("s3://", "lacks a bucket"),
            ("s3:///uwf", "lacks a bucket"),
            ("s3://Team/uwf", "lacks a bucket"),
            ("s3://team//uwf", "the prefix"),
            ("s3://team/../uwf", "the prefix"),
            ("s3://team/u wf", "the prefix"),
            ("s3://team/uwf?region=x", "nothing after it"),
            ("https://me.blob.core.windows.net/team", "az://CONTAINER/PREFIX"),
            ("abfss://team@me.dfs.core.windows.net/uwf", "AZURE_STORAGE_ACCOUNT"),
            ("az://my.team/uwf", "az://CONTAINER/PREFIX, with 3 to 63 of a-z 0-9 - as the container"),
            ("gs://Team", "lacks a bucket"),
        ] {
            let error = BucketAddress::parse(url).unwrap_err();
            assert!(error.message.contains(told), "{url}: {error}");
            assert_eq!(error.fault, RemoteFault::Misnamed);
        }
    }

    #[test]
    fn keys_in_url_are_rejected_and_not_shown() {
        for url in ["s3://AKIA:hush@team/uwf", "s3://AKIA:hush@team?x=hush", "http://AKIA:hush@team", "AKIA:hush@team"]
        {
            let told = format!("{0} {0:?}", BucketAddress::parse(url).unwrap_err());
            assert!(!told.contains("hush") && !told.contains("AKIA"), "{told}");
        }
    }
}
