//! The place of a thread among others: its parent, the branch that it is, and its position in lists.

use std::cmp::Ordering;

use uwf_core::thread::ThreadId;

use crate::attempt::settings::ThreadSettings;
use crate::root::home::Home;
use crate::root::record;
use crate::root::thread_branch::ThreadBranch;

/// The parent of a thread and its place in a group.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ThreadKin {
    /// The thread whose role it plays; `None` if this machine does not know it.
    pub(crate) parent: Option<ThreadId>,
    /// The branch that it is.
    pub(crate) branch: Option<ThreadBranch>,
}

impl ThreadKin {
    /// As the settings of a thread have it.
    pub(crate) fn of_settings(settings: &ThreadSettings) -> ThreadKin {
        ThreadKin { parent: settings.parent.clone(), branch: settings.branch.clone() }
    }

    /// As this machine has recorded it; `None` without readable settings.
    pub(crate) fn recorded(home: &Home, id: &ThreadId) -> Option<ThreadKin> {
        ThreadSettings::load(home, id).ok().flatten().as_ref().map(ThreadKin::of_settings)
    }
}

/// The order of threads, oldest first. The branches of a group begin at the same time: they have the order of the file, or of the items.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ThreadOrder {
    began_at: u64,
    /// The group's thread, and the position in it.
    place: Option<(ThreadId, usize)>,
    id: ThreadId,
}

impl ThreadOrder {
    /// The order of a thread that began at this time.
    pub(crate) fn new(began_at: u64, kinship: Option<&ThreadKin>, id: ThreadId) -> ThreadOrder {
        let place = kinship.and_then(|kin| Some((kin.parent.clone()?, kin.branch.as_ref()?.position?)));
        ThreadOrder { began_at, place, id }
    }

    /// The order of a thread as this machine has recorded it.
    pub(crate) fn recorded(home: &Home, id: &ThreadId) -> ThreadOrder {
        let began_at = record::started_at(home, id).unwrap_or(0);
        ThreadOrder::new(began_at, ThreadKin::recorded(home, id).as_ref(), id.clone())
    }

    /// Newest first. Branches of a group keep their order.
    pub(crate) fn newest_first(&self, other: &ThreadOrder) -> Ordering {
        other.began_at.cmp(&self.began_at).then_with(|| match (&self.place, &other.place) {
            (None, None) => other.id.cmp(&self.id),
            _ => (&self.place, &self.id).cmp(&(&other.place, &other.id)),
        })
    }
}

/// Sorts threads of one machine, oldest first, and branches in the order of their groups.
pub(crate) fn sort(home: &Home, threads: &mut [ThreadId]) {
    // One thread needs no record.
    if threads.len() > 1 {
        threads.sort_by_cached_key(|id| ThreadOrder::recorded(home, id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_keep_the_order_of_their_group() {
        let id = |last: &str| -> ThreadId { format!("01K0000000000000000000000{last}").parse().unwrap() };
        let thread = |name: &str, began_at, position| {
            let branch = ThreadBranch { group: "g".to_owned(), name: name.to_owned(), item: None, position };
            let kin = ThreadKin { parent: Some(id("0")), branch: Some(branch) };
            ThreadOrder::new(began_at, Some(&kin), id(name))
        };
        let group = ThreadOrder::new(2, Some(&ThreadKin { parent: Some(id("9")), branch: None }), id("8"));
        let mut all = [thread("1", 3, Some(2)), thread("2", 3, Some(1)), thread("3", 3, Some(0)), group];
        let names =
            |all: &[ThreadOrder]| all.iter().map(|order| order.id.as_str()[25..].to_owned()).collect::<String>();
        all.sort();
        assert_eq!(names(&all), "8321");
        all.sort_by(ThreadOrder::newest_first);
        assert_eq!(names(&all), "3218");
        let mut old = [thread("1", 3, None), thread("2", 3, None)];
        old.sort_by(ThreadOrder::newest_first);
        assert_eq!(names(&old), "21", "records without positions have the order of ids");
    }
}
