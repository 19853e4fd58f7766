//! Branches of groups in prompts: the results of a group's branches, and the part of a prompt that makes it one branch's.

use serde_json::Value;

use super::copy_changes::CopyChanges;
use super::fence::{fenced, head, push_fenced};
use super::output_text::shown_output;
use crate::thread::BranchOutput;

/// The item of a branch.
#[derive(Debug, Clone, Copy)]
pub struct BranchItem<'i> {
    /// The role of the group. A branch of a group within a branch has an item of each.
    pub group: &'i str,
    /// The name of the branch.
    pub name: &'i str,
    /// Its position in the list, from 1.
    pub position: usize,
    /// Number of items.
    pub count: usize,
    /// The item.
    pub item: &'i Value,
}

/// The part of a branch's task that has its item.
#[must_use]
pub fn item_part(item: &BranchItem<'_>) -> String {
    let BranchItem { group, name, position, count, item } = item;
    let number = position.to_string();
    let called = if **name == number { String::new() } else { format!(", `{name}`,") };
    let (info, text) = match item {
        Value::String(text) => ("text", text.clone()),
        item => ("yaml", yaml_tree::write::block(item)),
    };
    format!(
        "\n# Your item\n\nThis is item {position} of {count}{called} of the group `{group}`. Do only this one: the other items have their own agents.\n\n{}",
        fenced(info, &text)
    )
}

/// The part of a branch's task that has its answer of the last time its group was played, in about `bytes`. `step` is the position of that
/// step. If the prompt has the step, too, the part only refers to it.
#[must_use]
pub fn own_answer_part(answer: &BranchOutput, step: usize, is_seen: bool, bytes: usize) -> String {
    let mut text = "\n# Your last answer\n\nYou have done this part before. ".to_owned();
    if is_seen {
        text.push_str(&format!("The result of `{}` in step {step} is your own last answer.\n", answer.name));
        return text;
    }
    text.push_str(&format!("You answered in step {step}:\n\n"));
    push_result(&mut text, answer, [bytes / 2; 2]);
    text
}

/// The part of a judge's task that has the copies and the files they changed, in about twice `bytes`. Each copy has an equal share.
#[must_use]
pub fn copies_part(copies: &[BranchOutput], changes: &[CopyChanges], bytes: usize) -> String {
    let mut text = "\n# The copies\n\nThese are the results of the same task, done independently.\n".to_owned();
    push_failed(&mut text, "Copy", copies);
    let mut sections = Vec::with_capacity(copies.len());
    for copy in sound(copies) {
        let mut section = String::new();
        push_branch(&mut section, "Copy", copy, [bytes / copies.len().max(1); 2]);
        sections.push((section, changes.iter().find(|changes| changes.name == copy.name)));
    }
    let shown: usize = sections.iter().map(|(section, _)| section.len()).sum();
    let share = (2 * bytes).saturating_sub(shown).max(bytes / 2) / sections.len().max(1);
    for (section, changes) in sections {
        text.push_str(&section);
        if let Some(changes) = changes {
            changes.push(&mut text, share);
        }
    }
    text
}

/// Adds the results of branches. Each gets an equal share of the bytes for outputs and for texts. Failed ones come first, and whole.
/// Returns whether something is left out.
pub(super) fn push_branches(
    to: &mut String,
    noun: &str,
    branches: &[BranchOutput],
    output_cap: usize,
    text_cap: usize,
) -> bool {
    push_failed(to, noun, branches);
    let count = branches.len().max(1);
    let mut cuts = false;
    for branch in sound(branches) {
        cuts |= push_branch(to, noun, branch, [output_cap / count, text_cap / count]);
    }
    cuts
}

fn sound(branches: &[BranchOutput]) -> impl Iterator<Item = &BranchOutput> {
    branches.iter().filter(|branch| branch.failure().is_none())
}

fn push_failed(to: &mut String, noun: &str, branches: &[BranchOutput]) {
    for branch in branches {
        if let Some(why) = branch.failure() {
            to.push_str(&format!("\n{noun} `{}` failed: {why}\n", branch.name));
        }
    }
}

/// Adds the result of a branch below its name. Returns whether something is left out.
fn push_branch(to: &mut String, noun: &str, branch: &BranchOutput, caps: [usize; 2]) -> bool {
    to.push_str(&format!("\n## {noun} `{}`\n\n", branch.name));
    push_result(to, branch, caps)
}

/// Adds the output of a branch and its text, each in so many bytes. Returns whether something is left out.
fn push_result(to: &mut String, branch: &BranchOutput, [output_cap, text_cap]: [usize; 2]) -> bool {
    let (info, output) = shown_output(&branch.output);
    let mut cuts = push_capped(to, info, &output, output_cap);
    if let Some(message) = branch.message.as_deref().map(str::trim_end).filter(|text| !text.is_empty()) {
        to.push('\n');
        cuts |= push_capped(to, "markdown", message, text_cap);
    }
    cuts
}

fn push_capped(to: &mut String, info: &str, text: &str, cap: usize) -> bool {
    let (start, left_out) = head(text, cap);
    push_fenced(to, info, start);
    if left_out > 0 {
        to.push_str(&format!("[… {left_out} bytes left out]\n"));
    }
    left_out > 0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn branch(name: &str, output: Value, message: &str) -> BranchOutput {
        BranchOutput { name: name.to_owned(), output, message: Some(message.to_owned()) }
    }

    #[test]
    fn branches_share_room_equally_failed_first() {
        let branches = [
            branch("a", json!({ "ok": true }), &"long ".repeat(1000)),
            branch("b", json!({ "failed": "no login" }), ""),
            branch("c", json!("short text"), ""),
        ];
        let mut text = String::new();
        assert!(push_branches(&mut text, "Branch", &branches, 3000, 600));
        assert!(text.starts_with("\nBranch `b` failed: no login\n"), "{text}");
        assert!(text.contains("short text") && text.contains("bytes left out") && text.len() < 600, "{text}");
    }

    #[test]
    fn item_is_shown_with_its_place() {
        let item = json!({ "file": "a.rs" });
        let part = item_part(&BranchItem { group: "fixes", name: "a", position: 2, count: 3, item: &item });
        assert!(part.contains("item 2 of 3, `a`") && part.contains("file: a.rs"), "{part}");
    }
}
