//! What a prompt holds, seen by agents that remember nothing.

use std::fs;

use serde_json::json;
use uwf_testing::TestHome;

use crate::fixtures::repository::{git, home_with_repository, uwf_in};
use crate::home;

/// A worker that keeps each prompt it is sent, and answers with a text of its own length.
const KEEPER: &str = r#"#!/bin/sh
n=$(ls prompt-* 2>/dev/null | wc -l)
cat > "prompt-$n"
printf -- '---\nn: %s\n---\nBegin of answer %s.\n' $n $n
i=0; while [ $i -lt 60 ]; do echo "A line of answer $n, to make it longer than a few words."; i=$((i+1)); done
echo "End of answer $n."
"#;

/// A role that plays ten times with little room for task and history.
fn kept_prompts(budget: usize, task: &str) -> (TestHome, String) {
    let home = home();
    home.script("keeper", KEEPER);
    home.config(&format!(
        "agents:\n  a: {{ command: keeper, output: text }}\ndefaultAgent: a\npromptBudget: {budget}\n"
    ));
    let thread = home.start_counting(20, task);
    for _ in 0..10 {
        home.json(&["thread", "step", &thread]);
    }
    (home, thread)
}

#[test]
fn history_fits_budget_and_names_command_for_rest() {
    let (home, thread) = kept_prompts(14_000, "Count the sheep.");
    let prompts: Vec<String> =
        (0..10).map(|n| fs::read_to_string(home.work().join(format!("prompt-{n}"))).unwrap()).collect();
    assert!(prompts.iter().all(|prompt| prompt.len() <= 14_000));
    let ends =
        |n: usize| -> Vec<usize> { (0..10).filter(|m| prompts[n].contains(&format!("End of answer {m}."))).collect() };
    assert_eq!((ends(1), ends(2)), (vec![0], vec![0, 1]), "while all fits, all is shown");
    assert_eq!(ends(9).last(), Some(&8), "the own last answer is whole");
    let last = &prompts[9];
    assert!(last.contains("Begin of answer 0.") && last.contains("[… steps"), "{last}");

    // What the prompt leaves out, the command in it prints.
    let command = format!("uwf agent context {thread} worker");
    assert!(last.contains(&format!("`{command} --step N`")), "{last}");
    let step = home.uwf(&["agent", "context", &thread, "worker", "--step", "5"]).stdout;
    assert!(step.contains("Begin of answer 4.") && step.contains("End of answer 4."), "{step}");
    let data = home.json(&["agent", "context", &thread, "worker", "--step", "5", "--format", "json"]);
    assert_eq!(json!([data["index"], data["output"]]), json!([5, { "n": 4 }]));
    let none = home.uwf(&["agent", "context", &thread, "worker", "--step", "11"]);
    assert_eq!(none.code, Some(64));
    assert!(none.stderr.contains("its steps are 1 to 10"), "{}", none.stderr);
}

#[test]
fn task_exceeding_budget_is_cut_with_notice() {
    let task = "Count the sheep.\n".repeat(400);
    let (home, thread) = kept_prompts(6_000, &task);
    let prompt = fs::read_to_string(home.work().join("prompt-0")).unwrap();
    assert!(prompt.len() <= 6_000 && prompt.contains("bytes of the task left out]"), "{prompt}");
    assert!(prompt.contains(&format!("`uwf agent context {thread} worker --task`")), "{prompt}");
    assert_eq!(home.uwf(&["agent", "context", &thread, "worker", "--task"]).stdout, task);
}

/// A workflow of a coder and a reviewer who do not agree.
const REVIEW: &str = "name: review-code\ndescription: code and its review\nroles:\n  \
    coder: { description: codes, goal: Code., meta: { type: object, properties: { n: { type: integer } }, required: [n] } }\n  \
    reviewer: { description: reviews, goal: Review., meta: { type: object, properties: { n: { type: integer } }, required: [n] } }\n\
    graph:\n  $START: [ { role: coder } ]\n  coder: [ { role: reviewer } ]\n  reviewer: [ { role: coder } ]\n";

#[test]
fn prompt_names_branch_and_changed_files() {
    let home = home_with_repository(1);
    let repo = home.work().join("repo");
    let prompts = home.work().join("prompts");
    fs::create_dir(&prompts).unwrap();
    home.worker(
        "output: json",
        &format!(
            "#!/bin/sh\nn=$(ls {0} | wc -l)\ncat > {0}/$n\n[ \"$UWF_ROLE\" = coder ] && echo $n > code.rs && echo new > \"it's new $n\"\n\
             [ \"$UWF_ROLE\" = reviewer ] && echo $n >> code.rs && git add -A && git commit --quiet -m reviewed\necho \"{{\\\"n\\\": $n}}\"\n",
            prompts.display()
        ),
    );
    home.put("review-code", REVIEW);
    let started = uwf_in(&home, &repo, &["thread", "start", "review-code", "-p", "count", "--worktree"]).json();
    let thread = uwf_testing::text(&started, "thread");
    for _ in 0..3 {
        home.json(&["thread", "step", &thread]);
    }
    let base = git(&home, &repo, &["rev-parse", "main"]);
    let workspace = |n: usize| {
        let prompt = fs::read_to_string(prompts.join(n.to_string())).unwrap();
        let section = prompt.split("\n# Workspace\n\n").nth(1).unwrap().split("\nNow do the work").next().unwrap();
        section.replace(&thread, "<thread>").replace(&base[..12], "<base>")
    };
    let intro = "You work on the git branch `uwf/<thread>`, which began at commit `<base>`. `git diff <base>` shows all changes of tracked \
                 files since then, and `git status --short` lists new files.\n";
    assert_eq!(workspace(0), format!("{intro}\nPrevious steps changed no files.\n"));
    let list = "Files that previous steps changed, with the roles that changed them:\n";
    assert_eq!(workspace(1), format!("{intro}\n{list}\n- `code.rs` (coder)\n- `it's new 0` (coder)\n"));
    assert_eq!(workspace(2), format!("{intro}\n{list}\n- `code.rs` (coder, reviewer)\n- `it's new 0` (coder)\n"));

    let elsewhere = home.start("count-rounds", "count");
    home.json(&["thread", "step", &elsewhere]);
    let prompt = fs::read_to_string(prompts.join("3")).unwrap();
    assert!(!prompt.contains("# Workspace"), "{prompt}");

    let start = ["thread", "start", "count-rounds", "-p", "count", "--no-worktree"];
    let [here, later] = [(); 2].map(|()| uwf_testing::text(&uwf_in(&home, &repo, &start).json(), "thread"));
    home.json(&["thread", "step", &here]);
    let checkout = workspace(4);
    // As an earlier role commits its work.
    git(&home, &repo, &["commit", "--quiet", "--allow-empty", "-m", "work"]);
    home.json(&["thread", "step", &later]);
    let begun = "The work began at commit `<base>`. `git diff <base>` shows all changes of tracked files since then";
    assert!(workspace(5).contains(begun), "{}", workspace(5));
    assert!(
        checkout.starts_with("You work in a git repository on the branch `main`, at commit `<base>`. "),
        "{checkout}"
    );
    assert!(checkout.contains("`git diff <base>` shows all changes"), "{checkout}");

    fs::remove_file(repo.join(".git/objects").join(&base[..2]).join(base[2..].trim_end())).unwrap();
    let prompt = home.uwf(&["agent", "context", &thread, "coder", "--prompt"]);
    assert_eq!(prompt.code, Some(0), "{}", prompt.transcript());
    let line = prompt.stdout.lines().find(|line| line.starts_with("git could not say what changed: "));
    assert!(line.is_some_and(|line| line.len() > 40), "{}", prompt.stdout);
}
