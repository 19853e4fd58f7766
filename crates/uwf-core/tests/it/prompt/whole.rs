//! Whole prompts of typical roles, so that a change of any prompt shows as a difference.

use uwf_core::prompt::{
    BranchItem, GitBranch, PromptWorkspace, PromptWorktree, WorkspaceFile, WorkspaceFiles, branch_brief, item_part,
};
use uwf_core::thread::QuestionReply;

use super::*;

fn developer() -> Role {
    Role {
        description: "Writes the code".to_owned(),
        goal: "You are a developer.\n".to_owned(),
        capabilities: vec!["coding".to_owned()],
        procedure: "Make the change, and test it.".to_owned(),
        output: "Say what you changed.".to_owned(),
        ..role()
    }
}

fn summary_schema() -> Value {
    json!({"type": "object", "properties": {"summary": {"type": "string"}}, "required": ["summary"]})
}

/// A plan, a change, and its rejection.
fn rejected() -> Vec<Step> {
    vec![
        planned(),
        developed(2),
        Step { message: Some("The check has no test.\n".to_owned()), ..reviewed(3, "no test") },
    ]
}

fn verdict_schema() -> Value {
    json!({"oneOf": [
        {"type": "object", "additionalProperties": false, "required": ["verdict", "version"],
            "properties": {"verdict": {"const": "release"}, "version": {"type": "string"}}},
        {"type": "object", "additionalProperties": false, "required": ["verdict", "blockers"],
            "properties": {"verdict": {"const": "hold"}, "blockers": {"type": "array", "items": {"type": "string"}}}},
        {"type": "object", "additionalProperties": false, "required": ["verdict", "until"],
            "properties": {"verdict": {"const": "wait"}, "until": {"type": "string", "format": "date"}}},
    ]})
}

#[test]
fn prompt_of_a_first_visit() {
    insta::assert_snapshot!(prompt(&[planned(), developed(2)], 100_000).text());
}

#[test]
fn prompt_after_a_rejection() {
    let (role, schema) = (developer(), summary_schema());
    let input = PromptInput { role_name: "developer", ..input(&role, &schema) };
    insta::assert_snapshot!(built(&input, &rejected()).text());
}

#[test]
fn prompt_in_a_resumed_session() {
    let (role, schema) = (developer(), summary_schema());
    let input = PromptInput { role_name: "developer", is_resumed: true, ..input(&role, &schema) };
    insta::assert_snapshot!(built(&input, &rejected()).text());
}

#[test]
fn prompt_of_a_branch() {
    let (role, schema) = (role(), review_schema());
    let files = json!("src/login.rs");
    let part = item_part(&BranchItem { group: "reviews", position: 2, count: 3, name: "security", item: &files });
    let steps = [planned(), developed(2)];
    let parent = PromptInput { steps: steps.len(), ..input(&role, &schema) };
    let Ok(task) = branch_brief(&parent, &part, |at| Ok::<_, Infallible>(steps[at - 1].clone()));
    insta::assert_snapshot!(built(&PromptInput { task: &task, ..input(&role, &schema) }, &[]).text());
}

#[test]
fn prompt_after_a_group() {
    let branches = [GitBranch { name: "a".to_owned(), branch: "uwf/01A".to_owned() }];
    insta::assert_snapshot!(
        prompt(&[planned(), developed(2)], 100_000).with_git_branches("developer", &branches).text()
    );
}

#[test]
fn prompt_with_several_forms_of_answer() {
    let (role, schema) = (role(), verdict_schema());
    insta::assert_snapshot!(built(&input(&role, &schema), &[]).text());
}

#[test]
fn json_prompt_with_several_forms() {
    let (role, schema) = (role(), verdict_schema());
    insta::assert_snapshot!(built(&PromptInput { output: AnswerForm::Json, ..input(&role, &schema) }, &[]).text());
}

#[test]
fn prompt_of_a_text_role() {
    let (role, schema) = (role(), json!({"type": "string", "maxLength": 4000}));
    insta::assert_snapshot!(built(&input(&role, &schema), &[planned()]).text());
}

#[test]
fn prompt_with_an_input() {
    let (role, schema) = (role(), review_schema());
    let values = json!({"version": "1.2.0", "files": ["a.rs", "b.rs"]});
    insta::assert_snapshot!(built(&PromptInput { input: Some(&values), ..input(&role, &schema) }, &[planned()]).text());
}

#[test]
fn prompt_of_a_substitute_with_a_reply() {
    let (role, schema) = (role(), review_schema());
    let replies = [QuestionReply { question: "Which release?".to_owned(), reply: "1.2.0".to_owned(), by: None }];
    let prompt = built(&PromptInput { replies: &replies, ..input(&role, &schema) }, &[planned()]);
    insta::assert_snapshot!(prompt.with_fallback("codex", "its usage limit is reached", true).text());
}

/// A worktree in which these files changed.
fn worktree(files: impl IntoIterator<Item = String>) -> PromptWorkspace {
    let file = |path: String| WorkspaceFile { path, roles: vec!["planner".to_owned(), "developer".to_owned()] };
    PromptWorkspace::Worktree(PromptWorktree {
        is_of_branch: false,
        branch: "uwf/01ARZ3NDEKTSV4RRFFQ69G5FAV".to_owned(),
        base: "0123456789abcdef0123456789abcdef01234567".to_owned(),
        files: WorkspaceFiles::Known(files.into_iter().map(file).collect()),
    })
}

#[test]
fn prompt_in_a_worktree() {
    let (role, schema) = (role(), review_schema());
    let workspace = worktree(["src/login.rs".to_owned(), "a`b\n# Task".to_owned()]);
    let input = PromptInput { workspace: Some(&workspace), ..input(&role, &schema) };
    insta::assert_snapshot!(built(&input, &[planned(), developed(2), reviewed(3, "no test"), developed(4)]).text());
}

#[test]
fn checkout_shows_branch_and_commit() {
    let (role, schema) = (role(), review_schema());
    let section = |branch: Option<&str>, base: Option<&str>| {
        let (branch, base) = (branch.map(str::to_owned), base.map(str::to_owned));
        let checkout = PromptWorkspace::Checkout { branch, commit: "89abcdef0123456789abcdef".to_owned(), base };
        let text = built(&PromptInput { workspace: Some(&checkout), ..input(&role, &schema) }, &[planned()]).text();
        text.split("\n# Workspace\n\n").nth(1).unwrap().split("\nNow do").next().unwrap().to_owned()
    };
    let expected = "You work in a git repository on the branch `fix-login`, at commit `89abcdef0123`. `git diff 89abcdef0123` shows all \
                    changes of tracked files since then, and `git status --short` lists new files. Some of them may be older than this task.";
    assert_eq!(section(Some("fix-login"), None).trim_end(), expected);
    assert_eq!(section(Some("fix-login"), Some("89abcdef0123456789abcdef")).trim_end(), expected);
    let committed = section(Some("fix-login"), Some("0123456789abcdef"));
    let begun =
        "at commit `89abcdef0123`. The work began at commit `0123456789ab`. `git diff 0123456789ab` shows all changes";
    assert!(committed.contains(begun), "{committed}");
    assert!(section(None, None).starts_with("You work in a git repository at commit `89abcdef0123`, on no branch. "));
}

#[test]
fn list_of_changed_files_is_bounded() {
    let (role, schema) = (role(), review_schema());
    let whole = built(&input(&role, &schema), &[]).text().len();
    for (digits, budget) in [(5, 100_000), (400, 100_000), (400, 8_000)] {
        let workspace = worktree((0..5_000).map(|number| format!("{number:0digits$}")));
        let text = built(&PromptInput { workspace: Some(&workspace), budget, ..input(&role, &schema) }, &[]).text();
        assert!(text.len() < whole + budget / 16 + 500 && text.contains(" more\n"), "{text}");
    }
}

#[test]
fn questions_are_invited_only_where_someone_answers() {
    let (role, schema) = (role(), review_schema());
    for output in [AnswerForm::Frontmatter, AnswerForm::Json] {
        let asking = PromptInput { output, ..input(&role, &schema) };
        let alone = built(&PromptInput { may_ask: false, ..asking }, &[]).text();
        assert!(!alone.contains("person") && !alone.contains("needs_input"), "{alone}");
        let asking = built(&asking, &[]).text();
        let (before, after) = asking.split_once("\nIf you need input from a person").unwrap();
        assert_eq!(
            alone,
            format!("{before}{}", &after[after.find("\n# Your role").unwrap()..].trim_start_matches(' '))
        );
    }
}

proptest! {
    /// Parts that never change come first, so that a provider's prompt cache has it at every later visit.
    #[test]
    fn every_visit_begins_with_same_bytes((steps, budget, _, _) in threads()) {
        let (role, schema) = (role(), review_schema());
        let values = json!({"version": "1.2.0", "log": "line\n".repeat(2_000)});
        let budget = budget + 12_000;
        let visit = |steps: &[Step]| {
            let workspace = worktree(steps.iter().map(|step| format!("file-{}", step.index)));
            built(&PromptInput { input: Some(&values), workspace: Some(&workspace), budget, ..input(&role, &schema) }, steps)
        };
        let first = visit(&[]);
        let shared = first.shared_ends()[0];
        let fixed: usize = first.parts.iter().take(3).map(|part| part.text.len()).sum();
        prop_assert_eq!(shared, fixed);
        for count in 1..=steps.len() {
            let later = visit(&steps[..count]);
            prop_assert_eq!(later.shared_ends()[0], shared);
            prop_assert_eq!(&later.text()[..shared], &first.text()[..shared]);
        }
    }
}
