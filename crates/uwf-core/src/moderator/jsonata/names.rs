//! Names of the variables and functions that a condition can use.

/// The steps, as `$steps`.
pub(super) const STEPS: &str = "steps";
/// The start, as `$start`.
pub(super) const START: &str = "start";
/// The thread's id, as `$threadId`.
pub(super) const THREAD_ID: &str = "threadId";
/// The nesting depth, as `$depth`.
pub(super) const DEPTH: &str = "depth";
/// The usage of the thread so far, as `$usage`.
pub(super) const USAGE: &str = "usage";
/// The item of a branch, as `$item`.
pub(super) const ITEM: &str = "item";
/// `$first(role)`: the role's first output.
pub(super) const FIRST: &str = "first";
/// `$last(role)`: the role's newest output.
pub(super) const LAST: &str = "last";
/// `$extractedBy(step)`: how the step's output was obtained.
pub(super) const EXTRACTED_BY: &str = "extractedBy";
/// `$frontmatter(step)`: the always-allowed keys that the step's answer had.
pub(super) const FRONTMATTER: &str = "frontmatter";
/// `$branches('role')`: the branches of the newest step of a group.
pub(super) const BRANCHES: &str = "branches";

/// `$outcome(step)`: the outcome of the child thread that played the step's role.
pub(super) const OUTCOME: &str = "outcome";

/// Variables an expression may use without binding them.
pub(super) const VARIABLES: [&str; 6] = [START, STEPS, THREAD_ID, DEPTH, USAGE, ITEM];
/// Functions that are registered in addition to the built-in ones.
pub(super) const FUNCTIONS: [&str; 6] = [FIRST, LAST, EXTRACTED_BY, FRONTMATTER, OUTCOME, BRANCHES];

// Rewritten references. Expressions can't use these names, because a variable's name has no space.

/// Number of steps.
pub(super) const STEP_COUNT: &str = "count of steps";
const COUNT_OF: &str = "count of role ";
const FIRST_OF: &str = "first of role ";
const LAST_OF: &str = "last of role ";

/// Number of steps of a role.
pub(super) fn count_of(role: &str) -> String {
    format!("{COUNT_OF}{role}")
}

/// `{output, meta}` of a role's first step; missing if the role has no steps.
pub(super) fn first_of(role: &str) -> String {
    format!("{FIRST_OF}{role}")
}

/// `{output, meta}` of a role's newest step; missing if the role has no steps.
pub(super) fn last_of(role: &str) -> String {
    format!("{LAST_OF}{role}")
}

/// Whether a variable is a rewritten count, which is a number and not part of the history.
pub(super) fn is_count(name: &str) -> bool {
    name == STEP_COUNT || name.starts_with(COUNT_OF)
}

/// Whether a variable is a rewritten step.
pub(super) fn is_step(name: &str) -> bool {
    name.starts_with(FIRST_OF) || name.starts_with(LAST_OF)
}
