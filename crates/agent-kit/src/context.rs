//! What an agent knows: its thread, its role, what was said before, and the prompt made of it.

use std::cell::Cell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use json_cas::{Hash, Schema, Store};
use serde_json::Value;
use uwf_core::config::{DEFAULT_PROMPT_BUDGET, OutputMode};
use uwf_core::node::StepNode;
use uwf_core::prompt::{
    AnswerForm, Omitted, PriorStep, Prompt, PromptInput, StepSection, Visit, brief, build, newest_that_fit,
};
use uwf_core::thread::ThreadId;
use uwf_core::workflow::Role;
use uwf_engine::attempts::{self, Attempt, Opened};
use uwf_engine::chain::role_key;
use uwf_engine::environment::{Redactor, read_env_file};
use uwf_engine::error::{Error, Kind, Result};
use uwf_engine::home::Home;
use uwf_engine::load::Thread;
use uwf_engine::spoken;
use uwf_engine::turns::Batch;

use crate::ahead::with_read_ahead;

/// Bytes of a prompt that headings and the description of the answer's form take at most, by a generous estimate.
const FRAME_BYTES: usize = 8 << 10;

/// An agent's view of the step it is to do.
pub struct Context<'h> {
    thread: Thread<'h>,
    workflow_name: String,
    /// Names of the workflow's roles by how the chain cache names them.
    role_names: HashMap<u64, String>,
    role_name: String,
    role: Role,
    schema: Arc<Schema>,
    attempt: Option<Attempt>,
    /// What is expected to be stored of this step, and how it was redacted.
    expected: Cell<Option<(Redactor, Batch)>>,
}

/// A step that can be told once its parts are read.
struct Found {
    index: usize,
    role: String,
    output: Output,
    detail: Hash,
}

enum Output {
    At(Hash),
    Read(Value),
}

impl Found {
    fn read(self, store: &Store) -> Result<PriorStep> {
        let Found { index, role, output, detail } = self;
        let output = match output {
            Output::At(hash) => store.get(hash)?.payload,
            Output::Read(value) => value,
        };
        Ok(PriorStep { index, role, output, text: spoken::of_detail(store, detail)? })
    }
}

impl<'h> Context<'h> {
    /// Loads the context of a role in a thread. Within an attempt (`UWF_ATTEMPT` is set and is this thread's newest)
    /// it is that attempt's; otherwise that of the thread as it stands.
    ///
    /// # Errors
    /// `NotFound` when the thread is not active, `Usage` when its workflow has no such role, those of its nodes.
    pub fn load(home: &'h Home, thread: &ThreadId, role: &str) -> Result<Context<'h>> {
        let running = std::env::var("UWF_ATTEMPT").ok();
        Context::within(home, thread, role, running.as_deref())
    }

    /// The same for a process that was told its attempt in another way than by its environment.
    ///
    /// # Errors
    /// As [`Context::load`].
    pub fn within(home: &'h Home, thread: &ThreadId, role: &str, running: Option<&str>) -> Result<Context<'h>> {
        let attempt = attempts::read(home, thread)?
            .filter(|attempt| Some(attempt.opened.attempt.as_str()) == running && attempt.opened.role == role);
        let thread = match &attempt {
            Some(attempt) => Thread::at(home, thread.clone(), attempt.opened.expected_head)?,
            None => Thread::active(home, thread)?.0,
        };
        Context::of(thread, role, attempt)
    }

    /// The context of a role in a thread that is already loaded.
    ///
    /// # Errors
    /// `Usage` when its workflow has no such role, those of its nodes.
    pub fn of(thread: Thread<'h>, role_name: &str, attempt: Option<Attempt>) -> Result<Context<'h>> {
        let workflow = thread.workflow()?;
        let Some(role) = workflow.roles.get(role_name).cloned() else {
            let known: Vec<&str> = workflow.roles.keys().map(String::as_str).collect();
            return Err(Error::new(Kind::Usage, format!("workflow `{}` has no role `{role_name}`", workflow.name))
                .hint(format!("its roles: {}", known.join(", "))));
        };
        let schema = thread.home().store().schema(role.meta)?;
        let role_names = workflow.roles.into_keys().map(|name| (role_key(&name), name)).collect();
        let (workflow_name, role_name) = (workflow.name, role_name.to_owned());
        let expected = Cell::new(None);
        Ok(Context { thread, workflow_name, role_names, role_name, role, schema, attempt, expected })
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
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// What the thread was started with.
    pub fn task(&self) -> &str {
        &self.thread.start.prompt
    }

    /// Directory to work in.
    pub fn workspace(&self) -> Option<PathBuf> {
        self.attempt.as_ref().map(|attempt| attempt.opened.workspace.clone())
    }

    /// The attempt this is part of.
    pub fn attempt(&self) -> Option<&Attempt> {
        self.attempt.as_ref()
    }

    /// What the role is being played with: the record of the attempt this is part of.
    ///
    /// # Errors
    /// `Usage` outside an attempt: nobody has said which agent plays the role, and in which workspace.
    pub fn opened(&self) -> Result<&Opened> {
        self.attempt.as_ref().map(|attempt| &attempt.opened).ok_or_else(|| {
            Error::new(Kind::Usage, "this agent is run by `uwf thread step`, never by hand")
                .hint("`uwf thread step ID --agent ALIAS` runs a step with a certain agent")
        })
    }

    /// The form of answer that `output` of the attempt's agent asks for: one JSON object, or else a text under a header.
    pub fn asked_form(&self) -> AnswerForm {
        let is_json = |attempt: &Attempt| attempt.opened.agent.output_mode() == OutputMode::Json;
        if self.attempt.as_ref().is_some_and(is_json) { AnswerForm::Json } else { AnswerForm::Frontmatter }
    }

    /// Whether the agent is offered the tool `submit`: `extract.submit`.
    pub fn offers_submit(&self) -> bool {
        self.attempt.as_ref().is_none_or(|attempt| attempt.opened.extract.submit)
    }

    /// Bytes the prompt may have.
    pub fn prompt_budget(&self) -> usize {
        self.attempt.as_ref().map_or(DEFAULT_PROMPT_BUDGET, |attempt| attempt.opened.prompt_budget)
    }

    /// Prompt of this step, its previous steps within `budget` bytes: all of them at the role's first visit, those
    /// since its last one at a return.
    ///
    /// # Errors
    /// Those of the nodes it reads, which are few more than fit.
    pub fn prompt(&self, form: AnswerForm, budget: usize) -> Result<Prompt> {
        let last = self.thread.chain()?.last_of(&self.role_name)?;
        let first_new = last.map_or(0, |last| last + 1);
        let visit = if last.is_some() { Visit::Return } else { Visit::First };
        self.tell(first_new, visit, form, budget, build)
    }

    /// The task of a child thread that plays this role, at most `budget` bytes of it previous steps. A child thread
    /// remembers nothing, so it is told the whole history at every visit.
    ///
    /// # Errors
    /// As [`Context::prompt`].
    pub fn brief(&self, budget: usize) -> Result<String> {
        self.tell(0, Visit::First, AnswerForm::Frontmatter, budget, brief)
    }

    fn tell<T>(
        &self,
        first_new: usize,
        visit: Visit,
        form: AnswerForm,
        budget: usize,
        tell: impl FnOnce(&PromptInput<'_>) -> T,
    ) -> Result<T> {
        let schema = self.schema.value();
        let texts = [&self.role.goal, &self.role.procedure, &self.role.output, &self.thread.start.prompt];
        let frame: usize = texts.iter().map(|text| text.len()).sum::<usize>() + schema.to_string().len() + FRAME_BYTES;
        let budget = budget.saturating_sub(frame);
        let (steps, over_budget) = self.newest_within(first_new, budget)?;
        let read_hint = format!("uwf thread read {}", self.thread.id);
        Ok(tell(&PromptInput {
            workflow: &self.workflow_name,
            role_name: &self.role_name,
            role: &self.role,
            schema,
            task: self.task(),
            steps: &steps,
            omitted: Omitted { over_budget, told_before: first_new },
            visit,
            read_hint: Some(&read_hint),
            output: form,
        }))
    }

    /// Steps from `first` on, oldest first, the newest that fit; and how many did not.
    fn newest_within(&self, first: usize, bytes: usize) -> Result<(Vec<StepSection>, usize)> {
        let count = self.thread.chain()?.len();
        let store = self.thread.home().store();
        let found = (first..count).rev().map(|index| self.found(index));
        let hint = format!("`uwf thread repair {}` puts a note in the place of what cannot be read", self.thread.id);
        let hinted = |error: Error| if error.is_damage() { error.hint(&hint) } else { error };
        let render = |found: Result<Found>| found?.read(store).map(PriorStep::rendered).map_err(hinted);
        let sections = with_read_ahead(found, render, |steps| newest_that_fit(bytes, steps))?;
        let told = sections.len();
        Ok((sections, count - first - told))
    }

    /// Where the parts of a step are. A long prompt tells a hundred; where the chain cache has all that is needed, the
    /// StepNode is not read.
    fn found(&self, index: usize) -> Result<Found> {
        let known = self.thread.chain()?.get(index)?;
        if let Some(record) = known
            && let Some(role) = self.role_names.get(&record.role)
        {
            let (role, output) = (role.clone(), Output::At(record.output));
            return Ok(Found { index: index + 1, role, output, detail: record.detail });
        }
        let step = self.thread.step(index)?;
        Ok(Found { index: index + 1, role: step.role, output: Output::Read(step.output), detail: step.detail })
    }

    /// What keeps configured secrets out of everything this agent stores.
    ///
    /// # Errors
    /// `Config` when `.env` is not readable.
    pub fn redactor(&self) -> Result<Redactor> {
        let home = self.thread.home();
        let env_file = read_env_file(&home.env_file())?;
        let names = match &self.attempt {
            Some(attempt) => attempt.opened.secrets.clone(),
            None => home.config()?.secret_names().into_iter().collect(),
        };
        Ok(Redactor::new(names, &env_file))
    }

    /// Makes ready what will be stored of an input, for an agent that waits while somebody else works on it. What fails here
    /// fails again when the step is stored.
    pub fn expect(&self, input: &[String]) {
        let Ok(redactor) = self.redactor() else { return };
        let mut batch = Batch::default();
        input.iter().for_each(|text| batch.expect(text, &redactor));
        self.expected.set(Some((redactor, batch)));
    }

    /// A batch with what was made ready, unless there is more to redact by now.
    pub(crate) fn expected(&self, redactor: &Redactor) -> Batch {
        let expected = self.expected.take().filter(|(by, _)| by == redactor);
        expected.map(|(_, batch)| batch).unwrap_or_default()
    }

    /// The StepNode that links an output to this position of the thread.
    pub fn step_node(&self, output: Hash, detail: Hash, agent: &str) -> StepNode {
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
