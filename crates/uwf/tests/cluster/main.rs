//! Three machines share sixty threads while workers are killed, cables pulled and servers restarted. `./test --cluster` builds and
//! runs it; `docs/internals/cluster.md` says what it shows and prints the figures of one run.
//!
//! A machine is a network namespace with a storage root, a name and a clock of its own. [`network`] makes them, in a box ([`namespaces`])
//! that takes everything with it when it ends. [`servers`] are those of Temporal and S3, [`proxy`] stands before the latter, slows it down, lets
//! calls fail and counts them. The agents of [`ledger`] note what they are paid for, [`watch`] sees each head move, [`disturb`] does
//! the harm, and [`check`] says afterwards what should not have happened.
//!
//! `UWF_SEED=N` asks for another sequence of disturbances.
#![expect(clippy::unwrap_used, reason = "a failing test may panic; helpers of tests are not seen as tests")]
#![expect(clippy::print_stdout, reason = "what the demonstration shows is its report")]

mod check;
mod demonstration;
mod disturb;
mod evidence;
mod figures;
mod ledger;
mod machines;
mod namespaces;
mod network;
mod proxy;
mod scene;
mod servers;
mod watch;

#[test]
fn three_machines_share_sixty_threads_despite_failures() {
    if namespaces::is_in_box() {
        demonstration::run();
    } else {
        servers::install();
        namespaces::run_in_box("three_machines_share_sixty_threads_despite_failures");
    }
}
