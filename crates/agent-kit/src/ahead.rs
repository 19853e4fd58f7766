//! Reading many things in order, some ahead of who asks for them.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, Scope};

/// Items that are read one by one before any is read ahead: most readers want no more.
const ALONE: usize = 12;

/// Items that are read at a time after that, by two threads. As many may be read in vain.
const BLOCK: usize = 16;

/// Gives `take` what `read` makes of each item, in the order of the items. Many small files take the system long to open and
/// a prompt long to decode and render, which two threads do side by side.
pub(crate) fn with_read_ahead<I: Send, T: Send, R>(
    mut items: impl Iterator<Item = I>,
    read: impl Fn(I) -> T + Sync,
    take: impl FnOnce(&mut dyn Iterator<Item = T>) -> R,
) -> R {
    thread::scope(|scope| {
        let mut ready = VecDeque::new();
        let mut given = 0;
        let mut other = None;
        take(&mut std::iter::from_fn(|| {
            if ready.is_empty() && given < ALONE {
                ready.extend(items.next().map(&read));
            } else if ready.is_empty() {
                let block: Vec<I> = items.by_ref().take(BLOCK).collect();
                if block.len() > 1 && other.is_none() {
                    other = Other::begin(scope, &read);
                }
                ready = by_two(block, other.as_ref(), &read);
            }
            given += 1;
            ready.pop_front()
        }))
    })
}

/// A second thread that reads what it is given.
struct Other<I, T> {
    items: Sender<Vec<I>>,
    read: Receiver<VecDeque<T>>,
}

impl<I: Send, T: Send> Other<I, T> {
    /// Starts it; `None` on a machine that gives no more threads.
    fn begin<'s>(scope: &'s Scope<'s, '_>, read: &'s (impl Fn(I) -> T + Sync)) -> Option<Other<I, T>>
    where
        I: 's,
        T: 's,
    {
        let (items, given) = channel::<Vec<I>>();
        let (give, done) = channel();
        let work = move || given.into_iter().try_for_each(|items| give.send(items.into_iter().map(read).collect()));
        thread::Builder::new().spawn_scoped(scope, work).ok().map(|_| Other { items, read: done })
    }
}

fn by_two<I, T>(items: Vec<I>, other: Option<&Other<I, T>>, read: impl Fn(I) -> T) -> VecDeque<T> {
    let mut own = items;
    let others = own.split_off(own.len().div_ceil(2));
    let left = match other {
        Some(other) => other.items.send(others).err().map(|unsent| unsent.0),
        None => Some(others),
    };
    let mut done: VecDeque<T> = own.into_iter().map(&read).collect();
    match (left, other) {
        (None, Some(other)) => done.extend(other.read.recv().into_iter().flatten()),
        (left, _) => done.extend(left.into_iter().flatten().map(read)),
    }
    done
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn all_are_given_in_order() {
        for count in [0, 1, ALONE, ALONE + 1, ALONE + 2, ALONE + 3, ALONE + BLOCK, 1000] {
            let doubled: Vec<usize> = with_read_ahead(0..count, |item| item * 2, |read| read.collect());
            assert_eq!(doubled, (0..count).map(|item| item * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn no_more_is_read_in_vain_than_a_block() {
        for wanted in [0, 1, ALONE, ALONE + 1, 5 * BLOCK] {
            let read = AtomicUsize::new(0);
            let count = |item: usize| {
                read.fetch_add(1, Ordering::Relaxed);
                item
            };
            assert_eq!(with_read_ahead(0..1000, count, |given| given.take(wanted).count()), wanted);
            let read = read.into_inner();
            assert!((wanted..wanted + BLOCK).contains(&read), "{read} for {wanted}");
            assert!(wanted > ALONE || read == wanted, "{read} for {wanted}");
        }
    }
}
