//! Reading many things in order, some ahead of who asks for them.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Most items that are read one by one. A second thread has begun to be of use about when so many have been read.
const ALONE: usize = 12;

/// Items that two threads are ahead of who asks for them. As many may be read in vain.
const AHEAD: usize = 8;

/// Gives `take` what `read` makes of each item, in the order of the items. Many small files take the system long to open and
/// a prompt long to decode and render, which two threads do side by side.
pub(crate) fn with_read_ahead<I: Send, T: Send, R>(
    mut items: impl ExactSizeIterator<Item = I>,
    read: impl Fn(I) -> T + Sync,
    take: impl FnOnce(&mut dyn Iterator<Item = T>) -> R,
) -> R {
    if items.len() <= ALONE {
        return take(&mut items.map(read));
    }
    let line = Line::new();
    thread::scope(|scope| {
        // However it ends, the other thread must not go on waiting.
        let _closing = Closing(&line);
        // A machine that gives no more threads has one that reads them all.
        let _ = thread::Builder::new().spawn_scoped(scope, || line.help(&read));
        take(&mut std::iter::from_fn(|| {
            line.fill(&mut items);
            line.next(&read)
        }))
    })
}

/// Items in order, each of which is read by whichever thread comes first.
struct Line<I, T> {
    state: Mutex<State<I, T>>,
    /// Told when there is more to read, or no more will come.
    more: Condvar,
    /// Told when something has been read.
    done: Condvar,
}

struct State<I, T> {
    /// Nobody has begun to read these; they are the last of the line.
    unread: VecDeque<I>,
    /// What was read of those before, `None` while somebody is at it.
    read: VecDeque<Option<T>>,
    /// How many were taken out of `read`.
    taken: usize,
    /// Who sleeps. To wake a thread is a system call, even where none sleeps.
    is_helper_idle: bool,
    is_taker_waiting: bool,
    is_closed: bool,
}

impl<I, T> State<I, T> {
    /// The first of the line, once it is read.
    fn take(&mut self) -> Option<T> {
        let first = self.read.pop_front_if(|first| first.is_some())?;
        self.taken += 1;
        first
    }

    fn is_empty(&self) -> bool {
        self.read.is_empty() && self.unread.is_empty()
    }
}

impl<I, T> Line<I, T> {
    fn new() -> Line<I, T> {
        let state = State {
            unread: VecDeque::new(),
            read: VecDeque::new(),
            taken: 0,
            is_helper_idle: false,
            is_taker_waiting: false,
            is_closed: false,
        };
        Line { state: Mutex::new(state), more: Condvar::new(), done: Condvar::new() }
    }

    /// Adds items until enough are in the line.
    fn fill(&self, items: &mut impl Iterator<Item = I>) {
        let mut state = self.state();
        while state.unread.len() + state.read.len() < AHEAD
            && let Some(item) = items.next()
        {
            state.unread.push_back(item);
        }
        if state.is_helper_idle && !state.unread.is_empty() {
            state.is_helper_idle = false;
            self.more.notify_one();
        }
    }

    /// What the first of the line was read as. Whoever would have to wait for it reads others meanwhile.
    fn next(&self, read: &impl Fn(I) -> T) -> Option<T> {
        let mut state = self.state();
        loop {
            if let Some(first) = state.take() {
                return Some(first);
            }
            if state.is_empty() {
                return None;
            }
            state = self.read_one(state, read).unwrap_or_else(|mut state| {
                state.is_taker_waiting = true;
                self.done.wait(state).unwrap_or_else(PoisonError::into_inner)
            });
        }
    }

    /// Reads items until no more will come.
    fn help(&self, read: &impl Fn(I) -> T) {
        let mut state = self.state();
        while !state.is_closed {
            state = self.read_one(state, read).unwrap_or_else(|mut state| {
                state.is_helper_idle = true;
                self.more.wait(state).unwrap_or_else(PoisonError::into_inner)
            });
            if std::mem::take(&mut state.is_taker_waiting) {
                self.done.notify_one();
            }
        }
    }

    /// Reads the next item; gives the state back as it was when there is none.
    fn read_one<'l>(
        &'l self,
        mut state: Held<'l, I, T>,
        read: &impl Fn(I) -> T,
    ) -> Result<Held<'l, I, T>, Held<'l, I, T>> {
        let Some(item) = state.unread.pop_front() else { return Err(state) };
        let place = state.taken + state.read.len();
        state.read.push_back(None);
        drop(state);
        let done = read(item);
        let mut state = self.state();
        let place = place - state.taken;
        state.read[place] = Some(done);
        Ok(state)
    }

    fn state(&self) -> Held<'_, I, T> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The state, while no other thread changes it.
type Held<'l, I, T> = MutexGuard<'l, State<I, T>>;

/// Lets the other thread end.
struct Closing<'l, I, T>(&'l Line<I, T>);

impl<I, T> Drop for Closing<'_, I, T> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.is_closed = true;
        state.unread.clear();
        self.0.more.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[test]
    fn all_are_given_in_order() {
        for count in [0, 1, ALONE, ALONE + 1, ALONE + AHEAD, 1000] {
            let doubled: Vec<usize> = with_read_ahead(0..count, |item| item * 2, |read| read.collect());
            assert_eq!(doubled, (0..count).map(|item| item * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn whoever_is_slow_does_not_change_the_order() {
        let slow_at = |place: usize, item: usize| {
            if item % 10 == place {
                thread::sleep(Duration::from_millis(3));
            }
            item
        };
        let read = |item| slow_at(3, item);
        let given: Vec<usize> = with_read_ahead(0..100, read, |given| given.map(|item| slow_at(7, item)).collect());
        assert_eq!(given, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn no_more_is_read_in_vain_than_it_is_ahead() {
        for wanted in [0, 1, ALONE, 5 * AHEAD] {
            let read = AtomicUsize::new(0);
            let count = |item: usize| {
                read.fetch_add(1, Ordering::Relaxed);
                item
            };
            assert_eq!(with_read_ahead(0..1000, count, |given| given.take(wanted).count()), wanted);
            let read = read.into_inner();
            assert!((wanted..=wanted + AHEAD).contains(&read), "{read} for {wanted}");
        }
    }
}
