//! The programs that are measured, built when they are not there.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::{Error, Result};

/// Builds `uwf` as it is released.
const RELEASE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/release.sh");

/// Where the programs are.
#[derive(Debug, Clone)]
pub struct ProgramPaths {
    /// The command that is measured.
    pub uwf: PathBuf,
    /// The command as `cargo install` makes it, if it is measured beside the other.
    pub installed: Option<PathBuf>,
    /// Directory of the benchmark's own programs: floor and trivial agents.
    dir: PathBuf,
}

impl ProgramPaths {
    /// Builds all of them in this program's own profile, `uwf` as it is released when that is the one for releases; with
    /// a `uwf` given, takes that and what lies beside this program.
    ///
    /// # Errors
    /// When the build fails.
    pub fn find(uwf: Option<&Path>) -> Result<ProgramPaths> {
        let me = std::env::current_exe().map_err(Error::with_path("find", Path::new("this program")))?;
        let dir = me.parent().unwrap_or(Path::new("/")).to_owned();
        let mut programs = ProgramPaths { uwf: dir.join("uwf"), installed: None, dir };
        if let Some(uwf) = uwf {
            programs.uwf = std::fs::canonicalize(uwf).map_err(Error::with_path("find", uwf))?;
        } else if cfg!(debug_assertions) {
            programs.build(&["-p", "uwf", "-p", "uwf-bench"])?;
        } else {
            programs.build(&["--release", "-p", "uwf-bench"])?;
            programs.uwf = programs.release()?;
        }
        Ok(programs)
    }

    /// These, and a `uwf` as `cargo install` makes it.
    ///
    /// # Errors
    /// When there is no such file.
    pub fn with_installed(self, installed: Option<&Path>) -> Result<ProgramPaths> {
        let found = |path: &Path| std::fs::canonicalize(path).map_err(Error::with_path("find", path));
        Ok(ProgramPaths { installed: installed.map(found).transpose()?, ..self })
    }

    /// The same in the profile of this program, with a `uwf` that can use shared stores.
    ///
    /// # Errors
    /// When the build fails.
    pub fn with_stores() -> Result<ProgramPaths> {
        let me = std::env::current_exe().map_err(Error::with_path("find", Path::new("this program")))?;
        let dir = me.parent().unwrap_or(Path::new("/")).to_owned();
        let programs = ProgramPaths { uwf: dir.join("uwf"), installed: None, dir };
        let profile: &[&str] = if cfg!(debug_assertions) { &[] } else { &["--release"] };
        programs.build(&[profile, &["-p", "uwf", "-p", "uwf-bench", "--features", "uwf/s3,uwf/postgres"]].concat())?;
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

    fn build(&self, args: &[&str]) -> Result<()> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(&cargo);
        command.args(["build", "--quiet", "--bins", "--target-dir"]).arg(self.build_dir()).args(args);
        let status = command.stdin(Stdio::null()).status().map_err(Error::with_path("start", cargo.as_ref()))?;
        if status.success() { Ok(()) } else { Err(Error::Build) }
    }

    /// Builds `uwf` by the script that releases are made with. Returns where it is.
    fn release(&self) -> Result<PathBuf> {
        let mut command = Command::new(RELEASE);
        // Build scripts would take what cargo says of this program for a change, and everything would be built again.
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("CARGO_")) {
            command.env_remove(name);
        }
        command
            .arg("--program")
            .env("CARGO_TARGET_DIR", self.build_dir())
            .stdin(Stdio::null())
            .stderr(Stdio::inherit());
        let output = command.output().map_err(Error::with_path("start", RELEASE.as_ref()))?;
        if !output.status.success() {
            return Err(Error::Build);
        }
        Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
    }
}

/// The same small environment for everything that is measured.
pub fn clean(command: &mut Command) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.env_clear().env("PATH", path).env("HOME", "/nonexistent").stdin(Stdio::null());
}
