//! Names of variables and functions a condition finds bound.

/// The steps, as `$steps`.
pub(super) const STEPS: &str = "steps";
/// The start, as `$start`.
pub(super) const START: &str = "start";
/// The thread's id, as `$threadId`.
pub(super) const THREAD_ID: &str = "threadId";
/// The nesting depth, as `$depth`.
pub(super) const DEPTH: &str = "depth";
/// What the thread has used so far, as `$usage`.
pub(super) const USAGE: &str = "usage";
/// `$first(role)`: that role's first output.
pub(super) const FIRST: &str = "first";
/// `$last(role)`: that role's newest output.
pub(super) const LAST: &str = "last";
/// `$extractedBy(step)`: how the step's output was obtained.
pub(super) const EXTRACTED_BY: &str = "extractedBy";
/// `$frontmatter(step)`: those of the keys that are always allowed which its answer had.
pub(super) const FRONTMATTER: &str = "frontmatter";

/// Variables an expression may use without binding them.
pub(super) const VARIABLES: [&str; 5] = [START, STEPS, THREAD_ID, DEPTH, USAGE];
/// Functions registered beside the built-in ones.
pub(super) const FUNCTIONS: [&str; 4] = [FIRST, LAST, EXTRACTED_BY, FRONTMATTER];

// Rewritten references. No expression can spell these: a variable's name has no space.

/// A number: how many steps there are.
pub(super) const STEP_COUNT: &str = "count of steps";
const COUNT_OF: &str = "count of role ";
const FIRST_OF: &str = "first of role ";
const LAST_OF: &str = "last of role ";

/// A number: how many steps of a role there are.
pub(super) fn count_of(role: &str) -> String {
    format!("{COUNT_OF}{role}")
}

/// `{output, meta}` of a role's first step, missing when it has none.
pub(super) fn first_of(role: &str) -> String {
    format!("{FIRST_OF}{role}")
}

/// `{output, meta}` of a role's newest step, missing when it has none.
pub(super) fn last_of(role: &str) -> String {
    format!("{LAST_OF}{role}")
}

/// Whether a variable is a rewritten count, that is a number and not part of the history.
pub(super) fn is_count(name: &str) -> bool {
    name == STEP_COUNT || name.starts_with(COUNT_OF)
}

/// Whether a variable is a rewritten step.
pub(super) fn is_step(name: &str) -> bool {
    name.starts_with(FIRST_OF) || name.starts_with(LAST_OF)
}
