//! How the worktrees of branches were set up: copies of ignored files, which can be secrets, and commands that ran.

use std::collections::{BTreeMap, BTreeSet};

use uwf_core::thread::{MAX_GENERATIONS, ThreadId};

use crate::attempt::child_threads;
use crate::attempt::settings::ThreadSettings;
use crate::attempt::worktree::setup::{self, WorktreeSetup};
use crate::root::home::Home;
use crate::views::branches;

/// The worktrees of the branches below a thread that were set up so far.
pub struct BranchSetups<'h> {
    home: &'h Home,
    thread: ThreadId,
    known: BTreeSet<ThreadId>,
}

impl<'h> BranchSetups<'h> {
    /// The worktrees that were set up before now.
    pub fn before(home: &'h Home, thread: &ThreadId) -> BranchSetups<'h> {
        let mut setups = BranchSetups { home, thread: thread.clone(), known: BTreeSet::new() };
        setups.new_ones();
        setups
    }

    /// Sentences about the worktrees that were set up since the last call, for a person: for each group, the copies and the commands that its
    /// branches have in common are said once. Then the files that were not copied.
    pub fn new_lines(&mut self) -> (Vec<String>, Vec<String>) {
        let mut alike: BTreeMap<(String, Vec<String>, Vec<String>), Vec<WorktreeSetup>> = BTreeMap::new();
        let (mut lines, mut warnings) = (Vec::new(), BTreeSet::new());
        for (group, done) in self.new_ones() {
            warnings.extend(done.warnings().into_iter().map(|warning| format!("{group}: {warning}")));
            alike.entry((group, done.copied.clone(), done.prepared.clone())).or_default().push(done);
        }
        for ((group, ..), all) in alike {
            lines.extend(setup::lines_about_all(&all).into_iter().map(|line| format!("{group}: {line}")));
        }
        (lines, warnings.into_iter().collect())
    }

    /// The worktrees that are not known yet, each with the path of its group.
    fn new_ones(&mut self) -> Vec<(String, WorktreeSetup)> {
        let mut found = Vec::new();
        let mut level = vec![self.thread.clone()];
        for _ in 0..MAX_GENERATIONS {
            // A child thread that is unreadable has its own errors.
            level =
                level.iter().flat_map(|above| child_threads::in_order(self.home, above).unwrap_or_default()).collect();
            if level.is_empty() {
                break;
            }
            for thread in &level {
                let settings = ThreadSettings::load(self.home, thread).ok().flatten();
                let Some((place, worktree)) = settings.and_then(|own| Some((own.branch?, own.worktree?))) else {
                    continue;
                };
                if self.known.contains(thread) {
                    continue;
                }
                let Some(done) = setup::recorded(&worktree) else { continue };
                self.known.insert(thread.clone());
                let path = branches::path(self.home, thread);
                let group = path.and_then(|path| Some(path.strip_suffix(&format!(".{}", place.name))?.to_owned()));
                found.push((group.unwrap_or(place.group), done));
            }
        }
        found
    }
}
