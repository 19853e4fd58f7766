//! `uwf thread answer`

mod ask;
mod editor;
mod given;
mod reply;

use std::path::PathBuf;

use agent_kit::answer::{AgentAnswer, AgentTurn};
use agent_kit::ladder::ExtractionLadder;
use agent_kit::{AgentContext, submit};
use clap::ArgGroup;
use serde_json::Value;
use uwf_agents::human;
use uwf_core::config::ExtractRungs;
use uwf_core::prompt::AnswerForm;
use uwf_core::thread::ThreadId;
use uwf_engine::attempt::agent_process::SignalListener;
use uwf_engine::attempt::recorded::RecordedAttempt;
use uwf_engine::attempt::{child_threads, settings};
use uwf_engine::ownership;
use uwf_engine::root::ids;
use uwf_engine::thread::load::Thread;
use uwf_engine::thread::state::ThreadState;
use uwf_engine::verbs::answer::{self, AgentQuestion, AnswerPrecondition, OpenQuestion, PersonAnswer};
use uwf_engine::verbs::step::{StepReport, expected_head};
use uwf_engine::views::thread_now::ThreadNow;
use uwf_engine::views::{branches, pages};

use self::ask::TypedAnswer;
pub(super) use self::given::check;
use super::args::expect_attempt::ExpectAttempt;
use super::args::expect_head::ExpectHead;
use super::args::no_ask::NoAsk;
use super::args::which::ThreadArg;
use crate::ask::{InterruptibleWait, TerminalAsker};
use crate::commands::thread::step;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::input;
use crate::printer::CommandResult;

/// Maximum number of characters shown of the last step: about two screens.
const STEP_SHOWN: usize = 4000;

/// The recorded source of a person's answer.
const SOURCE: &str = "human";

/// Arguments of `uwf thread answer`.
#[derive(Debug, clap::Args)]
#[command(
    group = ArgGroup::new("answer").args(["data", "message", "file", "editor"]),
    after_help = "\
Examples:
  uwf thread answer 7Q2M                                  on a terminal: asks key by key
  uwf thread answer 7Q2M --data '{\"approved\": true}'
  uwf thread answer 7Q2M --editor                         the form in $VISUAL or $EDITOR
  uwf thread answer 7Q2M -m 'Looks good to me.'           when the answer is one text
  uwf thread answer 7Q2M --branch tests -m 'Skip it.'     if several branches ask
  uwf thread answer 7Q2M --file answer.md                 JSON, or markdown under a YAML header; - is stdin

On a terminal it shows the last step, which usually needs approval, and asks; so does `uwf run`. If a child thread
plays the role, the answer goes to the only child that waits.

The answer is checked against the role's schema and recorded as the step of that role; the command
prints the same report as `thread step`. If an agent asks something (`status: needs_input`), the answer is its reply: a text, which the
agent gets at the next step; --data plays the role instead of the agent.

Only a thread that waits, or whose next role is bound to the agent `human`, takes an answer. With exit 41 the command
lists the values that don't fit; exit 75 means that another answer came first."
)]
pub(crate) struct Args {
    #[command(flatten)]
    which: ThreadArg,
    #[command(flatten)]
    expect: ExpectHead,
    #[command(flatten)]
    attempt: ExpectAttempt,
    /// The branch that asks, if several branches of a group do: `tests`, or with its group `reviews.tests`.
    #[arg(long, value_name = "BRANCH")]
    branch: Option<String>,
    /// The role's output, JSON; `-` reads it from stdin.
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    data: Option<String>,
    /// Markdown under a YAML header, just the text if that is all the role asks for, or the reply to a question. The text is stored as typed; an
    /// empty one needs --data.
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    message: Option<String>,
    /// A file with JSON, or with markdown under a YAML header; `-` is stdin.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Write the answer in $VISUAL, else $EDITOR, else vi.
    #[arg(long)]
    editor: bool,
    /// Directory agents work in from now on; needed once for a thread that was started on another machine.
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    cwd: Option<PathBuf>,
    /// Who answers; by default the user of this machine. It is recorded with the answer.
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    #[command(flatten)]
    no_ask: NoAsk,
    /// Exit with 10 when the thread has ended.
    #[arg(long)]
    exit_code: bool,
}

/// Answers a waiting thread.
pub(crate) fn run(context: &CommandContext, args: Args) -> CommandResult {
    let id = context.thread(args.which.typed())?;
    context.name_thread(&id);
    let branch = args.branch.as_ref().map(|name| branches::named(&context.home, &id, name)).transpose()?;
    let mut seen = AnswerPrecondition { head: args.expect.expected, attempt: args.attempt.newest };
    if branch.is_some() {
        // It is the head of the thread that was named.
        expected_head::head(&context.home, &id, seen.head.take())?;
    }
    let cwd = args.cwd.as_ref().map(|dir| settings::workspace(&context.cwd, dir)).transpose()?;
    let asked = answer::asked_in(&context.home, branch.as_ref().unwrap_or(&id), seen, cwd.as_ref())?;
    let agent = asked_agent(context, &asked)?;
    if asked.thread != id {
        context.printer.talk(&format!("this answers {}, a child thread of {id}", asked.thread));
    }
    let by = args.by.clone().unwrap_or_else(user_name);
    // With `--data`, the person plays the role instead of the agent that asks.
    if let Some(question) = asked.question.as_ref().filter(|_| args.data.is_none()) {
        let reply = reply::of_arguments(context, &args, &asked, question)?;
        let report = answer::reply(&context.home, &asked, question, &reply, &by)?;
        editor::forget(context, &asked);
        reply::say_effect(context, question, &reply);
        say_next(context, &id);
        return match asked.thread == id {
            true => step::printed(context, report, args.exit_code),
            false => step::printed_child(context, report, args.exit_code),
        };
    }
    let answer = match args.editor {
        true => editor::write(context, args.no_ask, &agent, &asked)?,
        false => of_arguments(context, &args, &agent, &asked)?,
    };
    let report = record(context, &asked, &agent, answer, &by)?;
    if asked.thread != id {
        say_next(context, &id);
        return step::printed_child(context, report, args.exit_code);
    }
    step::printed(context, report, args.exit_code)
}

/// Answers the branch `asked` of a thread with markdown under a header.
pub(super) fn with_text(
    context: &CommandContext,
    (thread, asked): (&ThreadId, &ThreadId),
    text: &str,
) -> Result<StepReport, CommandError> {
    let asked = answer::asked(&context.home, asked, AnswerPrecondition::default())?;
    given(context, thread, &asked, |agent| given::file(agent, text.to_owned()))
}

/// Answers for a branch of a thread, with the answer that `give` makes for its role.
pub(super) fn given(
    context: &CommandContext,
    thread: &ThreadId,
    asked: &OpenQuestion,
    give: impl FnOnce(&AgentContext<'_>) -> Result<AgentAnswer, CommandError>,
) -> Result<StepReport, CommandError> {
    let agent = asked_agent(context, asked)?;
    let answer = give(&agent)?;
    let report = record(context, asked, &agent, answer, &user_name())?;
    say_next(context, thread);
    Ok(report)
}

/// Says what continues a thread after an answer to a child thread. It may be running: other branches may be at work.
fn say_next(context: &CommandContext, thread: &ThreadId) {
    // A group has no steps of its own, and a branch alone does not continue its group.
    let thread = &child_threads::topmost(&context.home, thread);
    let is_running = ThreadNow::read(&context.home, thread).is_ok_and(|now| now.state == ThreadState::Running);
    context.printer.talk(&match is_running {
        true => format!("thread {thread} is running; if it stops, continue with: uwf run {thread}"),
        false => format!("continue with: uwf run {thread}"),
    });
}

/// The user of this machine who runs the command.
fn user_name() -> String {
    let named = ["USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok());
    named.filter(|name| !name.is_empty()).unwrap_or_else(|| ownership::name_of_user(rustix::process::getuid().as_raw()))
}

/// The context an agent would get for the role that waits.
fn asked_agent<'c>(context: &'c CommandContext, asked: &OpenQuestion) -> Result<AgentContext<'c>, CommandError> {
    let thread = Thread::load_at(&context.home, asked.thread.clone(), asked.head)?;
    Ok(AgentContext::for_role(thread, &asked.role, None)?)
}

/// Asks the person at the terminal and records the answer. `None` if the question was closed first.
///
/// # Errors
/// `Interrupted` if the person does not answer; the thread keeps waiting.
pub(crate) fn at_terminal(context: &CommandContext, asked: &OpenQuestion) -> Result<Option<StepReport>, CommandError> {
    if let Some(question) = &asked.question {
        let Some(reply) = reply::ask_person(context, asked, question)? else { return Ok(None) };
        let report = answer::reply(&context.home, asked, question, &reply, &user_name())?;
        reply::say_effect(context, question, &reply);
        return Ok(Some(report));
    }
    let agent = asked_agent(context, asked)?;
    let answer = ask_person(context, &agent, asked)?;
    record(context, asked, &agent, answer, &user_name()).map(Some)
}

/// Checks the output that a program gives, and records nothing.
///
/// # Errors
/// `NotExtractable` if it does not fit the role.
pub(crate) fn check_output(context: &CommandContext, asked: &OpenQuestion, output: &Value) -> Result<(), CommandError> {
    if reply_in(asked, output).is_none() {
        given::data(&asked_agent(context, asked)?, output.to_string())?;
    }
    Ok(())
}

/// Answers with the output that a program gives; to the question of an agent, a text is the reply. `by` is recorded as the author.
///
/// # Errors
/// `NotExtractable` if it does not fit the role; `Busy` if another answer came first.
pub(crate) fn by_program(
    context: &CommandContext,
    asked: &OpenQuestion,
    output: &Value,
    by: &str,
) -> Result<StepReport, CommandError> {
    if let Some((question, text)) = reply_in(asked, output) {
        return Ok(answer::reply(&context.home, asked, question, text, by)?);
    }
    let agent = asked_agent(context, asked)?;
    let answer = given::data(&agent, output.to_string())?;
    record(context, asked, &agent, answer, by)
}

/// The question of an agent, and the text that replies to it.
fn reply_in<'a>(asked: &'a OpenQuestion, output: &'a Value) -> Option<(&'a AgentQuestion, &'a str)> {
    asked.question.as_ref().zip(output.as_str())
}

fn record(
    context: &CommandContext,
    asked: &OpenQuestion,
    agent: &AgentContext<'_>,
    answer: AgentAnswer,
    by: &str,
) -> Result<StepReport, CommandError> {
    let answer = exchange(answer, agent, asked, by);
    // The rest takes milliseconds. Hold signals back, so that Ctrl-C neither loses the answer nor records half of it.
    let _signals = SignalListener::listen()?;
    let within = |attempt: &RecordedAttempt| {
        let thread = Thread::load_at(&context.home, asked.thread.clone(), asked.head)?;
        AgentContext::for_role(thread, &asked.role, Some(attempt.clone()))
    };
    let form = AnswerForm::Frontmatter;
    let given = PersonAnswer {
        output: &|attempt| submit::output_of(&within(attempt)?, &answer, form, &ExtractRungs::default()),
        store: &|attempt| submit::submit(&within(attempt)?, answer.clone(), form, ExtractionLadder::default()),
    };
    let report = answer::record(&context.home, asked, &given)?;
    editor::forget(context, asked);
    Ok(report)
}

fn of_arguments(
    context: &CommandContext,
    args: &Args,
    agent: &AgentContext<'_>,
    asked: &OpenQuestion,
) -> Result<AgentAnswer, CommandError> {
    let (text, answer) = if let Some(data) = &args.data {
        let text = if data == "-" { input::from_stdin()? } else { data.clone() };
        (text.clone(), given::data(agent, text))
    } else if let Some(message) = &args.message {
        (message.clone(), given::message(agent, message.clone()))
    } else if let Some(file) = &args.file {
        let text = input::from_file(file)?;
        (text.clone(), given::file(agent, text))
    } else if args.no_ask.asks() {
        return ask_person(context, agent, asked);
    } else {
        return Err(not_given("answer", args.no_ask)
            .hint(human::by_argument(agent))
            .hint("or with -m TEXT, --file FILE or --editor"));
    };
    answer.map_err(|error| kept(context, agent, asked, &text, error))
}

/// Keeps the text of a refused answer as the draft for `--editor`, and says so.
fn kept(
    context: &CommandContext,
    agent: &AgentContext<'_>,
    asked: &OpenQuestion,
    text: &str,
    error: CommandError,
) -> CommandError {
    if text.trim().is_empty() || editor::keep(context, agent, asked, text).is_err() {
        return error;
    }
    error.hint(format!("your text is kept: `uwf thread answer {} --editor` continues with it", asked.thread))
}

/// The error for a missing answer or reply.
fn not_given(what: &str, no_ask: NoAsk) -> CommandError {
    let why = if no_ask.no_ask { "" } else { ", and uwf can't ask without a terminal" };
    CommandError::usage(format!("no {what} was given{why}"))
}

/// Shows the last step and the question, and asks key by key. If the person gives up, the typed part is kept for `--editor`.
fn ask_person(
    context: &CommandContext,
    agent: &AgentContext<'_>,
    asked: &OpenQuestion,
) -> Result<AgentAnswer, CommandError> {
    let asker = TerminalAsker::new(context.printer);
    let _ends = InterruptibleWait::begin()?;
    asker.print_line(&shown(agent)?);
    let mut typed = TypedAnswer::default();
    ask::key_by_key(agent, &mut typed, &mut |prompt| asker.as_typed(prompt)).map_err(|error| match typed.is_empty() {
        true => error,
        false => kept(context, agent, asked, &typed.text(), error),
    })
}

/// The text a person reads before answering: the last step, which usually is the one to approve, and the question.
fn shown(agent: &AgentContext<'_>) -> Result<String, CommandError> {
    let step = pages::last_step(agent.thread(), STEP_SHOWN)?;
    let step = step.map(|step| format!("{}\n", step.text)).unwrap_or_default();
    Ok(format!("{step}{}", human::question(agent)))
}

/// The answer as an exchange: the question, the reply, and the time since the thread began to wait.
fn exchange(answer: AgentAnswer, agent: &AgentContext<'_>, asked: &OpenQuestion, by: &str) -> AgentAnswer {
    let duration_ms = asked.since.map_or(0, |since| ids::now_ms().saturating_sub(since));
    let asked = AgentTurn::asked([human::question(agent)]);
    let turn = AgentTurn { output: answer.raw.clone(), latency_ms: duration_ms, ..asked };
    AgentAnswer { turns: vec![turn], duration_ms, source: SOURCE.to_owned(), by: Some(by.to_owned()), ..answer }
}
