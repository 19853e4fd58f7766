//! Storage roots with something in them.

use std::fs;

use uwf_testing::{TestHome, counting_workflow};

/// Rounds of the workflow that all threads run.
pub(crate) const ROUNDS: usize = 3;

/// Each play of an agent is a line in the ledger, which lies beside the storage root, whichever that is.
const PAID: &str = "echo x >> \"$(dirname \"$UNCAGED_WORKFLOW_STORAGE_ROOT\")/ledger\"\n";

/// An agent of which uwf makes the step.
const WORKER: &str = "cat > /dev/null\necho '{\"n\": 1}'\n";

/// An agent that makes its step itself.
const STEPPER: &str = "\"$UWF_BIN\" agent submit \"$1\" \"$2\" --data '{\"n\": 2}'\n";

/// An agent that answers with a text.
const TEXTER: &str = "cat > /dev/null\nprintf '%s\\n' --- 'n: 3' --- '' 'Three rounds.'\n";

/// A storage root without anything in it but agents on the `PATH`.
pub(crate) fn bare() -> TestHome {
    let home = TestHome::new(uwf_testing::uwf_program());
    home.script("worker", &format!("#!/bin/sh\n{PAID}{WORKER}"));
    home.script("stepper", &format!("#!/bin/sh\n{PAID}{STEPPER}"));
    home.script("texter", &format!("#!/bin/sh\n{PAID}{TEXTER}"));
    home.file("count-rounds.yaml", &counting_workflow(ROUNDS));
    home
}

/// A storage root with a workflow, whose role this agent plays.
pub(crate) fn with_workflow(agent: &str) -> TestHome {
    let home = bare();
    home.config(&format!(
        "agents:\n  worker: {{ command: worker, output: json }}\n  texter: {{ command: texter, output: text }}\n  stepper: {{ command: stepper }}\n  person: {{ command: uwf-human }}\ndefaultAgent: {agent}\n"
    ));
    home.put("count-rounds", &counting_workflow(ROUNDS));
    home
}

/// Starts a thread and steps it; returns its id.
pub(crate) fn thread(home: &TestHome, prompt: &str, steps: usize) -> String {
    let thread = home.start("count-rounds", prompt);
    for _ in 0..steps {
        home.json(&["thread", "step", &thread]);
    }
    thread
}

/// How often an agent was played.
pub(crate) fn paid(home: &TestHome) -> usize {
    let ledger = home.root().parent().unwrap().join("ledger");
    fs::read_to_string(ledger).map_or(0, |text| text.lines().count())
}
