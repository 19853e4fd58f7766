//! A bucket in memory: the part of S3, or of Google's XML API, that a store needs. It listens on 127.0.0.1 and serves any number of
//! processes.
//!
//! It counts requests by the kind that a provider charges for, and by the part of the store in the key. Tests and figures thus show what
//! the real code requests. It does not check signatures. It stops when it is dropped.

mod dialect;
mod http;
mod objects;

use std::collections::BTreeMap;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::ops::AddAssign;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use dialect::BucketDialect;
use http::BucketServerRequest;
use objects::ServedObjectMap;
use parking_lot::Mutex;

/// The bucket.
const BUCKET: &str = "team";

/// Requests by kind, and the transferred bytes of objects and lists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BucketTraffic {
    /// Requested objects, missing ones included.
    pub get: u64,
    /// Objects written, or rejected by a condition.
    pub put: u64,
    /// Pages of lists.
    pub list: u64,
    /// Deleted objects.
    pub delete: u64,
    /// Requests for an object without its bytes.
    pub head: u64,
    /// Bytes of bodies sent to the bucket.
    pub sent: u64,
    /// Bytes of bodies received from it.
    pub received: u64,
}

impl BucketTraffic {
    /// All requests.
    pub fn total(&self) -> u64 {
        self.get + self.put + self.list + self.delete + self.head
    }
}

impl AddAssign for BucketTraffic {
    fn add_assign(&mut self, other: BucketTraffic) {
        self.get += other.get;
        self.put += other.put;
        self.list += other.list;
        self.delete += other.delete;
        self.head += other.head;
        self.sent += other.sent;
        self.received += other.received;
    }
}

/// Contents of a part of a store: `nodes`, `heads`, `history`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BucketUsage {
    /// Number of objects.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// A running server.
pub struct BucketServer {
    dialect: BucketDialect,
    address: SocketAddr,
    shared: Arc<BucketState>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct BucketState {
    objects: Mutex<ServedObjectMap>,
    asked: Mutex<BTreeMap<String, BucketTraffic>>,
    connections: Mutex<Vec<TcpStream>>,
    delay: Mutex<Duration>,
    garbling: Mutex<BucketGarbling>,
    stopping: AtomicBool,
}

/// Damage to answers with nodes.
#[derive(Default)]
struct BucketGarbling {
    /// Number of answers still to change.
    left: usize,
    /// Number of answers changed since it was set.
    changed: usize,
    change: Option<Change>,
}

/// Changes the bytes of an answer; its first argument is the number of the answer, from 0.
type Change = Box<dyn Fn(usize, &mut [u8]) + Send>;

impl BucketGarbling {
    fn pass(&mut self, bytes: &mut [u8]) {
        let Some(change) = self.change.as_ref().filter(|_| self.left > 0) else { return };
        change(self.changed, bytes);
        self.left -= 1;
        self.changed += 1;
    }
}

impl BucketServer {
    /// Starts a server that speaks S3.
    ///
    /// # Panics
    /// If no port is free.
    pub fn start() -> BucketServer {
        BucketServer::start_with(BucketDialect::S3)
    }

    /// Starts a server that speaks the XML API of Google Cloud Storage.
    ///
    /// # Panics
    /// If no port is free.
    pub fn start_google() -> BucketServer {
        BucketServer::start_with(BucketDialect::Google)
    }

    fn start_with(dialect: BucketDialect) -> BucketServer {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(BucketState::default());
        let accepting = Arc::clone(&shared);
        let acceptor = thread::spawn(move || accept(&listener, &accepting, dialect));
        BucketServer { dialect, address, shared, acceptor: Some(acceptor) }
    }

    /// The URL of a store in the bucket.
    pub fn url(&self, store: &str) -> String {
        format!("{}{BUCKET}/{store}", self.dialect.scheme())
    }

    /// Its endpoint.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The variables of a process that uses a store in the bucket.
    pub fn variables(&self, store: &str) -> Vec<(String, String)> {
        let (endpoint, url) = (self.endpoint(), self.url(store));
        let mut variables = vec![("UWF_STORE_URL", url.as_str())];
        variables.extend(self.dialect.variables(&endpoint));
        variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    /// Delays every request by this time from now on.
    pub fn slow(&self, delay: Duration) {
        *self.shared.delay.lock() = delay;
    }

    /// Changes this many of the next answers with a node; the objects stay unchanged. `change` gets the number of the answer, from 0, and
    /// its bytes.
    pub fn garble(&self, answers: usize, change: impl Fn(usize, &mut [u8]) + Send + 'static) {
        *self.shared.garbling.lock() = BucketGarbling { left: answers, changed: 0, change: Some(Box::new(change)) };
    }

    /// Number of answers changed since the last call of [`BucketServer::garble`].
    pub fn garbled(&self) -> usize {
        self.shared.garbling.lock().changed
    }

    /// Moves its clock forward, which ages all its objects.
    pub fn put_clock_forward(&self, by: Duration) {
        self.shared.objects.lock().put_forward(by);
    }

    /// Requests since the last call, by part of the store.
    pub fn take(&self) -> BTreeMap<String, BucketTraffic> {
        std::mem::take(&mut self.shared.asked.lock())
    }

    /// The sum of [`BucketServer::take`].
    pub fn take_all(&self) -> BucketTraffic {
        self.take().into_values().fold(BucketTraffic::default(), |mut all, part| {
            all += part;
            all
        })
    }

    /// Deletes all objects.
    pub fn empty(&self) {
        *self.shared.objects.lock() = ServedObjectMap::default();
    }

    /// Deletes one object of a store.
    pub fn remove(&self, store: &str, key: &str) {
        self.shared.objects.lock().remove(&format!("{store}/{key}"));
    }

    /// Rewrites an object of a store, as a concurrent user would.
    ///
    /// # Panics
    /// If the object is missing.
    pub fn rewrite(&self, store: &str, key: &str, change: impl FnOnce(&str) -> String) {
        self.shared.objects.lock().rewrite(&format!("{store}/{key}"), self.dialect, change);
    }

    /// Copies an object to another key.
    ///
    /// # Panics
    /// If the object is missing.
    pub fn copy(&self, store: &str, key: &str, other: &str) {
        self.shared.objects.lock().copy(&format!("{store}/{key}"), format!("{store}/{other}"));
    }

    /// The names and texts of all objects in a part of a store.
    pub fn text(&self, store: &str, part: &str) -> String {
        self.shared.objects.lock().text(&format!("{store}/{part}/"))
    }

    /// Contents of a part of a store.
    pub fn kept(&self, store: &str, part: &str) -> BucketUsage {
        self.shared.objects.lock().kept(&format!("{store}/{part}/"))
    }
}

impl Drop for BucketServer {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // Wakes the acceptor.
        drop(TcpStream::connect(self.address));
        for connection in self.shared.connections.lock().iter() {
            let _ = connection.shutdown(Shutdown::Both);
        }
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<BucketState>, dialect: BucketDialect) {
    for stream in listener.incoming() {
        if shared.stopping.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let mut connections = shared.connections.lock();
        // Forget connections of processes that have exited; there is one for each command.
        connections.retain(|connection| connection.peer_addr().is_ok());
        connections.extend(stream.try_clone());
        let shared = Arc::clone(shared);
        thread::spawn(move || {
            // The client handles a broken connection.
            let _ = serve(&stream, &shared, dialect);
            let _ = stream.shutdown(Shutdown::Both);
        });
    }
}

fn serve(stream: &TcpStream, shared: &BucketState, dialect: BucketDialect) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reading = std::io::BufReader::new(stream);
    while let Some(request) = http::read(&mut reading)? {
        let delay = *shared.delay.lock();
        thread::sleep(delay);
        let (mut answer, now) = {
            let mut objects = shared.objects.lock();
            (objects.answer(&request, BUCKET, dialect), objects.now())
        };
        let is_node = request.key(BUCKET).is_some_and(|key| part(&key) == "nodes");
        if request.method == "GET" && is_node && answer.status == "200 OK" {
            shared.garbling.lock().pass(&mut answer.body);
        }
        count(shared, &request, answer.body.len());
        answer.send(stream, now, request.method == "HEAD")?;
        if request.header("connection").is_some_and(|text| text.eq_ignore_ascii_case("close")) {
            break;
        }
    }
    Ok(())
}

fn count(shared: &BucketState, request: &BucketServerRequest, received: usize) {
    let key = request.key(BUCKET).unwrap_or_default();
    let is_list = request.is_list();
    let prefix = request.query("prefix").unwrap_or_default();
    let within = if is_list { &prefix } else { &key };
    let one = |is: bool| u64::from(is);
    let asked = BucketTraffic {
        get: one(request.method == "GET" && !is_list),
        put: one(request.method == "PUT"),
        list: one(is_list),
        delete: one(request.method == "DELETE"),
        head: one(request.method == "HEAD"),
        sent: request.body.len() as u64,
        received: if request.method == "HEAD" { 0 } else { received as u64 },
    };
    *shared.asked.lock().entry(part(within)).or_default() += asked;
}

/// The part of the store that a key belongs to. It follows the first name, which is the store's.
fn part(key: &str) -> String {
    key.split('/').nth(1).unwrap_or_default().to_owned()
}
