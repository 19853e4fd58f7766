//! Servers that tests start, on ports of their own, and stop.

use std::cell::Cell;

use uwf_store_s3::S3Store;
use uwf_testing::azurite::AzuriteServer;
use uwf_testing::bucket::BucketServer;
use uwf_testing::s3_server::{self, KEY_ID, S3Server, SECRET, environment};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// S3 in memory; takes any keys.
    Moto,
    /// S3 on the disk; knows one key.
    SeaweedFs,
    /// Azure in memory; knows one key.
    Azurite,
    /// The XML API of Google, played in this process: nothing that can be installed speaks it with its conditions.
    Google,
}

pub(crate) const ALL: [Kind; 4] = [Kind::Moto, Kind::SeaweedFs, Kind::Azurite, Kind::Google];

/// Those that compare a tag and store in one step, so that races can be run on them. moto takes two: of 200 moves by eight threads it lost
/// one at times.
pub(crate) const ATOMIC: [Kind; 3] = [Kind::SeaweedFs, Kind::Azurite, Kind::Google];

/// A server, ended when the value is dropped.
pub(crate) struct Server {
    running: Running,
    stores: Cell<u32>,
}

enum Running {
    S3(S3Server),
    Azurite(AzuriteServer),
    Google(BucketServer),
}

impl Server {
    pub(crate) fn start(kind: Kind) -> Server {
        let running = match kind {
            Kind::Moto => Running::S3(S3Server::start(s3_server::S3ServerKind::Moto)),
            Kind::SeaweedFs => Running::S3(S3Server::start(s3_server::S3ServerKind::SeaweedFs)),
            Kind::Azurite => Running::Azurite(AzuriteServer::start()),
            Kind::Google => Running::Google(BucketServer::start_google()),
        };
        Server { running, stores: Cell::new(0) }
    }

    pub(crate) fn endpoint(&self) -> String {
        match &self.running {
            Running::S3(server) => server.endpoint(),
            Running::Azurite(server) => server.endpoint(),
            Running::Google(server) => server.endpoint(),
        }
    }

    /// The URL of a store in the bucket there is.
    pub(crate) fn url(&self, store: &str) -> String {
        match &self.running {
            Running::S3(_) => format!("s3://team/{store}"),
            Running::Azurite(server) => server.url(store),
            Running::Google(server) => server.url(store),
        }
    }

    /// The path of an object in requests.
    pub(crate) fn path(&self, store: &S3Store, key: &str) -> String {
        let (_, place) = store.name().split_once("://").unwrap();
        match &self.running {
            Running::S3(_) | Running::Google(_) => format!("/{place}/{key}"),
            Running::Azurite(_) => format!("/{}/{place}/{key}", uwf_testing::azurite::ACCOUNT),
        }
    }

    /// What a process has in its environment that may use it.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        self.environment_at(&self.endpoint())
    }

    /// The same for a process that reaches it elsewhere.
    pub(crate) fn environment_at(&self, endpoint: &str) -> Vec<(String, String)> {
        match &self.running {
            Running::S3(_) => environment(endpoint, KEY_ID, SECRET),
            Running::Azurite(_) => AzuriteServer::variables_at(endpoint),
            Running::Google(_) => vec![("STORAGE_EMULATOR_HOST".to_owned(), endpoint.to_owned())],
        }
    }

    /// The store at a URL, as it is.
    pub(crate) fn store(&self, url: &str) -> S3Store {
        S3Store::open_with(url, self.environment()).unwrap()
    }

    /// A new one, ready.
    pub(crate) fn fresh(&self) -> S3Store {
        self.stores.set(self.stores.get() + 1);
        let store = self.store(&self.url(&format!("store-{}", self.stores.get())));
        assert!(store.init().unwrap(), "it was ready before");
        store
    }

    /// At once, as kill -9 does.
    pub(crate) fn kill(&mut self) {
        self.process().kill();
    }

    /// With what it had on its disk.
    pub(crate) fn restart(&mut self) {
        self.process().restart();
    }

    fn process(&mut self) -> &mut S3Server {
        match &mut self.running {
            Running::S3(process) => process,
            Running::Azurite(_) | Running::Google(_) => panic!("only a server of S3 is killed"),
        }
    }
}

/// Writes an object without the store, to moto or Azurite.
pub(crate) fn put(server: &Server, path: &str, body: &str) {
    match &server.running {
        Running::S3(process) => process.by_hand("PUT", path, body),
        Running::Azurite(azurite) => assert_eq!(azurite.put(path.trim_start_matches('/'), body).unwrap(), 201),
        Running::Google(_) => panic!("nothing is put there without the store"),
    }
}
