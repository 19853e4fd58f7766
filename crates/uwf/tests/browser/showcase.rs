//! A storage root with something to see: threads in every state that a person meets.

use std::process::{Child, Stdio};

use uwf_testing::processes::until;
use uwf_testing::{TestHome, text};

/// A writer, a reviewer who rejects once, a person who lets it out.
const PUBLISH: &str = r"name: publish-post
description: Write a post; a person lets it out
roles:
  writer:
    description: writes the post, and again after a review
    goal: Write the post.
    meta:
      type: object
      properties: { title: { type: string }, tags: { type: array, items: { type: string } } }
      required: [title]
  reviewer:
    description: looks for what is missing
    goal: Approve of the post or say what is missing.
    meta:
      type: object
      properties: { approved: { type: boolean }, missing: { type: string } }
      required: [approved]
  editor:
    description: the editor in chief
    goal: Decide whether the post goes out.
    output: Say why, if it does not.
    meta:
      type: object
      properties:
        out: { type: boolean, description: Whether it goes out }
        why: { type: string, description: Why it does not }
      required: [out]
conditions:
  rejected: { description: the reviewer misses something, expression: 'steps[-1].output.approved = false' }
  out: { description: the editor lets it out, expression: 'steps[-1].output.out' }
graph:
  $START: [ { role: writer } ]
  writer: [ { role: reviewer } ]
  reviewer:
    - { role: writer, condition: rejected }
    - { role: editor }
  editor:
    - { role: $END, condition: out }
    - { role: writer }
";

const SCRIPT: &str = r#"writer:
  - reply: |
      ---
      title: Pages that follow
      tags: [pages, live]
      ---
      # Pages that follow

      The page shows **each step** soon after its end, see <https://html.spec.whatwg.org>.

      | what | how |
      |---|---|
      | list | `/api/events` |
  - reply: { title: "Pages that follow, with figures", tags: [pages, live, figures] }
    repeat: true
reviewer:
  - reply: { approved: false, missing: How long does it take until a page shows a step? }
  - reply: { approved: true }
    repeat: true
"#;

const CONFIG: &str = r"agents:
  mock: { command: uwf-mock, config: { script: answers.yaml } }
  person: { command: uwf-human }
  broken: { command: broken, output: text }
  slow: { command: slow, output: text }
  paid: { command: paid, output: text, config: { trace: jsonl } }
defaultAgent: mock
agentOverrides:
  publish-post: { editor: person }
killGrace: 1
";

const BROKEN: &str = "#!/bin/sh\ncat > /dev/null\necho 'half an answer'\necho '503 Service Unavailable: the provider has no free place' >&2\nexit 3\n";
const SLOW: &str =
    "#!/bin/sh\ncat > /dev/null\necho 'I read the post.'\necho '$ grep -c figures post.md' >&2\nexec sleep 600\n";

/// Its run costs a quarter of a dollar.
const PAID: &str = r#"#!/bin/sh
cat > /dev/null
echo '{"type": "session", "sessionId": "'"$UWF_ATTEMPT"'", "durationMs": 1500, "tokens": {"input": 1200000, "output": 100000, "cost": 0.25}}'
printf '%s\n' '{"type": "turn", "input": "a", "output": "I agree.", "latencyMs": 1500, "tokens": {"input": 1200000, "output": 100000}}'
"#;

/// The root, and what is in it.
pub(crate) struct Showcase {
    /// The root.
    pub(crate) home: TestHome,
    /// A thread that has ended after five steps.
    pub(crate) done: String,
    /// One that waits for the editor.
    pub(crate) waiting: String,
    /// One whose last attempt failed.
    pub(crate) stuck: String,
    /// One whose reviewer works for ten minutes.
    pub(crate) running: String,
    /// One that nobody steps.
    pub(crate) active: String,
    agent: Child,
}

/// A root with the workflow and its agents, and no thread.
pub(crate) fn staffed() -> TestHome {
    let home = TestHome::new(uwf_testing::uwf_program());
    home.config(CONFIG);
    std::fs::write(home.root().join("answers.yaml"), SCRIPT).unwrap();
    home.script("broken", BROKEN);
    home.script("slow", SLOW);
    home.script("paid", PAID);
    home.put("publish-post", PUBLISH);
    home
}

/// Starts a thread and runs it until it waits for the editor; returns its id.
pub(crate) fn waiting(home: &TestHome, task: &str) -> String {
    let thread = home.start("publish-post", task);
    assert_eq!(home.uwf(&["run", &thread]).code, Some(20));
    thread
}

impl Showcase {
    /// The root with all its threads.
    pub(crate) fn new() -> Showcase {
        let home = staffed();
        let done = waiting(&home, "Write a post about pages that follow what happens.");
        home.json(&["thread", "answer", &done, "--data", r#"{"out": true}"#]);
        home.uwf(&["run", &done]);
        assert_eq!(text(&home.json(&["thread", "show", &done]), "state"), "completed");
        let waiting = waiting(&home, "Announce the next release.\n\nSay *who* it is for, and `how` to get it.");
        let stuck = home.start("publish-post", "Translate the post about limits into Portuguese.");
        home.json(&["thread", "step", &stuck]);
        assert_ne!(home.uwf(&["thread", "step", &stuck, "--agent", "broken"]).code, Some(0));
        let active = home.start("publish-post", "Describe how threads are forked.");
        home.json(&["thread", "step", &active]);
        let running = home.start("publish-post", "Review what was written about locks.");
        home.json(&["thread", "step", &running]);
        let mut command = home.command(&["thread", "step", &running, "--agent", "slow"]);
        let agent = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let printed = || home.root().join("threads").join(&running).join("attempts").read_dir();
        until("the agent has printed something", || {
            let files = printed().into_iter().flatten().flatten();
            files.filter_map(|file| file.metadata().ok()).filter(|meta| meta.len() > 0).count() >= 2
        });
        Showcase { home, done, waiting, stuck, running, active, agent }
    }

    /// Hash of a step of the thread that is done.
    pub(crate) fn step(&self, index: usize) -> String {
        let steps = self.home.json(&["thread", "steps", &self.done]);
        text(&steps["steps"][index], "hash")
    }
}

/// Its agent does not outlive it.
impl Drop for Showcase {
    fn drop(&mut self) {
        self.home.uwf(&["thread", "kill", &self.running]);
        let _ = self.agent.wait();
    }
}
