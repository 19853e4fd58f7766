//! Proof that nothing is lost: every system call of every command that changes something is a place where its processes
//! are killed ([`kill`]), and one that is made to fail ([`fault`], and [`unread`] for what they read). `docs/internals/reliability.md`
//! says what is promised.
//!
//! A plain run takes a sample of the places, always the same; `UWF_SEED=N` takes another, `UWF_CASES=N` one of another
//! size, `UWF_LONG=1` all of them, and `UWF_CASE='keeper fsync 3 kill'` repeats one case. `UWF_SHOW=1` prints how failures
//! were told.
#![expect(clippy::unwrap_used, reason = "a failing test may panic; helpers of tests are not seen as tests")]
#![expect(clippy::print_stdout, reason = "a campaign says its seed and how many cases it ran")]

mod campaign;
mod fault;
mod kill;
mod oracle;
mod payments;
mod scenario;
mod shape;
mod stage;
mod strace;
mod unread;
