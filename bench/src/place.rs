//! Where a measurement takes place: the programs, and storage roots of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use uwf_core::thread::ThreadId;
use uwf_engine::home::{Home, ROOT_VARIABLES};

use crate::error::{Error, Result};

/// The programs that are measured.
#[derive(Debug, Clone)]
pub struct Programs {
    /// The command itself.
    pub uwf: PathBuf,
    /// Directory the benchmark's own programs are in.
    pub dir: PathBuf,
}

impl Programs {
    /// The floor, running `agent`.
    pub fn floor(&self, dir: &Path, agent: &[&str]) -> Command {
        let mut command = Command::new(self.dir.join("floor"));
        let (program, args) = agent.split_first().expect("an agent is a program");
        command.arg(dir).arg(self.dir.join(program)).args(args);
        clean(&mut command);
        command
    }
}

/// A storage root with the trivial agents configured, and a workspace beside it.
pub struct Place {
    /// The root, opened by the library.
    pub home: Home,
    /// Directory agents work in.
    pub workspace: PathBuf,
}

impl Place {
    /// Makes a place in a new directory.
    pub fn new(dir: &Path, programs: &Programs) -> Result<Place> {
        let (root, workspace) = (dir.join("root"), dir.join("work"));
        for new in [&root, &workspace] {
            fs::create_dir_all(new).map_err(Error::at("create", new))?;
        }
        let quoted = |name: &str| serde_json::Value::from(programs.dir.join(name).to_string_lossy()).to_string();
        let config = format!(
            "defaultAgent: stepper\nmaxSteps: 1000000\nagents:\n  stepper:\n    command: {}\n  texter:\n    command: {}\n    args: [\"{{role}}\"]\n    output: text\n",
            quoted("trivial-agent"),
            quoted("trivial-command"),
        );
        let file = root.join("config.yaml");
        fs::write(&file, config).map_err(Error::at("write", &file))?;
        Ok(Place { home: Home::open(root, &programs.uwf), workspace })
    }

    /// `uwf` on this root.
    pub fn uwf(&self, args: &[&str]) -> Command {
        let mut command = Command::new(self.home.bin());
        command.args(args);
        clean(&mut command);
        command.env(ROOT_VARIABLES[0], self.home.root()).current_dir(&self.workspace);
        command
    }

    /// `uwf thread step`.
    pub fn step(&self, thread: &ThreadId) -> Command {
        self.uwf(&["thread", "step", thread.as_str()])
    }
}

/// The same small environment for everything that is measured.
fn clean(command: &mut Command) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.env_clear().env("PATH", path).env("HOME", "/nonexistent").stdin(Stdio::null());
}
