//! The files that the copies of a group changed.

use std::path::Path;

use uwf_core::prompt::{ChangedFile, CopyChanges};

use crate::attempt::redactor::SecretRedactor;
use crate::error::Result;
use crate::thread::load::Thread;

use super::GroupFiles;

/// Digits of a commit's name that are shown: enough for git in any repository.
const COMMIT_SHOWN: usize = 12;

impl GroupFiles<'_> {
    /// The files that each of some copies changed; empty if copies have no worktrees. `group` is the thread of the group.
    ///
    /// # Errors
    /// As for joining the copies; errors of git.
    pub fn changes(&self, group: &Thread<'_>, copies: &[&str], redactor: &SecretRedactor) -> Result<Vec<CopyChanges>> {
        if !self.has_worktrees() {
            return Ok(Vec::new());
        }
        let _errand = self.errand();
        let Some(start) = self.start()? else { return Ok(Vec::new()) };
        let from = start.head.get(..COMMIT_SHOWN).unwrap_or(&start.head);
        let git = self.git();
        let mut all = Vec::with_capacity(copies.len());
        // On another machine, the git branches of the copies may not exist yet.
        for copy in self.publish(group, copies)? {
            let files = git.changed_files(&start.head, &copy.tip)?.into_iter().map(|file| ChangedFile {
                path: file.path,
                before: file.before,
                lines: file.added.zip(file.removed),
            });
            all.push(CopyChanges {
                name: copy.name,
                range: format!("{from}..{}", copy.branch),
                files: files.collect(),
                diff: redactor.text(&git.readable_diff(&start.head, &copy.tip)?),
            });
        }
        Ok(all)
    }

    /// The directory of the thread's worktree.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.worktree.dir
    }
}
