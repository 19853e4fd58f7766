//! `store`: the store of nodes and heads, if several machines share them.

use std::fmt;
use std::time::Duration;

use super::keys::{AMAZON_KEYS, AZURE_KEYS, GOOGLE_KEYS, POSTGRES_KEYS};

/// How long a machine with a step may be silent before another machine takes over. It is long enough for a short outage of the store, and a
/// short wait if the machine is dead.
pub(crate) const DEFAULT_LEASE: Duration = Duration::from_mins(1);

/// The longest lease, and the longest that uwf accepts from another machine. If that machine dies, its step and `gc` wait this long.
pub const LONGEST_LEASE: Duration = Duration::from_hours(1);

/// The shortest lease. A machine that cannot renew its lease needs some seconds to end its agent before the lease expires.
pub(super) const SHORTEST_LEASE: Duration = Duration::from_secs(10);

/// The kind of store that a URL names by its scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreKind {
    /// `s3://bucket/prefix`, `gs://bucket/prefix`, `az://container/prefix`: objects in a bucket.
    Bucket,
    /// `postgres://host/database`.
    Postgres,
}

/// The URL of a shared store, without a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreUrl {
    kind: StoreKind,
    text: String,
}

/// URL schemes and their kinds of store; tools of Google and Azure write several.
const SCHEMES: [(&str, StoreKind); 9] = [
    ("s3://", StoreKind::Bucket),
    ("gs://", StoreKind::Bucket),
    ("gcs://", StoreKind::Bucket),
    ("az://", StoreKind::Bucket),
    ("azure://", StoreKind::Bucket),
    ("abfs://", StoreKind::Bucket),
    ("abfss://", StoreKind::Bucket),
    ("postgres://", StoreKind::Postgres),
    ("postgresql://", StoreKind::Postgres),
];

/// The valid forms of a URL.
const FORMS: &str = "s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX or postgres://HOST/DATABASE";

impl StoreUrl {
    /// Parses a URL.
    pub fn parse(text: &str) -> Result<StoreUrl, String> {
        let found = SCHEMES.iter().find_map(|(scheme, kind)| Some((*kind, text.strip_prefix(scheme)?)));
        let Some((kind, rest)) = found else {
            return Err(format!("a store is {FORMS}"));
        };
        let before_host = rest.rsplit_once('@').map_or("", |(user, _)| user);
        // `sig=` is part of an Azure SAS token.
        if before_host.contains(':') || rest.contains("password=") || rest.contains("sig=") {
            return Err(match kind {
                StoreKind::Postgres => "don't put a password into the URL: set PGPASSWORD or PGPASSFILE",
                StoreKind::Bucket => "don't put keys into the URL: set them in the environment or a profile",
            }
            .to_owned());
        }
        if text.contains(|symbol: char| symbol.is_whitespace() || symbol.is_control()) || rest.is_empty() {
            return Err("the URL names no store: it has white space, or nothing after `://`".to_owned());
        }
        Ok(StoreUrl { kind, text: text.to_owned() })
    }

    /// The kind of store.
    #[must_use]
    pub fn kind(&self) -> StoreKind {
        self.kind
    }

    /// Variables with the keys of such a store, or their location. No agent gets one unless its `env` names it.
    #[must_use]
    pub fn key_variables(&self) -> &'static [&'static str] {
        match self.kind {
            StoreKind::Postgres => &POSTGRES_KEYS,
            StoreKind::Bucket if self.text.starts_with('g') => &GOOGLE_KEYS,
            StoreKind::Bucket if self.text.starts_with('a') => &AZURE_KEYS,
            StoreKind::Bucket => &AMAZON_KEYS,
        }
    }

    /// The URL.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::keys::is_store_key;

    #[test]
    fn a_store_has_the_keys_of_its_provider() {
        let keys = |text: &str| StoreUrl::parse(text).unwrap().key_variables();
        for (text, key) in [
            ("s3://bucket/uwf", "AWS_SECRET_ACCESS_KEY"),
            ("gcs://bucket/uwf", "GOOGLE_APPLICATION_CREDENTIALS"),
            ("abfss://container/uwf", "AZURE_STORAGE_KEY"),
            ("postgresql://ann@db/uwf", "PGPASSWORD"),
        ] {
            assert!(keys(text).contains(&key) && is_store_key(key), "{text}");
        }
        assert!(!is_store_key("GOOGLE_API_KEY") && !is_store_key("AWS_REGION"));
    }

    #[test]
    fn urls_name_stores_and_hold_no_password() {
        for (text, kind) in [
            ("s3://bucket", StoreKind::Bucket),
            ("s3://bucket/team/uwf", StoreKind::Bucket),
            ("gs://bucket/uwf", StoreKind::Bucket),
            ("gcs://bucket/uwf", StoreKind::Bucket),
            ("az://container/uwf", StoreKind::Bucket),
            ("abfss://container/uwf", StoreKind::Bucket),
            ("postgres://ann@db:5433/uwf?sslmode=require", StoreKind::Postgres),
            ("postgresql:///uwf?host=/run/postgresql", StoreKind::Postgres),
        ] {
            assert_eq!(StoreUrl::parse(text).map(|url| url.kind()), Ok(kind), "{text}");
        }
        for text in [
            "",
            "bucket",
            "s3://",
            "file:///tmp/x",
            "s3://a b",
            "https://me.blob.core.windows.net/container",
            "az://container/uwf?sv=2021-12-02&sig=secret",
            "s3://AKIA:secret@bucket/uwf",
            "postgres://ann:secret@db/uwf",
            "postgres://ann:my secret@db/uwf",
            "postgres://ann:pa/ss-secret@db/uwf",
            "postgres://db/uwf?user=ann&password=secret",
        ] {
            let why = StoreUrl::parse(text).unwrap_err();
            assert!(!why.contains("secret"), "{why}");
        }
    }
}
