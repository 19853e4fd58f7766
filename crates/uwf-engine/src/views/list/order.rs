//! The order of listed threads: newest first, or children below their parents.

use std::collections::{HashMap, VecDeque};
use std::iter::{self, Peekable};
use std::vec::IntoIter;

use uwf_core::thread::{MAX_GENERATIONS, ThreadId};

use super::ThreadRow;
use super::family::FamilyReader;
use crate::attempt::child_threads::kinship::ThreadOrder;
use crate::root::home::Home;
use crate::root::record;

/// Reads the nodes of a row, unless they were read.
pub(super) type RowReader<'r> = dyn FnMut(&mut ThreadRow) + 'r;

/// The rows of a listing. Those that began at the same time are sorted when the listing reaches them, because that reads their places.
pub(super) struct OrderedRows<'h> {
    home: &'h Home,
    /// Rows in order that began at the same time.
    next: VecDeque<ThreadRow>,
    rest: Peekable<IntoIter<ThreadRow>>,
}

impl<'h> OrderedRows<'h> {
    /// Rows in the order of [`newness`].
    pub(super) fn new(home: &'h Home, rows: Vec<ThreadRow>) -> OrderedRows<'h> {
        OrderedRows { home, next: VecDeque::new(), rest: rows.into_iter().peekable() }
    }

    /// Takes the rows out of `rest` that begin at the same time as its first.
    fn take_equal(&mut self) -> Vec<ThreadRow> {
        let began_at = |row: &ThreadRow| newness(self.home, row).0;
        let Some(first) = self.rest.next() else { return Vec::new() };
        let time = began_at(&first);
        let mut equal = vec![first];
        while let Some(row) = self.rest.next_if(|row| began_at(row) == time) {
            equal.push(row);
        }
        equal
    }

    fn sort(&mut self, mut equal: Vec<ThreadRow>, family: &mut FamilyReader<'_>, read: &mut RowReader<'_>) {
        if equal.len() > 1 {
            equal.iter_mut().for_each(&mut *read);
            let mut keyed: Vec<(ThreadOrder, ThreadRow)> =
                equal.into_iter().map(|row| (family.order_of_read(&row), row)).collect();
            keyed.sort_by(|(a, _), (b, _)| a.newest_first(b));
            equal = keyed.into_iter().map(|(_, row)| row).collect();
        }
        self.next = equal.into();
    }

    /// Leaves out this number of rows. `read` reads their nodes.
    pub(super) fn skip(&mut self, mut count: usize, family: &mut FamilyReader<'_>, read: &mut RowReader<'_>) {
        while count > 0 {
            let equal = self.take_equal();
            if equal.len() > count || equal.is_empty() {
                self.sort(equal, family, read);
                self.next.drain(..count.min(self.next.len()));
                return;
            }
            count -= equal.len();
        }
    }

    /// The next row, with its nodes read.
    pub(super) fn next(&mut self, family: &mut FamilyReader<'_>, read: &mut RowReader<'_>) -> Option<ThreadRow> {
        if self.next.is_empty() {
            let equal = self.take_equal();
            self.sort(equal, family, read);
        }
        let mut row = self.next.pop_front()?;
        read(&mut row);
        Some(row)
    }
}

/// Positions of the rows of a listing in the order of families, each with the number of its ancestors in the list: children follow their
/// parents, oldest first, and branches in the order of their group.
pub fn in_families<'r>(rows: impl IntoIterator<Item = &'r ThreadRow>) -> Vec<(usize, usize)> {
    in_families_of(rows, &HashMap::new())
}

/// The same for rows of a longer listing. `parents` are the parents of threads that are not among the rows: a thread follows its nearest
/// ancestor.
pub fn in_families_of<'r>(
    rows: impl IntoIterator<Item = &'r ThreadRow>,
    parents: &HashMap<ThreadId, ThreadId>,
) -> Vec<(usize, usize)> {
    let rows: Vec<&ThreadRow> = rows.into_iter().collect();
    let positions: HashMap<&ThreadId, usize> = rows.iter().enumerate().map(|(at, row)| (&row.thread, at)).collect();
    let mut children: HashMap<Option<usize>, Vec<usize>> = HashMap::new();
    for (at, row) in rows.iter().enumerate() {
        let mut ancestors = iter::successors(row.parent(), |thread| parents.get(*thread)).take(MAX_GENERATIONS);
        let parent = ancestors.find_map(|thread| positions.get(thread).copied());
        children.entry(parent).or_default().push(at);
    }
    for children in children.iter_mut().filter_map(|(parent, children)| parent.map(|_| children)) {
        // Rows that began at the same time have the order of their group.
        children.sort_by_key(|at| (rows[*at].started_at, *at));
    }
    let mut open: Vec<(usize, usize)> =
        children.remove(&None).unwrap_or_default().into_iter().rev().map(|at| (at, 0)).collect();
    let mut order = Vec::with_capacity(rows.len());
    while let Some((at, depth)) = open.pop() {
        order.push((at, depth));
        open.extend(children.remove(&Some(at)).into_iter().flatten().rev().map(|child| (child, depth + 1)));
    }
    // Manually edited records may form a cycle of parents.
    order.extend(children.into_values().flatten().map(|at| (at, 0)));
    order
}

/// Sort key of a listing.
pub(super) fn newness(home: &Home, row: &ThreadRow) -> (u64, ThreadId) {
    (began_at(home, &row.thread, row.changed_at), row.thread.clone())
}

/// When a thread began, Unix milliseconds: by its id or its record; otherwise by its end, or 0. Without this, ids without a time would
/// come first, because no ULID has such a high first symbol.
pub(super) fn began_at(home: &Home, thread: &ThreadId, ended_at: Option<u64>) -> u64 {
    record::started_at(home, thread).or(ended_at).unwrap_or(0)
}
