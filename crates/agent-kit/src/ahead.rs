//! Reading many things in order, some ahead of who asks for them.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Items that are read one by one before any is read ahead: most readers want no more.
const ALONE: usize = 12;

/// Items that are read at a time after that, by two threads. As many may be read in vain.
const BLOCK: usize = 16;

/// What `read` makes of each item, in the order of the items. Many small files take the system long to open and a prompt long
/// to decode and render, which two threads do side by side.
pub(crate) fn read_ahead<I: Send, T: Send>(
    mut items: impl Iterator<Item = I>,
    read: impl Fn(I) -> T + Sync,
) -> impl Iterator<Item = T> {
    let mut ready = VecDeque::new();
    let mut given = 0;
    std::iter::from_fn(move || {
        if ready.is_empty() {
            let block: Vec<I> = items.by_ref().take(if given < ALONE { 1 } else { BLOCK }).collect();
            ready = by_two(block, &read);
        }
        given += 1;
        ready.pop_front()
    })
}

fn by_two<I: Send, T: Send>(items: Vec<I>, read: &(impl Fn(I) -> T + Sync)) -> VecDeque<T> {
    let all = |items: Vec<I>| items.into_iter().map(read).collect::<VecDeque<T>>();
    if items.len() < 2 {
        return all(items);
    }
    let mut first = items;
    let second = Mutex::new(first.split_off(first.len().div_ceil(2)));
    // Nobody panics while it holds the lock.
    let other = || all(std::mem::take(&mut *second.lock().unwrap_or_else(PoisonError::into_inner)));
    thread::scope(|scope| {
        let thread = thread::Builder::new().spawn_scoped(scope, other);
        let mut done = all(first);
        done.extend(match thread {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            // A machine that gives no more threads can still read.
            Err(_) => other(),
        });
        done
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn all_are_given_in_order() {
        for count in [0, 1, ALONE, ALONE + 1, ALONE + 2, ALONE + 3, ALONE + BLOCK, 1000] {
            let doubled: Vec<usize> = read_ahead(0..count, |item| item * 2).collect();
            assert_eq!(doubled, (0..count).map(|item| item * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn no_more_is_read_in_vain_than_a_block() {
        for wanted in [0, 1, ALONE, ALONE + 1, 5 * BLOCK] {
            let read = AtomicUsize::new(0);
            let given = read_ahead(0..1000, |item: usize| {
                read.fetch_add(1, Ordering::Relaxed);
                item
            });
            assert_eq!(given.take(wanted).count(), wanted);
            let read = read.into_inner();
            assert!((wanted..wanted + BLOCK).contains(&read), "{read} for {wanted}");
            assert!(wanted > ALONE || read == wanted, "{read} for {wanted}");
        }
    }
}
