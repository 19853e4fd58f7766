//! Errors of the storage root.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use json_cas::nearest;
use uwf_core::config::edit::EditError;
use uwf_core::document::Problem;
use uwf_core::node::OWN_TYPES;

use super::store::{heads_kind, of_heads, of_store, store_kind};
use super::{FREE_SPACE, when_full};
use crate::error::{Error, ErrorKind};
use crate::ownership::owner;
use crate::root::error::RootError;
use crate::root::home::ROOT_VARIABLES;

/// What to do with a key that stands in the configuration.
const KEY_INTO_ENV: &str =
    "put the key into `.env` of the storage root, as NAME=key, and set `providers.<name>.apiKeyEnv` to NAME";

/// What to try when a thread is not found.
const ALL_THREADS: &str = "`uwf thread list --all` lists every thread";

pub(super) fn of(error: RootError) -> Error {
    use RootError as Root;
    let of = |kind| Error::new(kind, error.to_string());
    let edge = match &error {
        Root::Durable(source) => when_full(of(ErrorKind::Io), source.is_disk_full()),
        Root::Store(source) => of_store(of(store_kind(source)), source),
        Root::Heads(source) => of_heads(of(heads_kind(source)), source),
        Root::File { path, source, .. } => with_file_hint(of(ErrorKind::Io), path, source),
        Root::NoRoot => of(ErrorKind::Config).hint(format!("set {} to a directory", ROOT_VARIABLES[0])),
        Root::Config(problems) => with_hints(of(ErrorKind::Config), problems),
        Root::ConfigResult(problems) => with_hints(of(ErrorKind::Config), problems).hint("nothing was written"),
        Root::ConfigEdit { source: EditError::Unreadable(problems), .. } => {
            with_hints(of(ErrorKind::Config), problems).hint("nothing was written")
        }
        Root::ConfigEdit { source: EditError::NotAMapping { .. }, .. } => {
            of(ErrorKind::Config).hint("set the whole of it, for example to `{key: value}` or `[a, b]`")
        }
        Root::ConfigEdit { source: EditError::Entangled { .. }, .. } => {
            of(ErrorKind::Config).hint("nothing was written; edit it by hand")
        }
        Root::ConfigBusy(_) => of(ErrorKind::Busy).hint("try again when it has finished"),
        Root::KeyInConfig(_) => of(ErrorKind::Config).hint(KEY_INTO_ENV).hint("`uwf setup` does both"),
        Root::LinkOutside { .. } => {
            of(ErrorKind::Config).hint("edit that file, or put a file of its own into the storage root")
        }
        Root::EnvValue { .. } => {
            of(ErrorKind::Config).hint("a key is one line without quotes; is something else in the clipboard?")
        }
        Root::ProjectFile { path, source } => with_file_hint(of(ErrorKind::Config), path, source),
        Root::NoProject(_) => of(ErrorKind::NotFound)
            .hint("it is looked for in the directory and above it, up to the one that holds `.git`"),
        Root::Trusted { .. } => {
            of(ErrorKind::Config).hint("remove it, then trust your projects again: `uwf config trust DIR`")
        }
        Root::RegistryBusy(_) => of(ErrorKind::Busy).hint("try again"),
        Root::Registry { .. } => of(ErrorKind::Data)
            .hint("repair it or restore it from a backup; the workflows themselves are safe in the store"),
        Root::NoVersion { workflow, .. } => {
            of(ErrorKind::NotFound).hint(format!("`uwf workflow history {workflow}` lists them"))
        }
        Root::NoType(typed) => of(ErrorKind::NotFound).hint(other_types(typed)),
        Root::NoThreadLike { near: Some(near), .. } => of(ErrorKind::NotFound).hint(format!("did you mean …{near}?")),
        Root::NoThreadLike { near: None, .. } => of(ErrorKind::NotFound).hint(ALL_THREADS),
        Root::ManyThreads { .. } => of(ErrorKind::Usage).hint("give more symbols"),
        Root::NotAPlace(_) => of(ErrorKind::Usage).hint("@ is the newest thread, @2 the one before"),
        Root::FewThreads { count: 0, .. } => {
            of(ErrorKind::NotFound).hint("`uwf thread start WORKFLOW -p 'TEXT'` begins one")
        }
        Root::StrangeNote { thread, .. } => of(ErrorKind::Data)
            .hint(
                "a newer uwf or another user wrote it: update uwf, or run the thread on the machine that has its files",
            )
            .hint(format!("or continue a copy of the thread without the files: `uwf thread fork {thread} --cwd DIR`")),
        Root::NoThread { has_records: true, .. } => of(ErrorKind::NotFound)
            .hint("but there are records of it here: `uwf recover --dry-run` shows what they say"),
        Root::NoThread { has_records: false, .. } => of(ErrorKind::NotFound).hint(ALL_THREADS),
        Root::Ended { thread, .. } => of(ErrorKind::NotFound)
            .hint(format!("`uwf thread show {thread}` shows how"))
            .hint(format!("`uwf thread fork {thread}` starts a new thread after its last step")),
        Root::NotActive(_) => of(ErrorKind::NotFound).hint("`uwf thread list --all` lists finished threads too"),
        Root::Stepped(_) => {
            of(ErrorKind::Busy).hint("try again when it has finished; `uwf thread show` shows what it is doing")
        }
        Root::SteppedBy { .. } => of(ErrorKind::Busy).hint("only they can end it, or wait until the step has ended"),
        Root::NotOurs { .. } => of(ErrorKind::Io).hint("`uwf doctor` says how a storage root is shared with a group"),
        Root::NoIndex(_) | Root::NoFiles(_) | Root::NotAThreadId { .. } => of(ErrorKind::Usage),
        Root::StoredId(_) => of(ErrorKind::Data),
        Root::NoWorkflow(_) | Root::FewThreads { .. } => of(ErrorKind::NotFound),
        Root::RecordLine(_) => of(ErrorKind::Internal),
        Root::OwnProgram(_) => of(ErrorKind::Io),
        Root::ConfigChanged(_) => of(ErrorKind::Busy),
        Root::NotText(_) => of(ErrorKind::Config),
        Root::EnvLine { .. } => of(ErrorKind::Config).hint("`uwf help configuration` describes the format of .env"),
    };
    let source: Box<dyn std::error::Error + Send + Sync> = match error {
        Root::Store(source) => Box::new(source),
        Root::Heads(source) => Box::new(source),
        error => Box::new(error),
    };
    Error { source: Some(source), ..edge }
}

fn with_hints(error: Error, problems: &[Problem]) -> Error {
    Error { hints: problems.iter().filter_map(|problem| problem.hint.clone()).collect(), ..error }
}

fn with_file_hint(error: Error, path: &Path, source: &io::Error) -> Error {
    match source.kind() {
        io::ErrorKind::StorageFull => error.hint(FREE_SPACE),
        io::ErrorKind::PermissionDenied => {
            let there = path.ancestors().find(|path| path.symlink_metadata().is_ok()).unwrap_or(path);
            error.hint(format!("{} belongs to {}", there.display(), owner(there)))
        }
        _ => error,
    }
}

fn other_types(typed: &str) -> String {
    // Some kinds have a second type beside the first.
    let titles: BTreeSet<&str> = OWN_TYPES.iter().map(|own| own.kind.title()).collect();
    nearest::did_you_mean(typed, titles.iter().copied()).unwrap_or_else(|| {
        format!(
            "a type is a hash, at least 4 symbols of its beginning, or one of {}; `uwf cas schema list` shows all",
            titles.into_iter().collect::<Vec<_>>().join(", ")
        )
    })
}
