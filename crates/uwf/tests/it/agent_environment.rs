//! The environment of agents: variables that are set, passed on or withheld.

use std::fs;

use uwf_testing::{counting_workflow, text};

use crate::fixtures::described::step;
use crate::home;

#[test]
fn a_mapping_sets_variables_and_passes_secrets_on() {
    let home = home();
    home.script("teller", "#!/bin/sh\ncat > /dev/null\nenv > \"env-$1.txt\"\necho '{\"n\": 1}'\n");
    home.script(
        "uwf-teller",
        "#!/bin/sh\nenv > env-own.txt\n\"$UWF_BIN\" agent submit \"$1\" \"$2\" --data '{\"n\": 1}'\n",
    );
    home.config(
        "secrets: [A_KEY, B_KEY]\nagents:\n  list: { command: teller, args: [list], output: json, env: [A_KEY] }\n  map: { command: teller, args: [map], output: json, env: { FOO: bar, DEPTH: 3, B_KEY: null, UWF_ROLE: forged } }\n  own: { command: uwf-teller, env: { FOO: bar, A_KEY: } }\n",
    );
    fs::write(home.root().join(".env"), "A_KEY=a-secret-0123456789\nB_KEY=b-secret-0123456789\n").unwrap();
    home.put("count-rounds", &counting_workflow(9));
    for agent in ["list", "map", "own"] {
        let ran = step(&home, agent);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    let has = |file: &str, line: &str| {
        let text = fs::read_to_string(home.work().join(format!("env-{file}.txt"))).unwrap();
        text.lines().any(|known| known == line)
    };
    assert!(has("list", "A_KEY=a-secret-0123456789") && !has("list", "B_KEY=b-secret-0123456789"));
    assert!(has("map", "B_KEY=b-secret-0123456789") && !has("map", "A_KEY=a-secret-0123456789"));
    assert!(has("map", "FOO=bar") && has("map", "DEPTH=3") && !has("list", "FOO=bar"));
    assert!(has("map", "UWF_ROLE=worker"), "what the protocol says cannot be changed");
    assert!(has("own", "FOO=bar") && has("own", "A_KEY=a-secret-0123456789"));
}

/// Also where no store is shared, and nobody has called it a secret. Keys of a store that is not used stay what they are: variables.
#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "needs what only Linux shows of processes")]
fn temporal_key_reaches_only_agents_naming_it() {
    let home = home();
    home.script("teller", "#!/bin/sh\ncat > /dev/null\nenv > \"env-$1.txt\"\ntr '\\0' '\\n' < /proc/$PPID/environ >> \"env-$1.txt\"\necho '{\"n\": 1}'\n");
    home.config(
        "agents:\n  plain: { command: teller, args: [plain], output: json }\n  named: { command: teller, args: [named], output: json, env: [TEMPORAL_API_KEY] }\n",
    );
    home.put("count-rounds", &counting_workflow(9));
    for agent in ["plain", "named"] {
        let thread = home.start_counting(9, "count");
        let mut command = home.command(&["thread", "step", &thread, "--agent", agent]);
        command.env("TEMPORAL_API_KEY", "hush-hush-0123456789").env("AWS_SECRET_ACCESS_KEY", "of-the-agents-own-work");
        let ran = uwf_testing::FinishedRun::from(command.output().unwrap());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let seen = fs::read_to_string(home.work().join(format!("env-{agent}.txt"))).unwrap();
        assert_eq!(seen.contains("TEMPORAL_API_KEY=hush-hush"), agent == "named", "{agent}: {seen}");
        assert!(seen.contains("AWS_SECRET_ACCESS_KEY=of-the-agents-own-work"), "{agent}: {seen}");
    }
}

#[test]
fn a_secret_has_no_value_in_the_configuration() {
    let home = home();
    home.config(
        "secrets: [A_KEY]\nagents:\n  a: { command: sh, output: text, env: { A_KEY: abc, OTHER: sk-0123456789abcdef, \"no name\": x, NOT_ONE: null, LIST: [1] } }\n",
    );
    let ran = home.uwf(&["config", "validate", "--format", "text"]);
    assert_eq!(ran.code, Some(78));
    assert!(!ran.stdout.replace("env: {", "").contains("`sk-"), "{}", ran.stdout);
    let codes: Vec<&str> = ran.stdout.lines().filter_map(|line| line.split_once(": ")?.1.split(':').next()).collect();
    assert_eq!(
        codes.into_iter().filter(|code| code.ends_with(']')).collect::<Vec<_>>(),
        [
            "error[secret-in-config]",
            "error[secret-in-config]",
            "error[not-a-variable]",
            "warning[unknown-secret]",
            "error[wrong-type]"
        ],
        "{}",
        ran.stdout
    );
}

/// With these secrets, an agent could start threads or answer for a person.
#[test]
fn secrets_of_uwf_are_neither_given_nor_advised() {
    let home = home();
    home.script("w", "#!/bin/sh\ncat > /dev/null\nexit 1\n");
    home.put("count-rounds", &counting_workflow(9));
    fs::write(
        home.root().join(".env"),
        "HOOK_SECRET=0123456789abcdef\nTOPIC=uwf-0123456789\nA_KEY=a-secret-0123456789\n",
    )
    .unwrap();
    let uses = "secrets: [A_KEY]\nhooks: { t: { secretEnv: HOOK_SECRET, start: { workflow: count-rounds, prompt: a } } }\n\
                notify: [ { on: waiting, ntfy: { topicEnv: TOPIC } } ]\n";
    let agents = "agents:\n  w: { command: w, output: json }\nextract: { feedback: 0 }\n";
    home.config(&format!("{uses}{agents}"));
    let thread = home.start("count-rounds", "count");
    let step = || home.uwf(&["thread", "step", &thread, "--agent", "w"]);
    let failed = step();
    assert!(failed.stderr.contains("it was not given A_KEY\n"), "{}", failed.stderr);
    for name in ["HOOK_SECRET", "TOPIC", "WORKFLOW_DASHBOARD_SECRET"] {
        assert!(!failed.stderr.contains(name), "{}", failed.stderr);
        for env in [format!("[{name}]"), format!("{{ {name}: null }}")] {
            home.config(&format!("{uses}{}", agents.replace("output: json", &format!("output: json, env: {env}"))));
            let refused = step();
            assert_eq!(refused.code, Some(78), "{env}: {}", refused.transcript());
            let why = format!("`{name}` is a secret of uwf, which no agent gets");
            assert!(refused.stderr.contains(&why), "{}", refused.stderr);
        }
    }
}

#[test]
fn withheld_key_is_named_when_agent_fails() {
    let home = home();
    home.script("w", "#!/bin/sh\ncat > /dev/null\necho 'not logged in' >&2\nexit 1\n");
    home.script("silent", "#!/bin/sh\ncat > /dev/null\necho 'not logged in'\n");
    let agents = "agents:\n  w: { command: w, output: json }\n  given: { command: w, output: json, env: [A_KEY] }\n  silent: { command: silent, output: json }\nextract: { feedback: 0 }\n";
    home.config(&format!("secrets: [A_KEY, UNSET_KEY]\n{agents}"));
    home.put("count-rounds", &counting_workflow(9));
    let transcript = |agent: &str| {
        let transcript = home.steady(&step(&home, agent).transcript());
        let is_about_next_step = |line: &&str| ["thread step", "thread retry"].iter().any(|words| line.contains(words));
        transcript.lines().filter(|line| !is_about_next_step(line)).collect::<Vec<_>>().join("\n")
    };
    let without = transcript("w");
    assert_eq!(without, "exit 40\n--- stderr\nerror: agent `w` exited with 1; its last words: not logged in");
    fs::write(home.root().join(".env"), "A_KEY=a-secret-0123456789\n").unwrap();
    insta::assert_snapshot!(transcript("w"), @"
    exit 40
    --- stderr
    error: agent `w` exited with 1; its last words: not logged in; it was not given A_KEY
    hint: if it needs A_KEY: `uwf config set agents.w.env '[A_KEY]'`
    ");
    insta::assert_snapshot!(transcript("silent"), @"
    exit 40
    --- stderr
    error: agent `silent` failed: not logged in; it was not given A_KEY
    hint: if it needs A_KEY: `uwf config set agents.silent.env '[A_KEY]'`
    ");
    insta::assert_snapshot!(transcript("w --from-the-command-line"), @"
    exit 40
    --- stderr
    error: agent `w --from-the-command-line` exited with 1; its last words: not logged in; it was not given A_KEY
    hint: if it needs A_KEY: declare it in config.yaml, with `env: [A_KEY]`
    ");
    assert_eq!(
        transcript("given"),
        "exit 40\n--- stderr\nerror: agent `given` exited with 1; its last words: not logged in"
    );
    let thread = home.start("count-rounds", "count");
    home.uwf(&["thread", "step", &thread, "--agent", "w"]);
    let why = text(&home.json(&["thread", "show", &thread]), "why");
    assert!(why.ends_with("; it was not given A_KEY"), "{why}");
}
