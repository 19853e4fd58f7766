//! The scripted agent: answers per role and visit from a YAML file, for trying out a workflow without paying anybody.
//!
//! What it says next follows from the thread alone: how often the role was played tells the visit, the thread's record
//! of attempts how often this visit has failed. So it keeps no state, and a thread can be forked, stepped by hand or
//! taken up after a crash. `mock/script.rs` describes the file.

mod read;
mod script;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use agent_kit::answer::{Answer, Turn};
use agent_kit::ladder::{self, Outcome};
use agent_kit::{Context, Error, Kind, Result, agent, submit};
use json_cas::Hash;
use uwf_core::config::OutputMode;
use uwf_core::prompt::{AnswerForm, Prompt};
use uwf_core::thread::ThreadId;
use uwf_engine::attempts::OutputFiles;
use uwf_engine::error::AtPath;
use uwf_engine::home::Home;

use script::{Act, Entry, Reply, Script};

/// Environment variable that names the script of a mock whose configuration names none.
pub const SCRIPT_VARIABLE: &str = "UWF_MOCK_SCRIPT";

/// Key of an agent's `config` that names its script.
const SCRIPT_KEY: &str = "script";

/// Bytes of the prompt when there is no attempt to say how many it may have.
const PROMPT_BUDGET: usize = uwf_core::config::DEFAULT_PROMPT_BUDGET;

/// Plays a role of a thread as its script says.
///
/// # Errors
/// `Config` for the script, `AgentFailed` when it says so, runs out or expects another prompt, `NotExtractable` when
/// its answer is no use.
pub fn run(home: &Home, thread: &ThreadId, role: &str) -> Result<()> {
    let context = Context::load(home, thread, role)?;
    let mode = context.attempt().map(|attempt| attempt.opened.agent.output_mode());
    let form = if mode == Some(OutputMode::Json) { AnswerForm::Json } else { AnswerForm::Frontmatter };
    let mut exit_code = None;
    let step =
        play(home, &context, form, &mut exit_code).inspect_err(|error| agent::give_up(&context, error, exit_code))?;
    // The record already has it, whoever still reads.
    let _ = std::io::stdout().write_all(format!("{step}\n").as_bytes());
    Ok(())
}

fn play(home: &Home, context: &Context<'_>, form: AnswerForm, exit_code: &mut Option<i32>) -> Result<Hash> {
    let script = load(&script_path(home, context)?)?;
    let role = context.role_name();
    let visit = context.thread().chain()?.count_of(role);
    let failed = context.attempt().map_or(0, |attempt| attempt.opened.earlier.len());
    let entry = script.entry(role, visit, failed)?;
    let answer = answer(home, context, entry, form, exit_code)?;
    submit::submit(context, &answer, form, &mut []).map_err(|error| match (&entry.act, error.kind) {
        // Garbage fails as it does for any agent; a reply that does is a slip of the script.
        (Act::Reply(_), Kind::NotExtractable) => {
            Error { message: format!("{}: {}", entry.place, error.message), ..error }
        }
        _ => error,
    })
}

fn answer(
    home: &Home,
    context: &Context<'_>,
    entry: &Entry,
    form: AnswerForm,
    exit_code: &mut Option<i32>,
) -> Result<Answer> {
    let begun = Instant::now();
    let budget = context.attempt().map_or(PROMPT_BUDGET, |attempt| attempt.opened.prompt_budget);
    let prompt = context.prompt(form, budget)?;
    check_prompt(entry, &prompt)?;
    std::thread::sleep(entry.hang);
    let mut answer = match &entry.act {
        Act::Reply(Reply::Value(value)) => Answer::value(value.clone()),
        Act::Reply(Reply::Text(text)) => Answer::text(text.clone()),
        Act::Garbage(text) => garbage(entry, context, text, form)?,
        Act::Fail(fail) => {
            *exit_code = Some(fail.exit_code);
            let said = fail.stderr.as_deref().map(|text| format!(": {}", text.trim_end())).unwrap_or_default();
            let told = format!("the mock fails with exit code {}, as {} says{said}", fail.exit_code, entry.place);
            return Err(Error::new(Kind::AgentFailed, told));
        }
        Act::Hang => {
            let told = format!(
                "the mock was silent for {} s, as {} says, and has no answer",
                entry.hang.as_secs_f64(),
                entry.place
            );
            return Err(Error::new(Kind::AgentFailed, told));
        }
    };
    keep(home, context, &answer.raw)?;
    answer.duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    answer.turns = vec![turn(prompt, &answer)];
    Ok(answer)
}

/// A text that is to be no use must not be of use: it would be taken for the visit's answer.
fn garbage(entry: &Entry, context: &Context<'_>, text: &str, form: AnswerForm) -> Result<Answer> {
    match ladder::extract(text, None, form, context.schema(), &mut []) {
        Outcome::Failed { .. } => Ok(Answer::text(text)),
        Outcome::Found(_) => Err(Error::new(
            Kind::Config,
            format!(
                "{}: this `garbage` is a valid answer of role `{}`; write it as `reply`",
                entry.place,
                context.role_name()
            ),
        )),
    }
}

/// What was said is kept even if it turns out to be no use.
fn keep(home: &Home, context: &Context<'_>, raw: &str) -> Result<()> {
    let Some(attempt) = context.attempt() else { return Ok(()) };
    let files = OutputFiles::of(home, &attempt.opened.thread, &attempt.opened.attempt);
    std::fs::write(&files.raw, raw).at("write", &files.raw)
}

fn turn(prompt: Prompt, answer: &Answer) -> Turn {
    Turn {
        input: prompt.parts.into_iter().map(|part| part.text).collect(),
        output: answer.raw.clone(),
        tool_calls: Vec::new(),
        tokens: None,
        latency_ms: answer.duration_ms,
    }
}

fn check_prompt(entry: &Entry, prompt: &Prompt) -> Result<()> {
    if entry.expect_prompt.is_empty() {
        return Ok(());
    }
    let text = prompt.text();
    let missing: Vec<String> = entry
        .expect_prompt
        .iter()
        .filter(|wanted| !text.contains(wanted.as_str()))
        .map(|wanted| format!("{wanted:?}"))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let told = format!("{}: the prompt does not contain {}", entry.place, missing.join(", "));
    Err(Error::new(Kind::AgentFailed, format!("{told} (`uwf thread step --dry-run` shows the prompt)")))
}

/// The script: named in the agent's configuration (relative to the storage root), else its first argument, else by the
/// environment (both relative to the workspace, which is the current directory).
fn script_path(home: &Home, context: &Context<'_>) -> Result<PathBuf> {
    let spec = context.attempt().map(|attempt| &attempt.opened.agent);
    if let Some(named) = spec.and_then(|spec| spec.config.get(SCRIPT_KEY)) {
        let Some(path) = named.as_str() else {
            return Err(Error::new(
                Kind::Config,
                format!("the mock's `config.{SCRIPT_KEY}` is {named}, not the path of a file"),
            ));
        };
        return Ok(home.root().join(path));
    }
    let by_argument = spec.and_then(|spec| spec.args.first()).map(PathBuf::from);
    let by_environment = || std::env::var_os(SCRIPT_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    let path = by_argument.or_else(by_environment).ok_or_else(|| {
        Error::new(
            Kind::Config,
            format!("the mock has no script: name one in config.yaml (`config: {{script: answers.yaml}}`) or in {SCRIPT_VARIABLE}"),
        )
    })?;
    std::path::absolute(&path).at("make absolute", &path)
}

fn load(path: &Path) -> Result<Script> {
    let text = std::fs::read_to_string(path).map_err(|source| {
        Error::new(Kind::Config, format!("cannot read the mock's script {}: {source}", path.display()))
    })?;
    Script::parse(&text, &path.display().to_string())
}
