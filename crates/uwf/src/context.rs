//! What every command has at hand.

use std::path::{Path, PathBuf};

use uwf_engine::error::AtPath;
use uwf_engine::home::Home;

use crate::error::CommandError;
use crate::printer::Printer;

/// What every command has at hand.
pub(crate) struct Context {
    /// The storage root.
    pub(crate) home: Home,
    /// Directory the command was called in.
    pub(crate) cwd: PathBuf,
    /// For talk on stderr while the command works.
    pub(crate) printer: Printer,
}

impl Context {
    /// Opens the storage root the environment names.
    pub(crate) fn open(printer: Printer) -> Result<Context, CommandError> {
        Context::open_at(None, printer)
    }

    /// Opens a storage root, the one the environment names when none is given.
    pub(crate) fn open_at(root: Option<&Path>, printer: Printer) -> Result<Context, CommandError> {
        let cwd = std::env::current_dir().at("find", "the current directory")?;
        let home = match root {
            Some(root) => Home::at(root)?,
            None => Home::from_environment()?,
        };
        Ok(Context { home, cwd, printer })
    }

    /// The thread meant by what was typed.
    pub(crate) fn thread(&self, typed: &str) -> Result<uwf_core::thread::ThreadId, CommandError> {
        Ok(uwf_engine::thread_ids::resolve(&self.home, typed)?)
    }

    /// The node meant by what was typed: a hash or a unique beginning of one.
    pub(crate) fn node(&self, typed: &str) -> Result<json_cas::Hash, CommandError> {
        Ok(self.home.store().resolve_prefix(typed).map_err(uwf_engine::error::Error::from)?)
    }

    /// The node meant by what was typed, read.
    pub(crate) fn read_node(&self, typed: &str) -> Result<(json_cas::Hash, json_cas::Node), CommandError> {
        let found = self.node(typed).and_then(|hash| Ok((hash, self.home.store().get(hash)?)));
        found.map_err(|error| match error.kind {
            uwf_engine::error::Kind::NotFound => {
                error.hint(format!("the store is {}", self.home.objects_dir().display()))
            }
            _ => error,
        })
    }

    /// The workflow meant by what was typed: a file, a name, a hash or a unique beginning of one.
    pub(crate) fn workflow(&self, typed: &str) -> Result<json_cas::Hash, CommandError> {
        let found = uwf_engine::resolve::workflow(&self.home, typed, &self.cwd)?;
        for note in &found.notes {
            self.printer.warn(note);
        }
        Ok(found.hash)
    }
}
