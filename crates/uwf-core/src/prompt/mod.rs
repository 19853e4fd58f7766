//! Phase ②, the pure part: what an agent is told.
//!
//! A prompt is a list of parts, and each part is stored once and referenced by every prompt that holds it: the
//! instruction depends only on workflow, role, schema and answer form, the task only on itself, a part of steps only on
//! those steps. So a thread's prompts grow by what is new, and are byte-identical where they say the same.

mod brief;
mod budget;
mod example;
pub(crate) mod fence;
mod fields;
mod format;
mod instruction;
mod note;
mod question;
mod step;

use serde_json::Value;

pub use brief::brief;
pub use budget::newest_that_fit;
pub use instruction::{instruction, task};
pub use question::{QuestionInput, answer_in_words, header_form, json_form, question};
pub use step::{PER_STEP_CAP, PriorStep, Rendered, StepSection};

pub(crate) use format::{header_example, json_example};

use crate::workflow::Role;

/// Everything a prompt is made from.
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
    /// What the thread was started with.
    pub task: &'a str,
    /// Steps the agent is told, oldest first: see [`newest_that_fit`].
    pub steps: &'a [StepSection],
    /// Steps that are not among them.
    pub omitted: Omitted,
    /// Whether the role plays for the first time in this thread.
    pub visit: Visit,
    /// Command that shows what is left out, such as `uwf thread read 01…`.
    pub read_hint: Option<&'a str>,
    /// How the agent answers.
    pub output: AnswerForm,
}

/// Steps the caller has left out already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Omitted {
    /// Steps that are left out because the budget was used up.
    pub over_budget: usize,
    /// On a return: steps up to the role's own last one, which it was told then.
    pub told_before: usize,
}

/// Which of its turns in the thread the role has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visit {
    /// The first one: it is told the history.
    First,
    /// A later one: it is told what is new since.
    Return,
}

/// How an agent's answer is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AnswerForm {
    /// Markdown with a YAML header.
    #[default]
    Frontmatter,
    /// One JSON object.
    Json,
}

/// A prompt in parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// The parts in order; the first is the instruction, the second the task.
    pub parts: Vec<Part>,
}

/// One part of a prompt, stored as one content node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// What it is.
    pub kind: PartKind,
    /// Its text; the prompt is the texts of its parts, nothing between them.
    pub text: String,
}

/// What a part of a prompt is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKind {
    /// Format and role: the same at every visit, in every thread of the workflow.
    Instruction,
    /// The task: the same for every role of the thread.
    Task,
    /// The steps from the first to the last of these positions in the thread, counted from 1; and on a first visit the
    /// note, when it follows steps to which others will be added.
    Steps(usize, usize),
    /// What was left out and what kind of visit it is.
    Note,
}

impl Prompt {
    /// The text the agent gets.
    pub fn text(&self) -> String {
        self.parts.iter().map(|part| part.text.as_str()).collect()
    }
}

/// Builds a prompt: the form of the answer, whose work it is, goal, capabilities, procedure, output, the task,
/// previous steps from the oldest to the newest, and a note where something needs saying.
pub fn build(input: &PromptInput<'_>) -> Prompt {
    let instruction = instruction(input.workflow, input.role_name, input.role, input.schema, input.output);
    let mut parts = vec![Part { kind: PartKind::Instruction, text: instruction }];
    parts.extend(task(input.task).map(|text| Part { kind: PartKind::Task, text }));
    let note = note::note(&note::Facts {
        visit: input.visit,
        told: input.steps.len(),
        shortened: input.steps.iter().any(|section| section.is_shortened),
        over_budget: input.omitted.over_budget,
        told_before: input.omitted.told_before,
        read_hint: input.read_hint,
    });
    parts.extend(input.steps.chunk_by(|a, b| block(a.index) == block(b.index)).map(steps_part));
    match (note, parts.last_mut()) {
        // Neither will be told like this again, so there is no use in a part for each. Returns have all the same note.
        (Some(note), Some(Part { kind: PartKind::Steps(_, last), text }))
            if input.visit == Visit::First && *last % STEPS_PER_PART != 0 =>
        {
            text.push_str(&note);
        }
        (note, _) => parts.extend(note.map(|text| Part { kind: PartKind::Note, text })),
    }
    Prompt { parts }
}

/// Steps that share a part: a file for each would cost a long prompt a sync and a disk block per step. The bounds are
/// fixed positions of the thread, so that whoever is told a whole block is told the same part.
const STEPS_PER_PART: usize = 16;

fn block(index: usize) -> usize {
    index.saturating_sub(1) / STEPS_PER_PART
}

fn steps_part(sections: &[StepSection]) -> Part {
    let (first, last) = (&sections[0], &sections[sections.len() - 1]);
    let text = sections.iter().map(|section| section.text.as_str()).collect();
    Part { kind: PartKind::Steps(first.index, last.index), text }
}
