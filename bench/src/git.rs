//! What git needs to keep 1 KB of new text safe: the figure for a reader who knows git and not the floor.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};
use crate::measure::run;
use crate::programs::clean;

/// Git waits for the disk before it calls a file written, as uwf does; otherwise it is as it is installed.
const SETTINGS: [&str; 8] = [
    "-c",
    "core.fsync=all",
    "-c",
    "core.fsyncMethod=fsync",
    "-c",
    "user.name=bench",
    "-c",
    "user.email=bench@localhost",
];

const TEXT_BYTES: usize = 1024;

/// A repository with one file.
pub struct GitRepository {
    dir: PathBuf,
}

impl GitRepository {
    /// Makes one in a new directory.
    ///
    /// # Errors
    /// When git is not installed or the directory cannot be written.
    pub fn init(dir: &Path) -> Result<GitRepository> {
        fs::create_dir_all(dir).map_err(Error::with_path("create", dir))?;
        let repository = GitRepository { dir: dir.to_owned() };
        run(&mut repository.git(&["init", "--quiet"]))?;
        Ok(repository)
    }

    /// Writes 1 KB of new text into the file. Returns the commands that keep it: `git add` and `git commit`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn new_text(&self, round: usize) -> Result<Vec<Command>> {
        let file = self.dir.join("text.md");
        fs::write(&file, format!("{round:x>TEXT_BYTES$}")).map_err(Error::with_path("write", &file))?;
        Ok(vec![self.git(&["add", "text.md"]), self.git(&["commit", "--quiet", "--message=A text."])])
    }

    fn git(&self, args: &[&str]) -> Command {
        let mut command = Command::new("git");
        clean(&mut command);
        command.args(SETTINGS).args(args).env("GIT_CONFIG_NOSYSTEM", "1").current_dir(&self.dir);
        command
    }
}
