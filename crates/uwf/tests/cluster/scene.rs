//! Everything there is in the box: machines, cables, servers, threads, and the ledger.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use uwf_engine::root::home::Home;
use uwf_testing::repository;
use uwf_testing::s3_server::S3Server;

use crate::evidence;
use crate::ledger::Ledger;
use crate::machines::Machine;
use crate::network::Network;
use crate::proxy::Proxy;
use crate::servers::{Temporal, seaweedfs};

/// The machines, and by how many minutes their clocks are ahead. The last one only takes part when more workers are measured.
const MACHINES: [(&str, u32); 4] = [("m1", 0), ("m2", 10), ("m3", 0), ("m4", 0)];

/// Longest time in which no agent begins or ends: then the threads stand still.
const STANDSTILL: Duration = Duration::from_mins(3);

pub(crate) struct Scene {
    begun: Instant,
    dir: TempDir,
    pub(crate) network: Network,
    pub(crate) temporal: Temporal,
    pub(crate) proxy: Proxy,
    pub(crate) machines: Vec<Machine>,
    /// Where people sit: it starts threads and has no worker.
    pub(crate) desk: Machine,
    pub(crate) ledger: Ledger,
    /// The store as it is: neither a cable nor the proxy is on the way to it.
    pub(crate) home: Home,
    /// Threads that were started.
    pub(crate) threads: BTreeSet<String>,
    _store: S3Server,
}

impl Scene {
    /// Sets it, for good: the end of the box ends whatever runs in it, and what lies in its directories can be looked at afterwards.
    pub(crate) fn set() -> &'static mut Scene {
        let dir = TempDir::with_prefix("uwf-cluster-").unwrap();
        let ledger = Ledger::in_dir(dir.path());
        let network = Network::new(&MACHINES.map(|(name, _)| name));
        let (store, temporal, proxy) = (seaweedfs(), Temporal::start(), Proxy::start());
        let machines = MACHINES.into_iter().map(|(name, ahead)| Machine::new(name, &ledger, ahead)).collect();
        let desk = Machine::new("desk", &ledger, 0);
        desk.json(&["store", "init"]);
        desk.json(&["workflow", "put", repository().join("examples/develop.yaml").to_str().unwrap()]);
        let home = Home::open_root(&dir.path().join("watch")).unwrap();
        let (begun, threads) = (Instant::now(), BTreeSet::new());
        let scene =
            Scene { begun, dir, network, temporal, proxy, machines, desk, ledger, home, threads, _store: store };
        scene.say(&format!("what this run leaves is in {}", scene.dir.path().parent().unwrap().display()));
        Box::leak(Box::new(scene))
    }

    /// A line of the report, with the time.
    pub(crate) fn say(&self, what: &str) {
        println!("{:>4} s  {what}", self.begun.elapsed().as_secs());
    }

    /// Starts a thread and gives it to the workers.
    pub(crate) fn start(&mut self, task: &str) -> String {
        let thread = self.desk.start(task);
        self.desk.json(&["thread", "run", "--on", "temporal", "--detach", &thread]);
        self.threads.insert(thread.clone());
        thread
    }

    /// Threads that have not come to their end.
    pub(crate) fn under_way(&self) -> BTreeSet<&String> {
        let ended = evidence::ended(&self.home);
        self.threads.iter().filter(|thread| !ended.contains_key(*thread)).collect()
    }

    /// Waits until all threads are at their end.
    pub(crate) fn until_all_ended(&self) {
        let (mut lines, mut since) = (0, Instant::now());
        loop {
            let under_way = self.under_way();
            if under_way.is_empty() {
                return;
            }
            let now = self.ledger.entries().len();
            if now > lines {
                (lines, since) = (now, Instant::now());
            }
            assert!(
                since.elapsed() < STANDSTILL,
                "no agent begins or ends, and these threads have not ended: {under_way:?}"
            );
            std::thread::sleep(Duration::from_millis(500));
        }
    }
}
