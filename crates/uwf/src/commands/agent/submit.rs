//! `uwf agent submit`

use clap_complete::engine::ArgValueCompleter;
use std::path::PathBuf;

use agent_kit::ladder::ExtractionLadder;
use agent_kit::{AgentAnswer, AgentContext, play, submit, submitted_value};
use clap::ArgGroup;
use serde_json::Value;
use uwf_agents::trace::TraceFormat;
use uwf_core::config::ExtractRungs;
use uwf_core::extract::self_contradiction_of;
use uwf_core::prompt::AnswerForm;
use uwf_engine::error::{Error, ErrorKind};

use super::trace;
use crate::complete;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::input;
use crate::printer::{CommandResult, PrintableReport};

/// The recorded source of submitted answers.
const SOURCE: &str = "submit";

/// Arguments of `uwf agent submit`.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "uwf agent submit [OPTIONS] <THREAD> <ROLE> <--data <JSON>|--file <FILE>|->",
    group = ArgGroup::new("answer").required(true).args(["data", "file", "stdin"]),
    after_help = "\
Examples:
  \"$UWF_BIN\" agent submit \"$1\" \"$2\" --data '{\"approved\": true}'
  \"$UWF_BIN\" agent submit \"$1\" \"$2\" --file out.json --raw transcript.md --duration-ms 5200
  \"$UWF_BIN\" agent submit \"$1\" \"$2\" --file out.json --trace run.jsonl
  some-model < prompt | \"$UWF_BIN\" agent submit \"$1\" \"$2\" --text -

Prints the hash of the StepNode in every format; an agent with `output: step` must print it as its last line. For an
agent with `output: text` or `json`, the value joins what the agent prints, and the command prints nothing. The thread
continues when the agent has ended, not before. With exit 41 the command lists the values that don't fit the role's schema; submit again
as often as needed: the last submission counts."
)]
pub(crate) struct Args {
    /// The thread.
    #[arg(add = ArgValueCompleter::new(complete::threads))]
    thread: String,
    /// The role.
    #[arg(add = ArgValueCompleter::new(complete::roles))]
    role: String,
    /// Read the answer from stdin.
    #[arg(value_name = "-", value_parser = ["-"], hide_possible_values = true)]
    stdin: Option<String>,
    /// The role's output, JSON.
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    data: Option<String>,
    /// Read the answer from a file.
    #[arg(long)]
    file: Option<PathBuf>,
    /// The answer is a text: markdown under a YAML header (frontmatter) that holds the output.
    #[arg(long)]
    text: bool,
    /// Text of the agent, kept beside its output.
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    raw: Option<PathBuf>,
    /// The agent's own session id.
    #[arg(long, value_name = "ID")]
    session_id: Option<String>,
    /// How long the agent worked, milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 0, hide_default_value = true)]
    duration_ms: u64,
    /// Turns of the agent: a trace in its own format, or in uwf's. See `uwf help trace-format`.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Format of the trace; detected by default.
    #[arg(long, value_name = "FORMAT", requires = "trace", value_parser = TraceFormat::ALL.map(TraceFormat::as_str))]
    trace_format: Option<String>,
}

/// Submits an answer.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let thread = context.thread(&args.thread)?;
    let agent = AgentContext::load(&context.home, &thread, &args.role)?;
    let given = given(args)?;
    if args.is_only_a_value() && agent.offers_submit() && is_read(&agent) {
        return hand_in(context, args, &agent, given);
    }
    let raw = args.raw.as_deref().map(input::from_file).transpose()?;
    let trace = match &args.trace {
        Some(path) => trace::read(&context.printer, path, args.trace_format.as_deref())?,
        None => None,
    };
    let step = answer(args, &agent, given, raw)
        .or_else(|(error, given)| submit::keep(&agent, &agent.redactor()?.text(&given)).and(Err(error)))
        .map(|answer| trace::with(answer, trace))
        .and_then(|answer| submit::submit(&agent, answer, AnswerForm::Frontmatter, ExtractionLadder::default()))
        .inspect_err(|error| play::give_up(&agent, error, None))
        .map_err(|error| help(error, args))?;
    if agent.attempt().is_none() {
        context.printer.warn("no step of this thread is running this role: the result is stored, but nothing links it");
    }
    Ok(PrintableReport::line(&step.to_string()))
}

impl Args {
    /// Whether nothing is submitted beside a value.
    fn is_only_a_value(&self) -> bool {
        !self.text && self.raw.is_none() && self.session_id.is_none() && self.trace.is_none() && self.duration_ms == 0
    }
}

/// Whether uwf reads what the agent of this attempt prints.
fn is_read(agent: &AgentContext<'_>) -> bool {
    agent.attempt().is_some_and(|attempt| attempt.opened.is_wrapped())
}

/// Hands in a value for the step of an agent whose text uwf reads when it has ended. The step has both.
fn hand_in(context: &CommandContext, args: &Args, agent: &AgentContext<'_>, given: String) -> CommandResult {
    let answer = answer(args, agent, given, None).map_err(|(error, _)| help(error, args))?;
    submit::output_of(agent, &answer, AnswerForm::Frontmatter, &ExtractRungs::default())
        .map_err(|error| help(error, args))?;
    let value = answer.value.unwrap_or_default();
    submitted_value::keep(agent, &value)?;
    context.printer.talk("accepted; the step keeps what the agent prints beside it");
    Ok(PrintableReport::nothing())
}

/// The text of the answer; clap accepts exactly one source.
fn given(args: &Args) -> Result<String, CommandError> {
    match (&args.data, &args.file) {
        (Some(data), _) => Ok(data.clone()),
        (None, Some(file)) => input::from_file(file),
        (None, None) => input::from_stdin(),
    }
}

/// The answer; on failure also the text, so that the caller can keep it.
fn answer(
    args: &Args,
    agent: &AgentContext<'_>,
    given: String,
    raw: Option<String>,
) -> Result<AgentAnswer, (Error, String)> {
    let refused =
        |why: &str| Error::not_extractable(format!("the answer has no valid output for role `{}`: {why}", args.role));
    let about = AgentAnswer {
        duration_ms: args.duration_ms,
        session_id: args.session_id.clone(),
        source: SOURCE.to_owned(),
        ..AgentAnswer::default()
    };
    if args.text {
        return Ok(AgentAnswer { raw: given, ..about });
    }
    let value: Value = match json_cas::json_value(&given) {
        Ok(value) => value,
        Err(error) => return Err((refused(&error.to_string()), given)),
    };
    // Violations of the schema are reported with all others, in `submit`.
    let contradiction = self_contradiction_of(&value, agent.schema()).filter(|_| agent.violations(&value).is_empty());
    if let Some(why) = contradiction {
        return Err((refused(&why), given));
    }
    Ok(AgentAnswer { raw: raw.unwrap_or(given), value: Some(value), ..about })
}

fn help(error: Error, args: &Args) -> CommandError {
    let is_unfit = error.kind == ErrorKind::NotExtractable;
    let error = CommandError::from(error);
    if !is_unfit {
        return error;
    }
    let form = if args.text { "the header" } else { "the JSON" };
    error.hint(format!(
        "correct {form} and submit again; `uwf agent context {} {} | jq .schema` shows what is asked for",
        args.thread, args.role
    ))
}
