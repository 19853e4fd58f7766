//! A store of many threads, by the code that writes one.

use std::path::Path;
use std::sync::Arc;
use std::thread;

use json_cas::{HeadBackend, HeadsError, NodeHash, Store, SwapOutcome};
use uwf_core::node::EndStatus;
use uwf_core::thread::ThreadId;
use uwf_engine::root::history::HistoryLine;
use uwf_engine::root::home::Home;
use uwf_engine::root::ids;
use uwf_store_s3::S3Store;
use uwf_testing::bucket::BucketServer;

use crate::error::{Error, Result};
use crate::seed::SeededRoot;

/// One thread in so many is active, all others have ended.
pub const ONE_ACTIVE_IN: usize = 10;

/// Threads whose heads are written at a time.
const AT_ONCE: usize = 16;

/// A thread of one step.
struct OneStepThread {
    id: ThreadId,
    start: NodeHash,
    step: NodeHash,
    has_ended: bool,
}

/// Makes a store with the workflow of the benchmark and so many threads of one step each.
///
/// # Errors
/// When something cannot be written.
pub fn make(server: &BucketServer, store: &str, root: &Path, threads: usize) -> Result<()> {
    let failed = |error: &dyn std::fmt::Display| Error::Seed(error.to_string());
    let bucket = S3Store::open_with(&server.url(store), server.variables(store)).map_err(|error| failed(&error))?;
    bucket.init().map_err(|error| failed(&error))?;
    let bucket = Arc::new(bucket);
    let home = Home::over(root, "uwf", Arc::clone(&bucket) as Arc<_>, Arc::clone(&bucket));
    let mut seed = SeededRoot::over(&home, Store::new(Arc::clone(&bucket) as Arc<_>))?;
    let mut made = Vec::with_capacity(threads);
    for number in 0..threads {
        let start = seed.bare_start()?;
        let step = seed.step(start, None, "writer", "reviewer")?;
        made.push(OneStepThread { id: ids::new_thread_id(), start, step, has_ended: number % ONE_ACTIVE_IN != 0 });
    }
    seed.flush()?;
    let share = made.len().div_ceil(AT_ONCE).max(1);
    thread::scope(|scope| {
        let bucket = &bucket;
        let write = |some: &[OneStepThread]| some.iter().try_for_each(|one| write(bucket, one));
        let workers: Vec<_> = made.chunks(share).map(|some| scope.spawn(move || write(some))).collect();
        workers.into_iter().try_for_each(|worker| match worker.join() {
            Ok(written) => written.map_err(|error| failed(&error)),
            Err(_) => Err(Error::Seed("a writer of heads panicked".to_owned())),
        })
    })
}

/// Begins the thread, moves its head to the step, and ends it if it has ended.
fn write(bucket: &S3Store, made: &OneStepThread) -> std::result::Result<(), HeadsError> {
    let name = made.id.as_str();
    let is_done = |swap: SwapOutcome| assert_eq!(swap, SwapOutcome::Done, "nobody else knows {name}");
    is_done(bucket.create(name, made.start)?);
    let head = bucket.read(name)?.ok_or_else(|| HeadsError::Removed { name: name.to_owned() })?;
    is_done(bucket.swap(name, &head.version, made.step)?);
    if !made.has_ended {
        return Ok(());
    }
    let head = bucket.read(name)?.ok_or_else(|| HeadsError::Removed { name: name.to_owned() })?;
    let finished = HistoryLine {
        thread: made.id.clone(),
        workflow: None,
        head: made.step,
        completed_at: ids::now_ms(),
        status: EndStatus::Completed,
        end: None,
        outcome: None,
        condition: None,
    };
    let record = serde_json::to_value(&finished).unwrap_or_default();
    is_done(bucket.remove(name, &head.version, &record)?);
    Ok(())
}
