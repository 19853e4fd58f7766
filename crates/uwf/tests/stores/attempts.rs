//! Several machines that step one thread: who is at work others know, and nobody is paid twice while the first is alive.

use std::time::{Duration, Instant};

use serde_json::json;
use uwf_testing::bucket::BucketServer;
use uwf_testing::processes::{of_home, until};

use crate::machine::{LEASE, Machine, cut_power, machine, paid, two_machines};
use crate::postgres::Postgres;

fn steps(machine: &Machine, thread: &str) -> usize {
    machine.json(&["thread", "steps", thread])["steps"].as_array().unwrap().len() - 1
}

#[test]
fn running_step_is_reported_to_other_machines() {
    let (server, dir) = (BucketServer::start(), tempfile::tempdir().unwrap());
    let [one, two] = two_machines(&server.variables("team"), dir.path());
    let thread = one.begin();
    // Longer than a lease: it is renewed.
    let step = one.begin_step(&thread, 14, &dir.path().join("ledger"));
    let begun = Instant::now();
    while begun.elapsed() < LEASE + Duration::from_secs(2) {
        let refused = two.try_step(&thread);
        assert_eq!(refused.code, Some(75), "{}", refused.stderr);
        for told in ["machine `anvil` is running", "role `worker`", "agent `paid`", "10 s after its last sign of life"]
        {
            assert!(refused.stderr.contains(told), "{told}: {}", refused.stderr);
        }
        let shown = two.json(&["thread", "show", &thread]);
        let who = [&shown["state"], &shown["machine"], &shown["atRole"], &shown["alias"]];
        assert_eq!(who, [&json!("running"), &json!("anvil"), &json!("worker"), &json!("paid")], "{shown}");
        std::thread::sleep(Duration::from_secs(1));
    }
    let listed = two.json(&["thread", "list"]);
    assert_eq!(listed[0]["state"], json!("running"), "{listed}");
    assert!(listed[0]["why"].as_str().unwrap().contains("machine `anvil`"), "{listed}");
    let ended = step.wait_with_output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    two.step(&thread);
    assert_eq!((paid(&dir.path().join("ledger")), steps(&one, &thread)), (2, 2));
}

#[test]
fn expired_lease_allows_takeover_and_keeps_output() {
    let (server, dir) = (BucketServer::start(), tempfile::tempdir().unwrap());
    let [one, two] = two_machines(&server.variables("team"), dir.path());
    let thread = one.begin();
    one.home.script("paid", "#!/bin/sh\ncat > /dev/null\necho paid >> \"$LEDGER\"\necho half an answer\nsleep 60\n");
    let step = one.begin_step(&thread, 0, &dir.path().join("ledger"));
    let begun = Instant::now();
    std::thread::sleep(Duration::from_millis(300));
    cut_power(&one, step);
    let taken = two.step_when_free(&thread);
    // How long ago a note was written an S3 store says to the second, and uwf in favour of whoever waits.
    let soonest = LEASE - Duration::from_secs(2);
    assert!(begun.elapsed() >= soonest, "after {:?} the machine might have been alive", begun.elapsed());
    assert_eq!(taken["adopted"], json!(null), "{taken}");
    assert_eq!((paid(&dir.path().join("ledger")), steps(&two, &thread)), (2, 1));
    let details = two.uwf(&["thread", "step-details", taken["head"].as_str().unwrap()]).stdout;
    assert!(details.contains("machine `anvil`"), "the failed attempt is part of the step: {details}");

    one.home.script("paid", "#!/bin/sh\ncat > /dev/null\necho paid >> \"$LEDGER\"\necho '{\"n\": 2}'\n");
    one.step(&thread);
    let kept = one.kept_outputs();
    assert!(kept.contains("half an answer"), "{kept}");
    assert_eq!(two.json(&["cas", "verify"])["problems"], json!([]));
}

#[test]
fn leases_are_metrics_of_every_machine() {
    let (server, dir) = (BucketServer::start(), tempfile::tempdir().unwrap());
    let [one, two] = two_machines(&server.variables("team"), dir.path());
    let thread = one.begin();
    let step = one.begin_step_until(&thread, &dir.path().join("answers"), &dir.path().join("ledger"));
    let serving = two.serve();
    let line = |metric: &str| {
        let body = serving.get("/metrics").body;
        let line = body.lines().find(|line| line.starts_with(&format!("{metric}{{machine=\"anvil\"}} ")));
        line.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap())
    };
    assert_eq!((line("uwf_leases"), line("uwf_leases_expired")), (Some(1.0), Some(0.0)));
    assert!(line("uwf_lease_age_seconds").unwrap() < LEASE.as_secs_f64());
    cut_power(&one, step);
    until("the lease has expired", || line("uwf_leases_expired") == Some(1.0));
    assert!(line("uwf_lease_age_seconds").unwrap() >= LEASE.as_secs_f64());
    std::fs::write(dir.path().join("answers"), "").unwrap();
    two.step_when_free(&thread);
    assert_eq!(line("uwf_leases"), None);
}

#[test]
fn recorded_answer_is_adopted_by_other_machine() {
    let (server, dir) = (Postgres::start(), tempfile::tempdir().unwrap());
    let [one, two] = two_machines(&server.variables("uwf"), dir.path());
    let thread = one.begin();
    one.step(&thread);
    // The agent finishes, and the head cannot be moved.
    let step = one.begin_step(&thread, 1, &dir.path().join("ledger"));
    server.sql(
        "create function uwf.refuse() returns trigger language plpgsql as 'begin raise exception ''no heads today''; end';
         create trigger refuse before update on uwf.heads for each row execute function uwf.refuse()",
    );
    assert!(!step.wait_with_output().unwrap().status.success());
    server.sql("drop trigger refuse on uwf.heads; drop function uwf.refuse");
    let adopted = two.step_when_free(&thread);
    assert_eq!((&adopted["adopted"], paid(&dir.path().join("ledger"))), (&json!(true), 2), "{adopted}");
    assert_eq!(steps(&one, &thread), 2);
    one.step(&thread);
    assert_eq!(paid(&dir.path().join("ledger")), 3);
}

#[test]
fn step_completes_after_store_outage() {
    let (mut server, dir) = (Postgres::start(), tempfile::tempdir().unwrap());
    let [one, two] = two_machines(&server.variables("uwf"), dir.path());
    one.home.config("agents:\n  paid: { command: paid, output: json }\ndefaultAgent: paid\nstore: { lease: 5m }\n");
    let thread = one.begin();
    let step = one.begin_step(&thread, 2, &dir.path().join("ledger"));
    server.stop();
    let log =
        || std::fs::read_to_string(one.home.root().join(format!("threads/{thread}/log.jsonl"))).unwrap_or_default();
    // Three tries of ten seconds, each for another thing that is to be kept, come before.
    let begun = Instant::now();
    while !log().contains("the answer waits for the store") {
        assert!(begun.elapsed() < Duration::from_mins(2), "it does not wait: {}", log());
        std::thread::sleep(Duration::from_millis(100));
    }
    server.run();
    let ended = step.wait_with_output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    assert_eq!((paid(&dir.path().join("ledger")), steps(&two, &thread)), (1, 1));
}

#[test]
fn failed_lease_renewal_ends_agent_keeps_output() {
    let (mut server, dir) = (Postgres::start(), tempfile::tempdir().unwrap());
    let [one, two] = two_machines(&server.variables("uwf"), dir.path());
    let script = "#!/bin/sh\ncat > /dev/null\necho paid >> \"$LEDGER\"\necho half an answer\nsleep 300\n";
    one.home.script("paid", script);
    let thread = one.begin();
    let step = one.begin_step(&thread, 0, &dir.path().join("ledger"));
    server.stop();
    let begun = Instant::now();
    let ended = step.wait_with_output().unwrap();
    let (code, said) = (ended.status.code(), String::from_utf8_lossy(&ended.stderr).into_owned());
    assert_eq!(code, Some(75), "{said}");
    assert!(begun.elapsed() < Duration::from_secs(250), "it did not wait for the agent");
    assert!(said.contains("the store could not be reached for"), "{said}");
    until("nothing of the agent is left", || of_home(one.home.root().parent().unwrap()).is_empty());
    server.run();
    two.step_when_free(&thread);
    assert_eq!(paid(&dir.path().join("ledger")), 2);
    let shown = one.json(&["thread", "show", &thread]);
    assert_eq!(shown["state"], json!("active"), "{shown}");
    one.home.script("paid", "#!/bin/sh\ncat > /dev/null\necho '{\"n\": 2}'\n");
    one.step(&thread);
    let kept = one.kept_outputs();
    assert!(kept.contains("half an answer"), "{kept}");
}

#[test]
fn orphaned_agent_is_not_paid_again_while_running() {
    let (server, dir) = (BucketServer::start(), tempfile::tempdir().unwrap());
    let [one, two] = two_machines(&server.variables("team"), dir.path());
    let thread = one.begin();
    let mut step = one.begin_step(&thread, 20, &dir.path().join("ledger"));
    one.home.kill_keeper(&thread);
    assert!(!step.wait().unwrap().success());
    let adopted = two.step_when_free(&thread);
    assert_eq!((&adopted["adopted"], paid(&dir.path().join("ledger"))), (&json!(true), 1), "{adopted}");
}

#[test]
fn copied_root_leaves_original_agent_alone() {
    let (server, dir) = (BucketServer::start(), tempfile::tempdir().unwrap());
    let [one, two] = two_machines(&server.variables("team"), dir.path());
    let thread = one.begin();
    let answers = dir.path().join("answers");
    let step = one.begin_step_until(&thread, &answers, &dir.path().join("ledger"));
    // The copy is on another machine, which has another boot.
    let record = std::fs::read_to_string(one.home.record_file(&thread)).unwrap();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    std::fs::create_dir_all(two.home.root().join("threads")).unwrap();
    std::fs::write(two.home.record_file(&thread), record.replace(boot.trim(), "another")).unwrap();
    let refused = two.try_step(&thread);
    assert_eq!(refused.code, Some(75), "{}", refused.stderr);
    assert!(refused.stderr.contains("machine `anvil` is running"), "{}", refused.stderr);
    std::fs::write(answers, "").unwrap();
    let ended = step.wait_with_output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    assert_eq!(paid(&dir.path().join("ledger")), 1);
}

#[test]
fn late_reply_is_rejected_while_agent_works() {
    let (server, dir) = (BucketServer::start(), tempfile::tempdir().unwrap());
    let [one, two] = two_machines(&server.variables("team"), dir.path());
    one.home.script(
        "paid",
        "#!/bin/sh\ncat > /dev/null\necho '{\"status\": \"needs_input\", \"question\": \"How many?\"}'\n",
    );
    let thread = one.begin();
    assert_eq!(one.try_step(&thread).code, Some(20));
    assert_eq!(two.try_step(&thread).code, Some(20));
    one.json(&["thread", "answer", &thread, "-m", "Forty-two"]);
    one.home.script("paid", "#!/bin/sh\ncat > /dev/null\necho paid >> \"$LEDGER\"\nsleep 4\necho '{\"n\": 42}'\n");
    let step = one.begin_step(&thread, 0, &dir.path().join("ledger"));
    let late = two.uwf(&["thread", "answer", &thread, "-m", "Forty-three"]);
    assert_eq!(late.code, Some(75), "{}", late.stderr);
    assert!(step.wait_with_output().unwrap().status.success());
    // The wait here is over, on whichever machine it continued.
    assert_eq!(two.json(&["thread", "show", &thread])["state"], json!("active"));
    assert_eq!(two.json(&["thread", "list"])[0]["state"], json!("active"));
}

#[test]
fn kill_ends_agent_on_other_machine() {
    let (server, dir) = (BucketServer::start(), tempfile::tempdir().unwrap());
    let [one, two] = two_machines(&server.variables("team"), dir.path());
    let thread = one.begin();
    let mut step = one.begin_step(&thread, 60, &dir.path().join("ledger"));
    two.json(&["thread", "kill", &thread]);
    until("its machine has noticed", || step.try_wait().unwrap().is_some());
    until("nothing of the agent is left", || of_home(one.home.root().parent().unwrap()).is_empty());
}

#[test]
fn pause_applies_on_every_machine() {
    let (server, dir) = (BucketServer::start(), tempfile::tempdir().unwrap());
    let [one, two] = two_machines(&server.variables("team"), dir.path());
    let thread = one.begin();
    one.json(&["thread", "pause", &thread, "--reason", "until the release is out"]);
    let refused = two.try_step(&thread);
    assert_eq!(refused.code, Some(20), "{}", refused.stderr);
    assert!(refused.stderr.contains("until the release is out"), "{}", refused.stderr);
    let listed = two.json(&["thread", "list"]);
    assert_eq!(
        (&listed[0]["state"], &listed[0]["why"]),
        (&json!("paused"), &json!("until the release is out")),
        "{listed}"
    );
    two.json(&["thread", "resume", &thread]);
    one.step(&thread);
    assert_eq!(paid(&dir.path().join("ledger")), 1);
}

#[test]
fn concurrent_steps_on_two_machines_pay_once() {
    let (server, dir) = (BucketServer::start(), tempfile::tempdir().unwrap());
    let [one, two] = two_machines(&server.variables("team"), dir.path());
    let thread = one.begin();
    for round in 1..=3 {
        let codes = std::thread::scope(|scope| {
            let both = [&one, &two].map(|machine| {
                let thread = &thread;
                scope.spawn(move || {
                    let work = machine.home.work();
                    let mut step = machine.command(&["thread", "step", thread, "--cwd", work.to_str().unwrap()]);
                    step.env("AGENT_SLEEPS", "2").output().unwrap().status.code()
                })
            });
            both.map(|one| one.join().unwrap())
        });
        let mut sorted = codes;
        sorted.sort_unstable();
        assert_eq!(sorted, [Some(0), Some(75)], "round {round}");
        assert_eq!((paid(&dir.path().join("ledger")), steps(&one, &thread)), (round, round));
    }
}

#[test]
fn failed_attempts_are_known_on_other_machines() {
    let (server, dir) = (BucketServer::start(), tempfile::tempdir().unwrap());
    let [one, two] = two_machines(&server.variables("team"), dir.path());
    let thread = one.begin();
    // `show` also reports attempts that failed elsewhere.
    let shown_by_other = |machine: &Machine| {
        let other = if std::ptr::eq(machine, &one) { &two } else { &one };
        other.json(&["thread", "show", &thread])
    };
    for (machine, says) in [(&one, "first"), (&two, "second"), (&one, "third")] {
        machine.home.script("paid", &format!("#!/bin/sh\ncat > /dev/null\necho {says}; exit 3\n"));
        assert_eq!(machine.try_step(&thread).code, Some(40), "{says}");
        assert_eq!(shown_by_other(machine)["state"], json!("stuck"), "{says}");
    }
    two.home.script("paid", "#!/bin/sh\ncat > /dev/null\necho '{\"n\": 1}'\n");
    let step = two.step(&thread);
    let details = two.uwf(&["thread", "step-details", step["head"].as_str().unwrap()]).stdout;
    for says in ["first", "second", "third"] {
        assert_eq!(details.matches(&format!("printed:\n    {says}")).count(), 1, "{details}");
    }
}

#[test]
fn question_is_answered_from_other_machine() {
    let (server, dir) = (BucketServer::start(), tempfile::tempdir().unwrap());
    let [one, two] = two_machines(&server.variables("team"), dir.path());
    let asks = "#!/bin/sh\nif grep -q Forty-two; then echo '{\"n\": 42}'; else echo '{\"status\": \"needs_input\", \"question\": \"How many?\"}'; fi\n";
    for machine in [&one, &two] {
        machine.home.script("paid", asks);
    }
    let thread = one.begin();
    assert_eq!(one.try_step(&thread).code, Some(20));
    let shown = two.json(&["thread", "show", &thread]);
    assert_eq!((&shown["state"], &shown["why"]), (&json!("waiting"), &json!("How many?")), "{shown}");
    let again = two.try_step(&thread);
    assert_eq!(again.code, Some(20), "the question is not asked again: {}", again.stderr);
    assert!(again.stderr.contains("How many?"), "{}", again.stderr);
    two.json(&["thread", "answer", &thread, "-m", "Forty-two"]);
    one.step(&thread);
    assert_eq!(steps(&two, &thread), 1);

    // A machine that has never seen the thread can reply, too.
    let thread = one.start();
    assert_eq!(one.try_step(&thread).code, Some(20));
    let work = two.home.work();
    two.json(&["thread", "answer", &thread, "-m", "Forty-two", "--cwd", work.to_str().unwrap()]);
    one.step(&thread);
    assert_eq!(steps(&two, &thread), 1);
}

#[test]
fn reply_closes_attempt_its_machine_left_open() {
    let (server, dir) = (BucketServer::start(), tempfile::tempdir().unwrap());
    let [one, two] = two_machines(&server.variables("team"), dir.path());
    let asks = "#!/bin/sh\necho asked >> \"$LEDGER\"\nif grep -q Forty-two; then echo '{\"n\": 42}'; else echo '{\"status\": \"needs_input\", \"question\": \"How many?\"}'; fi\n";
    for machine in [&one, &two] {
        machine.home.script("paid", asks);
    }
    let thread = one.begin();
    assert_eq!(one.try_step(&thread).code, Some(20));
    // The store was away when the attempt ended.
    server.rewrite("team", &format!("notes/attempt.{thread}.json"), |note| {
        let mut note: serde_json::Value = serde_json::from_str(note).unwrap();
        let lines = note.pointer_mut("/value/lines").unwrap().as_array_mut().unwrap();
        let before = lines.len();
        lines.retain(|line| line["event"] != "closed");
        assert_eq!(lines.len(), before - 1, "{lines:?}");
        note.to_string()
    });
    assert_eq!(two.try_step(&thread).code, Some(75), "as far as others know it is at work");
    one.json(&["thread", "answer", &thread, "-m", "Forty-two"]);
    two.step(&thread);
    assert_eq!((paid(&dir.path().join("ledger")), steps(&one, &thread)), (2, 1), "it is not asked again");
}

#[test]
fn concurrent_replies_report_conflict_to_one_person() {
    let (server, dir) = (BucketServer::start(), tempfile::tempdir().unwrap());
    let machines = two_machines(&server.variables("team"), dir.path());
    let asks = "#!/bin/sh\nif grep -o 'sheep of [a-z]*' >&2; then echo '{\"n\": 42}'; else echo '{\"status\": \"needs_input\", \"question\": \"Whose?\"}'; fi\n";
    for machine in &machines {
        machine.home.script("paid", asks);
    }
    let thread = machines[0].begin();
    assert_eq!(machines[0].try_step(&thread).code, Some(20));
    assert_eq!(machines[1].try_step(&thread).code, Some(20));
    // Each request takes as long as a machine needs between two of them, so that both read before one writes.
    server.slow(Duration::from_millis(100));
    let replies = ["sheep of ann", "sheep of bob"];
    let answered = std::thread::scope(|scope| {
        let both = [0, 1].map(|which| {
            let (machine, thread, reply) = (&machines[which], &thread, replies[which]);
            scope.spawn(move || machine.uwf(&["thread", "answer", thread, "-m", reply]))
        });
        both.map(|one| one.join().unwrap())
    });
    server.slow(Duration::ZERO);
    let first = usize::from(answered[0].code != Some(0));
    let late = &answered[1 - first];
    assert_eq!((answered[first].code, late.code), (Some(0), Some(75)), "{}", late.stderr);
    assert!(late.stderr.contains("was already answered by"), "{}", late.stderr);
    let step = machines[1 - first].step(&thread);
    let details = machines[0].uwf(&["thread", "step-details", step["head"].as_str().unwrap()]).stdout;
    assert!(details.contains(replies[first]) && !details.contains(replies[1 - first]), "{details}");
}

#[test]
fn agent_secrets_stay_out_of_notes() {
    let (server, dir) = (BucketServer::start(), tempfile::tempdir().unwrap());
    let one = machine("anvil", server.variables("team"), dir.path());
    std::fs::create_dir_all(one.home.root()).unwrap();
    std::fs::write(one.home.root().join(".env"), "MY_TOKEN=hush-hush-hush\n").unwrap();
    let thread = one.begin();
    one.home.script("paid", "#!/bin/sh\ncat > /dev/null\necho hush-hush-hush; exit 3\n");
    assert_eq!(one.try_step(&thread).code, Some(40));
    let told = server.text("team", "notes");
    assert!(told.contains(&thread) && !told.contains("hush-hush"), "{told}");
}
