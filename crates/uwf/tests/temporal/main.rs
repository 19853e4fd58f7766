//! Threads on workers of Temporal, on a real server. `./test --temporal` installs the server, builds uwf with the
//! feature `temporal`, and runs these tests.
#![expect(clippy::unwrap_used, reason = "a failing test may panic; helpers of tests are not seen as tests")]

mod entry;
mod errors;
mod failing;
mod failures;
mod groups;
mod people;
mod place;
mod routing;
mod runs;
mod schedules;
mod server;
mod stores;
