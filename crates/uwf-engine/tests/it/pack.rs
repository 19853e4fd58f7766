//! Packs are files: where nodes are kept elsewhere there is nothing to pack, and `gc` does without.

use std::time::Duration;

use uwf_engine::error::ErrorKind;
use uwf_engine::verbs::gc::{self, GcRequest};
use uwf_engine::verbs::pack::{self, PackThreads};

use crate::memory::{Machine, failure};

#[test]
fn nodes_that_are_no_files_are_not_packed() {
    let machine = Machine::with_essay();
    let thread = machine.start("essay");
    let request = PackThreads { older_than: Duration::ZERO, dry_run: false };
    let refused = [
        pack::pack(&machine.home, request, &mut |_| ()).unwrap_err(),
        pack::unpack(&machine.home, &mut |_| ()).unwrap_err(),
    ];
    for error in &refused {
        let message = "this storage root keeps its nodes in a shared store: there is nothing to pack";
        assert_eq!(failure(error), (ErrorKind::Usage, message));
    }
    let request = GcRequest { grace: Duration::ZERO, dry_run: false };
    gc::collect(&machine.home, request, &mut |_| ()).unwrap();
    machine.approved(&thread);
}
