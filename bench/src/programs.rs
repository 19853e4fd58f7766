//! The programs that are measured, built when they are not there.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::{Error, Result};

/// Where the programs are.
#[derive(Debug, Clone)]
pub struct Programs {
    /// The command that is measured.
    pub uwf: PathBuf,
    /// The same with its symbols, which a release does not have.
    pub with_symbols: PathBuf,
    /// Directory of the benchmark's own programs: floor and trivial agents.
    dir: PathBuf,
}

impl Programs {
    /// Builds all of them in this program's own profile; with a `uwf` given, takes that and what lies beside this
    /// program. `with_symbols` is where `uwf` lies as it was before it was stripped.
    ///
    /// # Errors
    /// When the build fails.
    pub fn find(uwf: Option<&Path>, with_symbols: Option<&Path>) -> Result<Programs> {
        let me = std::env::current_exe().map_err(Error::at("find", Path::new("this program")))?;
        let dir = me.parent().unwrap_or(Path::new("/")).to_owned();
        if let Some(uwf) = uwf {
            let uwf = std::fs::canonicalize(uwf).map_err(Error::at("find", uwf))?;
            let with_symbols = with_symbols.unwrap_or(&uwf).to_owned();
            return Ok(Programs { uwf, with_symbols, dir });
        }
        let uwf = dir.join("uwf");
        let with_symbols = with_symbols.unwrap_or(&uwf).to_owned();
        let programs = Programs { uwf, with_symbols, dir };
        programs.build()?;
        Ok(programs)
    }

    /// The directory programs are built under.
    pub fn build_dir(&self) -> &Path {
        self.dir.parent().unwrap_or(&self.dir)
    }

    /// A program of the benchmark.
    pub fn own(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// The floor, writing into `dir` and running one of the trivial agents.
    pub fn floor(&self, dir: &Path, agent: &str, args: &[&str]) -> Command {
        let mut command = Command::new(self.own("floor"));
        command.arg(dir).arg(self.own(agent)).args(args);
        clean(&mut command);
        command
    }

    fn build(&self) -> Result<()> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(&cargo);
        command
            .args(["build", "--quiet", "--bins", "-p", "uwf", "-p", "uwf-bench", "--target-dir"])
            .arg(self.build_dir());
        if !cfg!(debug_assertions) {
            command.arg("--release");
        }
        let status = command.stdin(Stdio::null()).status().map_err(Error::at("start", cargo.as_ref()))?;
        if status.success() { Ok(()) } else { Err(Error::Build) }
    }
}

/// The same small environment for everything that is measured.
pub fn clean(command: &mut Command) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.env_clear().env("PATH", path).env("HOME", "/nonexistent").stdin(Stdio::null());
}
