//! `uwf thread verify`

use clap_complete::engine::ArgValueCompleter;
use uwf_engine::error::ErrorKind;
use uwf_engine::thread::digest::ThreadDigest;
use uwf_engine::verbs::verify::{self, ThreadIntegrity, ThreadVerification};

use crate::complete;
use crate::context::CommandContext;
use crate::printer::{CommandReport, CommandResult, PrintableReport};
use crate::style;
use crate::table::count;

/// Arguments of `uwf thread verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf thread verify 7Q2M
  uwf thread verify 7Q2M --expect \"$(cat digest-of-yesterday)\"

Every finished step is recorded with a BLAKE3 digest over its nodes and the previous digest. `uwf thread show` prints the last \
digest, which covers the whole run. This command computes the digests again and compares them. A program that can change nodes \
can also change the record: to be sure, keep the digest elsewhere and pass it with --expect.

Exits with 65 if something was changed or is missing, and with 69 if no digest was recorded; then the next step starts a chain \
of digests.")]
pub(crate) struct Args {
    /// The thread: its id, or a unique start or end of the id.
    #[arg(value_name = "THREAD", add = ArgValueCompleter::new(complete::threads))]
    thread: String,
    /// A digest the thread had once, at its head or at an earlier step.
    #[arg(long, value_name = "DIGEST")]
    expect: Option<String>,
}

impl CommandReport for ThreadVerification {
    fn text(&self) -> String {
        let ThreadVerification { thread, steps, verdict, digest, recorded, differs_at, differs_at_step, .. } = self;
        let thread = style::bold(thread.as_str());
        match verdict {
            ThreadIntegrity::Intact => {
                format!(
                    "{} thread {thread} is as it was recorded, {}\n{digest}\n",
                    style::green("✓"),
                    count(*steps, "step")
                )
            }
            ThreadIntegrity::Unrecorded => format!(
                "{} this machine has no digest for the head of thread {thread}: another machine made that step, or \
                 the record was lost\n{digest} is the digest of the current content\n",
                style::yellow("?")
            ),
            ThreadIntegrity::Tampered => {
                let place = match (differs_at_step, differs_at) {
                    (Some(0), _) => "its start or workflow differs from the record".to_owned(),
                    (Some(step), Some(hash)) => {
                        format!("step {step} ({hash}) or an earlier step differs from the record")
                    }
                    _ => "it never had the expected digest".to_owned(),
                };
                let recorded = recorded.map(|recorded| format!("recorded {recorded}\n")).unwrap_or_default();
                format!("{} thread {thread} was changed: {place}\n{recorded}now      {digest}\n", style::red("✗"))
            }
        }
    }

    fn exit_code(&self) -> u8 {
        match self.verdict {
            ThreadIntegrity::Intact => 0,
            ThreadIntegrity::Tampered => ErrorKind::Data.exit_code(),
            ThreadIntegrity::Unrecorded => ErrorKind::NotFound.exit_code(),
        }
    }
}

/// Verifies a thread.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let thread = context.thread(&args.thread)?;
    let expected = args.expect.as_deref().map(|text| text.trim().parse::<ThreadDigest>()).transpose()?;
    PrintableReport::new(&verify::verify(&context.home, &thread, expected)?)
}
