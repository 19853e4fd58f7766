//! Where a measurement takes place: storage roots of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use uwf_core::thread::ThreadId;
use uwf_engine::root::home::{Home, ROOT_VARIABLES};

use crate::error::{Error, Result};
use crate::programs::{ProgramPaths, clean};

/// The trivial agents, by what they print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrivialAgent {
    /// `output: step`: a program made with agent-kit.
    Step,
    /// `output: text`: a command that knows nothing of the store.
    Text,
}

impl TrivialAgent {
    /// Both.
    pub const ALL: [TrivialAgent; 2] = [TrivialAgent::Step, TrivialAgent::Text];

    /// Alias in the configuration.
    pub fn alias(self) -> &'static str {
        match self {
            TrivialAgent::Step => "stepper",
            TrivialAgent::Text => "texter",
        }
    }

    /// What the configuration says it prints.
    pub fn output(self) -> &'static str {
        match self {
            TrivialAgent::Step => "step",
            TrivialAgent::Text => "text",
        }
    }

    /// Its program, and the arguments with which it needs no store.
    fn program(self) -> (&'static str, &'static str) {
        match self {
            TrivialAgent::Step => ("trivial-agent", "--bare"),
            TrivialAgent::Text => ("trivial-command", "writer"),
        }
    }

    /// The agent on its own.
    pub fn alone(self, programs: &ProgramPaths) -> Command {
        let (name, arg) = self.program();
        let mut command = Command::new(programs.own(name));
        clean(&mut command);
        command.arg(arg);
        command
    }

    /// The floor running the agent on its own, and writing into `dir`.
    pub fn floor(self, programs: &ProgramPaths, dir: &Path) -> Command {
        let (name, arg) = self.program();
        let mut command = Command::new(programs.own("floor"));
        clean(&mut command);
        command.arg(dir).arg(programs.own(name)).arg(arg);
        command
    }
}

/// A storage root with the trivial agents configured, and a workspace beside it.
pub struct BenchRoot {
    /// The root, opened by the library.
    pub home: Home,
    /// Directory agents work in.
    pub workspace: PathBuf,
}

impl BenchRoot {
    /// Makes a place in a new directory.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new(dir: &Path, programs: &ProgramPaths) -> Result<BenchRoot> {
        let (root, workspace) = (dir.join("root"), dir.join("work"));
        for new in [&root, &workspace] {
            fs::create_dir_all(new).map_err(Error::with_path("create", new))?;
        }
        let quoted = |name: &str| serde_json::Value::from(programs.own(name).to_string_lossy()).to_string();
        let config = format!(
            "defaultAgent: stepper\nmaxSteps: 1000000\nagents:\n  stepper:\n    command: {}\n  texter:\n    command: {}\n    args: [\"{{role}}\"]\n    output: text\n",
            quoted("trivial-agent"),
            quoted("trivial-command"),
        );
        let file = root.join("config.yaml");
        fs::write(&file, config).map_err(Error::with_path("write", &file))?;
        Ok(BenchRoot { home: Home::open(root, &programs.uwf), workspace })
    }

    /// The same place, measured with another `uwf`.
    #[must_use]
    pub fn with_program(self, uwf: &Path) -> BenchRoot {
        BenchRoot { home: Home::open(self.home.root().to_owned(), uwf), workspace: self.workspace }
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
