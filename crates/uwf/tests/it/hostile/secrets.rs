//! Keys: in no node, no record, no log, no error, no command line; files that may hold some are for their owner.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use uwf_testing::{TestHome, counting_workflow};

use crate::home;

const SECRET: &str = "sk-very-secret-0123456789";

/// A home whose agent is given a key and behaves as the script says.
fn trusted(script: &str, output: &str) -> (TestHome, String) {
    let home = home();
    home.script("worker", script);
    home.config(&format!("agents:\n  w: {{ command: worker, output: {output}, env: [A_KEY] }}\ndefaultAgent: w\n"));
    fs::write(home.root().join(".env"), format!("A_KEY={SECRET}\n")).unwrap();
    home.put("count-rounds", &counting_workflow(5));
    let thread = home.start("count-rounds", "count");
    (home, thread)
}

/// Files below a directory that hold the key, less `.env` itself and what agents printed, which nobody else may read.
fn holding_the_key(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            if name == "attempts" {
                assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o700, "{}", path.display());
            } else {
                found.extend(holding_the_key(&path));
            }
        } else if name != ".env" && String::from_utf8_lossy(&fs::read(&path).unwrap()).contains(SECRET) {
            found.push(path);
        }
    }
    found
}

#[test]
fn a_key_in_the_last_words_of_an_agent_is_told_nowhere() {
    let failing = [
        ("json", "#!/bin/sh\ncat > /dev/null\necho \"bad key $A_KEY\" >&2\nexit 3\n", 40),
        ("text", "#!/bin/sh\ncat > /dev/null\necho \"bad key $A_KEY\"\n", 41),
        ("json", "#!/bin/sh\ncat > /dev/null\necho \"{\\\"n\\\": \\\"$A_KEY\\\"}\"\n", 41),
        ("step", "#!/bin/sh\necho \"bad key $A_KEY\"\n", 40),
        ("step", "#!/bin/sh\necho \"bad key $A_KEY\" >&2\nkill -9 $$\n", 40),
    ];
    for (output, script, code) in failing {
        let (home, thread) = trusted(script, output);
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_eq!(ran.code, Some(code), "{script}: {ran:?}");
        assert!(!format!("{}{}", ran.stdout, ran.stderr).contains(SECRET), "{script}: {ran:?}");
        assert_eq!(holding_the_key(&home.root()), Vec::<PathBuf>::new(), "{script}");
        for args in [vec!["thread", "show", &thread], vec!["thread", "list"], vec!["thread", "read", &thread]] {
            let ran = home.uwf(&args);
            assert!(!ran.stdout.contains(SECRET) && !ran.stderr.contains(SECRET), "{args:?}: {ran:?}");
        }
    }
}

#[test]
fn no_process_of_a_step_has_a_key_among_its_arguments() {
    let script = "#!/bin/sh\ncat > /dev/null\ncat /proc/[0-9]*/cmdline 2> /dev/null | tr '\\0' ' ' > cmdlines\necho '{\"n\": 1}'\n";
    let (home, thread) = trusted(script, "json");
    home.json(&["thread", "step", &thread]);
    let seen = fs::read_to_string(home.work().join("cmdlines")).unwrap();
    assert!(seen.contains(&thread), "the processes of the step are among them");
    assert!(!seen.contains(SECRET));
}

#[test]
fn files_that_may_hold_a_key_are_for_their_owner() {
    let (home, thread) = trusted("#!/bin/sh\ncat > /dev/null\necho \"$A_KEY\" >&2\necho '{\"n\": 1}'\n", "json");
    home.json(&["thread", "step", &thread]);
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(home.root().join(".env")), 0o600);
    assert_eq!(mode(home.root().join("threads").join(&thread).join("attempts")), 0o700);
    assert_eq!(holding_the_key(&home.root()), Vec::<PathBuf>::new());
}
