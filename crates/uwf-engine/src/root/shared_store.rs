//! Nodes and heads in a store that several machines share, instead of files of the storage root.
//!
//! An environment variable and the configuration name the store. uwf contacts it only to read or write, so commands
//! about the configuration work even if the store does not.

mod unusable;

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use durable_files::regular;

use json_cas::{
    CachedObjects, HeadBackend, Node, NoteBackend, ObjectBackend, RemoteError, RemoteFault, RemovalJournal,
};
use uwf_core::config::{StoreKind, StoreUrl, UwfConfig};

use self::unusable::UnusableStore;
use crate::error::is_damage;
use crate::root::broker_link::{BrokerLink, BrokerStore};

/// Variable that names the store; takes precedence over the configuration.
const STORE_VARIABLE: &str = "UWF_STORE_URL";

/// The store of a root that does not use its own files.
#[derive(Clone)]
pub struct SharedStore {
    name: String,
    pub(super) objects: Arc<dyn ObjectBackend>,
    pub(super) heads: Arc<dyn HeadBackend>,
    pub(super) journal: Arc<dyn RemovalJournal>,
    pub(super) notes: Arc<dyn NoteBackend>,
    init: Arc<dyn Fn() -> Result<bool, RemoteError> + Send + Sync>,
    unusable: Option<Arc<UnusableStore>>,
    url: Option<StoreUrl>,
    broker: Option<Arc<BrokerLink>>,
}

impl SharedStore {
    /// The store that the environment or the configuration names for a root; `None` for files of the root. If the name
    /// is not valid, returns a store that fails with the reason.
    pub(super) fn open_configured(config_file: &Path, cache: &Path) -> Option<SharedStore> {
        match named(config_file) {
            Ok(url) => url.map(|url| SharedStore::open(&url, cache)),
            Err(unusable) => Some(SharedStore::over(unusable)),
        }
    }

    /// The store at a URL, with a cache directory for nodes that were read.
    pub fn open(url: &StoreUrl, cache: &Path) -> SharedStore {
        let store = match url.kind() {
            StoreKind::Bucket => bucket(url),
            StoreKind::Postgres => postgres(url),
        };
        match store {
            Ok(store) => {
                // The content of one store says nothing about another.
                let own = cache.join(json_cas::xxh64(store.name.as_bytes()).to_string());
                let objects = CachedObjects::new(Arc::clone(&store.objects), own, Node::has_hash);
                SharedStore { objects: Arc::new(objects), url: Some(url.clone()), ..store }
            }
            Err(error) => SharedStore::over(UnusableStore::new(&error.store, error.fault, error.message)),
        }
    }

    /// The same store for an agent's process: nodes and the head of its thread through a broker, and nothing else.
    pub(super) fn through(self, broker: BrokerLink) -> SharedStore {
        let broker = Arc::new(broker);
        let why = "the process of an agent does not get the keys of the store";
        let refusing = SharedStore::over(UnusableStore::new(&self.name, RemoteFault::Refused, why));
        SharedStore {
            objects: Arc::new(BrokerStore(Arc::clone(&broker))),
            heads: Arc::new(BrokerStore(Arc::clone(&broker))),
            broker: Some(broker),
            url: self.url,
            unusable: None,
            ..refusing
        }
    }

    /// A store that is already prepared for use, from its parts.
    pub fn of_parts(
        name: &str,
        objects: Arc<dyn ObjectBackend>,
        heads: Arc<dyn HeadBackend>,
        journal: Arc<dyn RemovalJournal>,
        notes: Arc<dyn NoteBackend>,
    ) -> SharedStore {
        let init = Arc::new(|| Ok(false));
        SharedStore {
            name: name.to_owned(),
            objects,
            heads,
            journal,
            notes,
            init,
            unusable: None,
            url: None,
            broker: None,
        }
    }

    fn over(unusable: UnusableStore) -> SharedStore {
        let unusable = Arc::new(unusable);
        let store = SharedStore::of_backend(unusable.name().to_owned(), &unusable, |unusable| Err(unusable.error()));
        SharedStore { unusable: Some(unusable), ..store }
    }

    fn of_backend<B>(name: String, backend: &Arc<B>, init: fn(&B) -> Result<bool, RemoteError>) -> SharedStore
    where
        B: ObjectBackend + HeadBackend + RemovalJournal + NoteBackend + 'static,
    {
        let of_init = Arc::clone(backend);
        let store = SharedStore::of_parts(&name, backend.clone(), backend.clone(), backend.clone(), backend.clone());
        SharedStore { init: Arc::new(move || init(&of_init)), ..store }
    }

    /// The URL that names it; `None` if it is not valid.
    pub(crate) fn url(&self) -> Option<&StoreUrl> {
        self.url.as_ref()
    }

    /// The link to the process that holds it for this one, if any.
    pub(crate) fn broker(&self) -> Option<&Arc<BrokerLink>> {
        self.broker.as_ref()
    }

    /// Why it cannot be used, if its name already shows that.
    pub(super) fn fault(&self) -> Option<RemoteError> {
        self.unusable.as_ref().map(|unusable| unusable.error())
    }

    /// Its URL.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Prepares the store for use; `false` if it already was. Safe to repeat.
    pub fn init(&self) -> Result<bool, RemoteError> {
        (self.init)()
    }
}

/// The URL from the environment or the configuration.
fn named(config_file: &Path) -> Result<Option<StoreUrl>, UnusableStore> {
    let misnamed = |by: &str, why: String| UnusableStore::new(&format!("that {by} names"), RemoteFault::Misnamed, why);
    if let Some(text) = std::env::var(STORE_VARIABLE).ok().filter(|text| !text.is_empty()) {
        return StoreUrl::parse(&text).map(Some).map_err(|why| misnamed(STORE_VARIABLE, why));
    }
    let name = || config_file.display().to_string();
    let bytes = match regular::read(config_file, regular::MAX_TEXT) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        // The nodes may be elsewhere, so don't assume that they are in this root.
        Err(error) if !is_damage(&error) => {
            let why = format!("cannot read {}: {error}", name());
            return Err(UnusableStore::new(&format!("that {} names", name()), RemoteFault::Failed, why));
        }
        other => other.unwrap_or_default(),
    };
    let text = String::from_utf8_lossy(&bytes);
    // Most roots have no shared store. Don't make them wait for parsing the configuration, and don't fail on its
    // errors.
    if !text.contains("store")
        || yaml_tree::parse(&text).is_ok_and(|root| root.is_none_or(|root| root.get("store").is_none()))
    {
        return Ok(None);
    }
    let (config, problems) = UwfConfig::parse(&text, &name());
    match problems.iter().find(|problem| problem.is_error()) {
        Some(problem) if config.store.is_none() => Err(misnamed(&name(), problem.to_string())),
        _ => Ok(config.store),
    }
}

#[cfg(feature = "s3")]
fn bucket(url: &StoreUrl) -> Result<SharedStore, RemoteError> {
    let store = uwf_store_s3::S3Store::open_with(url.as_str(), crate::root::received_keys::text_variables())?;
    Ok(SharedStore::of_backend(store.name().to_owned(), &Arc::new(store), uwf_store_s3::S3Store::init))
}

#[cfg(not(feature = "s3"))]
fn bucket(url: &StoreUrl) -> Result<SharedStore, RemoteError> {
    Err(not_built_in(url, "s3"))
}

#[cfg(feature = "postgres")]
fn postgres(url: &StoreUrl) -> Result<SharedStore, RemoteError> {
    let store =
        uwf_store_postgres::PostgresStore::open_with(url.as_str(), crate::root::received_keys::text_variables())?;
    Ok(SharedStore::of_backend(store.name().to_owned(), &Arc::new(store), uwf_store_postgres::PostgresStore::init))
}

#[cfg(not(feature = "postgres"))]
fn postgres(url: &StoreUrl) -> Result<SharedStore, RemoteError> {
    Err(not_built_in(url, "postgres"))
}

#[cfg(not(all(feature = "s3", feature = "postgres")))]
fn not_built_in(url: &StoreUrl, feature: &str) -> RemoteError {
    let message = format!("this uwf was built without such stores; `cargo install uwf --features {feature}` has them");
    RemoteError { store: url.to_string(), fault: RemoteFault::Misnamed, message, source: None }
}
