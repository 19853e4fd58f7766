//! The store as a whole: opening, initializing and first use.

use std::fmt;
use std::sync::{Arc, OnceLock};

use json_cas::RemoteError;
use parking_lot::Mutex;

use crate::address::BucketAddress;
use crate::bucket::StoreBucket;
use crate::environment::{BucketEnvironment, Trouble};
use crate::format;
use crate::leases::BucketLeases;
use crate::name::NameLifeState;
use crate::past::NameHistory;
use crate::requests::RequestCounts;
use crate::seen::TaggedCache;
use crate::transport::{BucketTransport, TransportConnector};

/// Nodes, heads and the journal in a bucket.
///
/// The store is cheap to create and to clone, and contacts no server until it is used. Every call blocks its thread, and any number of
/// threads may call at once. In asynchronous code, call it where blocking is allowed.
#[derive(Clone)]
pub struct S3Store {
    pub(crate) inner: Arc<S3StoreInner>,
}

pub(crate) struct S3StoreInner {
    address: BucketAddress,
    name: String,
    environment: BucketEnvironment,
    bucket: Mutex<Option<Arc<StoreBucket>>>,
    /// Set once the store was found to exist and to have our format.
    ready: OnceLock<()>,
    pub(crate) heads_seen: TaggedCache<NameLifeState>,
    pub(crate) past_seen: TaggedCache<NameHistory>,
    pub(crate) leases: Arc<BucketLeases>,
}

impl fmt::Debug for S3Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("S3Store").field(&self.inner.name).finish()
    }
}

impl S3Store {
    /// The store at `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX` or `az://CONTAINER/PREFIX`. Keys, region, account and endpoint come from
    /// the environment and the files of the provider's tools, which are read on first use.
    ///
    /// # Errors
    /// If the URL is incomplete or invalid.
    pub fn open(url: &str) -> Result<S3Store, RemoteError> {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        S3Store::open_with(url, std::env::vars_os().filter_map(text))
    }

    /// Like [`S3Store::open`], but with these variables, not the ones of this process: `AWS_…`, `GOOGLE_…`, `AZURE_…`, `HOME`,
    /// `SSL_CERT_FILE`.
    pub fn open_with(
        url: &str,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<S3Store, RemoteError> {
        let address = BucketAddress::parse(url)?;
        let inner = S3StoreInner {
            name: address.url(),
            address,
            environment: BucketEnvironment::new(environment),
            bucket: Mutex::default(),
            ready: OnceLock::new(),
            heads_seen: TaggedCache::default(),
            past_seen: TaggedCache::default(),
            leases: Arc::default(),
        };
        Ok(S3Store { inner: Arc::new(inner) })
    }

    /// The store's URL.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Initializes the store and tests whether the server does what a store needs. `true` if the store was not initialized before.
    /// Repeating it is harmless, even on several machines at once. The bucket must exist.
    ///
    /// # Errors
    /// [`RemoteFault::Unfit`](json_cas::RemoteFault::Unfit) if the server does not honour conditional writes;
    /// [`RemoteFault::Foreign`](json_cas::RemoteFault::Foreign) if the prefix contains something else.
    pub fn init(&self) -> Result<bool, RemoteError> {
        let bucket = self.inner.bucket()?;
        let was_made = format::init(&bucket)?;
        let _ = self.inner.ready.set(());
        Ok(was_made)
    }

    /// Requests sent so far by this value and its clones.
    pub fn requests(&self) -> RequestCounts {
        let bucket = self.inner.bucket.lock();
        bucket.as_ref().map(|bucket| bucket.transport.counted.so_far()).unwrap_or_default()
    }

    /// The bucket, once it is known to contain a store of our format.
    pub(crate) fn ready(&self) -> Result<Arc<StoreBucket>, RemoteError> {
        self.inner.ready()
    }
}

impl S3StoreInner {
    fn bucket(&self) -> Result<Arc<StoreBucket>, RemoteError> {
        let mut bucket = self.bucket.lock();
        if let Some(bucket) = &*bucket {
            return Ok(Arc::clone(bucket));
        }
        let trouble =
            |(fault, message): Trouble| RemoteError { store: self.name.clone(), fault, message, source: None };
        let (provider, environment) = (self.address.provider, &self.environment);
        let roots = environment.roots().map_err(trouble)?;
        let transport = Arc::new(BucketTransport::new(roots, provider.key_servers(environment)));
        let wire = TransportConnector(Arc::clone(&transport));
        let client = provider.client(environment, &self.address.bucket, wire).map_err(trouble)?;
        let made = Arc::new(StoreBucket::new(client, transport, self.address.clone()));
        *bucket = Some(Arc::clone(&made));
        Ok(made)
    }

    pub(crate) fn ready(&self) -> Result<Arc<StoreBucket>, RemoteError> {
        let bucket = self.bucket()?;
        if self.ready.get().is_none() {
            format::check(&bucket)?;
            let _ = self.ready.set(());
        }
        Ok(bucket)
    }
}
