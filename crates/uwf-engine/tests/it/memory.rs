//! A storage root whose nodes and heads are in memory. Only what belongs to a machine is in files, and no process is started:
//! the roles are played by answers, and a program that would be started does not exist.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use json_cas::{HeadBackend as _, MemoryHeads, MemoryNotes, MemoryObjects, NodeDraft, NodeHash};
use serde_json::{Value, json};
use tempfile::TempDir;
use uwf_core::config;
use uwf_core::moderator::NextAction;
use uwf_core::node::{ExtractedBy, ReactSession, RungResult, StepNode, TokenCounts, TypedPayload};
use uwf_core::thread::ThreadId;
use uwf_engine::attempt::agents::AgentSpec;
use uwf_engine::attempt::leftover;
use uwf_engine::attempt::live_trace::LiveTraceWriter;
use uwf_engine::attempt::recorded::{self, AttemptOutputFiles, RecordedAttempt};
use uwf_engine::attempt::turns::{AgentTurn, NodeBatch};
use uwf_engine::error::{Error, Result};
use uwf_engine::root::home::Home;
use uwf_engine::root::ids;
use uwf_engine::root::shared_store::SharedStore;
use uwf_engine::thread::digest;
use uwf_engine::thread::load::Thread;
use uwf_engine::thread::{moderate, nodes};
use uwf_engine::verbs::answer::{self, AnswerPrecondition, OpenQuestion, PersonAnswer};
use uwf_engine::verbs::put::{self, WorkflowPutReport};
use uwf_engine::verbs::start::{self, StartRequest};
use uwf_engine::verbs::step::StepReport;
use uwf_testing::dir_in_memory;

/// A writer and an editor take turns until the editor approves.
pub(crate) const ESSAY: &str = r#"name: essay
description: Writes an essay
roles:
  writer:
    description: writes
    goal: Write it.
    meta:
      type: object
      properties: { text: { type: string } }
      required: [text]
  editor:
    description: reads
    goal: Judge it.
    meta:
      type: object
      properties: { approved: { type: boolean }, remarks: { type: string } }
      required: [approved]
conditions:
  approved: { description: the editor is content, expression: "steps[-1].output.approved = true" }
graph:
  $START: [ { role: writer } ]
  writer: [ { role: editor } ]
  editor: [ { role: $END, condition: approved }, { role: writer } ]
"#;

const CONFIG: &str = "defaultAgent: person\nagents:\n  person: { command: uwf-human }\n";

/// Milliseconds that an agent works on a step.
pub(crate) const WORKED_MS: u64 = 1500;

/// An agent that a test stands in for, and the tokens of each of its runs.
#[derive(Debug, Clone)]
pub(crate) struct Player {
    spec: AgentSpec,
    tokens: Option<TokenCounts>,
}

impl Player {
    /// An agent with this name and program that counts no tokens.
    pub(crate) fn new(name: &str, command: &str) -> Player {
        let agent = config::AgentConfig::from_command(command.to_owned(), Vec::new());
        Player::from_spec(AgentSpec::new(name, &agent))
    }

    /// This agent, which counts no tokens.
    pub(crate) fn from_spec(spec: AgentSpec) -> Player {
        Player { spec, tokens: None }
    }

    /// An agent `t` with a model of this name, each run of which takes these tokens.
    pub(crate) fn of_model(model: &str, tokens: TokenCounts) -> Player {
        let Player { spec, .. } = Player::new("t", "tracer");
        Player { spec: AgentSpec { model: Some(model.to_owned()), ..spec }, tokens: Some(tokens) }
    }

    /// The detail of a step it played.
    fn session(&self, attempt: &RecordedAttempt, batch: &mut NodeBatch) -> NodeHash {
        let opened = &attempt.opened;
        let session = ReactSession {
            agent: batch.add(self.spec.payload().draft()),
            role: opened.role.clone(),
            turns: Vec::new(),
            raw: batch.content(format!("what {} said", opened.role)),
            attempts: opened.earlier.clone(),
            total_tokens: None,
            tokens: self.tokens.clone(),
            duration_ms: WORKED_MS,
            source: "stdout".to_owned(),
            extracted_by: ExtractedBy::Frontmatter,
            // No two steps have the same detail.
            session_id: Some(opened.attempt.clone()),
            extras: None,
            extraction: vec![RungResult { rung: "frontmatter".to_owned(), errors: Vec::new(), fixes: Vec::new() }],
        };
        batch.add(session.draft())
    }
}

/// A machine: its files, and the nodes and heads that it may share with others.
pub(crate) struct Machine {
    dir: TempDir,
    pub(crate) home: Home,
    pub(crate) objects: Arc<MemoryObjects>,
    pub(crate) heads: Arc<MemoryHeads>,
    notes: Arc<MemoryNotes>,
}

/// Whether machines use a store that other machines also use: these files are compiled for two test programs.
pub(crate) const HAS_PEERS: bool = matches!(env!("CARGO_CRATE_NAME").as_bytes(), b"shared");

impl Machine {
    /// One with a store of its own, and everybody's work is done by people.
    pub(crate) fn new() -> Machine {
        Machine::over(Arc::default(), Arc::default(), Arc::default())
    }

    /// Another one with the same nodes and heads.
    pub(crate) fn beside(&self) -> Machine {
        Machine::over(Arc::clone(&self.objects), Arc::clone(&self.heads), Arc::clone(&self.notes))
    }

    fn over(objects: Arc<MemoryObjects>, heads: Arc<MemoryHeads>, notes: Arc<MemoryNotes>) -> Machine {
        let dir = dir_in_memory();
        let root = dir.path().join("root");
        fs::create_dir_all(dir.path().join("work")).unwrap();
        fs::create_dir_all(&root).unwrap();
        fs::write(root.join("config.yaml"), CONFIG).unwrap();
        let bin = "/there/is/no/uwf";
        let home = if HAS_PEERS {
            let store =
                SharedStore::of_parts("in memory", objects.clone(), heads.clone(), heads.clone(), notes.clone());
            Home::sharing(root, bin, store)
        } else {
            Home::over(root, bin, objects.clone(), heads.clone())
        };
        Machine { dir, home, objects, heads, notes }
    }

    /// Heads of threads, without the head of the names of workflows.
    pub(crate) fn active_heads(&self) -> Vec<(String, NodeHash)> {
        let heads = self.heads.list().unwrap();
        heads.into_iter().filter(|(name, _)| name.parse::<ThreadId>().is_ok()).collect()
    }

    /// One that has the workflow `essay`.
    pub(crate) fn with_essay() -> Machine {
        let machine = Machine::new();
        machine.put("essay", ESSAY);
        machine
    }

    /// The directory agents would work in.
    pub(crate) fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    /// Adds lines to the configuration that each machine has, which ends with its agents.
    pub(crate) fn configure(&self, more: &str) {
        fs::write(self.home.config_file(), format!("{CONFIG}{more}")).unwrap();
    }

    /// A file of the directory agents would work in.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.work().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Puts a workflow without errors.
    pub(crate) fn put(&self, name: &str, workflow: &str) -> NodeHash {
        self.try_put(name, workflow).unwrap().stored.unwrap().hash
    }

    pub(crate) fn try_put(&self, name: &str, workflow: &str) -> Result<WorkflowPutReport> {
        put::put(&self.home, &self.file(&format!("{name}.yaml"), workflow), &put::PutOptions::default())
    }

    pub(crate) fn request(&self, workflow: &str, prompt: &str) -> StartRequest {
        StartRequest {
            workflow: workflow.to_owned(),
            prompt: prompt.to_owned(),
            workspace: self.work(),
            ..StartRequest::default()
        }
    }

    pub(crate) fn start(&self, workflow: &str) -> ThreadId {
        let id = start::start(&self.home, &self.request(workflow, "On rain."), &self.work()).unwrap().thread;
        // Two ids of one millisecond are in no order.
        while id.time_ms() == Some(ids::now_ms()) {
            thread::sleep(Duration::from_micros(200));
        }
        id
    }

    pub(crate) fn thread(&self, id: &ThreadId) -> Thread<'_> {
        Thread::any(&self.home, id).unwrap()
    }

    /// The steps of a thread, oldest first.
    pub(crate) fn steps(&self, id: &ThreadId) -> Vec<NodeHash> {
        let thread = self.thread(id);
        let mut at = thread.last.is_some().then_some(thread.head);
        let mut steps = Vec::new();
        while let Some(step) = at {
            steps.push(step);
            at = nodes::step_node(self.home.store(), step).unwrap().0.prev;
        }
        steps.reverse();
        steps
    }

    /// A person plays the next role.
    pub(crate) fn answer(&self, id: &ThreadId, output: Value) -> Result<StepReport> {
        self.answer_as(&answer::asked(&self.home, id, AnswerPrecondition::default())?, output)
    }

    /// The same, as whoever was asked before.
    pub(crate) fn answer_as(&self, asked: &OpenQuestion, output: Value) -> Result<StepReport> {
        let given = PersonAnswer {
            output: &|_| Ok(self.output(asked, &output)?.hash()),
            store: &|attempt| self.store(asked, attempt, &output),
        };
        answer::record(&self.home, asked, &given)
    }

    /// An agent plays the next role.
    pub(crate) fn play(&self, id: &ThreadId, player: &Player, output: Value) -> Result<StepReport> {
        let asked = self.turn(id, &player.spec);
        let store = |attempt: &RecordedAttempt| {
            self.store_with(&asked, attempt, &output, |batch| player.session(attempt, batch))
        };
        let given = PersonAnswer { output: &|_| Ok(self.output(&asked, &output)?.hash()), store: &store };
        answer::record(&self.home, &asked, &given)
    }

    /// A child thread, which has this last step, plays the next role.
    pub(crate) fn play_by_child(&self, id: &ThreadId, last: NodeHash, output: Value) -> StepReport {
        let asked = self.turn(id, &Player::new("inner", "uwf-workflow").spec);
        let store = |attempt: &RecordedAttempt| self.store_with(&asked, attempt, &output, |_| last);
        let given = PersonAnswer { output: &|_| Ok(self.output(&asked, &output)?.hash()), store: &store };
        answer::record(&self.home, &asked, &given).unwrap()
    }

    /// An agent fails at the next role after one exchange. Returns the node of its attempt.
    pub(crate) fn fail(&self, id: &ThreadId, player: &Player, error: &str) -> NodeHash {
        let asked = self.turn(id, &player.spec);
        let store = |attempt: &RecordedAttempt| {
            let opened = &attempt.opened;
            let mut trace = LiveTraceWriter::begin(&AttemptOutputFiles::paths_of_attempt(
                &self.home,
                &opened.thread,
                &opened.attempt,
            ))?;
            let turn = AgentTurn::asked(["Do it."]);
            trace.turn(&AgentTurn { tokens: player.tokens.clone(), latency_ms: WORKED_MS, ..turn })?;
            leftover::fail(&self.home, attempt, Some(3), error, None)?;
            Err(Error::new(uwf_engine::error::ErrorKind::AgentFailed, error.to_owned()))
        };
        let given = PersonAnswer { output: &|_| unreachable!("nothing was left over"), store: &store };
        answer::record(&self.home, &asked, &given).unwrap_err();
        recorded::read(&self.home, id).unwrap().unwrap().closed.unwrap().node.unwrap()
    }

    /// The next role of a thread, for an agent to play.
    fn turn(&self, id: &ThreadId, agent: &AgentSpec) -> OpenQuestion {
        let thread = self.thread(id);
        let NextAction::Role(role) = moderate::next(&thread, &thread.workflow().unwrap()).unwrap().next else {
            panic!("thread {id} is at the end of its graph")
        };
        let (head, agent) = (thread.head, agent.clone());
        OpenQuestion { thread: id.clone(), head, role, agent, since: None, question: None, cwd: None }
    }

    /// Writes, and has it refused, so many times.
    pub(crate) fn refused(&self, id: &ThreadId, times: usize) {
        for round in 0..times {
            self.answer(id, json!({"text": format!("draft {round}")})).unwrap();
            self.answer(id, json!({"approved": false})).unwrap();
        }
    }

    /// Comes to the end of an essay.
    pub(crate) fn approved(&self, id: &ThreadId) -> StepReport {
        self.answer(id, json!({"text": "It rains."})).unwrap();
        self.answer(id, json!({"approved": true})).unwrap()
    }

    fn output(&self, asked: &OpenQuestion, output: &Value) -> Result<NodeDraft> {
        let workflow = Thread::load_at(&self.home, asked.thread.clone(), asked.head)?.workflow()?;
        NodeDraft::new(workflow.roles[&asked.role].meta, output.clone())
            .map_err(|error| Error::new(uwf_engine::error::ErrorKind::Data, error.to_string()))
    }

    /// Stores a step as the process of an agent does: the nodes, then the line that makes it safe from a crash.
    pub(crate) fn store(&self, asked: &OpenQuestion, attempt: &RecordedAttempt, output: &Value) -> Result<NodeHash> {
        self.store_with(asked, attempt, output, |batch| batch.content(format!("what {} said", asked.role)))
    }

    fn store_with(
        &self,
        asked: &OpenQuestion,
        attempt: &RecordedAttempt,
        output: &Value,
        detail: impl FnOnce(&mut NodeBatch) -> NodeHash,
    ) -> Result<NodeHash> {
        let home = &self.home;
        let thread = Thread::load_at(home, asked.thread.clone(), asked.head)?;
        let mut batch = NodeBatch::default();
        let output = batch.add(self.output(asked, output)?);
        let detail = detail(&mut batch);
        let node = StepNode {
            start: thread.start_hash,
            prev: thread.last.is_some().then_some(thread.head),
            role: asked.role.clone(),
            output,
            detail,
            agent: asked.agent.command.clone(),
        };
        let step = batch.add(node.draft());
        home.store().put_all(&batch.drafts)?;
        let opened = &attempt.opened;
        let digest = opened.digest.map(|before| digest::of_step(home.store(), before, step, &node)).transpose()?;
        recorded::finished(home, &opened.thread, &opened.attempt, step, digest)?;
        Ok(step)
    }
}

/// A failure as it is reported.
pub(crate) fn failure(error: &Error) -> (uwf_engine::error::ErrorKind, &str) {
    (error.kind, &error.message)
}

/// Names in a directory, sorted; none when it does not exist.
pub(crate) fn names(dir: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
