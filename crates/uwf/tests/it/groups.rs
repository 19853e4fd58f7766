//! Groups: a role that plays other roles at the same time.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;
use uwf_testing::TestHome;
use uwf_testing::processes::is_alive;

use crate::fixtures::group_in_repository::thread_of;
use crate::fixtures::group_runs::runs;
use crate::home;

/// A plan, three reviewers at once (the last only if asked for), and a decision.
const PANEL: &str = "name: review-panel
description: three reviewers at once
roles:
  planner: { goal: You say what to review., meta: { type: object, properties: { docs: { type: boolean } }, required: [docs] } }
  security: { goal: You look for holes., meta: { type: object, properties: { approved: { type: boolean } }, required: [approved] } }
  tests: { goal: You judge the tests., meta: { type: object, properties: { approved: { type: boolean } }, required: [approved] } }
  docs: { goal: You read the manual. }
  reviews:
    description: all reviews
    play: [ security, tests, { role: docs, condition: \"$last('planner').docs\" } ]
  judge: { goal: You decide. }
conditions:
  approved: { expression: \"$last('reviews').security.approved and $last('reviews').tests.approved\" }
graph:
  $START: [ { role: planner } ]
  planner: [ { role: reviews } ]
  reviews:
    - { role: judge, condition: approved }
    - { role: $END, outcome: rejected }
  judge: [ { role: $END } ]
";

/// An agent that notes each run in the file `runs`, then runs the script `ROLE.sh`, which has the prompt on stdin.
const AGENT: &str = "#!/bin/sh\ncat > prompt-$UWF_ROLE\necho $UWF_ROLE >> runs\nsh ./$UWF_ROLE.sh < prompt-$UWF_ROLE\n";

/// A home with the panel, in which every role answers.
fn panel() -> TestHome {
    let home = home();
    home.put("review-panel", PANEL);
    home.script("worker", AGENT);
    home.config("agents:\n  t: { command: worker, output: text }\ndefaultAgent: t\nkillGrace: 1\n");
    answer(&home, "planner", "docs: true");
    answer(&home, "security", "approved: true");
    answer(&home, "tests", "approved: true");
    home.file("docs.sh", "echo 'The manual is fine.'\n");
    home.file("judge.sh", "echo 'Ship it.'\n");
    home
}

/// Lets a role answer with a header and a text.
fn answer(home: &TestHome, role: &str, header: &str) {
    home.file(&format!("{role}.sh"), &format!("printf -- '---\\n{header}\\n---\\nI am {role}.\\n'\n"));
}

#[test]
fn outputs_of_branches_are_a_map() {
    let home = panel();
    let ran = home.uwf(&["run", "review-panel", "-p", "Review it."]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let thread = thread_of(&ran);
    let output = home.json(&["thread", "eval", &thread, "$last('reviews')"]);
    let expected = json!({"security": {"approved": true}, "tests": {"approved": true}, "docs": "The manual is fine."});
    assert_eq!(output, expected);
    assert_eq!(home.json(&["thread", "eval", &thread, "steps.role"]), json!(["planner", "reviews", "judge"]));
    let prompt = fs::read_to_string(home.work().join("prompt-judge")).unwrap();
    for part in [
        "# Step 2: output of role `reviews`",
        "\"approved\": true",
        "The manual is fine.",
        "I am security.",
        "I am tests.",
    ] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
    let branch = fs::read_to_string(home.work().join("prompt-tests")).unwrap();
    assert!(branch.contains("Review it.") && branch.contains("output of role `planner`"), "{branch}");
    assert!(!branch.contains("I am security."), "a branch sees no sibling: {branch}");
    assert!(!branch.contains("`security` (required)"), "nor the output of the group: {branch}");
    assert_eq!(home.uwf(&["thread", "verify", &thread]).code, Some(0));
    assert_eq!(home.json(&["thread", "show", "@"])["thread"], json!(thread), "`@` is no branch");
    let read = home.uwf(&["thread", "read", &thread, "--format", "text"]).stdout;
    assert!(read.contains("I am security.") && read.contains("Ship it."), "{read}");
}

#[test]
fn conditions_leave_branches_out() {
    let home = panel();
    answer(&home, "planner", "docs: false");
    let ran = home.uwf(&["run", "review-panel", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let thread = thread_of(&ran);
    let output = home.json(&["thread", "eval", &thread, "$last('reviews')"]);
    assert_eq!(output, json!({"security": {"approved": true}, "tests": {"approved": true}}));
    assert!(!runs(&home).contains(&"docs".to_owned()));
}

#[test]
fn group_without_branches_costs_nothing() {
    let home = panel();
    let none =
        PANEL.replace("[ security, tests, {", "[ {").replace("{ role: judge, condition: approved }", "{ role: judge }");
    home.put("review-panel", &none.replace("  approved: { expression: \"$last('reviews').security.approved and $last('reviews').tests.approved\" }\n", "  never: { expression: \"false\" }\n").replace("{ role: $END, outcome: rejected }", "{ role: $END, outcome: rejected, condition: never }"));
    answer(&home, "planner", "docs: false");
    let ran = home.uwf(&["run", "review-panel", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(home.json(&["thread", "eval", &thread_of(&ran), "$last('reviews')"]), json!({}));
    assert_eq!(runs(&home), ["judge", "planner"]);
}

/// Each branch notes how many are at work, and waits for `want` of them. So only branches that run at the same time pass.
#[test]
fn branches_run_at_once_up_to_max() {
    let home = panel();
    let meet = "touch arrived-$UWF_ROLE at-$UWF_ROLE\nls -d at-* | wc -l >> seen\nn=0\n\
                while [ $(ls -d arrived-* | wc -l) -lt $(cat want) ]; do\n  n=$((n + 1)); [ $n -lt 300 ] || exit 3\n  sleep 0.1\ndone\n\
                rm at-$UWF_ROLE\n";
    for role in ["security", "tests"] {
        home.file(&format!("{role}.sh"), &format!("{meet}printf -- '---\\napproved: true\\n---\\n'\n"));
    }
    home.file("docs.sh", &format!("{meet}echo fine\n"));
    let outputs = ["3", "1"].map(|max| {
        home.file("want", max);
        home.put("review-panel", &PANEL.replace("    play:", &format!("    max: {max}\n    play:")));
        let ran = home.uwf(&["run", "review-panel", "-p", "x"]);
        assert_eq!(ran.code, Some(0), "{}", ran.transcript());
        let seen = fs::read_to_string(home.work().join("seen")).unwrap();
        if max == "1" {
            assert!(seen.lines().all(|at_work| at_work.trim() == "1"), "one after the other: {seen}");
        }
        for file in ["seen", "arrived-security", "arrived-tests", "arrived-docs"] {
            fs::remove_file(home.work().join(file)).unwrap();
        }
        home.json(&["thread", "eval", &thread_of(&ran), "$last('reviews')"])
    });
    assert_eq!(outputs[0], outputs[1], "the same result in either case");
}

#[test]
fn retry_plays_only_failed_branches() {
    let home = panel();
    home.file("tests.sh", "test -e mended || exit 3\nprintf -- '---\\napproved: true\\n---\\n'\n");
    let ran = home.uwf(&["run", "review-panel", "-p", "x"]);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    assert!(ran.stderr.contains("branch `reviews.tests`"), "{}", ran.stderr);
    assert_eq!(runs(&home), ["docs", "planner", "security", "tests"], "the others ran to their end");
    let thread = thread_of(&ran);
    assert_eq!(home.json(&["thread", "show", &thread])["state"], "stuck");
    home.file("mended", "");
    let again = home.uwf(&["thread", "retry", &thread]);
    assert_eq!(again.code, Some(0), "{}", again.transcript());
    assert_eq!(runs(&home), ["docs", "planner", "security", "tests", "tests"], "nothing is paid twice");
    assert_eq!(home.uwf(&["run", &thread]).code, Some(0));
}

#[test]
fn waiting_branch_is_answered_through_its_parent() {
    let home = panel();
    home.config("agents:\n  t: { command: worker, output: text }\n  h: { command: uwf-human }\ndefaultAgent: t\nagentOverrides: { review-panel: { tests: h } }\n");
    let ran = home.uwf(&["run", "review-panel", "-p", "x"]);
    assert_eq!(ran.code, Some(20), "{}", ran.transcript());
    assert!(ran.stderr.contains("tests"), "{}", ran.stderr);
    assert_eq!(runs(&home), ["docs", "planner", "security"], "the others ran to their end");
    let thread = thread_of(&ran);
    let answered = home.uwf(&["thread", "answer", &thread, "--data", "{\"approved\": true}"]);
    assert_eq!(answered.code, Some(0), "{}", answered.transcript());
    let ran = home.uwf(&["run", &thread]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(runs(&home), ["docs", "judge", "planner", "security"]);
}

#[test]
fn kill_of_the_parent_ends_all_branches() {
    let home = panel();
    home.file("tests.sh", "echo $$ > pid\nexec sleep 60\n");
    let thread = home.start("review-panel", "x");
    home.json(&["thread", "step", &thread]);
    let mut step = home.command(&["thread", "step", &thread]).spawn().unwrap();
    let begun = Instant::now();
    while !home.work().join("pid").exists() && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(home.uwf(&["thread", "kill", &thread]).code, Some(0));
    step.wait().unwrap();
    let pid = fs::read_to_string(home.work().join("pid")).unwrap();
    let begun = Instant::now();
    while is_alive(pid.trim()) && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(!is_alive(pid.trim()), "the agent of a branch is left");
    assert_eq!(home.json(&["thread", "list"]), json!([]), "group and branches have ended");
}

#[test]
fn killed_step_pays_nothing_twice() {
    let home = panel();
    home.file("tests.sh", "test -e slow || { touch slow; sleep 3; }\nprintf -- '---\\napproved: true\\n---\\n'\n");
    let thread = home.start("review-panel", "x");
    home.json(&["thread", "step", &thread]);
    let mut step = home.command(&["thread", "step", &thread]).spawn().unwrap();
    let begun = Instant::now();
    while !home.work().join("slow").exists() && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(500));
    step.kill().unwrap();
    step.wait().unwrap();
    let mut ran = home.uwf(&["run", &thread]);
    while ran.code == Some(75) && begun.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(200));
        ran = home.uwf(&["run", &thread]);
    }
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(runs(&home), ["docs", "judge", "planner", "security", "tests"]);
}

#[test]
fn groups_are_played_within_groups() {
    let home = panel();
    home.put(
        "review-panel",
        &PANEL
            .replace("play: [ security, tests, {", "play: [ both, {")
            .replace("  judge: {", "  both: { play: [ security, tests ] }\n  judge: {")
            .replace(
                "$last('reviews').security.approved and $last('reviews').tests.approved",
                "$last('reviews').both.security.approved",
            ),
    );
    let ran = home.uwf(&["run", "review-panel", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let output = home.json(&["thread", "eval", &thread_of(&ran), "$last('reviews')"]);
    let both = json!({"security": {"approved": true}, "tests": {"approved": true}});
    assert_eq!(output, json!({"both": both, "docs": "The manual is fine."}));
}

#[test]
fn bad_groups_are_refused() {
    let home = home();
    for (from, to, why) in [
        ("[ security,", "[ securty,", "did you mean `security`?"),
        ("[ security,", "[ reviews,", "the role `reviews` plays itself"),
        (
            "docs: { goal: You read the manual. }",
            "docs: { play: [ reviews ] }",
            "the role `reviews` plays itself through `docs`",
        ),
        ("[ security, tests,", "[ security, security,", "names the role `security` twice"),
        ("    play: [", "    goal: Review.\n    play: [", "`goal` does not belong to a role with `play`"),
        ("    play: [", "    max: 0\n    play: [", "`max` is 0"),
        (
            "judge: { goal: You decide. }",
            "judge: { goal: You decide., max: 3 }",
            "`max` belongs only to a role with `play`",
        ),
        ("[ security, tests, { role: docs, condition: \"$last('planner').docs\" } ]", "[]", "`play` lists 0 roles"),
        ("condition: \"$last('planner').docs\"", "condition: aproved", "condition `aproved` is not defined"),
        (
            "condition: \"$last('planner').docs\"",
            "condition: \"false\"",
            "condition `false` is not defined: a single word is the name of a condition",
        ),
        ("condition: approved }", "condition: \"true\" }", "leave `condition` out: it always holds"),
    ] {
        let file = home.file("review-panel.yaml", &PANEL.replace(from, to));
        let refused = home.uwf(&["workflow", "validate", file.to_str().unwrap()]);
        assert_eq!(refused.code, Some(65), "{to}: {}", refused.transcript());
        assert!(refused.stdout.contains(why), "{to}: {}", refused.transcript());
    }
    let reads = PANEL.replace("tests.approved\" }", "tests.approved and $last('reviews').docs != ''\" }");
    let file = home.file("review-panel.yaml", &reads);
    let warned = home.uwf(&["workflow", "validate", file.to_str().unwrap()]);
    assert_eq!(warned.code, Some(0), "{}", warned.transcript());
    assert!(warned.stdout.contains("reads `docs` of `reviews`, which may be left out"), "{}", warned.stdout);
    let file = home.file("review-panel.yaml", PANEL);
    let valid = home.uwf(&["workflow", "validate", "--strict", file.to_str().unwrap()]);
    assert_eq!(valid.code, Some(0), "{}", valid.transcript());
}

#[test]
fn groups_within_groups_are_checked_in_bounded_time() {
    let home = home();
    let groups = |last: &str| {
        let group = |at: usize| format!("  g{at}: {{ play: [ g{}, g{} ] }}\n", at + 1, at + 2);
        let groups: String = (0..40).map(group).collect();
        format!(
            "name: deep\ndescription: x\nroles:\n{groups}  g40: {last}\n  g41: {{ goal: x }}\ngraph:\n  $START: [ {{ role: g0 }} ]\n  g0: [ {{ role: $END }} ]\n"
        )
    };
    let file = home.file("deep.yaml", &groups("{ goal: x }"));
    assert_eq!(home.uwf(&["workflow", "validate", file.to_str().unwrap()]).code, Some(0));
    let file = home.file("deep.yaml", &groups("{ play: [ g0 ] }"));
    let refused = home.uwf(&["workflow", "validate", file.to_str().unwrap()]);
    assert_eq!(refused.code, Some(65), "{}", refused.transcript());
    assert!(refused.stdout.contains("plays itself"), "{}", refused.stdout);
}

#[test]
fn agent_for_a_group_is_refused() {
    let home = panel();
    let refused = home.uwf(&["run", "review-panel", "-p", "x", "--agent", "reviews=t"]);
    assert_eq!(refused.code, Some(64), "{}", refused.transcript());
    assert!(refused.stderr.contains("role `reviews` is played by the roles of its group"), "{}", refused.stderr);
}

#[test]
fn agents_are_bound_beside_and_within_group() {
    let home = panel();
    home.script("other", "#!/bin/sh\ncat > /dev/null\necho other-$UWF_ROLE >> runs\nsh ./$UWF_ROLE.sh\n");
    home.config("agents:\n  t: { command: worker, output: text }\n  o: { command: other, output: text }\ndefaultAgent: t\nkillGrace: 1\n");
    let ran = home.uwf(&["run", "review-panel", "-p", "x", "--agent", "tests=o", "--agent", "judge=o"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(runs(&home), ["docs", "other-judge", "other-tests", "planner", "security"]);
}
