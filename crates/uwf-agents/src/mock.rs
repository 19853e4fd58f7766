//! The scripted agent: answers per role and visit from a YAML file, to try out a workflow free of charge.
//!
//! Its next answer depends only on the thread: the number of steps of the role gives the visit, and the record of attempts gives the
//! failures of this visit. The agent keeps no state, so a thread can be forked, stepped by hand, or continued after a crash.
//! `mock/script.rs` describes the file.

mod read;
mod schema;
mod script;

pub use schema::schema;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::Instant;

use agent_kit::answer::{AgentAnswer, AgentTurn};
use agent_kit::ladder::LadderDescent;
use agent_kit::{Agent, AgentContext, Error, Result, submit};
use durable_files::regular;
use schemars::JsonSchema;
use serde::Deserialize;
use uwf_core::config::ExtractRungs;
use uwf_core::prompt::AgentPrompt;
use uwf_core::thread::ThreadId;
use uwf_engine::attempt::agents::AgentSpec;
use uwf_engine::attempt::settings::ThreadSettings;
use uwf_engine::error::AtPath;
use uwf_engine::root::home::Home;
use uwf_engine::root::thread_branch::ThreadBranch;
use uwf_engine::thread::load::Thread;
use uwf_engine::views::branches;

use crate::model_exchange::millis;
use crate::settings;
use script::{MockScript, ScriptEntry, ScriptedAct, ScriptedReply};

/// Environment variable with the script of a mock that has none configured.
pub(crate) const SCRIPT_VARIABLE: &str = "UWF_MOCK_SCRIPT";

/// Settings in the `config` of the agent.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct MockAgentSettings {
    /// YAML file with the answers per role and visit; relative to the storage root. UWF_MOCK_SCRIPT does the same.
    script: Option<String>,
}

impl settings::BuiltInSettings for MockAgentSettings {}

/// The agent of one step.
#[derive(Default)]
pub struct MockAgent {
    exit_code: Option<i32>,
    /// The session's answers to feedback.
    follow_ups: VecDeque<String>,
}

impl Agent for MockAgent {
    fn exit_code(&self) -> Option<i32> {
        self.exit_code
    }

    fn answer(&mut self, context: &AgentContext<'_>, prompt: &AgentPrompt) -> Result<AgentAnswer> {
        let spec = context.attempt().map(|attempt| &attempt.opened.agent);
        let script = load(&script_path(context.thread().home(), spec)?)?;
        let role = context.role_name();
        let visit = visit(context)?;
        let failed = context.attempt().map_or(0, |attempt| attempt.opened.earlier.len());
        let branch = context.attempt().and_then(|attempt| attempt.opened.branch.as_ref()).map(ThreadBranch::path);
        let path = branch.as_ref().and_then(|_| branches::path(context.thread().home(), &context.thread().id));
        let names: Vec<String> = path.into_iter().chain(branch).collect();
        let entry = script.entry((&names, role), visit, failed)?;
        let begun = Instant::now();
        let as_reply = |error: Error| match entry.act {
            ScriptedAct::Reply(_) => error.hint(played_again(context)),
            _ => error,
        };
        check_prompt(entry, prompt).map_err(as_reply)?;
        std::thread::sleep(entry.hang);
        let mut answer = self.act(context, entry)?;
        answer.duration_ms = millis(begun.elapsed());
        answer.turns = vec![AgentTurn::from_prompt(prompt, &answer.raw, answer.duration_ms)];
        Ok(answer)
    }

    fn follow_up(&mut self, _context: &AgentContext<'_>, text: &str) -> Result<Option<AgentAnswer>> {
        Ok(self.follow_ups.pop_front().map(|reply| {
            let turn = AgentTurn { output: reply.clone(), ..AgentTurn::asked(vec![text.to_owned()]) };
            AgentAnswer { turns: vec![turn], ..AgentAnswer::text(reply) }
        }))
    }
}

/// How many groups within groups are counted. A damaged record may name a thread as its own parent.
const MAX_GROUPS: usize = 16;

/// Number of earlier visits of the role. A branch plays its role once, so the visits of its group count, and of the groups above it.
fn visit(context: &AgentContext<'_>) -> Result<usize> {
    let (home, thread) = (context.thread().home(), context.thread());
    let mut visits = thread.chain()?.count_of(context.role_name());
    let settings = |id: &ThreadId| ThreadSettings::load(home, id).ok().flatten();
    let mut at = settings(&thread.id);
    for _ in 0..MAX_GROUPS {
        let Some((branch, group)) = at.and_then(|own| own.branch.zip(own.parent)) else { break };
        let Some(above) = settings(&group).and_then(|group| group.parent) else { break };
        visits += Thread::any(home, &above)?.chain()?.count_of(&branch.group);
        at = settings(&above);
    }
    Ok(visits)
}

impl MockAgent {
    fn act(&mut self, context: &AgentContext<'_>, entry: &ScriptEntry) -> Result<AgentAnswer> {
        let answer = match &entry.act {
            ScriptedAct::Reply(ScriptedReply::Value(value)) => AgentAnswer::value(value.clone()),
            ScriptedAct::Reply(ScriptedReply::Text(text)) => AgentAnswer::text(text.clone()),
            ScriptedAct::Garbage(garbage) => {
                self.follow_ups = garbage.feedback.iter().cloned().collect();
                AgentAnswer::text(garbage.text.clone())
            }
            ScriptedAct::Fail(fail) => {
                self.exit_code = Some(fail.exit_code);
                let said = fail.stderr.as_deref().map(|text| format!(": {}", text.trim_end())).unwrap_or_default();
                let message =
                    format!("the mock fails with exit code {}, as {} says{said}", fail.exit_code, entry.place);
                return Err(Error::agent_failed(message).with_last_words(&said));
            }
            ScriptedAct::Hang => {
                let message = format!(
                    "the mock was silent for {} s, as {} says, and has no answer",
                    entry.hang.as_secs_f64(),
                    entry.place
                );
                return Err(Error::agent_failed(message));
            }
        };
        submit::keep(context, &context.redactor()?.text(&answer.raw))?;
        self.check(context, entry, &answer)?;
        Ok(answer)
    }

    /// Reports mistakes in a script: a `reply` that is invalid, and a `garbage` that is valid and would be taken for the visit's answer.
    fn check(&self, context: &AgentContext<'_>, entry: &ScriptEntry, answer: &AgentAnswer) -> Result<()> {
        let role = context.role_name();
        let read = LadderDescent::for_context(context, context.asked_form()).first(answer, &ExtractRungs::default());
        match (&entry.act, read) {
            (ScriptedAct::Reply(_), Err(failure)) => Err(Error::not_extractable(format!(
                "{}: the answer has no valid output for role `{role}`: {}",
                entry.place,
                failure.errors.join("; ")
            ))
            .hint(played_again(context))),
            (ScriptedAct::Garbage(_), Ok(_)) => Err(Error::config(format!(
                "{}: this `garbage` is a valid answer of role `{role}`; write it as `reply`",
                entry.place
            ))),
            _ => Ok(()),
        }
    }
}

/// The hint about a `reply` that can't be the answer of its visit.
fn played_again(context: &AgentContext<'_>) -> String {
    format!("correct the script, then `uwf thread retry {}` plays this entry again", context.thread().id)
}

fn check_prompt(entry: &ScriptEntry, prompt: &AgentPrompt) -> Result<()> {
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
    let message = format!("{}: the prompt does not contain {}", entry.place, missing.join(", "));
    Err(Error::agent_failed(format!("{message} (`uwf thread step --dry-run` shows the prompt)")))
}

/// The script's path. It comes from the agent's configuration (relative to the storage root), otherwise from its first argument, otherwise
/// from the environment. The latter two are relative to the workspace, which is the current directory.
fn script_path(home: &Home, spec: Option<&AgentSpec>) -> Result<PathBuf> {
    let settings = spec.map(settings::read::<MockAgentSettings>).transpose()?.unwrap_or_default();
    if let Some(path) = settings.script {
        return Ok(home.root().join(path));
    }
    let by_argument = spec.and_then(|spec| spec.args.first()).map(PathBuf::from);
    let by_environment = || std::env::var_os(SCRIPT_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    let path = by_argument.or_else(by_environment).ok_or_else(|| {
        Error::config(format!("the mock has no script: name one in config.yaml (`config: {{script: answers.yaml}}`) or in {SCRIPT_VARIABLE}"),
        )
    })?;
    std::path::absolute(&path).path_context("make absolute", &path)
}

/// Checks that there is a script. A script relative to the workspace is read only by its step.
pub(crate) fn check(home: &Home, spec: &AgentSpec) -> Result<()> {
    let path = script_path(home, Some(spec))?;
    let is_configured = settings::read::<MockAgentSettings>(spec)?.script.is_some();
    if is_configured { load(&path).map(drop) } else { Ok(()) }
}

fn load(path: &Path) -> Result<MockScript> {
    let text = regular::read_to_string(path, regular::MAX_TEXT)
        .map_err(|source| Error::config(format!("cannot read the mock's script {}: {source}", path.display())))?;
    MockScript::parse(&text, &path.display().to_string())
}
