//! Groups of copies: the same task several times, and the best result.

use serde_json::{Value, json};
use uwf_testing::processes::until;
use uwf_testing::server::TestServer;
use uwf_testing::{TestHome, text};

use crate::fixtures::child_threads::child_of;
use crate::fixtures::group_in_repository::thread_of;
use crate::fixtures::group_runs::{prompt, runs};
use crate::fixtures::mcp_client::Client;
use crate::home;
use crate::serve_actions;

/// Three drafts, and a judge that picks one.
const DRAFTS: &str = "name: best-of
description: the best of three drafts
roles:
  writer: { goal: You write., meta: { type: object, properties: { words: { type: integer } }, required: [words] } }
  judge: { goal: You choose., meta: { type: object, properties: { winner: { type: integer }, why: { type: string } }, required: [winner, why] } }
  drafts:
    play: writer
    copies: 3
    pick: judge
  last: { goal: You finish. }
graph:
  $START: [ { role: drafts } ]
  drafts: [ { role: last } ]
  last: [ { role: $END } ]
";

const AGENT: &str =
    "#!/bin/sh\nme=${UWF_BRANCH:-$UWF_ROLE}\ncat > \"prompt-$me\"\necho \"$me\" >> runs\nsh ./$UWF_ROLE.sh\n";

fn drafts(file: &str) -> TestHome {
    let home = home();
    home.put("best-of", file);
    home.script("worker", AGENT);
    home.config("agents:\n  t: { command: worker, output: text }\ndefaultAgent: t\nkillGrace: 1\n");
    home.file(
        "writer.sh",
        "printf -- '---\\nwords: %s0\\n---\\nDraft %s.\\n' ${UWF_BRANCH#drafts.} ${UWF_BRANCH#drafts.}\n",
    );
    home.file("judge.sh", "printf -- '---\\nwinner: 2\\nwhy: short\\n---\\nI prefer it.\\n'\n");
    home.file("last.sh", "echo Done.\n");
    home
}

#[test]
fn expression_that_picks_needs_no_agent() {
    let home = drafts(&DRAFTS.replace("pick: judge", "pick: \"steps^(>output.words).role\""));
    home.config("agents:\n  t: { command: worker, output: text }\n");
    let agents = ["--agent", "writer=t", "--agent", "last=t", "--agent", "judge=t"];
    let ran = home.uwf(&[&["run", "best-of", "-p", "x"][..], &agents].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert!(!ran.stderr.contains("will stop"), "{}", ran.stderr);
    assert_eq!(home.json(&["thread", "eval", &thread_of(&ran), "$last('drafts').winner"]), 3);
}

#[test]
fn judge_picks_the_best_copy() {
    let home = drafts(DRAFTS);
    let ran = home.uwf(&["run", "best-of", "-p", "Write."]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(runs(&home), ["drafts.1", "drafts.2", "drafts.3", "drafts.judge", "last"]);
    let thread = thread_of(&ran);
    let expected = json!({
        "winner": 2,
        "verdict": {"winner": 2, "why": "short"},
        "results": [{"words": 10}, {"words": 20}, {"words": 30}],
    });
    assert_eq!(home.json(&["thread", "eval", &thread, "$last('drafts')"]), expected);
    let seen = prompt(&home, "drafts.judge");
    for part in ["## Copy `1`", "Draft 3.", "\"words\": 20", "Write."] {
        assert!(seen.contains(part), "{part}: {seen}");
    }
    assert!(!prompt(&home, "drafts.2").contains("Draft 1."));
    assert_eq!(home.uwf(&["thread", "verify", &thread]).code, Some(0));
}

#[test]
fn judge_cannot_pick_a_copy_that_failed() {
    let home = drafts(&DRAFTS.replace("    copies: 3\n", "    copies: 3\n    mayFail: true\n"));
    home.file("writer.sh", "test $UWF_BRANCH != drafts.2 || exit 3\nprintf -- '---\\nwords: 1\\n---\\nDraft.\\n'\n");
    let ran = home.uwf(&["run", "best-of", "-p", "Write."]);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    assert!(ran.stderr.contains("winner") && ran.stderr.contains("branch `drafts.judge`"), "{}", ran.stderr);
    home.file("judge.sh", "printf -- '---\\nwinner: 3\\nwhy: short\\n---\\n'\n");
    let thread = thread_of(&ran);
    let again = home.uwf(&["thread", "retry", &thread]);
    assert_eq!(again.code, Some(0), "{}", again.transcript());
    let output = home.json(&["thread", "eval", &thread, "$last('drafts')"]);
    assert_eq!(output["winner"], json!(3));
    assert!(text(&output["results"][1], "failed").contains("exited with 3"), "{output}");
    assert_eq!(runs(&home).iter().filter(|run| run.starts_with("drafts.1")).count(), 1);
}

#[test]
fn expression_picks_without_a_model() {
    for (pick, winner) in [("steps[output.words > 15].role", 2), ("steps^(>output.words).role", 3), ("1", 1)] {
        let home = drafts(&DRAFTS.replace("pick: judge", &format!("pick: \"{pick}\"")));
        let ran = home.uwf(&["run", "best-of", "-p", "Write."]);
        assert_eq!(ran.code, Some(0), "{pick}: {}", ran.transcript());
        let output = home.json(&["thread", "eval", &thread_of(&ran), "$last('drafts')"]);
        assert_eq!(output["winner"], json!(winner), "{pick}: {output}");
        assert_eq!(output.get("verdict"), None);
        assert!(prompt(&home, "last").contains(&format!("Copy `{winner}` was picked.")), "{}", prompt(&home, "last"));
        let shown = home.json(&["thread", "show", &thread_of(&ran)]);
        let picked = shown["group"]["branches"].as_array().unwrap().iter().filter(|branch| branch["picked"] == true);
        assert_eq!(picked.map(|branch| text(branch, "name")).collect::<Vec<_>>(), [winner.to_string()], "{shown:#}");
        assert_eq!(runs(&home), ["drafts.1", "drafts.2", "drafts.3", "last"]);
    }
    let home = drafts(&DRAFTS.replace("pick: judge", "pick: \"steps[output.words > 99].role\""));
    let ran = home.uwf(&["run", "best-of", "-p", "Write."]);
    assert_eq!(ran.code, Some(65), "{}", ran.transcript());
    assert!(ran.stderr.contains("names no copy"), "{}", ran.stderr);
}

/// The value of a hidden field in a form.
fn hidden<'p>(form: &'p str, name: &str) -> &'p str {
    let value = form.split(&format!("name=\"{name}\" value=\"")).nth(1).and_then(|rest| rest.split('"').next());
    value.unwrap_or_else(|| panic!("no {name} in {form}"))
}

#[test]
fn copy_is_picked_on_page_of_its_thread() {
    let home = drafts(&DRAFTS.replace("    pick: judge\n", ""));
    let thread = thread_of(&home.uwf(&["run", "best-of", "-p", "Write."]));
    let server = TestServer::start(&home, &[]);
    let path = format!("/threads/{thread}");
    let page = server.page(&path).body;
    assert!(page.contains("Draft 2.") && !page.contains("uwf thread answer"), "{page}");
    assert_eq!(page.matches(">Pick<span").count(), 3, "{page}");
    assert_eq!(page.matches("Compare with the first").count(), 2, "{page}");
    let action = format!("/api/threads/{thread}/take");
    let form = page.split("<form ").find(|form| form.contains(&action)).unwrap_or_else(|| panic!("no form: {page}"));
    let fields = ["expectedHead", "back", "run"].map(|name| format!("{name}={}", hidden(form, name)));
    let picked =
        serve_actions::form(&server, &action, &format!("{}&copy=drafts.2&message=It+is+short.", fields.join("&")));
    assert_eq!((picked.status, picked.header("location")), (303, Some(&*path)), "{}", picked.body);
    until("the whole thread has run", || home.json(&["thread", "show", &thread])["state"] == "completed");
    assert_eq!(home.json(&["thread", "eval", &thread, "$last('drafts').winner"]), json!(2));
    assert!(prompt(&home, "last").contains("It is short."), "the person's reason is not lost");
}

#[test]
fn answer_to_a_branch_runs_its_thread() {
    let home = drafts(&DRAFTS.replace("    pick: judge\n", ""));
    let thread = thread_of(&home.uwf(&["run", "best-of", "-p", "Write."]));
    let listed = home.json(&["thread", "list", "--all"]);
    let asking = listed.as_array().unwrap().iter().find(|row| row["branch"] == "drafts.pick").unwrap();
    let data = json!({ "expectedHead": asking["head"], "data": "{\"winner\": 2}", "run": true }).to_string();
    let answered = home.uwf(&["api", "POST", &format!("/threads/{}/answer", text(asking, "thread")), "--data", &data]);
    assert_eq!(answered.code, Some(0), "{}", answered.transcript());
    until("the whole thread has run", || home.json(&["thread", "show", &thread])["state"] == "completed");
    assert_eq!(home.json(&["thread", "eval", &thread, "$last('drafts').winner"]), json!(2));
}

#[test]
fn person_picks_where_nobody_else_does() {
    let home = drafts(&DRAFTS.replace("    pick: judge\n", ""));
    let ran = home.uwf(&["run", "best-of", "-p", "Write."]);
    assert_eq!(ran.code, Some(20), "{}", ran.transcript());
    let thread = thread_of(&ran);
    assert!(ran.stderr.contains(&format!("uwf thread take {thread} drafts.")), "{}", ran.stderr);
    let server = TestServer::start(&home, &[]);
    let page = server.page(&format!("/threads/{thread}")).body;
    assert!(page.contains("drafts.pick</a>: pick the best copy."), "{page}");
    let form = server.page("/").body;
    assert!(form.contains(">Pick<span") && form.contains("Draft 2."), "{form}");
    let shown = home.uwf(&["thread", "show", &thread, "--format", "text"]).stdout;
    for said in [&ran.stderr, &shown] {
        assert!(said.contains("2: {\"words\":20}\n"), "each copy is shown: {said}");
    }
    for waiting in [&thread, &child_of(&home, &thread)] {
        let verified = home.uwf(&["thread", "verify", waiting]);
        assert_eq!(verified.code, Some(0), "{}", verified.transcript());
    }
    let wrong = home.uwf(&["thread", "take", &thread, "drafts.9"]);
    assert_eq!(wrong.code, Some(64), "{}", wrong.transcript());
    let listed = home.json(&["thread", "list"]);
    let below = listed.as_array().unwrap().iter().map(|row| row["thread"].as_str().unwrap()).find(|id| *id != thread);
    let group = below.unwrap().to_owned();
    for odd in ["drafts.01", ".1"] {
        let refused = home.uwf(&["thread", "take", &thread, odd]);
        assert!(
            refused.code == Some(64) && refused.stderr.contains("is not a copy of a group"),
            "{}",
            refused.transcript()
        );
    }
    let above = home.uwf(&["thread", "take", &group, "drafts.1"]);
    assert!(
        above.stderr.contains(&format!("the thread above: `uwf thread take {thread} drafts.1`")),
        "{}",
        above.stderr
    );
    let wrong = home.uwf(&["thread", "take", &thread, "other.1"]);
    assert_eq!(wrong.code, Some(64), "{}", wrong.transcript());
    let command = format!("`uwf thread take {thread} drafts.1`");
    assert!(wrong.stderr.contains(&command), "{}", wrong.stderr);
    let listed = home.json(&["thread", "list", "--all"]);
    let row = listed.as_array().unwrap().iter().find(|row| row["branch"] == "drafts.pick").unwrap();
    let why = text(row, "why");
    assert!(
        why.contains(&format!("uwf thread take {thread} drafts.NUMBER")) && !why.contains("thread answer"),
        "{why}"
    );
    for typed in ["drafts3.5", "draft.4"] {
        let wrong = home.uwf(&["thread", "take", &thread, typed]);
        assert!(
            wrong.code == Some(64) && wrong.stderr.contains("copies to pick from: `drafts.1` to `drafts.3`"),
            "{typed}: {}",
            wrong.stderr
        );
    }
    let taken = home.uwf(&["thread", "take", &thread, "drafts.3", "-m", "The clearest.", "--format", "text"]);
    assert_eq!((taken.code, taken.stdout.as_str()), (Some(0), "drafts.3 is the winner\n"), "{}", taken.transcript());
    let ran = home.uwf(&["run", &thread]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let output = home.json(&["thread", "eval", &thread, "$last('drafts')"]);
    assert_eq!(output, json!({"winner": 3, "results": [{"words": 10}, {"words": 20}, {"words": 30}]}));
    assert!(prompt(&home, "last").contains("The clearest."), "the person's reason is not lost");
}

#[test]
fn copy_is_taken_over_http_and_mcp() {
    let home = drafts(&DRAFTS.replace("    pick: judge\n", ""));
    let waiting = |home: &TestHome| {
        let ran = home.uwf(&["run", "best-of", "-p", "x"]);
        assert_eq!(ran.code, Some(20), "{}", ran.transcript());
        let thread = thread_of(&ran);
        let head = text(&home.json(&["thread", "show", &thread]), "head");
        (thread, head)
    };
    let (thread, head) = waiting(&home);
    let post = |data: Value| {
        home.uwf(&["api", "POST", &format!("/threads/{thread}/take"), "--data", &data.to_string()]).stdout
    };
    let lacking = post(json!({ "expectedHead": head }));
    assert!(lacking.contains("`take` needs `copy`"), "{lacking}");
    let taken = post(json!({ "expectedHead": head, "copy": "drafts.2", "message": "Shortest." }));
    assert!(taken.contains("\"role\":\"pick\""), "{taken}");
    assert_eq!(home.uwf(&["run", &thread]).code, Some(0));
    let (thread, _) = waiting(&home);
    let mut client = Client::start(&home, &["mcp"]);
    assert_eq!(client.report("take", json!({ "thread": thread, "copy": "drafts.3" }))["role"], "pick");
    drop(client);
    assert_eq!(home.uwf(&["run", &thread]).code, Some(0));
    assert_eq!(home.json(&["thread", "eval", &thread, "$last('drafts').winner"]), 3);
}

#[test]
fn person_picks_after_the_judge_failed() {
    let home = drafts(DRAFTS);
    home.file("judge.sh", "exit 3\n");
    let ran = home.uwf(&["run", "best-of", "-p", "Write."]);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    let thread = thread_of(&ran);
    assert!(ran.stderr.contains(&format!("`uwf thread take {thread} drafts.NUMBER`")), "{}", ran.stderr);
    let wrong = home.uwf(&["thread", "take", &thread, "drafts.9", "-m", "x"]);
    assert_eq!(wrong.code, Some(64), "{}", wrong.transcript());
    let silent = home.uwf(&["thread", "take", &thread, "drafts.3"]);
    assert!(silent.code == Some(64) && silent.stderr.contains("also needs `why`"), "{}", silent.transcript());
    let taken = home.uwf(&["thread", "take", &thread, "drafts.3", "-m", "The clearest."]);
    assert_eq!(taken.code, Some(0), "{}", taken.transcript());
    let ran = home.uwf(&["run", &thread]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let output = home.json(&["thread", "eval", &thread, "$last('drafts')"]);
    assert_eq!(json!([output["winner"], output["verdict"]]), json!([3, {"winner": 3, "why": "The clearest."}]));
    assert_eq!(runs(&home), ["drafts.1", "drafts.2", "drafts.3", "drafts.judge", "last"]);
    assert_eq!(home.uwf(&["thread", "verify", &thread]).code, Some(0));
}

#[test]
fn person_picks_after_the_expression_named_none() {
    let home = drafts(&DRAFTS.replace("pick: judge", "pick: \"steps[output.words > 99].role\""));
    let ran = home.uwf(&["run", "best-of", "-p", "Write."]);
    assert_eq!(ran.code, Some(65), "{}", ran.transcript());
    let thread = thread_of(&ran);
    assert!(ran.stderr.contains(&format!("`uwf thread take {thread} drafts.NUMBER`")), "{}", ran.stderr);
    let taken = home.uwf(&["thread", "take", &thread, "drafts.1", "-m", "The shortest."]);
    assert_eq!(taken.code, Some(0), "{}", taken.transcript());
    let ran = home.uwf(&["run", &thread]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let output = home.json(&["thread", "eval", &thread, "$last('drafts')"]);
    assert_eq!(output, json!({"winner": 1, "results": [{"words": 10}, {"words": 20}, {"words": 30}]}));
    assert!(prompt(&home, "last").contains("The shortest."), "the person's reason is not lost");
    assert_eq!(home.uwf(&["thread", "verify", &thread]).code, Some(0));
    let shown = home.uwf(&["thread", "show", &thread, "--format", "text"]);
    assert_eq!(shown.code, Some(0), "{}", shown.transcript());
    assert_eq!(home.json(&["thread", "list"]), json!([]));
}

#[test]
fn copies_have_agents_of_their_own() {
    let home = drafts(DRAFTS);
    home.script(
        "other",
        "#!/bin/sh\ncat > /dev/null\necho other-$UWF_BRANCH >> runs\nprintf -- '---\\nwords: 7\\n---\\n'\n",
    );
    home.config(
        "agents:\n  t: { command: worker, output: text }\n  o: { command: other, output: text }\ndefaultAgent: t\n\
         agentOverrides: { best-of: { drafts: [t, o] } }\n",
    );
    let ran = home.uwf(&["run", "best-of", "-p", "Write."]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(runs(&home), ["drafts.1", "drafts.3", "drafts.judge", "last", "other-drafts.2"]);
}

#[test]
fn listed_copies_need_no_other_agent() {
    let home = drafts(DRAFTS);
    let agents = "agents:\n  t: { command: worker, output: text }\n";
    let of_roles = "agentOverrides: { best-of: { drafts: [t], judge: t, last: t } }\n";
    home.config(&format!("{agents}{of_roles}"));
    let ran = home.uwf(&["run", "best-of", "-p", "Write."]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    home.config(&format!("{agents}{}", of_roles.replace("drafts: [t], ", "")));
    let refused = home.uwf(&["run", "best-of", "-p", "Write."]);
    assert_eq!(refused.code, Some(78), "{}", refused.transcript());
    assert!(refused.stderr.contains("no agent is configured for role `writer`"), "{}", refused.stderr);
}

#[test]
fn keys_that_do_not_belong_together_are_refused() {
    let home = home();
    for (from, to, why) in [
        ("copies: 3", "copies: 3\n    each: steps", "`each` and `copies` do not belong together"),
        ("copies: 3", "copies: 1", "`copies` is 1; write 2 to 64"),
        ("copies: 3", "each: steps", "`pick` chooses among `copies`"),
        ("    copies: 3\n    pick: judge", "    key: id", "`key` names a key of the items of `each`"),
        ("play: writer", "play: [writer, last]", "`copies` plays one role, and `play` lists 2"),
        ("pick: judge", "pick: last", "the output of `last` has no `winner`"),
        ("pick: judge", "pick: jugde", "did you mean `judge`?"),
        ("pick: judge", "pick: umpire", "`pick` of `drafts` names the role `umpire`, which does not exist"),
        ("pick: judge", "pick: drafts", "the role `drafts` plays itself"),
        ("pick: judge", "pick: \"steps[\"", "`pick` is neither a role nor an expression"),
        ("pick: judge", "pick: judge\n    files: shared", "`files: shared` needs `max: 1`"),
        ("pick: judge", "pick: judge\n    files: own", "`files`"),
        ("pick: judge", "pick: judge\n    merge: sequence", "`merge` needs `files: worktree`"),
        ("pick: judge", "pick: judge\n    mayFail: perhaps", "`mayFail`"),
        ("  last: {", "  last: { copies: 2,", "`copies` belongs only to a role with `play`"),
        ("play: writer", "play:", "`play` is empty"),
        ("pick: judge", "pick: \"5\"", "`pick` of `drafts` names copy 5, and there are only 3"),
        (
            "  judge: { goal: You choose., ",
            "  judge: { run: choose }\n  other: { goal: x, ",
            "of the command `judge` has no `winner`",
        ),
    ] {
        let file = home.file("best-of.yaml", &DRAFTS.replacen(from, to, 1));
        let refused = home.uwf(&["workflow", "validate", file.to_str().unwrap()]);
        assert_eq!(refused.code, Some(65), "{to}: {}", refused.transcript());
        assert!(refused.stdout.contains(why), "{to}: {}", refused.transcript());
    }
    for (pick, why) in [
        ("steps[output.word > 1].role", "but the output of `writer` has no `word`\n"),
        ("$sort(steps, function($a, $b) { $a.output.wards > $b.output.wards })[0].role", "has no `wards`"),
        ("$last('writer').words > 1 ? 1 : 2", "asks for the role `writer`, but its steps are the copies `1` to `3`"),
        ("$last('4').words", "asks for the role `4`"),
        ("steps[1].output.text.role", "has no `text`"),
    ] {
        let file = home.file("best-of.yaml", &DRAFTS.replace("pick: judge", &format!("pick: \"{pick}\"")));
        let doubtful = home.uwf(&["workflow", "validate", "--strict", file.to_str().unwrap(), "--format", "text"]);
        assert!(doubtful.code == Some(65) && doubtful.stdout.contains(why), "{pick}: {}", doubtful.transcript());
    }
    for pick in ["judge", "\"steps[output.words > 1].role\"", "\"$last('1').words > 5 ? 1 : 2\"", "\"steps[-1].role\""]
    {
        let judge = DRAFTS.lines().find(|line| line.starts_with("  judge:")).unwrap();
        let used = if pick == "judge" { DRAFTS.to_owned() } else { DRAFTS.replace(&format!("{judge}\n"), "") };
        let file = home.file("best-of.yaml", &used.replace("pick: judge", &format!("pick: {pick}")));
        let valid = home.uwf(&["workflow", "validate", "--strict", file.to_str().unwrap()]);
        assert_eq!(valid.code, Some(0), "{pick}: {}", valid.transcript());
    }
    let file = home.file("best-of.yaml", DRAFTS);
    let valid = home.uwf(&["workflow", "validate", "--strict", file.to_str().unwrap()]);
    assert_eq!(valid.code, Some(0), "{}", valid.transcript());
}

#[test]
fn group_of_failed_copies_is_stuck() {
    let home = drafts(&DRAFTS.replace("    copies: 3\n", "    copies: 3\n    mayFail: true\n"));
    home.file("writer.sh", "exit 3\n");
    let ran = home.uwf(&["run", "best-of", "-p", "Write."]);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    assert!(ran.stderr.contains("every copy of `drafts` failed"), "{}", ran.stderr);
    let thread = thread_of(&ran);
    home.file("writer.sh", "printf -- '---\\nwords: 1\\n---\\n'\n");
    let fork = text(&home.json(&["thread", "fork", &thread]), "thread");
    let ran = home.uwf(&["run", &fork]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
}

#[test]
fn judge_named_like_a_copy_picks() {
    let home = drafts(&DRAFTS.replace("  judge: {", "  \"1\": {").replace("pick: judge", "pick: \"1\""));
    home.file("1.sh", "printf -- '---\\nwinner: 2\\nwhy: short\\n---\\n'\n");
    let ran = home.uwf(&["run", "best-of", "-p", "Write."]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let output = home.json(&["thread", "eval", &thread_of(&ran), "$last('drafts')"]);
    assert_eq!(json!([output["winner"], output["results"]]), json!([2, [{"words": 10}, {"words": 20}, {"words": 30}]]));
}

#[test]
fn taken_copy_is_of_the_named_group() {
    let home = drafts(
        &DRAFTS
            .replace("  last: {", "  work: { play: drafts, each: \"['a', 'b']\" }\n  last: {")
            .replace("$START: [ { role: drafts } ]", "$START: [ { role: work } ]")
            .replace("  drafts: [ { role: last } ]", "  work: [ { role: last } ]"),
    );
    home.file("judge.sh", "exit 3\n");
    home.file("writer.sh", "printf -- '---\\nwords: 1\\n---\\n'\n");
    let ran = home.uwf(&["run", "best-of", "-p", "Write."]);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    let thread = thread_of(&ran);
    let several = home.uwf(&["thread", "take", &thread, "drafts.3", "-m", "Short."]);
    assert_eq!(several.code, Some(64), "{}", several.transcript());
    assert!(several.stderr.contains("work.1, work.2"), "{}", several.stderr);
    for copy in ["work.2.3", "drafts.1"] {
        let taken = home.uwf(&["thread", "take", &thread, copy, "-m", "Short."]);
        assert_eq!(taken.code, Some(0), "{copy}: {}", taken.transcript());
    }
    let ran = home.uwf(&["run", &thread]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(home.json(&["thread", "eval", &thread, "$last('work').winner"]), json!([1, 3]));
}
