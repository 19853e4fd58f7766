//! Where a store is: `s3://bucket/prefix`.

use json_cas::{RemoteError, RemoteFault};
use object_store::path::Path;

const SCHEME: &str = "s3://";

/// A bucket, and what the keys of the store begin with there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) bucket: String,
    /// Empty, or segments with `/` between them.
    pub(crate) prefix: String,
}

impl Address {
    /// # Errors
    /// [`RemoteFault::Misnamed`] with what the URL lacks. A user and a password in it are not repeated.
    pub(crate) fn parse(url: &str) -> Result<Address, RemoteError> {
        let fail = |message: &str| RemoteError {
            store: shown(url),
            fault: RemoteFault::Misnamed,
            message: message.to_owned(),
            source: None,
        };
        let rest = url.strip_prefix(SCHEME).ok_or_else(|| fail("its URL has to be s3://BUCKET/PREFIX"))?;
        if rest.contains('@') {
            return Err(fail("keys do not belong into its URL: they come from the environment or a profile"));
        }
        if rest.contains(['?', '#']) {
            return Err(fail(
                "its URL has to be s3://BUCKET/PREFIX, nothing after it; settings come from the environment",
            ));
        }
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if !is_bucket(bucket) {
            return Err(fail("its URL lacks a bucket: s3://BUCKET/PREFIX, with 3 to 63 of a-z 0-9 . - as the bucket"));
        }
        let prefix = prefix.trim_end_matches('/');
        let is_plain = Path::parse(prefix).is_ok_and(|path| path.as_ref() == prefix);
        if !is_plain || !prefix.chars().all(is_plain_symbol) {
            return Err(fail("the prefix in its URL has to be segments of A-Z a-z 0-9 _ . - with one / between them"));
        }
        Ok(Address { bucket: bucket.to_owned(), prefix: prefix.to_owned() })
    }

    /// As people write it.
    pub(crate) fn url(&self) -> String {
        match &*self.prefix {
            "" => format!("{SCHEME}{}", self.bucket),
            prefix => format!("{SCHEME}{}/{prefix}", self.bucket),
        }
    }
}

/// What others would have to escape is left out, so that a key reads the same everywhere.
fn is_plain_symbol(symbol: char) -> bool {
    symbol.is_ascii_alphanumeric() || matches!(symbol, '_' | '.' | '-' | '/')
}

fn is_bucket(bucket: &str) -> bool {
    let is_symbol = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'-');
    (3..=63).contains(&bucket.len()) && bucket.bytes().all(is_symbol)
}

/// A URL that could not be read, without what may be a password.
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
    fn an_address_is_a_bucket_and_perhaps_a_prefix() {
        for (url, bucket, prefix) in [
            ("s3://team", "team", ""),
            ("s3://team/", "team", ""),
            ("s3://team/uwf", "team", "uwf"),
            ("s3://my.team-1/a/b_c/", "my.team-1", "a/b_c"),
        ] {
            let address = Address::parse(url).unwrap();
            assert_eq!((&*address.bucket, &*address.prefix), (bucket, prefix), "{url}");
            assert_eq!(address.url(), url.trim_end_matches('/'));
        }
    }

    #[test]
    fn a_url_that_lacks_something_is_told_what() {
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
        ] {
            let error = Address::parse(url).unwrap_err();
            assert!(error.message.contains(told), "{url}: {error}");
            assert_eq!(error.fault, RemoteFault::Misnamed);
        }
    }

    #[test]
    fn keys_in_a_url_are_refused_and_not_repeated() {
        for url in ["s3://AKIA:hush@team/uwf", "s3://AKIA:hush@team?x=hush", "http://AKIA:hush@team", "AKIA:hush@team"]
        {
            let told = format!("{0} {0:?}", Address::parse(url).unwrap_err());
            assert!(!told.contains("hush") && !told.contains("AKIA"), "{told}");
        }
    }
}
