//! The context of every command.

use std::cell::{OnceCell, RefCell};
use std::path::{Path, PathBuf};

use json_cas::NodeHash;
use serde_json::json;
use uwf_core::config::UwfConfig;
use uwf_core::node::StartNode;
use uwf_core::thread::ThreadId;
use uwf_engine::error::ErrorKind;
use uwf_engine::root::env_file;
use uwf_engine::root::home::{AttemptId, Home};
use uwf_engine::root::older_config;
use uwf_engine::root::project::{self, ProjectConfig};
use uwf_engine::root::project_files::ProjectRoot;
use uwf_engine::root::thread_ids;
use uwf_engine::thread::load::Thread;
use uwf_engine::thread::state::ThreadState;
use uwf_engine::thread::{ending, nodes};
use uwf_engine::verbs::workflows::find_workflow::{self, PathTrust};
use uwf_engine::views::show::{self, ThreadStatus};

use crate::error::CommandError;
use crate::printer::CommandPrinter;
use crate::{style, table};

/// Stands for a current directory that was deleted. Relative paths still start there.
const DELETED: &str = ".";

/// Columns of the task beside the id of a thread.
const TASK: usize = 60;

/// The context of every command.
pub(crate) struct CommandContext {
    /// The storage root.
    pub(crate) home: Home,
    /// The directory in which the command was called.
    pub(crate) cwd: PathBuf,
    /// For messages on stderr while the command works.
    pub(crate) printer: CommandPrinter,
    /// The command's thread, once known.
    about: OnceCell<ThreadId>,
    /// The threads that a command about several has changed.
    changed: RefCell<Vec<ThreadId>>,
}

impl CommandContext {
    /// Opens a storage root; by default the one from the environment.
    pub(crate) fn open_at(root: Option<&Path>, printer: CommandPrinter) -> Result<CommandContext, CommandError> {
        let home = match root {
            Some(root) => Home::open_root(root)?,
            None => Home::from_environment()?,
        };
        Ok(CommandContext::with_home(home, printer))
    }

    /// Like [`CommandContext::open_at`], for a command that agents call.
    pub(crate) fn open_for_agents(
        root: Option<&Path>,
        attempt: Option<AttemptId<'_>>,
        printer: CommandPrinter,
    ) -> Result<CommandContext, CommandError> {
        Ok(CommandContext::with_home(Home::of_agent(root, attempt)?, printer))
    }

    fn with_home(home: Home, printer: CommandPrinter) -> CommandContext {
        // Commands that don't need the directory work even if it was deleted.
        let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from(DELETED));
        CommandContext { home, cwd, printer, about: OnceCell::new(), changed: RefCell::default() }
    }

    /// The configuration for the current directory. Warns if a project's configuration is ignored.
    pub(crate) fn config(&self) -> Result<UwfConfig, CommandError> {
        let (config, _, project) = project::checked_config(&self.home, &self.cwd)?;
        self.name_ignored(project.as_ref());
        Ok(config)
    }

    /// Warns about the ignored configuration of an untrusted project or an older store.
    pub(crate) fn name_ignored(&self, project: Option<&ProjectConfig>) {
        if let Some(ignored) = project.and_then(ProjectConfig::ignored) {
            self.printer.warn(&ignored);
        }
        if !self.home.config_file().exists()
            && let Some(unread) = older_config::unread(&self.home)
        {
            self.printer.warn(&unread.to_string());
        }
    }

    /// The current directory, for agents to work in.
    pub(crate) fn workspace(&self) -> Result<PathBuf, CommandError> {
        if self.cwd.is_absolute() {
            return Ok(self.cwd.clone());
        }
        Err(CommandError::new(ErrorKind::Io, "the current directory was deleted, so agents cannot work in it")
            .hint("name a directory for them: --cwd DIR"))
    }

    /// The project of the current directory; `None` outside of one.
    pub(crate) fn project(&self) -> Option<ProjectRoot> {
        ProjectRoot::of_dir(&self.home, &self.cwd)
    }

    /// The project that `--here` selects; `None` without the option.
    ///
    /// # Errors
    /// `Usage` outside of a project.
    pub(crate) fn selected_project(&self, is_here: bool) -> Result<Option<ProjectRoot>, CommandError> {
        if !is_here {
            return Ok(None);
        }
        let project = self.project().ok_or_else(|| {
            CommandError::new(ErrorKind::Usage, format!("{} is in no project", self.cwd.display()))
                .hint("a project is a git repository, or a directory with .workflows: go into one, or leave out --here")
        });
        project.map(Some)
    }

    /// The thread named by the typed word: an id, the end of an id, or `@` for the newest of this project.
    pub(crate) fn thread(&self, typed: &str) -> Result<ThreadId, CommandError> {
        let thread = self.resolve_thread(typed)?;
        // A command with two threads reports errors about the first.
        let _ = self.about.set(thread.clone());
        Ok(thread)
    }

    /// The same for one of several threads, which the command is not about.
    pub(crate) fn resolve_thread(&self, typed: &str) -> Result<ThreadId, CommandError> {
        let project = if typed.starts_with(thread_ids::NEWEST) { self.project() } else { None };
        Ok(thread_ids::resolve(&self.home, project.as_ref(), typed)?)
    }

    /// Says which thread a command acts on: a person may have named it by `@`. Data has the task instead.
    pub(crate) fn name_thread(&self, thread: &ThreadId) {
        // In a shared store, reading the thread costs requests.
        if self.printer.prints_text()
            && let Some(task) = self.task_of(thread)
        {
            self.printer.talk(&format!("thread {}: {task}", style::bold(thread.as_str())));
        }
    }

    /// The beginning of a thread's task on one line; `None` if the thread is unreadable, which the command reports.
    pub(crate) fn task_of(&self, thread: &ThreadId) -> Option<String> {
        Some(table::excerpt(&Thread::any(&self.home, thread).ok()?.start.prompt, TASK))
    }

    /// The same by the end node of a thread, whose nodes are on this machine.
    pub(crate) fn task_of_ended(&self, end: NodeHash) -> Option<String> {
        let store = self.home.store();
        let start = nodes::typed::<StartNode>(store, ending::read(store, end)?.start).ok()?;
        Some(table::excerpt(&start.prompt, TASK))
    }

    /// Notes that the command has changed one of several threads.
    pub(crate) fn acted_on(&self, thread: &ThreadId) {
        self.changed.borrow_mut().push(thread.clone());
    }

    /// The threads that the command has changed: its one thread, or each of several that it could change.
    #[cfg(feature = "temporal")]
    pub(crate) fn changed_threads(&self) -> Vec<ThreadId> {
        self.about.get().map_or_else(|| self.changed.borrow().clone(), |thread| vec![thread.clone()])
    }

    /// Adds the current state of the command's thread to a failure, if the state is readable.
    pub(crate) fn with_standing(&self, failure: CommandError) -> CommandError {
        match self.about.get().filter(|_| self.printer.prints_failures_as_data()) {
            Some(thread) => self.with_state_of(thread, failure),
            None => failure,
        }
    }

    /// Adds the current state of a thread to a failure, if the state is readable.
    pub(crate) fn with_state_of(&self, thread: &ThreadId, failure: CommandError) -> CommandError {
        let shown = show::show(&self.home, thread).ok();
        let until = failure.until.or_else(|| reply_end(&failure, shown.as_ref()?));
        let failure = CommandError { until, ..failure };
        let standing = shown.and_then(|shown| serde_json::to_value(shown).ok());
        failure.knowing(standing.unwrap_or_else(|| json!({ "thread": thread })))
    }

    /// The hash of the typed node: a hash, or a unique beginning of one.
    pub(crate) fn node(&self, typed: &str) -> Result<json_cas::NodeHash, CommandError> {
        Ok(self.home.store().resolve_prefix(typed).map_err(uwf_engine::error::Error::from)?)
    }

    /// Reads the typed node.
    pub(crate) fn read_node(&self, typed: &str) -> Result<(json_cas::NodeHash, json_cas::Node), CommandError> {
        let found = self.node(typed).and_then(|hash| Ok((hash, self.home.store().get(hash)?)));
        found.map_err(|error| match error.kind {
            ErrorKind::NotFound => error.hint(format!("the store is {}", self.home.place())),
            _ => error,
        })
    }

    /// The value of a variable: from the environment, or else from the storage root's `.env`. `None` if it is empty in both.
    pub(crate) fn variable(&self, name: &str) -> Result<Option<String>, CommandError> {
        // The system's error message would quote the value, which may be a secret.
        if std::env::var_os(name).is_some_and(|value| value.to_str().is_none()) {
            return Err(CommandError::new(ErrorKind::Config, format!("{name}: it is not UTF-8 text")));
        }
        let env_file = env_file::read(&self.home.env_file())?;
        Ok(env_file::value_of(name, &env_file))
    }

    /// The typed workflow, to look at it: a file, a name, a hash, or a unique beginning of one.
    pub(crate) fn workflow(&self, typed: &str) -> Result<json_cas::NodeHash, CommandError> {
        let found = find_workflow::workflow(&self.home, typed, &self.cwd, PathTrust::Untrusted)?;
        for note in &found.notes {
            self.printer.warn(note);
        }
        Ok(found.hash)
    }
}

/// When a thread that waits for a reply continues without it, Unix milliseconds.
pub(crate) fn reply_end(failure: &CommandError, shown: &ThreadStatus) -> Option<u64> {
    shown.until.filter(|_| failure.kind == ErrorKind::Waiting && shown.state == ThreadState::Waiting)
}
