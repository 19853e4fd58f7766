//! Requests to a bucket, tried again where that is right, and errors as the store tells them.

use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use json_cas::{RemoteError, RemoteFault};
use object_store::list::PaginatedListOptions;
use object_store::path::Path;
use object_store::{Error, GetOptions, ObjectMeta, ObjectStoreExt, PutMode, PutOptions, PutPayload};

use crate::address::Address;
use crate::client::Client;
use crate::failure::{self, Failure};
use crate::provider::Provider;
use crate::tag::Tag;
use crate::transport::Transport;
use crate::wait::wait_for;

/// How often a request is made that fails for a reason that may pass. With a server that fails one call in ten, one in ten million
/// fails for good; a server that starts anew in three seconds is not missed, as the pauses take three to six.
const TRIES: u32 = 7;

/// How long after the first try still another one is begun, where a server takes long to answer.
const TRY_FOR: Duration = Duration::from_secs(10);

/// The pause after the first try; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// An object that was read.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) bytes: Vec<u8>,
    pub(crate) tag: Tag,
    pub(crate) modified: SystemTime,
}

/// An object as a listing or a look at it gives it.
#[derive(Debug, Clone)]
pub(crate) struct Listed {
    /// Below the prefix of the store.
    pub(crate) key: String,
    pub(crate) tag: Tag,
    pub(crate) size: u64,
    pub(crate) modified: SystemTime,
}

/// How a conditional write ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub(crate) enum Written {
    /// It was made.
    Done {
        /// The object has this tag now.
        tag: Tag,
    },
    /// The condition did not hold.
    Refused {
        /// An earlier try of the same write had no answer, so that it may be this very write that stands in the way.
        doubt: bool,
    },
}

/// What a request came to that the server understood.
enum Answer<T> {
    Given(T),
    Absent,
    Refused { doubt: bool },
}

/// The part of a bucket that is the store's. It is never printed: the client has the keys.
pub(crate) struct Bucket {
    client: Box<dyn Client>,
    pub(crate) transport: Arc<Transport>,
    address: Address,
    made_at: OnceLock<SystemTime>,
}

impl Bucket {
    pub(crate) fn new(client: Box<dyn Client>, transport: Arc<Transport>, address: Address) -> Bucket {
        Bucket { client, transport, address, made_at: OnceLock::new() }
    }

    /// When the store was made ready, by the server's clock; `None` when this process did so.
    pub(crate) fn made_at(&self) -> Option<SystemTime> {
        self.made_at.get().copied()
    }

    /// Notes when it was.
    pub(crate) fn was_made_at(&self, time: SystemTime) {
        let _ = self.made_at.set(time);
    }

    /// Whose bucket it is.
    pub(crate) fn provider(&self) -> Provider {
        self.address.provider
    }

    fn tag(&self, etag: Option<String>, version: Option<String>) -> Tag {
        Tag::new(etag, version.filter(|_| self.provider().has_generations()))
    }

    /// The store, for people.
    pub(crate) fn name(&self) -> String {
        self.address.url()
    }

    fn full(&self, key: &str) -> String {
        match &*self.address.prefix {
            "" => key.to_owned(),
            prefix => format!("{prefix}/{key}"),
        }
    }

    /// Keys are made of names and hashes, whose symbols mean themselves in a path.
    fn path(&self, key: &str) -> Path {
        Path::from(self.full(key))
    }

    /// An error of the store.
    pub(crate) fn error(&self, fault: RemoteFault, message: impl Into<String>) -> RemoteError {
        RemoteError { store: self.name(), fault, message: message.into(), source: None }
    }

    fn no_bucket(&self) -> String {
        format!("there is no {} {}", self.provider().container(), self.address.bucket)
    }

    fn failed(&self, action: &str, key: &str, failure: &Failure) -> RemoteError {
        let message = match failure.fault() {
            RemoteFault::Missing => self.no_bucket(),
            _ => format!("cannot {action} {key}: {failure}"),
        };
        self.error(failure.fault(), message)
    }

    /// Makes a request until it has an answer, or no further try is worth it.
    fn tried<T>(
        &self,
        action: &str,
        key: &str,
        request: impl Fn() -> object_store::Result<T>,
    ) -> Result<Answer<T>, RemoteError> {
        let started = Instant::now();
        let mut number = 1;
        loop {
            let doubt = number > 1;
            let failure = match request() {
                Ok(given) => return Ok(Answer::Given(given)),
                Err(Error::NotFound { .. }) => return Ok(Answer::Absent),
                Err(Error::Precondition { .. } | Error::AlreadyExists { .. } | Error::NotModified { .. }) => {
                    return Ok(Answer::Refused { doubt });
                }
                Err(error) => failure::inside(&error),
            };
            if !failure.may_pass() || number == TRIES || started.elapsed() > TRY_FOR {
                return Err(self.failed(action, key, &failure));
            }
            // Half of it by chance, so that those who met do not meet again.
            thread::sleep(FIRST_PAUSE.mul_f64(f64::from(1 << (number - 1)) * (0.5 + fastrand::f64() / 2.0)));
            number += 1;
        }
    }

    /// Where only an error is no answer.
    fn certain<T>(&self, action: &str, key: &str, answer: Answer<T>) -> Result<Option<T>, RemoteError> {
        match answer {
            Answer::Given(given) => Ok(Some(given)),
            Answer::Absent => Ok(None),
            Answer::Refused { .. } => {
                let told = "the server refused it for a condition that was not set".to_owned();
                let failure = Failure::Refused { status: 412, code: String::new(), told };
                Err(self.failed(action, key, &failure))
            }
        }
    }

    pub(crate) fn get(&self, key: &str) -> Result<Option<Found>, RemoteError> {
        let path = self.path(key);
        let read = || {
            let found = wait_for(self.client.objects().get_opts(&path, GetOptions::default()))?;
            let meta = found.meta.clone();
            let (tag, modified) = (self.tag(meta.e_tag, meta.version), meta.last_modified.into());
            Ok(Found { bytes: wait_for(found.bytes())?.to_vec(), tag, modified })
        };
        let answer = self.tried("read", key, read)?;
        self.certain("read", key, answer)
    }

    pub(crate) fn look_at(&self, key: &str) -> Result<Option<Listed>, RemoteError> {
        let path = self.path(key);
        let answer = self.tried("look at", key, || wait_for(self.client.objects().head(&path)))?;
        let found = self.certain("look at", key, answer)?;
        Ok(found.and_then(|meta| self.listed(meta)))
    }

    fn put(&self, key: &str, bytes: &[u8], mode: &PutMode) -> Result<Written, RemoteError> {
        let path = self.path(key);
        let write = || {
            let options = PutOptions { mode: mode.clone(), ..PutOptions::default() };
            wait_for(self.client.objects().put_opts(&path, PutPayload::from(bytes.to_vec()), options))
        };
        match self.tried("write", key, write)? {
            Answer::Given(put) => Ok(Written::Done { tag: self.tag(put.e_tag, put.version) }),
            // A write of what must be there, and is not.
            Answer::Absent => Ok(Written::Refused { doubt: false }),
            Answer::Refused { doubt } => Ok(Written::Refused { doubt }),
        }
    }

    /// Writes an object if there is none.
    pub(crate) fn create(&self, key: &str, bytes: &[u8]) -> Result<Written, RemoteError> {
        self.put(key, bytes, &PutMode::Create)
    }

    /// Writes an object if the one that is there has this tag.
    pub(crate) fn update(&self, key: &str, tag: &Tag, bytes: &[u8]) -> Result<Written, RemoteError> {
        if self.provider().has_generations() && !tag.has_generation() {
            // Of another store: it was never here.
            return Ok(Written::Refused { doubt: false });
        }
        self.put(key, bytes, &PutMode::Update(tag.condition()))
    }

    /// Writes an object whatever is there; the tag it has then.
    pub(crate) fn overwrite(&self, key: &str, bytes: &[u8]) -> Result<Tag, RemoteError> {
        match self.put(key, bytes, &PutMode::Overwrite)? {
            Written::Done { tag } => Ok(tag),
            Written::Refused { .. } => {
                self.certain("write", key, Answer::Refused { doubt: false }).map(Option::unwrap_or_default)
            }
        }
    }

    /// Deletes an object, if there is one.
    pub(crate) fn delete(&self, key: &str) -> Result<(), RemoteError> {
        self.delete_while(key, || true).map(|_| ())
    }

    /// The same, and before each try it is asked whether it still may be. `false` when it may not.
    pub(crate) fn delete_while(&self, key: &str, may_be: impl Fn() -> bool) -> Result<bool, RemoteError> {
        let path = self.path(key);
        let delete = || if may_be() { self.client.delete(&path).map(|()| true) } else { Ok(false) };
        let answer = self.tried("delete", key, delete)?;
        Ok(self.certain("delete", key, answer)?.unwrap_or(true))
    }

    /// All objects whose keys begin like this, sorted by key.
    pub(crate) fn list(&self, begin: &str) -> Result<Vec<Listed>, RemoteError> {
        Ok(self.list_pages(begin, usize::MAX)?.unwrap_or_default())
    }

    /// The same, unless there are more pages than so many.
    pub(crate) fn list_pages(&self, begin: &str, pages: usize) -> Result<Option<Vec<Listed>>, RemoteError> {
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

    /// A few of the objects whose keys begin like this.
    pub(crate) fn list_some(&self, begin: &str, most: usize) -> Result<Vec<Listed>, RemoteError> {
        Ok(self.page(begin, None, Some(most))?.0)
    }

    fn page(
        &self,
        begin: &str,
        token: Option<String>,
        most: Option<usize>,
    ) -> Result<(Vec<Listed>, Option<String>), RemoteError> {
        let full = self.full(begin);
        let options = PaginatedListOptions { page_token: token, max_keys: most, ..PaginatedListOptions::default() };
        let request = || wait_for(self.client.lists().list_paginated(Some(&full), options.clone()));
        let answer = self.tried("list", begin, request)?;
        let Some(page) = self.certain("list", begin, answer)? else {
            return Err(self.error(RemoteFault::Missing, self.no_bucket()));
        };
        Ok((page.result.objects.into_iter().filter_map(|meta| self.listed(meta)).collect(), page.page_token))
    }

    fn listed(&self, meta: ObjectMeta) -> Option<Listed> {
        let location = meta.location.as_ref();
        let key = match &*self.address.prefix {
            "" => location,
            prefix => location.strip_prefix(prefix)?.strip_prefix('/')?,
        };
        Some(Listed {
            key: key.to_owned(),
            tag: self.tag(meta.e_tag, meta.version),
            size: meta.size,
            modified: meta.last_modified.into(),
        })
    }
}
