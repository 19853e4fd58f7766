//! `.env`: each value reaches an agent as it is written, or its line is refused.

use std::fs;

use serde_json::json;
use uwf_testing::{FinishedRun, TestHome, counting_workflow};

use crate::home;

/// A home whose agent writes the value of `KEY` into a file.
fn telling_home() -> TestHome {
    let home = home();
    home.script("worker", "#!/bin/sh\ncat > /dev/null\nprintf '%s' \"${KEY-(unset)}\" > seen\necho '{\"n\": 1}'\n");
    home.config("secrets: [KEY]\nagents:\n  w: { command: worker, output: json, env: [KEY] }\ndefaultAgent: w\n");
    home.put("count-rounds", &counting_workflow(1));
    home
}

/// The variables of a file as the agent sees them, and the step.
fn seen(home: &TestHome, file: &str) -> (Option<String>, FinishedRun) {
    for left in [home.root().join(".env"), home.work().join("seen")] {
        let _ = fs::remove_file(left);
    }
    let thread = home.start("count-rounds", "count");
    fs::write(home.root().join(".env"), file).unwrap();
    let mut command = home.command(&["thread", "step", &thread]);
    command.env("HOST", "expanded").env_remove("KEY");
    let ran = FinishedRun::from(command.output().unwrap());
    (fs::read_to_string(home.work().join("seen")).ok(), ran)
}

#[test]
fn values_arrive_as_they_are_written() {
    let home = telling_home();
    for (file, value) in [
        // As it is, to the end of the line.
        ("KEY=sk-0123", "sk-0123"),
        ("KEY=a=b==\n", "a=b=="),
        ("KEY=pa#ss\n", "pa#ss"),
        ("KEY=#pass\n", "#pass"),
        ("KEY=pa$HOST!\n", "pa$HOST!"),
        ("KEY=a\\b\\n\n", "a\\b\\n"),
        ("KEY=it's\n", "it's"),
        ("KEY=a\"b\"c\n", "a\"b\"c"),
        ("KEY=two words\n", "two words"),
        ("KEY=`date`$(date)\n", "`date`$(date)"),
        ("KEY=äö😀\n", "äö😀"),
        ("KEY=\n", ""),
        // Blanks around it, comments, `export`.
        ("  KEY = value \t\n", "value"),
        ("export KEY=value\n", "value"),
        ("export\tKEY =value # note\n", "value"),
        ("KEY=value # note with 'quotes'\n", "value"),
        ("KEY= # note\n", ""),
        ("# KEY=other\n\n   # more\nKEY=value\n", "value"),
        // In single quotes nothing is special, in double quotes a backslash is.
        ("KEY='pa $HOST # \\n \"x\" '\n", "pa $HOST # \\n \"x\" "),
        ("KEY=\"pa $HOST # 'x' \" # note\n", "pa $HOST # 'x' "),
        ("KEY=\"a\\nb\\tc\\r\\\"d\\\"\\\\e\\$HOST\\'\"\n", "a\nb\tc\r\"d\"\\e$HOST'"),
        ("KEY='one\ntwo=2\n# three'\nOTHER=x\n", "one\ntwo=2\n# three"),
        ("KEY=\"one\ntwo\"\n", "one\ntwo"),
        ("KEY=''\n", ""),
        // Of a name that is there twice the last counts.
        ("KEY=first\nKEY=last\n", "last"),
        // Files of Windows.
        ("KEY=value\r\nOTHER=x\r\n", "value"),
        ("KEY='value'\r\n", "value"),
        ("\u{feff}KEY=value\r\n", "value"),
        ("\u{feff}# note\nKEY=\"value\"", "value"),
    ] {
        let (seen, ran) = seen(&home, file);
        assert_eq!((ran.code, seen.as_deref()), (Some(0), Some(value)), "{file:?}: {ran:?}");
    }
}

#[test]
fn ambiguous_line_is_rejected() {
    let home = telling_home();
    for (file, line) in [
        ("A=1\nKEY=\"hush-hush\n", 2),
        ("A=1\nKEY='hush-hush\nB=2\n", 2),
        ("KEY='hush-'hush\n", 1),
        ("KEY=\"hush-\"'hush'\n", 1),
        ("A=1\n\nKEY=\"hush-\\xhush\"\n", 3),
        ("KEY=\"hush-hush\\\"\n", 1),
        ("KEY=hush-${HOST}\n", 1),
        ("KEY=\"hush-${HOST}\"\n", 1),
        ("A='1\n2'\nhush-hush\n", 3),
        ("KEY: hush-hush\n", 1),
        ("my key=hush-hush\n", 1),
        ("1KEY=hush-hush\n", 1),
        ("=hush-hush\n", 1),
        ("export KEY\n", 1),
        ("A=1\nKEY=hush-\u{0}hush\n", 2),
        ("A=1\rKEY=hush-hush\n", 1),
    ] {
        let (seen, ran) = seen(&home, file);
        let named = format!(".env, line {line}:");
        assert_eq!((ran.code, seen), (Some(78), None), "{file:?}: {ran:?}");
        assert!(ran.stderr.contains(&named), "{file:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains("hush") && !ran.stdout.contains("hush"), "{file:?}: {}", ran.stderr);
    }
    fs::remove_file(home.root().join(".env")).unwrap();
    let thread = home.start("count-rounds", "count");
    fs::write(home.root().join(".env"), b"A=1\nKEY=\xff\n").unwrap();
    let ran = home.uwf(&["thread", "step", &thread]);
    assert!(ran.code == Some(78) && ran.stderr.contains(".env, line 2: it is not UTF-8"), "{ran:?}");
}

/// `uwf setup` changes the one assignment, whatever stands around it.
#[test]
fn setup_replaces_a_key_that_has_several_lines() {
    let home = home();
    let before = "\u{feff}# mine\r\nA='x\nKEY=y\n'\nexport KEY=\"old\nvalue\" # note\nB=2";
    fs::create_dir_all(home.root()).unwrap();
    fs::write(home.root().join(".env"), before).unwrap();
    let setup = [
        "setup",
        "--provider",
        "own",
        "--base-url",
        "http://127.0.0.1:9/v1",
        "--model",
        "m",
        "--api-key",
        "-sk-'new'",
        "--api-key-env",
        "KEY",
        "--no-check",
    ];
    let ran = home.uwf(&setup);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let after = fs::read_to_string(home.root().join(".env")).unwrap();
    assert_eq!(after, "\u{feff}# mine\r\nA='x\nKEY=y\n'\nexport KEY=-sk-'new' # note\nB=2");
    assert_eq!(json!(home.uwf(&setup).code), json!(0));
    assert_eq!(fs::read_to_string(home.root().join(".env")).unwrap(), after, "twice changes nothing");
}
