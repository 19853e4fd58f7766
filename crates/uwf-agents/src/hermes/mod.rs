//! hermes-agent of Nous Research, through its own command line.
//!
//! Its stdout is no dependable answer: warnings come before it, and in some versions the session's id. So the answer and
//! the turns are taken from the session hermes keeps (`sessions export`), then from its session file, and from stdout
//! only when there is neither. Feedback goes to the same session (`--resume`).

mod log;
mod session;

use agent_kit::answer::{Answer, Turn};
use agent_kit::{Agent, Context, Error, Kind, Result};
use serde::Deserialize;
use uwf_core::node::Tokens;
use uwf_core::prompt::{AnswerForm, Prompt};
use uwf_core::thread::ThreadId;
use uwf_engine::attempts::OutputFiles;
use uwf_engine::home::Home;

use crate::command::MAX_PROMPT_ARGUMENT;
use crate::program::{self, Ran};
use crate::settings;
use crate::trace::Trace;

use session::Hermes;

/// Tool-calling rounds of one answer, unless `maxTurns` says otherwise.
const DEFAULT_MAX_TURNS: u32 = 90;

/// What `config` of the agent may hold.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Settings {
    /// The program.
    command: String,
    /// Tool-calling rounds of one answer.
    max_turns: u32,
    /// Name of the model, in place of the agent's `model`.
    model: Option<String>,
    /// `HERMES_HOME`.
    home: Option<String>,
    /// Whether feedback goes to the same session.
    resume: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { command: "hermes".to_owned(), max_turns: DEFAULT_MAX_TURNS, model: None, home: None, resume: true }
    }
}

/// The agent of one step.
pub struct HermesAgent {
    form: AnswerForm,
    exit_code: Option<i32>,
    session: Option<Session>,
}

/// A session as far as it was told.
struct Session {
    id: String,
    turns: usize,
    tokens: Option<Tokens>,
}

impl HermesAgent {
    /// For a role of a thread that is being stepped.
    ///
    /// # Errors
    /// `Io` for the attempt's record.
    pub fn new(home: &Home, thread: &ThreadId) -> Result<HermesAgent> {
        Ok(HermesAgent { form: program::form(home, thread)?, exit_code: None, session: None })
    }

    /// One run of `hermes chat`, in a new session or in one that is there.
    fn chat(&mut self, context: &Context<'_>, text: &str, resume: Option<&str>) -> Result<Said> {
        let attempt = program::attempt(context, "hermes")?;
        let spec = &attempt.opened.agent;
        let settings: Settings = settings::read(spec)?;
        let home = context.thread().home();
        let hermes = Hermes::new(home, attempt, &settings.command, settings.home.as_deref());
        let model = match settings.model {
            Some(model) => Some(model),
            None => settings::model(home, spec)?,
        };
        let files = OutputFiles::of(home, &attempt.opened.thread, &attempt.opened.attempt);
        // What a failed attempt keeps is the work, not what was said about it afterwards.
        let mut chat = if resume.is_none() { hermes.program().keeping(&files) } else { hermes.program() };
        chat.command().args(["chat", "-q", text, "--yolo", "--max-turns", &settings.max_turns.to_string(), "--quiet"]);
        let options = [("--model", model.as_deref()), ("--resume", resume)];
        for (option, value) in options.into_iter().filter_map(|(option, value)| Some((option, value?))) {
            chat.command().args([option, value]);
        }
        chat.command().args(&spec.args);
        let mut log = log::Tail::open(&hermes.home_dir());
        let ran = chat.run(|_| {}, || log.events().iter().for_each(|event| program::progress("hermes", event)))?;
        self.exit_code = ran.status.code();
        let id = session::id(&ran.stderr, &ran.stdout);
        if !ran.status.code().is_some_and(|code| spec.succeeded(code)) {
            return Err(failed(&spec.name, &ran, id.as_deref()));
        }
        if let Some(wanted) = resume {
            same_session(wanted, id.as_deref())?;
        }
        let trace = match &id {
            Some(id) => hermes.session(id)?,
            None => None,
        };
        let stdout = session::without_id(&ran.stdout);
        Ok(Said { id, trace, stdout, duration_ms: ran.duration_ms })
    }

    /// The answer of a run, with the turns that are new since the last one.
    fn answer_of(&mut self, said: Said, asked: Turn, prompt: Option<&Prompt>) -> Answer {
        let (known, told) = self.session.take().map_or((0, None), |session| (session.turns, session.tokens));
        let Said { id, trace, stdout, duration_ms } = said;
        let Some(trace) = trace else {
            self.session = id.clone().map(|id| Session { id, turns: known, tokens: None });
            let turns = vec![Turn { output: stdout.clone(), latency_ms: duration_ms, ..asked }];
            return Answer { turns, duration_ms, session_id: id, ..Answer::text(stdout) };
        };
        let trace = match prompt {
            Some(prompt) => trace.with_prompt(prompt),
            None => trace,
        };
        self.session = id.clone().map(|id| Session { id, turns: trace.turns.len(), tokens: trace.tokens.clone() });
        let tokens =
            if known == 0 { trace.tokens } else { trace.tokens.zip(told).and_then(|(all, told)| since(&all, &told)) };
        Answer {
            raw: trace.answer.unwrap_or(stdout),
            turns: trace.turns.into_iter().skip(known).collect(),
            tokens,
            duration_ms,
            session_id: id,
            source: trace.source,
            value: None,
        }
    }
}

impl Agent for HermesAgent {
    fn form(&self) -> AnswerForm {
        self.form
    }

    fn exit_code(&self) -> Option<i32> {
        self.exit_code
    }

    fn answer(&mut self, context: &Context<'_>, prompt: &Prompt) -> Result<Answer> {
        let text = prompt.text();
        if text.len() > MAX_PROMPT_ARGUMENT {
            return Err(too_long(text.len()));
        }
        let said = self.chat(context, &text, None)?;
        Ok(self.answer_of(said, Turn::of(prompt, "", 0), Some(prompt)))
    }

    fn follow_up(&mut self, context: &Context<'_>, text: &str) -> Result<Option<Answer>> {
        let attempt = program::attempt(context, "hermes")?;
        let resumes = settings::read::<Settings>(&attempt.opened.agent)?.resume;
        let Some(id) = self.session.as_ref().map(|session| session.id.clone()).filter(|_| resumes) else {
            return Ok(None);
        };
        if text.len() > MAX_PROMPT_ARGUMENT {
            return Err(too_long(text.len()));
        }
        let said = self.chat(context, text, Some(&id))?;
        let asked = Turn::asked(vec![text.to_owned()]);
        Ok(Some(self.answer_of(said, asked, None)))
    }
}

/// What a run of hermes gave.
struct Said {
    id: Option<String>,
    trace: Option<Trace>,
    stdout: String,
    duration_ms: u64,
}

/// Tokens since an earlier count of the same session; `None` when the counter was set back meanwhile.
fn since(all: &Tokens, before: &Tokens) -> Option<Tokens> {
    let part =
        |all: Option<u64>, before: Option<u64>| all.zip(before).and_then(|(all, before)| all.checked_sub(before));
    Some(Tokens {
        input: Some(part(all.input, before.input)?),
        output: Some(part(all.output, before.output)?),
        cached: part(all.cached, before.cached),
        reasoning: part(all.reasoning, before.reasoning),
        cost: all.cost.zip(before.cost).map(|(all, before)| all - before),
    })
}

/// A session that cannot be found must not be taken for one that was told something.
fn same_session(wanted: &str, found: Option<&str>) -> Result<()> {
    match found {
        Some(found) if found == wanted => Ok(()),
        Some(other) => Err(Error::new(
            Kind::AgentFailed,
            format!("hermes was to go on with session {wanted}, but answered in session {other}"),
        )),
        None => Err(Error::new(
            Kind::AgentFailed,
            format!("hermes was to go on with session {wanted}, but does not say in which one it answered"),
        )),
    }
}

fn failed(agent: &str, ran: &Ran, session: Option<&str>) -> Error {
    let error = ran.failure(agent, session::is_about_it);
    match session {
        Some(id) => Error { message: format!("{} (session {id})", error.message), ..error }
            .hint(format!("`hermes sessions export - --session-id {id}` shows what it did")),
        None => error,
    }
}

fn too_long(bytes: usize) -> Error {
    let told =
        format!("the prompt has {bytes} bytes, too many for an argument of hermes (at most {MAX_PROMPT_ARGUMENT})");
    Error::new(Kind::Config, told).hint("lower `promptBudget` in config.yaml")
}
