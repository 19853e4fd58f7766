//! `uwf thread take`

use agent_kit::AgentContext;
use agent_kit::answer::AgentAnswer;
use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;
use serde_json::{Map, Value};
use uwf_core::text::one_line;
use uwf_core::thread::ThreadId;
use uwf_core::workflow::{PERSON_PICKS, WINNER};
use uwf_engine::attempt::child_threads;
use uwf_engine::error::{Error, ErrorKind};
use uwf_engine::thread::load::Thread;
use uwf_engine::verbs::answer::instead_of_agent;
use uwf_engine::verbs::step::{StepReport, expected_head};
use uwf_engine::views::branches;

use super::args::expect_head::ExpectHead;
use super::{answer, step};
use crate::complete;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::{CommandReport, CommandResult, PrintableReport};
use crate::style;

/// Arguments of `uwf thread take`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf thread take 7Q2M drafts.2
  uwf thread take 7Q2M drafts.2 -m 'Shortest, and every test passes.'
  uwf thread take @ drafts.1 && uwf run @

A group with `copies` and without `pick` waits for a person after the last copy. You can also pick a copy if the role or
expression in `pick` picked none. `uwf thread show` lists the copies with their threads; `uwf thread read THREAD` shows one.
The text of -m becomes part of the thread, so that later roles see the reason.")]
pub(crate) struct Args {
    /// The thread that waits: its id, a unique start or end of the id, or @ for the newest.
    #[arg(add = ArgValueCompleter::new(complete::threads))]
    thread: String,
    /// The copy: its group, a dot, and its number.
    #[arg(value_name = "GROUP.NUMBER")]
    copy: String,
    #[command(flatten)]
    expect: ExpectHead,
    /// Why this copy; later roles see it.
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    message: Option<String>,
    /// Exit with 10 when the thread has ended.
    #[arg(long)]
    exit_code: bool,
}

/// Takes a copy as the winner of its group.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let id = context.thread(&args.thread)?;
    let picked = args.copy.rsplit_once('.').and_then(|(group, number)| Some((group, copy_number(number)?)));
    let picked = picked.filter(|(group, _)| !group.is_empty());
    let Some((group, number)) = picked else {
        return Err(CommandError::usage(format!("`{}` is not a copy of a group", args.copy))
            .hint("write its group, a dot, and its number: `drafts.2`"));
    };
    expected_head::head(&context.home, &id, args.expect.expected)?;
    let text = args.message.as_deref().unwrap_or_default();
    let taken = match branches::judge(&context.home, &id, group)? {
        Some(judge) => {
            let asked = instead_of_agent(&context.home, &judge)?;
            answer::given(context, &id, &asked, |agent| verdict(agent, &judge, number, text))
        }
        None => {
            let person = format!("{group}.{PERSON_PICKS}");
            let asked = branches::named(&context.home, &id, &person)
                .map_err(|error| no_copies(context, &id, (group, number), error))?;
            let text = format!("---\n{WINNER}: {number}\n---\n{text}");
            answer::with_text(context, (&id, &asked), &text)
        }
    };
    let report = taken.map_err(|error| match error.kind {
        ErrorKind::NotExtractable => {
            CommandError::usage(format!("copy {number} of group `{group}` does not exist, or has failed"))
                .hint(format!("`uwf thread show {id}` lists the copies"))
        }
        _ => error,
    })?;
    PrintableReport::new(&CopyTaken { report, copy: args.copy.clone(), exit_code: args.exit_code })
}

/// The number of a copy as the reports write it.
fn copy_number(text: &str) -> Option<u64> {
    text.parse::<u64>().ok().filter(|number| number.to_string() == text)
}

/// The error for a group without copies to pick from, with the groups that have some.
fn no_copies(context: &CommandContext, id: &ThreadId, (group, number): (&str, u64), error: Error) -> CommandError {
    let refused = CommandError::usage(format!("group `{group}` of thread {id} has no copies to pick from now"));
    if let Ok(workflow) = Thread::any(&context.home, id).and_then(|thread| thread.workflow())
        && child_threads::parent_of(&context.home, id).is_none()
        && workflow.groups().all(|(_, group)| group.copies.is_none())
    {
        return CommandError::usage(format!("workflow `{}` has no group with `copies`", one_line(&workflow.name)));
    }
    let copies_in = |id: &ThreadId| branches::with_copies_to_pick(&context.home, id).unwrap_or_default();
    let top = child_threads::topmost(&context.home, id);
    match copies_in(id).as_slice() {
        [] if top != *id => {
            let above = copies_in(&top);
            let is_meant = |of: &&(String, u64)| of.0 == group || of.0.ends_with(&format!(".{group}"));
            match above.iter().find(is_meant) {
                Some((path, _)) => {
                    let copy = format!("{path}.{number}");
                    let copy = branches::as_argument(&copy);
                    refused.hint(format!("it is a group of the thread above: `uwf thread take {top} {copy}`"))
                }
                None => error.hints.into_iter().fold(refused, CommandError::hint),
            }
        }
        [] => error.hints.into_iter().fold(refused, CommandError::hint),
        [(only, copies)] if (1..=*copies).contains(&number) => refused.hint(format!(
            "did you mean `{only}`? `uwf thread take {id} {}`",
            branches::as_argument(&format!("{only}.{number}"))
        )),
        several => {
            let copies = several.iter().map(|(group, copies)| format!("`{group}.1` to `{group}.{copies}`"));
            refused.hint(format!("copies to pick from: {}", copies.collect::<Vec<_>>().join(", ")))
        }
    }
}

/// The step of the role that picks, and the copy that it picked.
#[derive(Serialize)]
#[serde(transparent)]
struct CopyTaken {
    report: StepReport,
    #[serde(skip)]
    copy: String,
    #[serde(skip)]
    exit_code: bool,
}

impl CommandReport for CopyTaken {
    fn text(&self) -> String {
        format!("{} is the winner\n", style::bold(&one_line(&self.copy)))
    }

    fn exit_code(&self) -> u8 {
        step::exit_code(&self.report, self.exit_code)
    }
}

/// The answer of the role that picks, given by a person: the winner, and the reason for each other text that its output needs.
fn verdict(agent: &AgentContext<'_>, judge: &ThreadId, winner: u64, reason: &str) -> Result<AgentAnswer, CommandError> {
    let schema = agent.schema().value();
    let is_text = |key: &str| schema["properties"][key]["type"] == "string";
    let winner = if is_text(WINNER) { Value::from(winner.to_string()) } else { Value::from(winner) };
    let mut output = Map::from_iter([(WINNER.to_owned(), winner)]);
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    for key in required.filter(|key| *key != WINNER) {
        if !is_text(key) {
            let role = agent.role_name();
            return Err(CommandError::usage(format!(
                "the output of role `{role}` also needs `{key}`, which is not a text"
            ))
            .hint(format!("let a person play it: `uwf thread step {judge} --agent uwf-human`"))
            .hint(format!("then give the whole output: `uwf thread answer {judge} --data JSON`")));
        }
        if reason.trim().is_empty() {
            return Err(CommandError::usage(format!("the output of role `{}` also needs `{key}`", agent.role_name()))
                .hint("give it with -m TEXT"));
        }
        output.insert(key.to_owned(), Value::from(reason));
    }
    let value = Value::Object(output);
    let raw = if reason.trim().is_empty() { format!("{value:#}") } else { reason.to_owned() };
    let answer = AgentAnswer { raw, ..AgentAnswer::value(value) };
    answer::check(agent, &answer)?;
    Ok(answer)
}
