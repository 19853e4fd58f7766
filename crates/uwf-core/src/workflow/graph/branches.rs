//! The branches in the box of a group.

use std::collections::BTreeSet;

use super::GraphCourse;
use crate::text::{ellipsize, one_line};
use crate::workflow::model::{START, Workflow};
use crate::workflow::picker::CopyPicker;
use crate::workflow::role_group::{GroupBranch, RoleGroup};

/// Most branches that are drawn of a group.
const MOST: usize = 8;

/// Longest text of a branch, in characters.
const LONGEST: usize = 40;

/// How many levels of groups within groups are drawn. A file that is not valid may have a group within itself.
const MAX_NESTING: usize = 4;

/// A line in the box of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DrawnBranch {
    /// Name of the branch; `None` for a line about several branches.
    pub(super) name: Option<String>,
    /// Its text, with its condition or state.
    pub(super) text: String,
    /// Its state, if a thread played it.
    pub(super) state: Option<String>,
}

/// The lines about the branches of a role; none if it is not a group.
fn drawn_branches(workflow: &Workflow, role: &str, course: Option<&GraphCourse>) -> Vec<DrawnBranch> {
    let Some(group) = workflow.roles.get(role).and_then(|role| role.more.play.as_ref()) else { return Vec::new() };
    let played = course.and_then(|course| course.branches.get(role));
    let mut lines: Vec<DrawnBranch> = match (played, group.repeated()) {
        (Some(played), _) => played
            .iter()
            .map(|branch| {
                let text = format!("{} · {}", one_line(&branch.name), one_line(&branch.state));
                DrawnBranch { name: Some(branch.name.clone()), text, state: Some(branch.state.clone()) }
            })
            .collect(),
        (None, Some(branch)) => vec![about(repeated(group, branch))],
        (None, None) => group.roles.iter().map(listed).collect(),
    };
    let more = lines.len().saturating_sub(MOST);
    lines.truncate(MOST);
    lines.extend((more > 0).then(|| about(format!("… {more} more"))));
    if played.is_none() && group.copies.is_some() {
        lines.push(about(match CopyPicker::for_group(workflow, group) {
            CopyPicker::Role(role) => format!("picked by {role}"),
            CopyPicker::Expression(_) => "picked by an expression".to_owned(),
            CopyPicker::Person => "picked by a person".to_owned(),
        }));
    }
    if let Some(role) = group.resolve.as_deref().filter(|_| played.is_none()) {
        lines.push(about(format!("conflicts resolved by {}", one_line(role))));
    }
    lines.into_iter().map(|line| DrawnBranch { text: ellipsize(&line.text, LONGEST).into_owned(), ..line }).collect()
}

/// Adds a line for each group within a group, with its branches. It stops behind the lines that are drawn.
fn add_inner_groups(workflow: &Workflow, group: &RoleGroup, levels: usize, lines: &mut Vec<DrawnBranch>) {
    for GroupBranch { role, .. } in group.roles.iter().filter(|_| levels > 0) {
        if lines.len() > MOST {
            return;
        }
        let Some(inner) = workflow.roles.get(role).and_then(|role| role.more.play.as_ref()) else { continue };
        let names = match inner.repeated() {
            Some(branch) => repeated(inner, branch),
            None => inner.roles.iter().map(|branch| one_line(&branch.role)).collect::<Vec<_>>().join(", "),
        };
        let text = format!("{}: {names}", one_line(role));
        lines.push(about(ellipsize(&text, LONGEST).into_owned()));
        add_inner_groups(workflow, inner, levels - 1, lines);
    }
}

/// The lines in the box of a role, also about groups within the group, unless a thread played it.
pub(super) fn lines_in_box(workflow: &Workflow, role: &str, course: Option<&GraphCourse>) -> Vec<DrawnBranch> {
    let is_played = course.is_some_and(|course| course.branches.contains_key(role));
    let group = workflow.roles.get(role).and_then(|role| role.more.play.as_ref()).filter(|_| !is_played);
    let mut inner = Vec::new();
    group.into_iter().for_each(|group| add_inner_groups(workflow, group, MAX_NESTING, &mut inner));
    if inner.len() > MOST {
        inner.truncate(MOST);
        inner.push(about("… more groups".to_owned()));
    }
    drawn_branches(workflow, role, course).into_iter().chain(inner).collect()
}

/// The branches of a group as its file says, in a few words each: its roles, then who picks a copy and who resolves conflicts. Empty if the
/// role is not a group.
#[must_use]
pub fn branches_in_words(workflow: &Workflow, role: &str) -> Vec<String> {
    drawn_branches(workflow, role, None).into_iter().map(|branch| branch.text).collect()
}

/// The roles that only groups play: they are drawn in the boxes of their groups.
pub(super) fn inner_roles(workflow: &Workflow) -> BTreeSet<&str> {
    let in_graph: BTreeSet<&str> = std::iter::once(START)
        .chain(workflow.graph.keys().map(String::as_str))
        .chain(workflow.graph.values().flatten().map(|transition| transition.role.as_str()))
        .collect();
    let groups = workflow.roles.values().filter_map(|role| role.more.play.as_ref());
    groups.flat_map(RoleGroup::played).filter(|role| !in_graph.contains(role)).collect()
}

fn listed(branch: &GroupBranch) -> DrawnBranch {
    let condition = branch.condition.as_ref().map(|name| format!(" if {}", one_line(name))).unwrap_or_default();
    let text = format!("{}{condition}", one_line(&branch.role));
    DrawnBranch { name: Some(branch.role.clone()), text, state: None }
}

fn repeated(group: &RoleGroup, branch: &GroupBranch) -> String {
    let role = one_line(&branch.role);
    match (group.copies, &group.key) {
        (Some(copies), _) => format!("{role} × {copies}"),
        (None, Some(key)) => format!("{role} for each {}", one_line(key)),
        (None, None) => format!("{role} for each item"),
    }
}

fn about(text: String) -> DrawnBranch {
    DrawnBranch { name: None, text, state: None }
}
