//! An agent's context: its thread, its role, the previous steps, and the prompt built from them.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use json_cas::{CompiledSchema, NodeHash, SchemaViolation};
use serde_json::Value;
use uwf_core::config::{DEFAULT_PROMPT_BUDGET, OutputMode};
use uwf_core::node::{self, ContentNode, ReactSession, StepNode, TypedPayload};
use uwf_core::prompt::{AgentPrompt, AnswerForm, PromptInput, branch_brief, brief, build};
use uwf_core::spending;
use uwf_core::thread::{QuestionReply, Step, ThreadId};
use uwf_core::workflow::Role;
use uwf_engine::attempt::processes;
use uwf_engine::attempt::recorded::{
    self, AttemptOpening, AttemptOutputFiles, FallbackReason, QuestionExchange, RecordedAttempt, ThreadRecord,
};
use uwf_engine::attempt::redactor::{SecretRedactor, own_environment};
use uwf_engine::error::{Error, Result};
use uwf_engine::root::env_file;
use uwf_engine::root::home::Home;
use uwf_engine::thread::chain::{Record, role_key};
use uwf_engine::thread::load::Thread;
use uwf_engine::thread::message;
use uwf_engine::thread::nodes;
use uwf_engine::verbs::group_files::{git_branches, worktree_changes};

use crate::output_check;

/// Longest accepted session id. Today's agents use 20 to 36 characters.
const MAX_SESSION_ID: usize = 128;

/// Whether a text can be passed to a program as a session id: it can't be mistaken for an option or a path.
pub fn is_session_id(id: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    id.starts_with(|c: char| c.is_ascii_alphanumeric())
        && id.len() <= MAX_SESSION_ID
        && !id.contains("..")
        && id.chars().all(is_part)
}

/// An agent's view of its step.
pub struct AgentContext<'h> {
    thread: Thread<'h>,
    workflow_name: String,
    /// Names of the workflow's roles, by their keys in the chain cache.
    role_names: HashMap<u64, String>,
    role_name: String,
    role: Role,
    /// Positions from 0 of the steps that the role sees, oldest first; `None` if it sees all.
    seen: Option<Vec<usize>>,
    schema: Arc<CompiledSchema>,
    input: Option<Value>,
    attempt: Option<RecordedAttempt>,
    /// Environment of the attempt's keeper. It has secrets that this agent was not given but may still find, so they are redacted.
    of_keeper: Vec<(String, String)>,
    /// The first whole prompt, with its form and budget.
    prompted: OnceLock<(AnswerForm, usize, AgentPrompt)>,
}

impl<'h> AgentContext<'h> {
    /// Loads the context of a role in a thread. Within an attempt (`UWF_ATTEMPT` is set and is this thread's newest) it is the attempt's
    /// context; otherwise it belongs to the thread's head.
    ///
    /// # Errors
    /// `NotFound` if the thread is not active, `Usage` if its workflow does not have the role, or errors of its nodes.
    pub fn load(home: &'h Home, thread: &ThreadId, role: &str) -> Result<AgentContext<'h>> {
        let running = std::env::var("UWF_ATTEMPT").ok();
        AgentContext::within(home, thread, role, running.as_deref())
    }

    /// Like [`AgentContext::load`], for a process that does not get its attempt from the environment.
    pub fn within(home: &'h Home, thread: &ThreadId, role: &str, running: Option<&str>) -> Result<AgentContext<'h>> {
        let attempt = recorded::of_process(home, thread, role, running)?;
        let thread = match &attempt {
            Some(attempt) => Thread::load_at(home, thread.clone(), attempt.opened.expected_head)?,
            None => Thread::active(home, thread)?.0,
        };
        AgentContext::for_role(thread, role, attempt)
    }

    /// Returns the context of a role in a loaded thread.
    ///
    /// # Errors
    /// `Usage` if its workflow does not have the role, or errors of its nodes.
    pub fn for_role(thread: Thread<'h>, role_name: &str, attempt: Option<RecordedAttempt>) -> Result<AgentContext<'h>> {
        let workflow = thread.workflow()?;
        let Some(role) = workflow.roles.get(role_name).cloned() else {
            let known: Vec<&str> = workflow.roles.keys().map(String::as_str).collect();
            return Err(Error::usage(format!("workflow `{}` has no role `{role_name}`", workflow.name))
                .hint(format!("its roles: {}", known.join(", "))));
        };
        let schema = thread.home().store().schema(role.meta)?;
        let seen = seen(&thread, role_name, &role)?;
        let input = thread.input()?;
        let role_names = workflow.roles.into_keys().map(|name| (role_key(&name), name)).collect();
        let (workflow_name, role_name) = (workflow.name, role_name.to_owned());
        let keeper =
            attempt.as_ref().map(|attempt| attempt.opened.keeper).filter(|keeper| *keeper != std::process::id());
        let of_keeper = keeper.map(processes::environment_of).unwrap_or_default();
        let prompted = OnceLock::new();
        Ok(AgentContext {
            thread,
            workflow_name,
            role_names,
            role_name,
            role,
            seen,
            schema,
            input,
            attempt,
            of_keeper,
            prompted,
        })
    }

    /// The thread.
    pub fn thread(&self) -> &Thread<'h> {
        &self.thread
    }

    /// Name of the workflow.
    pub fn workflow_name(&self) -> &str {
        &self.workflow_name
    }

    /// Name of the role to play.
    pub fn role_name(&self) -> &str {
        &self.role_name
    }

    /// The role to play.
    pub fn role(&self) -> &Role {
        &self.role
    }

    /// Schema of the role's output.
    pub fn schema(&self) -> &CompiledSchema {
        &self.schema
    }

    /// Returns all reasons why a value can't be the role's output: violations of the schema, and references to nodes that are not stored.
    pub fn violations(&self, value: &Value) -> Vec<SchemaViolation> {
        output_check::violations(&self.schema, self.thread.home().store(), value)
    }

    /// Like [`violations`](Self::violations), for a value that an agent submits with a tool: it must not contradict itself, either.
    pub fn submit_violations(&self, value: &Value) -> Vec<SchemaViolation> {
        let found = self.violations(value);
        if !found.is_empty() {
            return found;
        }
        output_check::self_contradiction(&self.schema, value).into_iter().collect()
    }

    /// The thread's task.
    pub fn task(&self) -> &str {
        &self.thread.start.prompt
    }

    /// The input of the thread, if its workflow has one.
    pub fn input(&self) -> Option<&Value> {
        self.input.as_ref()
    }

    /// Directory to work in.
    pub fn workspace(&self) -> Option<PathBuf> {
        self.attempt.as_ref().map(|attempt| attempt.opened.workspace.clone())
    }

    /// The current attempt.
    pub fn attempt(&self) -> Option<&RecordedAttempt> {
        self.attempt.as_ref()
    }

    /// Returns the record of the current attempt: agent, workspace and settings.
    ///
    /// # Errors
    /// `Usage` outside an attempt, because no agent and workspace were chosen.
    pub fn opened(&self) -> Result<&AttemptOpening> {
        self.attempt.as_ref().map(|attempt| &attempt.opened).ok_or_else(|| {
            Error::usage("this agent needs the settings of a step, but uwf did not start it")
                .hint("`uwf thread step THREAD` runs a step, `uwf agent run NAME THREAD ROLE` a built-in agent by hand")
        })
    }

    /// Returns the files for the output of the attempt's agent.
    pub fn output_files(&self) -> Result<AttemptOutputFiles> {
        let opened = self.opened()?;
        Ok(AttemptOutputFiles::paths_of_attempt(self.thread.home(), &opened.thread, &opened.attempt))
    }

    /// The form of answer that the `output` of the attempt's agent requests: one JSON object, or otherwise a text with a header.
    pub fn asked_form(&self) -> AnswerForm {
        let is_json = |attempt: &RecordedAttempt| attempt.opened.agent.output_mode() == OutputMode::Json;
        if self.attempt.as_ref().is_some_and(is_json) { AnswerForm::Json } else { AnswerForm::Frontmatter }
    }

    /// Whether the agent gets the tool `submit`: `extract.submit`.
    pub fn offers_submit(&self) -> bool {
        self.attempt.as_ref().is_none_or(|attempt| attempt.opened.extract.submit)
    }

    /// Most bytes of the prompt.
    pub fn prompt_budget(&self) -> usize {
        self.attempt.as_ref().map_or(DEFAULT_PROMPT_BUDGET, |attempt| attempt.opened.prompt_budget)
    }

    /// Returns the whole prompt of this step in `budget` bytes: the task, and as much of the history as fits. Later calls return the same, so
    /// that an answer is compared with the prompt that the agent got: meanwhile it has changed files.
    ///
    /// # Errors
    /// A node can't be read; few more nodes are read than fit.
    pub fn prompt(&self, form: AnswerForm, budget: usize) -> Result<AgentPrompt> {
        if let Some((_, _, prompt)) = self.prompted.get().filter(|(of, room, _)| (*of, *room) == (form, budget)) {
            return Ok(prompt.clone());
        }
        let prompt = self.new_prompt(form, budget)?;
        let _ = self.prompted.set((form, budget, prompt.clone()));
        Ok(prompt)
    }

    fn new_prompt(&self, form: AnswerForm, budget: usize) -> Result<AgentPrompt> {
        let prompt = self.with_git_branches(self.build(form, budget, false)?)?;
        let Some(opened) = self.attempt.as_ref().map(|attempt| &attempt.opened) else { return Ok(prompt) };
        Ok(match &opened.fallback_for {
            // An agent at its usage limit is not started, so it has left no files.
            Some(FallbackReason { agent, why }) => prompt.with_fallback(agent, why, !opened.earlier.is_empty()),
            None => prompt,
        })
    }

    /// Adds the git branches of the group that was just played, if the role sees its step.
    fn with_git_branches(&self, prompt: AgentPrompt) -> Result<AgentPrompt> {
        let newest = self.thread.chain()?.len().checked_sub(1);
        if newest.is_none_or(|newest| self.seen.as_ref().is_some_and(|seen| !seen.contains(&newest))) {
            return Ok(prompt);
        }
        Ok(match git_branches::of_newest_step(&self.thread)? {
            Some((group, branches)) => prompt.with_git_branches(&group, &branches),
            None => prompt,
        })
    }

    /// Returns the prompt for an agent that continues its session of the role's last visit. It has only the steps since then.
    pub fn news(&self, form: AnswerForm, budget: usize) -> Result<AgentPrompt> {
        self.with_git_branches(self.build(form, budget, true)?)
    }

    fn build(&self, form: AnswerForm, budget: usize, is_resumed: bool) -> Result<AgentPrompt> {
        let workspace = worktree_changes::of_thread(&self.thread)?
            .or_else(|| worktree_changes::of_directory(&self.thread, &self.attempt.as_ref()?.opened.workspace));
        self.with_input(form, budget, is_resumed, |input| {
            build(&PromptInput { workspace: workspace.as_ref(), ..*input }, |position| self.prior_step(position))
        })
    }

    /// Returns the agent's own session of the role's last visit, if it may continue it. For that, the role's last step must be from the
    /// role's newest attempt, in this very thread, by the same agent with the same settings. After a fork, the session belongs to the
    /// source thread. After a failed attempt, the session contains more than the thread.
    pub(crate) fn earlier_session(&self) -> Result<Option<String>> {
        let Some(opened) = self.attempt.as_ref().map(|attempt| &attempt.opened) else { return Ok(None) };
        let chain = self.thread.chain()?;
        let Some(last) = chain.last_of(&self.role_name) else { return Ok(None) };
        let Some(Record { step, detail, .. }) = chain.get(last) else { return Ok(None) };
        let home = self.thread.home();
        if ThreadRecord::read(home, &self.thread.id)?.last_step_of(&self.role_name, &opened.attempt) != Some(step) {
            return Ok(None);
        }
        let node = home.store().get(detail)?;
        if node::NodeKind::from_type_hash(node.type_hash) != Some(node::NodeKind::ReactSession) {
            return Ok(None);
        }
        let session: ReactSession = nodes::payload(detail, &node)?;
        let is_own = self.is_own_agent(opened, session.agent)?;
        Ok(session.session_id.filter(|id| is_own && is_session_id(id)))
    }

    /// Whether a stored agent is this attempt's agent, in any version and with any model that its program reported.
    pub(crate) fn is_own_agent(&self, opened: &AttemptOpening, stored: NodeHash) -> Result<bool> {
        let stored: node::AgentNode = nodes::typed(self.thread.home().store(), stored)?;
        let unversioned = |agent: node::AgentNode| node::AgentNode { version: None, ..agent };
        let own = unversioned(spending::with_reported_model(opened.agent.payload(), stored.model.as_deref()));
        // Redact it like the stored one: an agent's arguments may contain a secret.
        let own = self.redactor()?.draft(own.draft());
        Ok(own.hash() == unversioned(stored).draft().hash())
    }

    /// Returns the task for a child thread that plays this role, in `budget` bytes.
    pub fn brief(&self, budget: usize) -> Result<String> {
        let form = AnswerForm::Frontmatter;
        self.with_input(form, budget, false, |input| brief(input, |position| self.prior_step(position)))
    }

    /// Returns the task of a branch that plays this role, including `part`, in `budget` bytes.
    pub fn branch_brief(&self, part: &str, budget: usize) -> Result<String> {
        let form = AnswerForm::Frontmatter;
        self.with_input(form, budget, false, |input| branch_brief(input, part, |position| self.prior_step(position)))
    }

    fn with_input<T>(
        &self,
        output: AnswerForm,
        budget: usize,
        is_resumed: bool,
        make: impl FnOnce(&PromptInput<'_>) -> Result<T>,
    ) -> Result<T> {
        let own = self.thread.chain()?.last_of(&self.role_name);
        let own = own.and_then(|index| match &self.seen {
            Some(seen) => seen.binary_search(&index).ok(),
            None => Some(index),
        });
        let replies = self.replies()?;
        make(&PromptInput {
            replies: &replies,
            may_ask: self.attempt.as_ref().is_none_or(|attempt| attempt.opened.ask.asks()),
            workflow: &self.workflow_name,
            role_name: &self.role_name,
            role: &self.role,
            schema: self.schema.value(),
            task: self.task(),
            input: self.input.as_ref(),
            steps: self.step_count()?,
            own: own.map(|index| index + 1),
            is_resumed,
            budget,
            context_command: &format!("uwf agent context {} {}", self.thread.id, self.role_name),
            output,
            workspace: None,
        })
    }

    /// The agent's questions to a person at this step, with the replies, oldest first.
    ///
    /// # Errors
    /// A node can't be read.
    pub fn replies(&self) -> Result<Vec<QuestionReply>> {
        let store = self.thread.home().store();
        let text = |hash| -> Result<String> { Ok(nodes::typed::<ContentNode>(store, hash)?.text) };
        let reply = |exchange: &QuestionExchange| {
            let by = exchange.by.clone();
            Ok(QuestionReply { question: text(exchange.question)?, reply: text(exchange.reply)?, by })
        };
        self.exchanges().iter().map(reply).collect()
    }

    /// The nodes of those questions and replies.
    pub(crate) fn exchanges(&self) -> &[QuestionExchange] {
        self.attempt.as_ref().map_or(&[], |attempt| &attempt.opened.replies)
    }

    /// The step at a position, from 1, as a prompt shows it. If the chain cache has everything needed, the `StepNode` is not read: a long
    /// prompt shows a hundred steps.
    fn prior_step(&self, position: usize) -> Result<Step> {
        let record = self.record(position)?;
        self.read(position, &record).map_err(|error| match error.is_damage() {
            true => {
                error.hint(format!("`uwf thread repair {}` replaces the unreadable parts by a note", self.thread.id))
            }
            false => error,
        })
    }

    fn read(&self, position: usize, record: &Record) -> Result<Step> {
        let store = self.thread.home().store();
        let Some(role) = self.role_names.get(&record.role) else { return self.step(position) };
        let output = store.get(record.output)?;
        let (message, branches) = message::of_detail_or_branches(store, record.detail, Some(output.type_hash))?;
        Ok(Step {
            hash: record.step,
            detail: record.detail,
            message,
            branches,
            ..Step::new(position, role, output.payload)
        })
    }

    /// The position in the thread, from 0, of the step at a position that the role sees, from 1.
    ///
    /// # Errors
    /// `Usage` if there is no such step.
    pub(crate) fn position(&self, position: usize) -> Result<usize> {
        let count = self.step_count()?;
        let index = position.checked_sub(1).filter(|index| *index < count).ok_or_else(|| {
            let has = match count {
                0 => "it has none yet".to_owned(),
                steps => format!("its steps are 1 to {steps}"),
            };
            Error::usage(format!("thread {} has no step {position} for this role", self.thread.id)).hint(has)
        })?;
        Ok(self.seen.as_ref().map_or(index, |seen| seen[index]))
    }

    /// Number of steps that the role sees.
    pub(crate) fn step_count(&self) -> Result<usize> {
        match &self.seen {
            Some(seen) => Ok(seen.len()),
            None => Ok(self.thread.chain()?.len()),
        }
    }

    /// The nodes of the step at a position, from 1.
    fn record(&self, position: usize) -> Result<Record> {
        let index = self.position(position)?;
        let record = self.thread.chain()?.get(index);
        record.ok_or_else(|| Error::internal(format!("thread {} has no step {}", self.thread.id, index + 1)))
    }

    /// Returns the redactor that keeps configured secrets out of everything this agent stores.
    ///
    /// # Errors
    /// `Config` if `.env` can't be read.
    pub fn redactor(&self) -> Result<SecretRedactor> {
        let home = self.thread.home();
        let env_file = env_file::read(&home.env_file())?;
        let names = match &self.attempt {
            Some(attempt) => attempt.opened.secrets.clone(),
            None => home.config()?.secret_names().into_iter().collect(),
        };
        let environment = [own_environment(), self.of_keeper.clone()].concat();
        Ok(SecretRedactor::knowing(names, &env_file, &environment).asking_broker_of(home))
    }

    /// Returns the `StepNode` that links an output to this position of the thread.
    pub fn step_node(&self, output: NodeHash, detail: NodeHash, agent: &str) -> StepNode {
        StepNode {
            start: self.thread.start_hash,
            prev: self.thread.last.is_some().then_some(self.thread.head),
            role: self.role_name.clone(),
            output,
            detail,
            agent: agent.to_owned(),
        }
    }
}

/// Positions of the steps of the roles that a role sees, and of its own; `None` if it sees all.
fn seen(thread: &Thread<'_>, name: &str, role: &Role) -> Result<Option<Vec<usize>>> {
    let Some(sees) = &role.more.sees else { return Ok(None) };
    let keys: Vec<u64> = sees.iter().map(String::as_str).chain([name]).map(role_key).collect();
    let records = thread.chain()?.records().iter().enumerate();
    Ok(Some(records.filter(|(_, record)| keys.contains(&record.role)).map(|(index, _)| index).collect()))
}
