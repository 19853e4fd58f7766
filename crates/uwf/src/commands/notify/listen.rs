//! `uwf notify listen`

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use uwf_engine::attempt::agent_process::SignalListener;
use uwf_engine::error::ErrorKind;
use uwf_engine::root::messages::MessageFiles;

use crate::context::CommandContext;
use crate::error::CommandError;
use crate::messengers::{NotifyMessenger, ReplyRecorder, SourceNews};
use crate::printer::{CommandResult, PrintableReport};

/// How often to check for signals, and for replies that are due.
const LOOK: Duration = Duration::from_millis(200);

/// Arguments of `uwf notify listen`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf notify listen
  systemd-run --user --unit uwf-replies -p KillMode=process uwf notify listen

Receives replies for the rules of `notify` that have `ntfy.replies` or `slack.appTokenEnv`, and records each as an
answer, like `uwf thread answer --by AUTHOR`. The sender gets a confirmation, or the reason of the refusal. This machine opens no port.

Replies that were sent while nothing listened are recorded after the start, as long as the service keeps them: ntfy for
12 hours, Slack not at all. Ctrl-C ends the command; it loses no reply that has arrived.")]
pub(crate) struct Args {}

/// Listens until a signal arrives.
pub(crate) fn run(context: &CommandContext, _args: &Args) -> CommandResult {
    let rules = context.home.config()?.notify;
    let messengers = rules.iter().map(|rule| NotifyMessenger::of_rule(&context.home, &rule.by));
    let messengers: Vec<NotifyMessenger> = messengers.filter_map(Result::transpose).collect::<Result<_, _>>()?;
    let mut sources: Vec<&NotifyMessenger> =
        messengers.iter().filter(|messenger| messenger.source().is_some()).collect();
    sources.sort_by_key(|messenger| messenger.source());
    sources.dedup_by_key(|messenger| messenger.source());
    if sources.is_empty() {
        return Err(CommandError::new(ErrorKind::Config, "no rule of `notify` receives replies")
            .hint("set `ntfy.replies` or `slack.appTokenEnv` of a rule: `uwf help configuration`"));
    }
    let files = MessageFiles::of_home(&context.home);
    let lock = files.listen()?.ok_or_else(|| {
        CommandError::new(ErrorKind::Busy, "another `uwf notify listen` receives the replies of this storage root")
            .hint("one is enough: it receives the replies of all rules")
    })?;
    lock.write_owner(&std::process::id().to_string()).map_err(uwf_engine::error::Error::from)?;
    let signals = SignalListener::listen()?;
    let (send, news) = mpsc::channel();
    for source in sources {
        let position = files.position(source.source().unwrap_or_default())?;
        let (source, files, send) = (source.clone(), files.clone(), send.clone());
        // The threads end with this process.
        std::thread::spawn(move || source.listen(&files, position, &send));
    }
    let mut recorder = ReplyRecorder::new(context, files, messengers.clone());
    while signals.stop().is_none() {
        match news.recv_timeout(LOOK) {
            Ok(SourceNews::Said(text)) => context.printer.talk(&text),
            Ok(SourceNews::Refused(refused)) => return Err(refused),
            Ok(SourceNews::Kept) | Err(RecvTimeoutError::Timeout) => recorder.record_all()?,
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    context.printer.talk("stopped; start it again to receive replies");
    Ok(PrintableReport::nothing())
}
