//! Phase ②, the pure part: builds the prompt of an agent.
//!
//! Every prompt is complete: it has the form of the answer, the role, the task, and as much history as fits into the budget (`history.rs`
//! sets the priorities). Only an agent that continues its own earlier session gets only the new steps.
//!
//! A prompt is a list of parts. Each part is stored once, and every prompt that contains it references it. The instruction depends only on
//! workflow, role, schema and answer form. The task depends only on itself. A part of steps depends only on those steps and how much of
//! them is shown. So the prompts of a thread need little more space than their new parts.

mod branches;
mod copy_changes;
mod example;
mod fallback;
pub(crate) mod fence;
mod fields;
mod format;
mod git_branches;
mod history;
mod input;
mod instruction;
mod merge_conflict;
mod note;
mod output_text;
mod question;
mod replies;
mod sample;
mod step;
mod task_only;
mod workspace;

use serde_json::Value;

pub use branches::{BranchItem, copies_part, item_part, own_answer_part};
pub use copy_changes::{ChangedFile, CopyChanges};
pub use format::answer_form;
pub use git_branches::{GitBranch, git_branches_part};
use instruction::task_within;
pub use instruction::{instruction, task};
pub use merge_conflict::{conflict_markers_part, merge_conflict_part};
pub use question::{QuestionInput, answer_in_words, header_form, json_form, question};
pub use replies::reply;
pub use sample::sample;
pub use step::{LONG_STEP, StepSection};
pub use task_only::{branch_brief, brief};
pub use workspace::{PromptWorkspace, PromptWorktree, WorkspaceFile, WorkspaceFiles};

pub(crate) use format::AnswerExamples;

use crate::thread::QuestionReply;
use crate::thread::Step;
use crate::workflow::Role;

/// The input of a prompt.
#[derive(Debug, Clone, Copy)]
pub struct PromptInput<'a> {
    /// Name of the workflow.
    pub workflow: &'a str,
    /// Name of the role to be played.
    pub role_name: &'a str,
    /// The role.
    pub role: &'a Role,
    /// JSON Schema of the role's output.
    pub schema: &'a Value,
    /// The task of the thread.
    pub task: &'a str,
    /// The input of the thread, if its workflow has one.
    pub input: Option<&'a Value>,
    /// Number of steps the thread has.
    pub steps: usize,
    /// Position of the role's own last step, from 1; `None` on its first visit.
    pub own: Option<usize>,
    /// Whether the agent continues the session of that step, so that it needs only the steps since.
    pub is_resumed: bool,
    /// Size of the prompt in bytes. Only the form of the answer, the role and replies, which can't be cut, may exceed it, together with
    /// [`LEAST`] bytes of task and steps.
    pub budget: usize,
    /// Command that prints omitted parts, such as `uwf agent context 01… writer`.
    pub context_command: &'a str,
    /// How the agent answers.
    pub output: AnswerForm,
    /// Whether a person answers the agent's questions.
    pub may_ask: bool,
    /// The git repository that the thread works in, if there is one.
    pub workspace: Option<&'a PromptWorkspace>,
    /// Questions of the agent to a person at this step, with the replies, oldest first.
    pub replies: &'a [QuestionReply],
}

/// The kind of a role's visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VisitKind {
    /// The first one.
    First,
    /// A later one.
    Return,
    /// A later one in which the agent continues its session from the previous visit.
    Resumed,
}

/// The form of an agent's answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AnswerForm {
    /// Markdown with a YAML header. If the role's output is a text, the text alone.
    #[default]
    Frontmatter,
    /// One JSON object.
    Json,
}

/// A prompt as a list of parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentPrompt {
    /// The parts in order; the first is the instruction, then the task and the input.
    pub parts: Vec<PromptPart>,
}

/// One part of a prompt, stored as one content node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptPart {
    /// Its kind.
    pub kind: PartKind,
    /// Its text. The prompt is the concatenation of these texts.
    pub text: String,
}

/// The kind of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKind {
    /// Format and role: the same at every visit, in every thread of the workflow.
    Instruction,
    /// The task: the same for every role of the thread.
    Task,
    /// The input: the same for every role of the thread.
    Input,
    /// Steps between these positions in the thread, from 1, inclusive. On a first visit the part also has the note, if more steps will be
    /// added to its block.
    Steps(usize, usize),
    /// Says which visit it is, and how to read omitted parts.
    Note,
    /// The git branches of the group that was just played.
    GitBranches,
    /// Why the agent plays the role in place of another one.
    Fallback,
    /// The git repository that the thread works in, and the files that changed in its worktree.
    Workspace,
    /// The agent's questions to a person at this step, and the replies.
    Replies,
    /// Points back to the form of the answer.
    Closing,
}

/// The last line of a prompt. A model that reads a long history remembers the form of the answer better if the end points to it.
pub const CLOSING: &str = "\nNow do the work of your role, and answer as \"How to answer\" at the beginning says.\n";

impl AgentPrompt {
    /// The text the agent gets.
    pub fn text(&self) -> String {
        self.parts.iter().map(|part| part.text.as_str()).collect()
    }

    /// The texts of its parts, which are stored separately.
    pub fn texts(&self) -> Vec<String> {
        self.parts.iter().map(|part| part.text.clone()).collect()
    }

    /// Positions in the text up to which prompts of later visits are probably the same, for a provider's prompt cache: the end of
    /// instruction, task and input, then the end of each part with steps.
    pub fn shared_ends(&self) -> Vec<usize> {
        let mut ends = Vec::new();
        let mut end = 0;
        for part in &self.parts {
            match part.kind {
                PartKind::Instruction | PartKind::Task | PartKind::Input => ends.clear(),
                PartKind::Steps(..) => {}
                _ => break,
            }
            end += part.text.len();
            ends.push(end);
        }
        ends
    }

    /// Adds a part before the replies and the last line.
    fn insert_before_end(&mut self, part: PromptPart) {
        let is_end = |part: &PromptPart| matches!(part.kind, PartKind::Replies | PartKind::Closing);
        let place = self.parts.iter().position(is_end).unwrap_or(self.parts.len());
        self.parts.insert(place, part);
    }
}

impl PromptInput<'_> {
    /// Position of the first step that may be shown.
    fn first(&self) -> usize {
        self.own.filter(|_| self.is_resumed).map_or(1, |own| own + 1)
    }

    fn visit(&self) -> VisitKind {
        match (self.own, self.is_resumed) {
            (None, _) => VisitKind::First,
            (Some(_), false) => VisitKind::Return,
            (Some(_), true) => VisitKind::Resumed,
        }
    }
}

/// Builds a prompt: the form of the answer, workflow and role, goal, capabilities, procedure, output, the task, the input, previous steps from the
/// oldest to the newest, a note if needed, the workspace, and a line that points back to the form. Parts that never change come first,
/// because providers cache the beginning of a prompt. `read` loads a step by its position, from 1. It is called for few more steps than are shown.
pub fn build<E>(input: &PromptInput<'_>, read: impl FnMut(usize) -> Result<Step, E>) -> Result<AgentPrompt, E> {
    let shown_input = input.input.map(|value| input::section(value, input.budget));
    let replies = replies::part(input.replies);
    let workspace = input.workspace.map(|workspace| workspace.part(input.budget));
    let reserved = workspace.as_ref().map_or(0, |part| part.text.len().next_multiple_of(TASK_UNIT));
    let budget = input.budget.saturating_sub(reserved + replies.as_ref().map_or(0, |part| part.text.len()));
    let input = &PromptInput { budget, ..*input };
    let PromptInput { workflow, role_name, role, schema, output, may_ask, .. } = *input;
    let instruction = instruction(workflow, role_name, role, answer_form(schema, output, may_ask));
    let frame = instruction.len() + CLOSING.len() + shown_input.as_ref().map_or(0, |(text, _)| text.len());
    let whole_task = task(input.task).map_or(0, |text| text.len());
    let divided = divide(input, frame, whole_task, read)?;
    let task = task_within(input.task, divided.for_task);
    let cuts = PromptCuts {
        task: task.as_ref().is_some_and(|(_, is_whole)| !is_whole),
        input: shown_input.as_ref().is_some_and(|(_, is_cut)| *is_cut),
    };
    let mut parts = vec![PromptPart { kind: PartKind::Instruction, text: instruction }];
    parts.extend(task.map(|(text, _)| PromptPart { kind: PartKind::Task, text }));
    parts.extend(shown_input.map(|(text, _)| PromptPart { kind: PartKind::Input, text }));
    let PromptSteps { steps, note } = self::parts(input, &divided, cuts);
    parts.extend(steps);
    match (note, parts.last_mut()) {
        // Neither part will be reused, so don't store them separately. The note of a return is the same every time.
        (Some(note), Some(PromptPart { kind: PartKind::Steps(_, last), text }))
            if input.visit() == VisitKind::First && *last % STEPS_PER_PART != 0 =>
        {
            text.push_str(&note);
        }
        (note, _) => parts.extend(note.map(|text| PromptPart { kind: PartKind::Note, text })),
    }
    parts.extend(workspace);
    parts.extend(replies);
    parts.push(PromptPart { kind: PartKind::Closing, text: CLOSING.to_owned() });
    Ok(AgentPrompt { parts })
}

/// Minimum size of task and steps in bytes, however small the budget: no agent can work without them.
pub const LEAST: usize = 4 << 10;

/// A cut task has a multiple of this many bytes.
const TASK_UNIT: usize = 1 << 10;

/// The parts of a prompt that share the budget.
struct PromptParts {
    /// Bytes for the task.
    for_task: usize,
    /// The steps that are shown.
    steps: Vec<StepSection>,
}

/// Divides the budget, less the frame, between the task and the steps. The task is whole if it fits beside the steps. If both are long,
/// each gets half.
fn divide<E>(
    input: &PromptInput<'_>,
    frame: usize,
    whole_task: usize,
    read: impl FnMut(usize) -> Result<Step, E>,
) -> Result<PromptParts, E> {
    let steps = input.first()..=input.steps;
    let note =
        note::most(input.visit(), !steps.is_empty(), input.input.is_some(), input.role_name, input.context_command);
    let left = input.budget.saturating_sub(frame + history::gaps(&steps) + note).max(LEAST);
    let half = left / 2;
    let steps =
        history::within(half.max(left.saturating_sub(whole_task)), input.first()..=input.steps, input.own, read)?;
    let shown: usize = steps.iter().map(|section| section.text.len()).sum();
    // Round the size, so that most prompts cut the task alike and it is stored once.
    let for_task = if shown + whole_task <= left { whole_task } else { half / TASK_UNIT * TASK_UNIT };
    Ok(PromptParts { for_task, steps })
}

/// The steps of a prompt in parts, and its note.
struct PromptSteps {
    steps: Vec<PromptPart>,
    note: Option<String>,
}

/// Whether the parts before the steps are cut.
#[derive(Clone, Copy)]
struct PromptCuts {
    task: bool,
    input: bool,
}

fn parts(input: &PromptInput<'_>, divided: &PromptParts, cuts: PromptCuts) -> PromptSteps {
    let sections = &divided.steps;
    let mut shown = input.first() - 1;
    let mut cuts_steps = false;
    let mut with_gaps = Vec::with_capacity(sections.len());
    for section in sections {
        let gap = history::gap(shown, section.index);
        cuts_steps |= section.is_shortened || !gap.is_empty();
        with_gaps.push((section.index, gap + &section.text));
        shown = section.index;
    }
    let rest = history::gap(shown, input.steps + 1);
    cuts_steps |= !rest.is_empty();
    match with_gaps.last_mut() {
        Some((_, text)) => text.push_str(&rest),
        None if !rest.is_empty() => with_gaps.push((input.steps, rest)),
        None => {}
    }
    let own = input.own.unwrap_or(0);
    let note = note::note(&note::NoteFacts {
        visit: input.visit(),
        role: input.role_name,
        shows_own: sections.iter().any(|section| section.index == own),
        shows_news: own < input.steps,
        cuts_steps,
        cuts_task: cuts.task,
        cuts_input: cuts.input,
        command: input.context_command,
    });
    let is_full = |index: usize| (block(index) + 1) * STEPS_PER_PART <= input.steps;
    let is_small = |text: &String| text.len() < OWN_PART;
    let share = |a: &(usize, String), b: &(usize, String)| {
        block(a.0) == block(b.0) && is_full(a.0) && is_small(&a.1) && is_small(&b.1)
    };
    PromptSteps { steps: with_gaps.chunk_by(share).map(steps_part).collect(), note }
}

/// Steps that share a part. A file for each step would cost a long prompt a sync and a disk block per step. The bounds are fixed positions
/// in the thread, so that all prompts that show a whole block share its part. The newest steps have separate parts until their block is
/// full. Otherwise every prompt would store all of them again.
const STEPS_PER_PART: usize = 16;

/// Bytes from which a step has a part of its own: it fills a disk block, and was already stored as a part when it was new.
const OWN_PART: usize = 4 << 10;

fn block(index: usize) -> usize {
    index.saturating_sub(1) / STEPS_PER_PART
}

fn is_first_of_part(index: usize) -> bool {
    index % STEPS_PER_PART == 1
}

fn steps_part(sections: &[(usize, String)]) -> PromptPart {
    let (first, last) = (sections[0].0, sections[sections.len() - 1].0);
    let text = sections.iter().map(|(_, text)| text.as_str()).collect();
    PromptPart { kind: PartKind::Steps(first, last), text }
}
