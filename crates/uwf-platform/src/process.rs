//! Processes as a table.

use std::collections::{BTreeMap, BTreeSet};

/// Limit of open files without a hard limit: the most that Linux allows a process by default.
pub(crate) const MOST_OPEN_FILES: u64 = 1 << 20;

/// Signals as bits; bit 0 is signal 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SignalMasks {
    /// Signals that the process ignores.
    pub ignored: u64,
    /// Signals that the process has handlers for.
    pub caught: u64,
}

/// A live process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessEntry {
    /// Its parent now.
    pub parent: u32,
    /// Its process group.
    pub group: u32,
    /// As [`crate::HostSystem::birth`].
    pub birth: u64,
    /// Birth of the parent that created it, even if that parent has died since; `None` where the system forgets it.
    pub birth_parent: Option<u64>,
}

/// All live processes, by their ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessTable(pub BTreeMap<u32, ProcessEntry>);

impl ProcessTable {
    /// The processes in `roots`, and all their descendants that `is_reached` accepts.
    pub fn with_descendants(&self, roots: BTreeSet<u32>, is_reached: impl Fn(u32) -> bool) -> BTreeSet<u32> {
        let mut found = roots;
        let mut births: BTreeSet<u64> = found.iter().filter_map(|pid| Some(self.0.get(pid)?.birth)).collect();
        loop {
            let is_child = |entry: &ProcessEntry| {
                found.contains(&entry.parent) || entry.birth_parent.is_some_and(|parent| births.contains(&parent))
            };
            let more = self.0.iter().filter(|(pid, entry)| !found.contains(*pid) && is_child(entry));
            let more: Vec<(u32, u64)> =
                more.filter(|(pid, _)| is_reached(**pid)).map(|(pid, entry)| (*pid, entry.birth)).collect();
            if more.is_empty() {
                return found;
            }
            births.extend(more.iter().map(|(_, birth)| *birth));
            found.extend(more.into_iter().map(|(pid, _)| pid));
        }
    }

    /// A process and its ancestors.
    pub fn with_ancestors(&self, pid: u32) -> BTreeSet<u32> {
        let mut found = BTreeSet::new();
        let mut next = Some(pid);
        while let Some(pid) = next.filter(|pid| found.insert(*pid)) {
            next = self.0.get(&pid).map(|entry| entry.parent);
        }
        found
    }

    /// The members of a group and all that their leader created. `birth` is of the leader: if another process has its id meanwhile, there
    /// are none.
    pub fn of_group(&self, leader: u32, birth: u64) -> BTreeSet<u32> {
        if self.0.get(&leader).is_some_and(|entry| entry.birth != birth) {
            return BTreeSet::new();
        }
        let is_member =
            |entry: &ProcessEntry| entry.birth >= birth && (entry.group == leader || entry.birth_parent == Some(birth));
        self.0.iter().filter(|(_, entry)| is_member(entry)).map(|(pid, _)| *pid).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The keeper 10 started the leader 20, which is dead. Its child 21 left the group and has the parent 1, like all orphans.
    fn table() -> ProcessTable {
        let entry = |parent, group, birth, birth_parent| ProcessEntry { parent, group, birth, birth_parent };
        ProcessTable(BTreeMap::from([
            (1, entry(0, 1, 1, None)),
            (10, entry(1, 10, 100, Some(1))),
            (21, entry(1, 21, 210, Some(200))),
            (22, entry(1, 20, 220, Some(215))),
            (23, entry(21, 21, 230, Some(210))),
            (30, entry(10, 30, 300, Some(100))),
            (40, entry(1, 20, 5, Some(1))),
        ]))
    }

    #[test]
    fn orphans_are_found_by_birth() {
        let table = table();
        assert_eq!(table.of_group(20, 200), BTreeSet::from([21, 22]), "40 is older than the leader");
        let all = table.with_descendants(table.of_group(20, 200), |_| true);
        assert_eq!(all, BTreeSet::from([21, 22, 23]));
        let some = table.with_descendants(table.of_group(20, 200), |pid| pid != 23);
        assert_eq!(some, BTreeSet::from([21, 22]));
        assert_eq!(table.with_ancestors(23), BTreeSet::from([0, 1, 21, 23]));
    }

    #[test]
    fn reused_id_leads_no_group() {
        let mut table = table();
        let other = ProcessEntry { parent: 1, group: 20, birth: 999, birth_parent: Some(1) };
        table.0.insert(20, other);
        assert!(table.of_group(20, 200).is_empty());
        assert_eq!(table.of_group(20, 999), BTreeSet::from([20]), "the others are older");
    }
}
