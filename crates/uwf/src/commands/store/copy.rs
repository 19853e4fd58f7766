//! `uwf store copy`

use std::path::Path;

use clap_complete::engine::ArgValueCompleter;
use uwf_core::config::StoreUrl;
use uwf_engine::error::ErrorKind;
use uwf_engine::root::home::Home;
use uwf_engine::root::shared_store::SharedStore;
use uwf_engine::root::thread_ids;
use uwf_engine::verbs::copy_store::{self, CopiedStore, CopyOutcome};

use crate::complete;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::{CommandReport, CommandResult, PrintableReport};
use crate::progress::ProgressCounter;
use crate::style;
use crate::table::count;

/// Arguments of `uwf store copy`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf store copy . s3://team-bucket/uwf
  uwf store copy . postgres://uwf@db.example/uwf 7Q2M4 9XQ1     only these threads
  uwf store copy s3://team-bucket/uwf /srv/backup/uwf

A store is a URL, the directory of a storage root, or `.` for the files of this storage root. Each node is compared with the
target. A thread or name that differs in the target is left alone, and the exit code is 65. Run the command again after an
interruption, or to copy what is new.

If you copy an active thread, both copies can continue: two independent threads with the same id. Settings and records of
threads stay on this machine.")]
pub(crate) struct Args {
    /// Source.
    #[arg(value_name = "FROM")]
    from: String,
    /// Target.
    #[arg(value_name = "TO")]
    to: String,
    /// Only these threads, without names of workflows [default: everything].
    #[arg(value_name = "THREAD", add = ArgValueCompleter::new(complete::threads))]
    threads: Vec<String>,
}

impl CommandReport for CopiedStore {
    fn text(&self) -> String {
        let of = |outcome: CopyOutcome| self.threads.iter().filter(|thread| thread.outcome == outcome).count();
        let mut text = String::new();
        for thread in self.threads.iter().filter(|thread| thread.outcome == CopyOutcome::Differs) {
            let there = thread.there.map(|head| format!(": {head} there, {} here", thread.head)).unwrap_or_default();
            text.push_str(&format!("{}  {}{there}\n", thread.thread, style::red("differs")));
        }
        for name in self.names.iter().filter(|name| name.outcome == CopyOutcome::Differs) {
            text.push_str(&format!("workflow {}  {}\n", name.name, style::red("differs")));
        }
        text.push_str(&format!(
            "{} copied, {} continued, {} unchanged; {} and {} bytes copied\n",
            count(of(CopyOutcome::Copied), "thread"),
            of(CopyOutcome::Advanced),
            of(CopyOutcome::Present),
            count(self.new_nodes, "node"),
            self.bytes,
        ));
        text
    }

    fn exit_code(&self) -> u8 {
        if self.differs() { ErrorKind::Data.exit_code() } else { 0 }
    }
}

/// Copies threads to another store.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let (from, to) = (home(context, &args.from)?, home(context, &args.to)?);
    if from.place() == to.place() {
        let both = format!("both are the same store: {}", from.place());
        return Err(CommandError::new(ErrorKind::Usage, both));
    }
    let threads =
        args.threads.iter().map(|typed| thread_ids::resolve(&from, None, typed)).collect::<Result<Vec<_>, _>>()?;
    let mut progress = ProgressCounter::new(context.printer, "threads copied");
    let copied = copy_store::copy(&from, &to, &threads, &mut |done, _| progress.show_count(done))?;
    drop(progress);
    PrintableReport::new(&copied)
}

/// The typed store.
fn home(context: &CommandContext, typed: &str) -> Result<Home, CommandError> {
    let here = &context.home;
    if typed == "." {
        return Ok(Home::open(here.root(), here.bin()));
    }
    if typed.contains("://") {
        let url = StoreUrl::parse(typed).map_err(|why| CommandError::new(ErrorKind::Usage, why))?;
        return Ok(Home::sharing(here.root(), here.bin(), SharedStore::open(&url, &here.cached_nodes())));
    }
    let dir = context.cwd.join(typed);
    if !is_root(&dir) {
        let message = format!("{} is not a storage root", dir.display());
        return Err(CommandError::new(ErrorKind::NotFound, message).hint(
            "it is the directory with `cas` and `threads.yaml`, or an empty one; `.` means the files of the one used here",
        ));
    }
    Ok(Home::open(dir, here.bin()))
}

/// Whether a directory is a storage root, or is empty and could become one.
fn is_root(dir: &Path) -> bool {
    let is_empty = || std::fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none());
    dir.join("cas").is_dir() || is_empty()
}
