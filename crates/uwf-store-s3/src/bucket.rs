//! Requests to a bucket, with retries where they are safe, and errors in the store's terms.

use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use json_cas::{RemoteError, RemoteFault, count_store_request};
use object_store::list::PaginatedListOptions;
use object_store::path::Path;
use object_store::{Error, GetOptions, ObjectMeta, ObjectStoreExt, PutMode, PutOptions, PutPayload};

use crate::address::BucketAddress;
use crate::client::BucketClient;
use crate::failure::{self, BucketFailure};
use crate::provider::BucketProvider;
use crate::tag::ObjectTag;
use crate::transport::BucketTransport;
use crate::wait::wait_for;

/// Attempts at a request that fails for a temporary reason. If a server fails one call in ten, one call in ten million still fails. A
/// server that restarts within three seconds goes unnoticed, because the pauses take three to six seconds.
const TRIES: u32 = 7;

/// No attempt starts later than this after the first one, if a server is slow to answer.
const TRY_FOR: Duration = Duration::from_secs(10);

/// The pause after the first attempt; it doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// An object that was read.
#[derive(Debug, Clone)]
pub(crate) struct BucketObject {
    pub(crate) bytes: Vec<u8>,
    pub(crate) tag: ObjectTag,
    pub(crate) modified: SystemTime,
}

/// An object without its bytes, as listings and HEAD requests report it.
#[derive(Debug, Clone)]
pub(crate) struct ListedObject {
    /// Relative to the prefix of the store.
    pub(crate) key: String,
    pub(crate) tag: ObjectTag,
    pub(crate) size: u64,
    pub(crate) modified: SystemTime,
}

/// The outcome of a conditional write.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub(crate) enum BucketWriteOutcome {
    /// The object was written.
    Done {
        /// The object's new tag.
        tag: ObjectTag,
    },
    /// The condition did not hold.
    Refused {
        /// Whether an earlier attempt of the same write had no answer, so that this very write may have made the condition fail.
        doubt: bool,
    },
}

/// The answer to a request that the server understood.
enum BucketAnswer<T> {
    Given(T),
    Absent,
    Refused { doubt: bool },
}

/// The store's part of a bucket. It is never printed, because the client has the keys.
pub(crate) struct StoreBucket {
    client: Box<dyn BucketClient>,
    pub(crate) transport: Arc<BucketTransport>,
    address: BucketAddress,
    made_at: OnceLock<SystemTime>,
}

impl StoreBucket {
    pub(crate) fn new(
        client: Box<dyn BucketClient>,
        transport: Arc<BucketTransport>,
        address: BucketAddress,
    ) -> StoreBucket {
        StoreBucket { client, transport, address, made_at: OnceLock::new() }
    }

    /// When the store was initialized, by the server's clock; `None` if this process did it.
    pub(crate) fn made_at(&self) -> Option<SystemTime> {
        self.made_at.get().copied()
    }

    /// Remembers when the store was initialized.
    pub(crate) fn was_made_at(&self, time: SystemTime) {
        let _ = self.made_at.set(time);
    }

    /// The provider of the bucket.
    pub(crate) fn provider(&self) -> BucketProvider {
        self.address.provider
    }

    fn tag(&self, etag: Option<String>, version: Option<String>) -> ObjectTag {
        ObjectTag::new(etag, version.filter(|_| self.provider().has_generations()))
    }

    /// The store's URL, for messages.
    pub(crate) fn name(&self) -> String {
        self.address.url()
    }

    fn full(&self, key: &str) -> String {
        match &*self.address.prefix {
            "" => key.to_owned(),
            prefix => format!("{prefix}/{key}"),
        }
    }

    /// Keys consist of names and hashes, whose symbols need no escaping in a path.
    fn path(&self, key: &str) -> Path {
        Path::from(self.full(key))
    }

    /// An error about this store.
    pub(crate) fn error(&self, fault: RemoteFault, message: impl Into<String>) -> RemoteError {
        RemoteError { store: self.name(), fault, message: message.into(), source: None }
    }

    fn no_bucket(&self) -> String {
        format!("the {} {} does not exist", self.provider().container(), self.address.bucket)
    }

    fn failed(&self, action: &str, key: &str, failure: &BucketFailure) -> RemoteError {
        let message = match failure.fault() {
            RemoteFault::Missing => self.no_bucket(),
            _ => format!("cannot {action} {key}: {failure}"),
        };
        self.error(failure.fault(), message)
    }

    /// Repeats a request until it has an answer, or until a retry is useless.
    fn tried<T>(
        &self,
        action: &str,
        key: &str,
        request: impl Fn() -> object_store::Result<T>,
    ) -> Result<BucketAnswer<T>, RemoteError> {
        let started = Instant::now();
        let mut number = 1;
        loop {
            let doubt = number > 1;
            let answer = request();
            let is_answer = |error: &Error| {
                matches!(
                    error,
                    Error::NotFound { .. }
                        | Error::Precondition { .. }
                        | Error::AlreadyExists { .. }
                        | Error::NotModified { .. }
                )
            };
            count_store_request(answer.as_ref().err().is_none_or(is_answer));
            let failure = match answer {
                Ok(given) => return Ok(BucketAnswer::Given(given)),
                Err(Error::NotFound { .. }) => return Ok(BucketAnswer::Absent),
                Err(Error::Precondition { .. } | Error::AlreadyExists { .. } | Error::NotModified { .. }) => {
                    return Ok(BucketAnswer::Refused { doubt });
                }
                Err(error) => failure::inside(&error),
            };
            if !failure.may_pass() || number == TRIES || started.elapsed() > TRY_FOR {
                return Err(self.failed(action, key, &failure));
            }
            // Half of the pause is random, so that conflicting callers don't conflict again.
            thread::sleep(FIRST_PAUSE.mul_f64(f64::from(1 << (number - 1)) * (0.5 + fastrand::f64() / 2.0)));
            number += 1;
        }
    }

    /// The answer to an unconditional request: here, a failed condition is an error of the server.
    fn certain<T>(&self, action: &str, key: &str, answer: BucketAnswer<T>) -> Result<Option<T>, RemoteError> {
        match answer {
            BucketAnswer::Given(given) => Ok(Some(given)),
            BucketAnswer::Absent => Ok(None),
            BucketAnswer::Refused { .. } => {
                let message = "the server refused it for a condition that was not set".to_owned();
                let failure = BucketFailure::Refused { status: 412, code: String::new(), message };
                Err(self.failed(action, key, &failure))
            }
        }
    }

    pub(crate) fn get(&self, key: &str) -> Result<Option<BucketObject>, RemoteError> {
        let path = self.path(key);
        let read = || {
            let found = wait_for(self.client.objects().get_opts(&path, GetOptions::default()))?;
            let meta = found.meta.clone();
            let (tag, modified) = (self.tag(meta.e_tag, meta.version), meta.last_modified.into());
            Ok(BucketObject { bytes: wait_for(found.bytes())?.to_vec(), tag, modified })
        };
        let answer = self.tried("read", key, read)?;
        self.certain("read", key, answer)
    }

    pub(crate) fn look_at(&self, key: &str) -> Result<Option<ListedObject>, RemoteError> {
        let path = self.path(key);
        let answer = self.tried("look at", key, || wait_for(self.client.objects().head(&path)))?;
        let found = self.certain("look at", key, answer)?;
        Ok(found.and_then(|meta| self.listed(meta)))
    }

    fn put(&self, key: &str, bytes: &[u8], mode: &PutMode) -> Result<BucketWriteOutcome, RemoteError> {
        let path = self.path(key);
        let write = || {
            let options = PutOptions { mode: mode.clone(), ..PutOptions::default() };
            wait_for(self.client.objects().put_opts(&path, PutPayload::from(bytes.to_vec()), options))
        };
        match self.tried("write", key, write)? {
            BucketAnswer::Given(put) => Ok(BucketWriteOutcome::Done { tag: self.tag(put.e_tag, put.version) }),
            // The object must exist for this write, but doesn't.
            BucketAnswer::Absent => Ok(BucketWriteOutcome::Refused { doubt: false }),
            BucketAnswer::Refused { doubt } => Ok(BucketWriteOutcome::Refused { doubt }),
        }
    }

    /// Writes an object if the key is unused.
    pub(crate) fn create(&self, key: &str, bytes: &[u8]) -> Result<BucketWriteOutcome, RemoteError> {
        self.put(key, bytes, &PutMode::Create)
    }

    /// Writes an object if the existing one has this tag.
    pub(crate) fn update(&self, key: &str, tag: &ObjectTag, bytes: &[u8]) -> Result<BucketWriteOutcome, RemoteError> {
        if self.provider().has_generations() && !tag.has_generation() {
            // The tag comes from another kind of store, so no object here can have it.
            return Ok(BucketWriteOutcome::Refused { doubt: false });
        }
        self.put(key, bytes, &PutMode::Update(tag.condition()))
    }

    /// Writes an object unconditionally and returns its tag.
    pub(crate) fn overwrite(&self, key: &str, bytes: &[u8]) -> Result<ObjectTag, RemoteError> {
        match self.put(key, bytes, &PutMode::Overwrite)? {
            BucketWriteOutcome::Done { tag } => Ok(tag),
            BucketWriteOutcome::Refused { .. } => {
                self.certain("write", key, BucketAnswer::Refused { doubt: false }).map(Option::unwrap_or_default)
            }
        }
    }

    /// Deletes an object, if it exists.
    pub(crate) fn delete(&self, key: &str) -> Result<(), RemoteError> {
        self.delete_while(key, || true).map(|_| ())
    }

    /// Like [`StoreBucket::delete`], but checks before each attempt whether deleting is still allowed. `false` if it is not.
    pub(crate) fn delete_while(&self, key: &str, may_be: impl Fn() -> bool) -> Result<bool, RemoteError> {
        let path = self.path(key);
        let delete = || if may_be() { self.client.delete(&path).map(|()| true) } else { Ok(false) };
        let answer = self.tried("delete", key, delete)?;
        Ok(self.certain("delete", key, answer)?.unwrap_or(true))
    }

    /// All objects with this key prefix, sorted by key.
    pub(crate) fn list(&self, begin: &str) -> Result<Vec<ListedObject>, RemoteError> {
        Ok(self.list_pages(begin, usize::MAX)?.unwrap_or_default())
    }

    /// Like [`StoreBucket::list`]; `None` if there are more pages than `pages`.
    pub(crate) fn list_pages(&self, begin: &str, pages: usize) -> Result<Option<Vec<ListedObject>>, RemoteError> {
        let mut all = Vec::new();
        let mut token = None;
        for _ in 0..pages {
            let (page, next) = self.page(begin, token, None)?;
            all.extend(page);
            if next.is_none() {
                all.sort_unstable_by(|a, b| a.key.cmp(&b.key));
                return Ok(Some(all));
            }
            token = next;
        }
        Ok(None)
    }

    /// At most `most` objects with this key prefix.
    pub(crate) fn list_some(&self, begin: &str, most: usize) -> Result<Vec<ListedObject>, RemoteError> {
        Ok(self.page(begin, None, Some(most))?.0)
    }

    fn page(
        &self,
        begin: &str,
        token: Option<String>,
        most: Option<usize>,
    ) -> Result<(Vec<ListedObject>, Option<String>), RemoteError> {
        let full = self.full(begin);
        let options = PaginatedListOptions { page_token: token, max_keys: most, ..PaginatedListOptions::default() };
        let request = || wait_for(self.client.lists().list_paginated(Some(&full), options.clone()));
        let answer = self.tried("list", begin, request)?;
        let Some(page) = self.certain("list", begin, answer)? else {
            return Err(self.error(RemoteFault::Missing, self.no_bucket()));
        };
        Ok((page.result.objects.into_iter().filter_map(|meta| self.listed(meta)).collect(), page.page_token))
    }

    fn listed(&self, meta: ObjectMeta) -> Option<ListedObject> {
        let location = meta.location.as_ref();
        let key = match &*self.address.prefix {
            "" => location,
            prefix => location.strip_prefix(prefix)?.strip_prefix('/')?,
        };
        Some(ListedObject {
            key: key.to_owned(),
            tag: self.tag(meta.e_tag, meta.version),
            size: meta.size,
            modified: meta.last_modified.into(),
        })
    }
}
