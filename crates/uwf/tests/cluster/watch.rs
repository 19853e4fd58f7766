//! Looks at the heads from outside, all the time: what everybody would see who reads the store.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use json_cas::NodeHash;
use uwf_engine::root::home::Home;

/// Time between two looks.
const PAUSE: Duration = Duration::from_millis(200);

/// The heads that each thread was seen at, in the order of the looks, without repetition.
pub(crate) type Sightings = BTreeMap<String, Vec<NodeHash>>;

/// Somebody who looks until told to stop.
pub(crate) struct Watch {
    is_over: Arc<AtomicBool>,
    looking: JoinHandle<(usize, Sightings)>,
}

impl Watch {
    /// `home` reads the store as it is: neither cable nor proxy is on its way.
    pub(crate) fn start(home: Home) -> Watch {
        let is_over = Arc::<AtomicBool>::default();
        let stop = Arc::clone(&is_over);
        let looking = std::thread::spawn(move || {
            let (mut looks, mut seen) = (0, Sightings::new());
            while !stop.load(Ordering::Relaxed) {
                for (thread, head) in home.heads().list().unwrap() {
                    let heads = seen.entry(thread).or_default();
                    if heads.last() != Some(&head) {
                        heads.push(head);
                    }
                }
                looks += 1;
                std::thread::sleep(PAUSE);
            }
            (looks, seen)
        });
        Watch { is_over, looking }
    }

    /// How often it looked, and what it saw.
    pub(crate) fn end(self) -> (usize, Sightings) {
        self.is_over.store(true, Ordering::Relaxed);
        self.looking.join().expect("the store can be read throughout")
    }
}
