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
    let thread = home.start_counting(5, "count");
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
fn key_in_failure_output_appears_nowhere() {
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

/// A text without escape sequences, control characters and invisible symbols, as pages and terminals show it.
fn as_shown(text: &str) -> String {
    let is_invisible = |symbol| matches!(symbol, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{feff}');
    let text = uwf_core::escapes::without_escapes(text).into_owned();
    text.chars().filter(|symbol| !symbol.is_control() && !is_invisible(*symbol)).collect()
}

/// Texts of all files below a directory, but `.env` and what agents printed; nodes may be in CBOR, which has texts as they are.
fn files_below(root: &Path) -> Vec<String> {
    let entries = fs::read_dir(root).unwrap().map(Result::unwrap);
    let texts = entries.flat_map(|entry| match (entry.file_name(), entry.file_type().unwrap().is_dir()) {
        (name, true) if name == "attempts" => Vec::new(),
        (_, true) => files_below(&entry.path()),
        (name, false) if name == ".env" => Vec::new(),
        (_, false) => vec![String::from_utf8_lossy(&fs::read(entry.path()).unwrap()).into_owned()],
    });
    texts.collect()
}

#[test]
fn key_split_by_invisible_characters_is_redacted() {
    // What `grep --color` prints, a link, and everything else that cleaning takes out again.
    let within = [
        r"\033[01;31m\033[K",
        r"\033]8;;https://e.example\033\\",
        r"\302\23331m",
        r"\302\205",
        r"\000",
        r"\177",
        r"\357\273\277",
        r"\342\200\213",
        r"\\u001b[31m",
    ];
    let (begin, end) = SECRET.split_at(9);
    let keys: String = within.iter().map(|within| format!("Key: {begin}{within}{end}\\n")).collect();
    for (output, script, code) in [
        ("text", format!("printf -- '---\\nn: 1\\n---\\n{keys}'"), 0),
        ("text", format!("printf '{keys}'"), 41),
        ("json", format!("printf '{keys}' >&2; exit 3"), 40),
    ] {
        let (home, thread) = trusted(&format!("#!/bin/sh\ncat > /dev/null\n{script}\n"), output);
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_eq!(ran.code, Some(code), "{script}: {ran:?}");
        let mut shown = vec![ran.stdout, ran.stderr];
        for verb in ["read", "show", "steps", "log"] {
            let ran = home.uwf(&["thread", verb, &thread]);
            shown.extend([ran.stdout, ran.stderr]);
        }
        let stored = files_below(&home.root());
        let replaced = |text: &String| text.matches("Key: [redacted A_KEY]").count();
        assert!(stored.iter().any(|text| replaced(text) >= within.len()), "{script}: {stored:?}");
        for text in shown.iter().chain(&stored) {
            assert!(!as_shown(text).contains(SECRET), "{script}: {text}");
        }
    }
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "needs what only Linux shows of processes")]
fn step_processes_have_no_key_in_arguments() {
    let script = "#!/bin/sh\ncat > /dev/null\ncat /proc/[0-9]*/cmdline 2> /dev/null | tr '\\0' ' ' > cmdlines\necho '{\"n\": 1}'\n";
    let (home, thread) = trusted(script, "json");
    // Other tests that run now have their keys in arguments.
    let secret = "sk-only-here-9876543210";
    assert_eq!(with_variable(&home, secret, &["thread", "step", &thread]).code, Some(0));
    let seen = fs::read_to_string(home.work().join("cmdlines")).unwrap();
    assert!(seen.contains(&thread), "the processes of the step are among them");
    assert!(!seen.contains(secret));
}

#[test]
fn files_with_possible_keys_are_owner_only() {
    let (home, thread) = trusted("#!/bin/sh\ncat > /dev/null\necho \"$A_KEY\" >&2\necho '{\"n\": 1}'\n", "json");
    home.json(&["thread", "step", &thread]);
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(home.root().join(".env")), 0o600);
    assert_eq!(mode(home.root().join("threads").join(&thread).join("attempts")), 0o700);
    assert_eq!(holding_the_key(&home.root()), Vec::<PathBuf>::new());
}

/// A secret as JSON cannot have it as it is: quotes, a backslash, a tab and a symbol beyond ASCII.
const ODD: &str = "odd\"secret\\with\tä/0123456789";

/// Runs `uwf` with a secret in its environment and none in `.env`.
fn with_variable(home: &TestHome, value: &str, args: &[&str]) -> uwf_testing::FinishedRun {
    home.command(args).env("A_KEY", value).output().unwrap().into()
}

/// Whether any node or file of the root holds a secret, in whatever form.
fn is_held(home: &TestHome, secret: &str) -> bool {
    let quoted = serde_json::Value::from(secret).to_string();
    let forms = [
        secret.to_owned(),
        quoted[1..quoted.len() - 1].to_owned(),
        quoted.replace('ä', "\\u00e4").trim_matches('"').to_owned(),
    ];
    fn any(dir: &Path, forms: &[String]) -> bool {
        fs::read_dir(dir).unwrap().map(Result::unwrap).any(|entry| {
            let (path, name) = (entry.path(), entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                return name != "attempts" && any(&path, forms);
            }
            let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
            name != ".env" && forms.iter().any(|form| text.contains(form.as_str()))
        })
    }
    any(&home.root(), &forms)
}

/// It is in the environment of whoever runs `uwf`. An agent that is not given it finds it there all the same.
#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "needs what only Linux shows of processes")]
fn environment_key_withheld_from_agent_is_redacted() {
    // The processes it descends from: its keeper has the key.
    let finds = "up=$PPID; key=\n\
                 while [ -z \"$key\" ] && [ \"$up\" -gt 1 ]; do\n\
                 key=$(tr '\\0' '\\n' < /proc/$up/environ | sed -n 's/^A_KEY=//p')\n\
                 up=$(sed 's/.*) //' /proc/$up/stat | cut -d' ' -f2)\n\
                 done\n\
                 [ -n \"$key\" ] && [ -z \"$A_KEY\" ] || exit 9\n";
    let scripts = [
        ("json", format!("#!/bin/sh\ncat > /dev/null\n{finds}printf '{{\"n\": 1, \"note\": \"%s\"}}' \"$key\"\n")),
        ("text", format!("#!/bin/sh\ncat > /dev/null\n{finds}printf -- '---\\nn: 1\\n---\\n%s\\n' \"$key\"\n")),
        (
            "step",
            format!(
                "#!/bin/sh\n{finds}\"$UWF_BIN\" agent submit \"$1\" \"$2\" --data '{{\"n\": 1}}' --session-id \"session $key\"\n"
            ),
        ),
    ];
    for (output, script) in scripts {
        let home = home();
        home.script("worker", &script);
        home.config(&format!(
            "agents:\n  w: {{ command: worker, output: {output} }}\n  other: {{ command: worker, env: [A_KEY] }}\ndefaultAgent: w\nsecrets: [A_KEY]\n"
        ));
        let thread = home.start_counting(5, "count");
        let ran = with_variable(&home, SECRET, &["thread", "step", &thread]);
        assert_eq!(ran.code, Some(0), "{output}: {ran:?}");
        assert!(!is_held(&home, SECRET), "{output}");
        let step = home.uwf(&["thread", "step-details", &home.head(&thread).unwrap(), "--format", "json"]);
        assert!(step.stdout.contains("[redacted A_KEY]"), "{output}: {step:?}");
    }
}

#[test]
fn a_key_that_is_typed_is_not_stored() {
    let (home, _) = trusted("#!/bin/sh\ncat > /dev/null\necho '{\"n\": 1}'\n", "json");
    let ran = home.uwf(&["thread", "start", "count-rounds", "-p", &format!("count with {SECRET}")]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("the task had the value of A_KEY in it") && !ran.stderr.contains(SECRET), "{ran:?}");
    let forked = home.uwf(&["thread", "fork", "@", "-p", &format!("use {SECRET} again")]);
    assert!(forked.stderr.contains("the task had the value of A_KEY in it"), "{forked:?}");
    assert!(!home.uwf(&["thread", "show", "@"]).stdout.contains(SECRET));
    let thread = uwf_testing::text(&ran.json(), "thread");
    let read = home.uwf(&["thread", "read", &thread]);
    assert!(read.stdout.contains("count with [redacted A_KEY]"), "{read:?}");

    let by_hand = home.uwf(&["thread", "step", &thread, "--agent", &format!("worker --key {SECRET}")]);
    assert_eq!(by_hand.code, Some(64), "{by_hand:?}");
    assert!(by_hand.stderr.contains("the agent's command line has the value of A_KEY in it"), "{by_hand:?}");
    assert!(by_hand.stderr.contains("env: [A_KEY]") && !by_hand.stderr.contains(SECRET), "{by_hand:?}");

    home.json(&["thread", "pause", &thread, "--reason", &format!("{SECRET} is out")]);
    home.json(&["thread", "resume", &thread]);
    home.json(&["thread", "pause", &thread, "--reason", &format!("{SECRET} is out")]);
    let shown = home.uwf(&["thread", "show", &thread]);
    assert!(shown.stdout.contains("[redacted A_KEY] is out"), "{shown:?}");

    let workflow =
        home.file("leaky.yaml", &counting_workflow(5).replace("goal: Count.", &format!("goal: Count with {SECRET}.")));
    let put = home.uwf(&["workflow", "put", workflow.to_str().unwrap()]);
    assert_eq!(put.code, Some(65), "{put:?}");
    assert!(
        put.stderr.contains("the workflow has the value of A_KEY in it") && !put.stderr.contains(SECRET),
        "{put:?}"
    );
    assert_eq!(holding_the_key(&home.root()), Vec::<PathBuf>::new());
}

/// An agent of the configuration may have a key among its arguments, against all advice: its node has not.
#[test]
fn key_in_configured_arguments_reaches_no_node() {
    for (script, code) in [("echo '{\"n\": 1}'", 0), ("exit 3", 40)] {
        let (home, thread) = trusted(&format!("#!/bin/sh\ncat > /dev/null\n{script}\n"), "json");
        home.config(&format!("agents:\n  w: {{ command: worker, args: [--key, {SECRET}], output: json, env: [A_KEY] }}\ndefaultAgent: w\n"));
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        let held = holding_the_key(&home.root().join("cas"));
        assert_eq!(held, Vec::<PathBuf>::new());
    }
}

mod with_tools {
    use super::*;

    #[test]
    fn a_key_in_another_encoding_is_stored_nowhere() {
        let encoders = [
            "import base64, os\nsay = base64.b64encode(os.environ['A_KEY'].encode()).decode()\n",
            "import base64, os\nsay = base64.encodebytes(b'user:' + os.environ['A_KEY'].encode() + b' and so on' * 9).decode()\n",
            "import base64, os\nsay = base64.urlsafe_b64encode(b'Basic ' + os.environ['A_KEY'].encode()).decode()\n",
            "import os\nsay = os.environ['A_KEY'].encode().hex()\n",
            "import os\nsay = os.environ['A_KEY'].encode().hex(' ').upper()\n",
            "import os, urllib.parse\nsay = 'https://e.example/?key=' + urllib.parse.quote(os.environ['A_KEY'], safe='')\n",
            "import os, urllib.parse\nsay = urllib.parse.urlencode({'key': os.environ['A_KEY']}).lower()\n",
        ];
        for encoder in encoders {
            let home = home();
            let script = format!(
                "#!/usr/bin/env python3\nimport sys\nsys.stdin.read()\n{encoder}print(f'---\\nn: 1\\n---\\nIt is {{say}}')\n"
            );
            home.script("worker", &script);
            home.config("agents:\n  w: { command: worker, output: text, env: [A_KEY] }\ndefaultAgent: w\n");
            let thread = home.start_counting(5, "count");
            let odd = "odd key/with+symbols=0123456789?";
            let ran = with_variable(&home, odd, &["thread", "step", &thread]);
            assert_eq!(ran.code, Some(0), "{encoder}: {ran:?}");
            let read = home.uwf(&["thread", "read", &thread]).stdout;
            assert!(read.contains("[redacted A_KEY]"), "{encoder}: {read}");
        }
    }

    #[test]
    fn a_key_is_redacted_as_json_has_it() {
        let scripts = [
            "import json, os, sys\nsys.stdin.read()\nprint(json.dumps({'n': 1, 'note': os.environ['A_KEY']}))\n",
            "import json, os, sys\nsys.stdin.read()\nprint(json.dumps({'n': 1, 'note': os.environ['A_KEY']}, ensure_ascii=False))\n",
            "import json, os, sys\nsys.stdin.read()\nprint(json.dumps({'n': 1, 'note': json.dumps({'k': os.environ['A_KEY']})}))\n",
            "import json, os, sys\nsys.stdin.read()\nprint('bad', json.dumps(os.environ['A_KEY']), file=sys.stderr)\nsys.exit(3)\n",
        ];
        for script in scripts {
            let home = home();
            home.script("worker", &format!("#!/usr/bin/env python3\n{script}"));
            home.config("agents:\n  w: { command: worker, output: json, env: [A_KEY] }\ndefaultAgent: w\n");
            let thread = home.start_counting(5, "count");
            let ran = with_variable(&home, ODD, &["thread", "step", &thread]);
            assert!(matches!(ran.code, Some(0 | 40)), "{script}: {ran:?}");
            assert!(!is_held(&home, ODD), "{script}");
        }
    }
}
