//! A whole page about a thread.

use json_cas::NodeHash;
use serde::Serialize;
use serde_json::Value;

use super::embed::embed;
use super::inline::{code, inline, sentence};
use super::step::{MarkdownSection, start_of};
use crate::agent_name::AgentName;
use crate::prompt::fence::fenced;

/// Most failed attempts on a page, the newest ones: a thread can fail every minute for a night.
const FAILURES: usize = 5;

/// A page: facts about a thread, and the sections of the steps it shows.
#[derive(Debug, Clone, PartialEq)]
pub struct MarkdownPage {
    /// Name of the workflow.
    pub workflow: String,
    /// The state of the thread, in short phrases of markdown.
    pub standing: Vec<String>,
    /// The task of the thread; `None` on a page that does not show it.
    pub task: Option<MarkdownSection>,
    /// The input of the thread, on a page that shows the task; `None` if it has none.
    pub input: Option<MarkdownSection>,
    /// Steps before those shown.
    pub older: Option<LeftOut>,
    /// Sections in thread order.
    pub sections: Vec<MarkdownSection>,
    /// Steps after those shown.
    pub newer: Option<LeftOut>,
    /// The end of the page, if the thread ended or is stuck.
    pub ending: Option<PageEnding>,
    /// Failed attempts since the last step, oldest first.
    pub failures: Vec<PageFailure>,
}

/// Steps that a page omits or shortens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Position of the first, from 1.
    pub first: usize,
    /// Position of the last.
    pub last: usize,
    /// Command that shows them.
    pub command: String,
}

/// The end of a page: a heading and a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageEnding {
    /// The heading, plain text.
    pub title: String,
    /// The text, foreign markdown.
    pub text: String,
}

/// A failed attempt at a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageFailure {
    /// The attempt node.
    pub attempt: NodeHash,
    /// The role.
    pub role: String,
    /// The agent, if it is known.
    pub agent: Option<AgentName>,
    /// Exit code, if there was one.
    pub exit_code: Option<i32>,
    /// Why it failed.
    pub error: String,
    /// Tool calls that were denied to its agent.
    pub denied: Vec<String>,
    /// When it ended, in Unix milliseconds, and for how many its agent worked; `None` if the record of this machine does not say it.
    pub ended: Option<(u64, u64)>,
}

/// The task as the first section of a page, in about `quota` characters.
pub fn task(text: &str, start: NodeHash, quota: usize) -> MarkdownSection {
    let (beginning, left_out) = start_of(text.trim(), quota);
    let shown = embed(beginning, 3);
    let mut section = format!("## Task\n\n{shown}");
    if left_out > 0 {
        let gap = if shown.is_empty() { "" } else { "\n" };
        section
            .push_str(&format!("{gap}[… {left_out} characters left out: {}]\n", code(&format!("uwf cas get {start}"))));
    }
    MarkdownSection { text: section, left_out }
}

/// The input of a thread in at most about `quota` characters.
pub fn input(value: &Value, start: NodeHash, quota: usize) -> MarkdownSection {
    let text = yaml_tree::write::block(value);
    let (beginning, left_out) = start_of(&text, quota);
    let mut section = format!("## Input\n\n{}", fenced("yaml", beginning));
    if left_out > 0 {
        let command = code(&format!("uwf cas get {start}"));
        section.push_str(&format!("\n[… {left_out} characters left out; {command} names its node]\n"));
    }
    MarkdownSection { text: section, left_out }
}

/// The page as markdown.
pub fn page(page: &MarkdownPage) -> String {
    let mut blocks = vec![format!("# {}\n", inline(&page.workflow)), format!("{}\n", page.standing.join(" · "))];
    blocks.extend(page.task.as_ref().map(|task| task.text.clone()));
    blocks.extend(page.input.as_ref().map(|input| input.text.clone()));
    blocks.extend(page.older.as_ref().map(|older| left_out(older, "Earlier")));
    blocks.extend(page.sections.iter().map(|section| section.text.clone()));
    blocks.extend(page.newer.as_ref().map(|newer| left_out(newer, "Later")));
    blocks.extend(
        page.ending.as_ref().map(|ending| format!("## {}\n\n{}", inline(&ending.title), embed(&ending.text, 3))),
    );
    if !page.failures.is_empty() {
        blocks.push(failures(&page.failures));
    }
    blocks.join("\n")
}

fn left_out(steps: &LeftOut, label: &str) -> String {
    let LeftOut { first, last, command } = steps;
    let which = if first == last { format!("step {first}") } else { format!("steps {first}–{last}") };
    format!("[{label}: {which}, shown by {}]\n", code(command))
}

fn failures(failures: &[PageFailure]) -> String {
    let mut text = "## Failed attempts since the last step\n\n".to_owned();
    let hidden = failures.len().saturating_sub(FAILURES);
    if hidden > 0 {
        text.push_str(&format!("The newest {FAILURES} of {}:\n\n", failures.len()));
    }
    for failure in &failures[hidden..] {
        let agent = failure.agent.as_ref().map(|agent| format!(" by {}", inline(agent.short()))).unwrap_or_default();
        let exit_code = failure.exit_code.map(|code| format!(", exit code {code}")).unwrap_or_default();
        let command = code(&format!("uwf thread step-details {}", failure.attempt));
        let denied = match failure.denied.as_slice() {
            [] => String::new(),
            calls => format!("; denied: {}", inline(&calls.join(", "))),
        };
        text.push_str(&format!(
            "- {}{agent}{exit_code}: {}{denied}\n  (all it printed: {command})\n",
            inline(&failure.role),
            sentence(&failure.error)
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: NodeHash = NodeHash::literal("0123456789ABC");

    fn failure(n: usize) -> PageFailure {
        PageFailure {
            attempt: HASH,
            role: "coder".to_owned(),
            agent: Some(AgentName { alias: Some("claude".to_owned()), agent: "claude".to_owned() }),
            exit_code: Some(1),
            error: format!("failure {n}"),
            denied: if n == 7 { vec!["Bash(ls)".to_owned()] } else { Vec::new() },
            ended: None,
        }
    }

    #[test]
    fn a_page_has_everything_in_order() {
        let made = page(&MarkdownPage {
            workflow: "solve-issue".to_owned(),
            standing: vec!["thread `01A`".to_owned(), "stuck".to_owned()],
            task: Some(task("# Fix\n\nIt is broken.", HASH, 100)),
            input: None,
            older: Some(LeftOut { first: 1, last: 2, command: "uwf thread read 01A --before X".to_owned() }),
            sections: vec![MarkdownSection { text: "## 3. coder\n".to_owned(), left_out: 0 }],
            newer: Some(LeftOut { first: 4, last: 4, command: "uwf thread read 01A --after X".to_owned() }),
            ending: Some(PageEnding { title: "Stuck at coder".to_owned(), text: "# the agent failed".to_owned() }),
            failures: (1..=7).map(failure).collect(),
        });
        insta::assert_snapshot!(made, @r"
        # solve-issue

        thread `01A` · stuck

        ## Task

        ### Fix

        It is broken.

        [Earlier: steps 1–2, shown by `uwf thread read 01A --before X`]

        ## 3. coder

        [Later: step 4, shown by `uwf thread read 01A --after X`]

        ## Stuck at coder

        ### the agent failed

        ## Failed attempts since the last step

        The newest 5 of 7:

        - coder by claude, exit code 1: failure 3
          (all it printed: `uwf thread step-details 0123456789ABC`)
        - coder by claude, exit code 1: failure 4
          (all it printed: `uwf thread step-details 0123456789ABC`)
        - coder by claude, exit code 1: failure 5
          (all it printed: `uwf thread step-details 0123456789ABC`)
        - coder by claude, exit code 1: failure 6
          (all it printed: `uwf thread step-details 0123456789ABC`)
        - coder by claude, exit code 1: failure 7; denied: Bash(ls)
          (all it printed: `uwf thread step-details 0123456789ABC`)
        ");
    }

    #[test]
    fn a_long_task_says_where_the_rest_is() {
        let section = task(&"A long task.\n".repeat(10), HASH, 40);
        insta::assert_snapshot!(section.text, @r"
        ## Task

        A long task.
        A long task.
        A long task.

        [… 90 characters left out: `uwf cas get 0123456789ABC`]
        ");
        assert_eq!(section.left_out, 90);
    }
}
