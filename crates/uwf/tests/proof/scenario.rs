//! The commands that change something, each with the root it is run on.

use std::fs;

use uwf_testing::{TestHome, counting_workflow};

use crate::shape::Shape;
use crate::stage::Stage;
use crate::strace::Target;

/// Steps the workflow of the scenarios has.
const ROUNDS: usize = 3;

/// A command, and the root it is run on.
pub(crate) struct Scenario {
    /// What it is called in the figures.
    pub(crate) name: &'static str,
    /// Processes it consists of.
    pub(crate) targets: &'static [Target],
    /// Builds the root; gives the arguments of the command.
    build: fn(&TestHome) -> Vec<String>,
}

/// A scenario whose root stands, with what the command does when nothing goes wrong.
pub(crate) struct Play {
    pub(crate) stage: Stage,
    pub(crate) args: Vec<String>,
    pub(crate) before: Shape,
    pub(crate) after: Shape,
}

impl Scenario {
    /// Builds the root and looks at what the command does when nothing goes wrong.
    pub(crate) fn play(&self) -> Play {
        let home = TestHome::new(env!("CARGO_BIN_EXE_uwf"));
        home.config("agents: {}\nkillGrace: 1\n");
        let args = (self.build)(&home);
        let stage = Stage::of(home);
        let before = Shape::read(&stage.engine()).unwrap();
        let ran = stage.home().uwf(&args);
        assert_eq!(ran.code, Some(0), "{}: {ran:?}", self.name);
        let after = Shape::read(&stage.engine()).unwrap();
        Play { stage, args, before, after }
    }
}

const ALONE: &[Target] = &[Target::Command];
const STEP: &[Target] = &[Target::Window, Target::Keeper, Target::Agent, Target::Everything];
const SUBMIT: &[Target] = &[Target::Window, Target::Keeper, Target::Submit, Target::Everything];

pub(crate) const PUT_FIRST: Scenario = Scenario {
    name: "workflow put, nothing there",
    targets: ALONE,
    build: |home| {
        fs::remove_file(home.root().join("config.yaml")).unwrap();
        fs::remove_dir(home.root()).unwrap();
        // A stage has a root to put back.
        fs::create_dir(home.root()).unwrap();
        put(home, ROUNDS)
    },
};

pub(crate) const PUT: Scenario = Scenario {
    name: "workflow put",
    targets: ALONE,
    build: |home| {
        home.uwf(&put(home, 1));
        put(home, ROUNDS)
    },
};

pub(crate) const WORKFLOW_RM: Scenario = Scenario {
    name: "workflow rm",
    targets: ALONE,
    build: |home| {
        home.uwf(&put(home, ROUNDS));
        args(&["workflow", "rm", "count-rounds"])
    },
};

pub(crate) const ROLLBACK: Scenario = Scenario {
    name: "workflow rollback",
    targets: ALONE,
    build: |home| {
        home.uwf(&put(home, 1));
        home.uwf(&put(home, ROUNDS));
        args(&["workflow", "rollback", "count-rounds"])
    },
};

pub(crate) const START: Scenario = Scenario {
    name: "thread start",
    targets: ALONE,
    build: |home| {
        home.uwf(&put(home, ROUNDS));
        args(&["thread", "start", "count-rounds", "-p", "count"])
    },
};

pub(crate) const STEP_JSON: Scenario = Scenario {
    name: "thread step, output: json",
    targets: STEP,
    build: |home| {
        let thread = counting(home, "json", 1);
        args(&["thread", "step", &thread])
    },
};

pub(crate) const STEP_TEXT: Scenario = Scenario {
    name: "thread step, output: text",
    targets: STEP,
    build: |home| {
        let thread = counting(home, "text", 0);
        args(&["thread", "step", &thread])
    },
};

pub(crate) const SUBMITTED: Scenario = Scenario {
    name: "thread step, output: step by agent submit",
    targets: SUBMIT,
    build: |home| {
        let thread = counting(home, "step", 1);
        args(&["thread", "step", &thread])
    },
};

pub(crate) const NAMED: Scenario = Scenario {
    name: "thread step, output: step by an agent that only names its node",
    targets: SUBMIT,
    build: |home| {
        let thread = counting(home, "named", 1);
        args(&["thread", "step", &thread])
    },
};

pub(crate) const LAST_STEP: Scenario = Scenario {
    name: "thread step, the last",
    targets: STEP,
    build: |home| {
        let thread = counting(home, "json", ROUNDS - 1);
        args(&["thread", "step", &thread])
    },
};

pub(crate) const RUN: Scenario = Scenario {
    name: "run",
    targets: STEP,
    build: |home| {
        let thread = counting(home, "json", 1);
        args(&["run", &thread])
    },
};

pub(crate) const FORK: Scenario = Scenario {
    name: "thread fork",
    targets: ALONE,
    build: |home| {
        let thread = counting(home, "json", 2);
        args(&["thread", "fork", &thread])
    },
};

pub(crate) const KILL: Scenario = Scenario {
    name: "thread kill",
    targets: ALONE,
    build: |home| {
        let thread = counting(home, "json", 1);
        args(&["thread", "kill", &thread])
    },
};

pub(crate) const RM: Scenario = Scenario {
    name: "thread rm",
    targets: ALONE,
    build: |home| {
        let thread = counting(home, "json", ROUNDS);
        home.start("count-rounds", "another");
        args(&["thread", "rm", &thread])
    },
};

pub(crate) const ANSWER: Scenario = Scenario {
    name: "thread answer",
    targets: ALONE,
    build: |home| {
        home.config("agents:\n  person: { command: uwf-human }\ndefaultAgent: person\n");
        home.uwf(&put(home, ROUNDS));
        let thread = home.start("count-rounds", "count");
        assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
        args(&["thread", "answer", &thread, "--data", r#"{"n": 1}"#])
    },
};

pub(crate) const CAS_PUT: Scenario =
    Scenario { name: "cas put", targets: ALONE, build: |_| args(&["cas", "put", "content", r#"{"text": "kept"}"#]) };

pub(crate) const SETUP: Scenario = Scenario {
    name: "setup",
    targets: ALONE,
    build: |home| {
        fs::write(home.root().join(".env"), "OTHER=1\n").unwrap();
        let model = ["--provider", "here", "--base-url", "http://127.0.0.1:9/v1", "--model", "none"];
        let key = ["--api-key", "sk-made-up-0123456789", "--agent", "react", "--no-check"];
        args(&[&["setup"], &model[..], &key[..]].concat())
    },
};

/// Puts the counting workflow.
fn put(home: &TestHome, rounds: usize) -> Vec<String> {
    fs::create_dir_all(home.work().join(rounds.to_string())).unwrap();
    let file = home.file(&format!("{rounds}/count-rounds.yaml"), &counting_workflow(rounds));
    args(&["workflow", "put", file.to_str().unwrap()])
}

/// A thread with so many steps, played by an agent that notes each attempt it is paid for.
fn counting(home: &TestHome, output: &str, steps: usize) -> String {
    let answer = match output {
        "step" => r#"exec "$UWF_BIN" agent submit "$1" "$2" --data '{"n": 1}'"#,
        // Outside any attempt nothing is recorded.
        "named" => r#"exec env -u UWF_ATTEMPT "$UWF_BIN" agent submit "$1" "$2" --data '{"n": 1}'"#,
        "text" => r"cat > /dev/null; printf -- '---\nn: 1\n---\nCounted.\n'",
        _ => r#"cat > /dev/null; echo '{"n": 1}'"#,
    };
    home.script("counter", &format!("#!/bin/sh\necho \"$UWF_ATTEMPT\" >> ledger\n{answer}\n"));
    let output = if output == "named" { "step" } else { output };
    home.config(&format!(
        "agents:\n  counter: {{ command: counter, output: {output} }}\ndefaultAgent: counter\nkillGrace: 1\n"
    ));
    home.uwf(&put(home, ROUNDS));
    let thread = home.start("count-rounds", "count");
    for _ in 0..steps {
        home.json(&["thread", "step", &thread]);
    }
    thread
}

fn args(args: &[&str]) -> Vec<String> {
    args.iter().map(ToString::to_string).collect()
}
