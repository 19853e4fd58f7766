//! `uwf workflow put`

use std::path::{Path, PathBuf};

use clap_complete::engine::ArgValueCompleter;
use json_cas::NodeHash;
use serde_json::json;
use uwf_engine::verbs::put::{self, PutOptions, WorkflowPutReport};

use crate::checked::CheckedFile;
use crate::complete;
use crate::context::CommandContext;
use crate::input;
use crate::printer::{CommandResult, PrintableReport};
use crate::style;

/// Arguments of `uwf workflow put`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf workflow put solve-issue.yaml
  uwf workflow put --strict flows/develop.yaml
  uwf workflow put flows/develop.yaml --name develop-2
  uwf workflow show develop --source | sed 's/three/four/' | uwf workflow put -

With --expect, the name keeps its version if someone has changed it meanwhile (exit 75).")]
pub(crate) struct Args {
    /// The workflow, YAML or JSON; `-` for stdin.
    file: PathBuf,
    /// Name in the registry instead of the workflow's own.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Treat warnings as errors.
    #[arg(long)]
    strict: bool,
    /// Version that the name has now, or `none` for a new name.
    #[arg(long, value_name = "HASH|none", value_parser = expected_version, add = ArgValueCompleter::new(complete::hashes))]
    expect: Option<ExpectedVersion>,
    /// Leave the commands of its roles untrusted: `uwf workflow trust` lets them run.
    #[arg(long)]
    no_trust: bool,
}

/// The version of a name; `None` if the name is free.
#[derive(Debug, Clone, Copy)]
struct ExpectedVersion(Option<NodeHash>);

fn expected_version(typed: &str) -> Result<ExpectedVersion, String> {
    match typed {
        "none" => Ok(ExpectedVersion(None)),
        hash => hash.parse().map(|hash| ExpectedVersion(Some(hash))).map_err(|_| "not a hash, nor `none`".to_owned()),
    }
}

/// Arguments of `uwf workflow add`, the older form of `put`: `[NAME] FILE`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  uwf workflow add solve-issue flows/solve.yaml")]
pub(crate) struct AddArgs {
    /// The name, if it is not the workflow's own, and the file.
    #[arg(value_names = ["NAME", "FILE"], num_args = 1..=2, required = true)]
    words: Vec<String>,
    /// Treat warnings as errors.
    #[arg(long)]
    strict: bool,
}

impl From<AddArgs> for Args {
    fn from(AddArgs { mut words, strict }: AddArgs) -> Args {
        let file = words.pop().unwrap_or_default().into();
        Args { file, name: words.pop(), strict, expect: None, no_trust: false }
    }
}

/// How problems name a text from stdin.
const STDIN: &str = "stdin";

/// Stores a workflow.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let options = PutOptions {
        strict: args.strict,
        name: args.name.as_deref(),
        expected: args.expect.map(|ExpectedVersion(version)| version),
        is_untrusted: args.no_trust,
    };
    let is_stdin = args.file == Path::new("-");
    let WorkflowPutReport { text, problems, stored } = match is_stdin {
        true => put::put_text(&context.home, input::from_stdin()?, STDIN, &options)?,
        false => put::put(&context.home, &args.file, &options)?,
    };
    let origin = if is_stdin { STDIN.to_owned() } else { args.file.display().to_string() };
    let checked = CheckedFile::new(origin, text, problems, args.strict);
    context.printer.talk_raw(&checked.snippets());
    match stored {
        Some(stored) => {
            let text = format!("stored {} as {}\n", style::bold(&stored.name), stored.hash);
            Ok(PrintableReport::value_with_text(json!(stored), text))
        }
        None => Err(checked.refused()),
    }
}
