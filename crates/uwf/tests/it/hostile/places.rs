//! An agent puts something else in the place of a file of its attempt: nothing that ends it waits for that.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use uwf_testing::processes::{is_alive, signal, until};
use uwf_testing::{TestHome, counting_workflow};

use crate::home;

/// Longer than any of these steps needs on a busy machine.
const LIMIT: Duration = Duration::from_secs(30);

/// Commands that the agent runs on each file of its attempt before it continues.
const SWAPS: [&str; 3] = ["mkfifo", "mkdir", "ln -s /dev/zero"];

/// A home whose agent swaps all files of its attempt and then does something, and a thread.
fn swapping(swap: &str, then: &str, settings: &str) -> (TestHome, String) {
    let home = home();
    let script = format!(
        "#!/bin/sh\ncat > /dev/null\ncd \"$UNCAGED_WORKFLOW_STORAGE_ROOT\"/threads/*/attempts || exit 9\nid=$(ls | sed -n '1s/\\..*//p')\n\
         for file in out err raw trace turn turn-new submitted submitted-new; do rm -rf \"$id.$file\"; {swap} \"$id.$file\"; done\n\
         echo $$ > \"$OLDPWD/pids\"\n{then}\n"
    );
    home.script("worker", &script);
    home.config(&format!("agents:\n  w: {{ command: worker, {settings} }}\ndefaultAgent: w\nkillGrace: 0.3\n"));
    let thread = home.start_counting(9, "count");
    (home, thread)
}

fn pid(home: &TestHome) -> Option<String> {
    fs::read_to_string(home.work().join("pids")).ok().map(|pid| pid.trim().to_owned()).filter(|pid| !pid.is_empty())
}

/// The next try, by an agent that does no harm, is none the worse for it.
fn goes_on(home: &TestHome, thread: &str) {
    home.worker("output: json", "#!/bin/sh\ncat > /dev/null\necho '{\"n\": 1}'\n");
    home.json(&["thread", "step", thread]);
}

#[test]
fn swapped_output_file_is_reported_without_blocking() {
    let ways = [
        ("output: json", "echo '{\"n\": 1}'", "replaced its output file"),
        ("output: json", "echo '{\"n\": 1}'; exit 3", "exited with 3"),
        ("output: step", "echo 0000000000001", "replaced its output file"),
        ("output: json, timeout: 0.5", "sleep 600", "was ended after its timeout of 0.5 s"),
        ("output: text, idleTimeout: 0.5", "sleep 600", "idle"),
    ];
    for swap in SWAPS {
        for (settings, then, why) in ways {
            let (home, thread) = swapping(swap, then, settings);
            let begun = Instant::now();
            let ran = home.uwf(&["thread", "step", &thread]);
            assert!(begun.elapsed() < LIMIT, "{swap}, {then}");
            assert_eq!(ran.code, Some(40), "{swap}, {then}: {ran:?}");
            assert!(ran.stderr.contains(why), "{swap}, {then}: {ran:?}");
            assert_eq!(home.json(&["thread", "show", &thread])["state"], "stuck", "{swap}, {then}");
            assert!(!is_alive(pid(&home).unwrap()), "{swap}, {then}");
            goes_on(&home, &thread);
        }
    }
}

#[test]
fn ctrl_c_and_kill_end_file_swapping_agent() {
    for swap in SWAPS {
        let (home, thread) = swapping(swap, "sleep 600", "output: json");
        let mut window = home.command(&["thread", "step", &thread]).stderr(Stdio::null()).spawn().unwrap();
        until("it is at work", || pid(&home).is_some());
        signal(window.id(), "INT");
        assert_eq!(window.wait().unwrap().code(), Some(130), "{swap}");
        assert!(!is_alive(pid(&home).unwrap()));

        fs::remove_file(home.work().join("pids")).unwrap();
        let mut window = home.command(&["thread", "step", &thread]).stderr(Stdio::null()).spawn().unwrap();
        until("it is at work again", || pid(&home).is_some());
        let begun = Instant::now();
        home.json(&["thread", "kill", &thread]);
        assert!(begun.elapsed() < LIMIT);
        window.wait().unwrap();
        assert!(!is_alive(pid(&home).unwrap()));
    }
}

/// A person may name a pipe: `<(command)` of a shell is one.
#[test]
fn a_pipe_that_is_named_is_read() {
    let home = home();
    let workflow = counting_workflow(3);
    let mut put =
        home.command(&["workflow", "put", "/dev/stdin"]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    std::io::Write::write_all(&mut put.stdin.take().unwrap(), workflow.as_bytes()).unwrap();
    assert_eq!(put.wait().unwrap().code(), Some(0));
    // What never ends has a limit.
    let ran = home.uwf(&["workflow", "put", "/dev/zero"]);
    assert_eq!(ran.code, Some(65), "{ran:?}");
    assert!(ran.stderr.contains("/dev/zero: it has more than 16777216 bytes"), "{ran:?}");
    assert!(Path::new("/dev/zero").exists());
}
