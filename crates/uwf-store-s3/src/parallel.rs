//! Runs many requests at once.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Nodes that are written or checked at once. A step has about ten.
pub(crate) const NODES_AT_ONCE: usize = 16;

/// Small objects that are read or deleted at once. There may be thousands of them, and a distant server takes 10 to 50 ms for each.
pub(crate) const READS_AT_ONCE: usize = 64;

/// Processes all items, `at_once` at a time, and returns the results in the order of the items. After an error, no new items are started.
pub(crate) fn each<T: Sync, R: Send, E: Send>(
    items: &[T],
    at_once: usize,
    work: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    if items.len() < 2 {
        return items.iter().map(work).collect();
    }
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let one_worker = || {
        let mut done = Vec::new();
        while !failed.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { break };
            match work(item) {
                Ok(result) => done.push((index, result)),
                Err(error) => {
                    failed.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
        Ok(done)
    };
    let mut all = Vec::with_capacity(items.len());
    thread::scope(|scope| {
        let workers: Vec<_> = (0..at_once.min(items.len())).map(|_| scope.spawn(one_worker)).collect();
        for worker in workers {
            // A worker's panic becomes this call's panic.
            all.extend(worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        Ok(())
    })?;
    all.sort_unstable_by_key(|(index, _)| *index);
    Ok(all.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<u32> = (0..500).collect();
        let doubled = each(&items, 16, |item| Ok::<u32, ()>(item * 2)).unwrap();
        assert_eq!(doubled, items.iter().map(|item| item * 2).collect::<Vec<_>>());
        assert_eq!(each(&[], 16, |item: &u32| Ok::<u32, ()>(*item)), Ok(vec![]));
    }

    #[test]
    fn an_error_ends_it() {
        let items: Vec<u32> = (0..500).collect();
        assert_eq!(each(&items, 4, |item| if *item == 7 { Err("seven") } else { Ok(()) }), Err("seven"));
    }
}
