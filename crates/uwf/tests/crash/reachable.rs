//! What lies below heads.

use json_cas::{NodeHash, Store, StoreProblem};
use uwf_engine::root::home::Home;
use uwf_testing::TestHome;

/// The store of a home, read in this process.
pub(crate) fn store(home: &TestHome) -> Store {
    Home::open(home.root(), "uwf").store().clone()
}

/// What is wrong with nodes reachable from a head.
pub(crate) fn problems(home: &TestHome, head: &str) -> Vec<StoreProblem> {
    let head: NodeHash = head.parse().unwrap();
    store(home).verify(Some(&[head])).unwrap().problems
}
