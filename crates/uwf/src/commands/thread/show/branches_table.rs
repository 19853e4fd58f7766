//! The branches of a group as a table.

use uwf_core::agent_name::AgentName;
use uwf_core::text::one_line;
use uwf_engine::views::groups::{BranchStatus, GroupStatus};

use super::state;
use crate::style;
use crate::table::{self, TextTable};

/// Columns of a name.
const NAME: usize = 40;

/// Columns of a reason.
const WHY: usize = 100;

/// The branches of a group, one in each row, also of groups within it.
pub(super) fn branches_table(group: &GroupStatus) -> String {
    let table = TextTable::new(&["branch", "role", "state", "agent", "time", "cost", "thread"]);
    let mut table = table.flexible([0, 1, 3]).paths(Some(0)).ids(Some(6));
    for branch in group.all_branches() {
        let agent = branch.agent.as_ref().map(AgentName::short);
        let has_worked = branch.agent.is_some() || branch.thread.is_some();
        table.row(vec![
            table::excerpt(&branch.branch, NAME),
            table::excerpt(&branch.role, NAME),
            branch_state(branch),
            agent.map_or_else(dash, |agent| table::excerpt(agent, NAME)),
            if has_worked { table::work_time(branch.took_ms, branch.waited_ms, branch.attempts.len()) } else { dash() },
            if has_worked { branch.spent.cost_text() } else { dash() },
            branch.thread.as_ref().map_or_else(dash, ToString::to_string),
        ]);
        if let Some(why) = &branch.why {
            table::reason(why, WHY).iter().for_each(|line| table.note(line));
        }
    }
    let left_out = match group.left_out.as_slice() {
        [] => String::new(),
        roles => format!("{}\n", style::dim(&format!("left out by conditions: {}", one_line(&roles.join(", "))))),
    };
    if group.branches.is_empty() { left_out } else { table.text() + &left_out }
}

/// The state of a branch in its colour.
fn branch_state(branch: &BranchStatus) -> String {
    let words = branch.state_in_words();
    match branch.state {
        _ if branch.failed => style::red(words),
        _ if branch.picked => style::green(words),
        Some(known) => state(known, false, branch.unsuccessful()),
        None if branch.unsuccessful().is_some() => style::red(words),
        None => words.to_owned(),
    }
}

fn dash() -> String {
    "–".to_owned()
}
