//! The changes of each copy, for a judge or a person who picks one.

use std::path::{Path, PathBuf};
use std::process::Command;

use uwf_testing::{FinishedRun, TestHome};

use crate::fixtures::group_in_repository::{home_with_group, prompt_of, script, thread_of, worktree_of};
use crate::fixtures::repository::uwf_in;

/// Three drafts in worktrees, and a judge that picks one.
const DRAFTS: &str = "name: panel
description: the best of three drafts
workspace: worktree
roles:
  planner: { goal: You plan. }
  writer: { goal: You write., meta: { type: object, properties: { words: { type: integer } }, required: [words] } }
  judge: { goal: You choose., meta: { type: object, properties: { winner: { type: integer } }, required: [winner] } }
  drafts: { play: writer, copies: 3, pick: judge, files: worktree, mayFail: true }
graph:
  $START: [ { role: planner } ]
  planner: [ { role: drafts } ]
  drafts: [ { role: $END } ]
";

/// The first copy writes a short file and removes one, the second a long and a binary file, the third nothing.
const WRITER: &str = "case $UWF_BRANCH in
*.1) echo 'a short draft' > draft.txt; git rm -q README; git commit -qm 'by one' ;;
*.2) seq 1 20000 > draft.txt; printf '\\0\\1\\2' > picture.bin ;;
esac
printf -- '---\\nwords: 1\\n---\\n'";

fn drafts(workflow: &str, writer: &str) -> (TestHome, PathBuf) {
    let (home, repo) = home_with_group(workflow);
    script(&home, "planner", "echo planned > plan.txt; echo 'Write it.'");
    script(&home, "writer", writer);
    (home, repo)
}

fn run(home: &TestHome, repo: &Path) -> FinishedRun {
    uwf_in(home, repo, &["run", "panel", "-p", "Write it."])
}

/// The lines of a prompt from a heading to the next one.
fn section<'p>(prompt: &'p str, heading: &str) -> &'p str {
    let from = prompt.find(heading).unwrap_or_else(|| panic!("{heading}: {prompt}"));
    let rest = &prompt[from + heading.len()..];
    rest.find("\n## Copy").or(rest.find("\n# ")).map_or(rest, |to| &rest[..to])
}

#[test]
fn judge_sees_changes_of_each_copy() {
    let (home, repo) = drafts(DRAFTS, WRITER);
    let shown = home.work().join("scripts/shown");
    // The judge runs the command that shows the rest, as its prompt has it.
    script(
        &home,
        "judge",
        &format!(
            "command=$(grep -o '`git diff [0-9a-f]*\\.\\.uwf/[0-9A-Z]*` shows the whole' {}/prompt-judge | cut -d'`' -f2)
             $command > {} || exit 9
             printf -- '---\\nwinner: 1\\n---\\n'",
            home.work().join("scripts").display(),
            shown.display()
        ),
    );
    let ran = run(&home, &repo);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let prompt = prompt_of(&home, "judge");
    let first = section(&prompt, "## Copy `1`");
    for part in [
        "This copy: 2 files changed, +1 -1.",
        "- `README` (+0 -1)\n- `draft.txt` (+1 -0)\n",
        "-read me\n",
        "+a short draft\n```",
    ] {
        assert!(first.contains(part), "{part}: {first}");
    }
    assert!(!first.contains("plan.txt"), "the common start is no change: {first}");
    assert!(!first.contains("left out"), "{first}");
    let second = section(&prompt, "## Copy `2`");
    for part in ["- `draft.txt` (+20000 -0)\n- `picture.bin` (binary)\n", "+1\n+2\n", "bytes of the diff left out"] {
        assert!(second.contains(part), "{part}: {second}");
    }
    assert!(section(&prompt, "## Copy `3`").contains("This copy changed no files."), "{prompt}");
    assert!(prompt.len() < 160_000, "the diffs share the budget: {}", prompt.len());
    let rest = std::fs::read_to_string(shown).unwrap();
    assert!(rest.contains("+20000\n") && rest.contains("picture.bin"), "the command shows all of it");
}

#[test]
fn judge_sees_no_diff_of_a_failed_copy() {
    let (home, repo) = drafts(
        DRAFTS,
        "echo $UWF_BRANCH > draft.txt; test $UWF_BRANCH != drafts.2 || exit 3\nprintf -- '---\\nwords: 1\\n---\\n'",
    );
    script(&home, "judge", "printf -- '---\\nwinner: 3\\n---\\n'");
    let ran = run(&home, &repo);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let prompt = prompt_of(&home, "judge");
    assert!(prompt.contains("Copy `2` failed: ") && !prompt.contains("+drafts.2"), "{prompt}");
    assert!(section(&prompt, "## Copy `3`").contains("+drafts.3\n"), "{prompt}");
}

#[test]
fn secrets_in_diffs_are_redacted() {
    let (home, repo) = drafts(DRAFTS, "echo \"key: $PAID_API_KEY\" > draft.txt; printf -- '---\\nwords: 1\\n---\\n'");
    home.config(
        "agents:\n  t: { command: player, output: text, env: [ PAID_API_KEY ] }\ndefaultAgent: t\nkillGrace: 1\n",
    );
    std::fs::write(home.root().join(".env"), "PAID_API_KEY=sk-quite-secret-1234567890\n").unwrap();
    script(&home, "judge", "printf -- '---\\nwinner: 3\\n---\\n'");
    let ran = run(&home, &repo);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let draft = worktree_of(&home, &thread_of(&ran)).join("draft.txt");
    assert!(std::fs::read_to_string(draft).unwrap().contains("sk-quite-secret"), "the copy wrote it");
    let prompt = prompt_of(&home, "judge");
    assert!(prompt.contains("+key: ") && !prompt.contains("sk-quite-secret"), "{prompt}");
}

#[test]
fn person_who_picks_gets_commands_that_show_changes() {
    let (home, repo) = drafts(&DRAFTS.replace(" pick: judge,", ""), WRITER);
    let ran = run(&home, &repo);
    assert_eq!(ran.code, Some(20), "{}", ran.transcript());
    let commands: Vec<&str> =
        ran.stderr.lines().filter_map(|line| line.split_once("changed, ")).map(|(_, rest)| rest).collect();
    assert!(ran.stderr.contains("no files changed"), "{}", ran.stderr);
    let shown: Vec<String> = commands
        .iter()
        .filter_map(|rest| rest.split_once(": ").filter(|(_, command)| command.starts_with("git -C ")))
        .map(|(_, command)| {
            let mut shell = Command::new("sh");
            home.prepare(&mut shell);
            let done = FinishedRun::from(shell.args(["-c", command]).current_dir("/").output().unwrap());
            assert_eq!(done.code, Some(0), "{command}: {}", done.stderr);
            done.stdout
        })
        .collect();
    assert!(shown.len() == 2 && shown[0].contains("a short draft") && shown[1].contains("+20000"), "{}", ran.stderr);
}
