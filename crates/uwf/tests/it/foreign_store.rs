//! A store that another implementation of the format has written: read, forked, stepped on.
//!
//! Everything about it differs from ours where the format allows it: the meta-schema, the types of the nodes, the names
//! of a role's texts, ids that are no ULIDs, the registry's file.

use std::fs;
use std::path::PathBuf;

use insta::assert_snapshot;
use json_cas::{NodeDraft, NodeHash, cbor};
use serde_json::{Value, json};
use uwf_testing::{TestHome, text};

use crate::{home, transcript};

const WORKFLOW: NodeHash = NodeHash::literal("0KZQB61FPVDKS");

const START: [NodeHash; 2] = [NodeHash::literal("120VN86QG7052"), NodeHash::literal("FPVH9K1XJ2DZA")];

const STEP: [NodeHash; 2] = [NodeHash::literal("9C2318PXN2HYE"), NodeHash::literal("CBEFGCN0R5996")];

const HERMES_TURN: NodeHash = NodeHash::literal("05HQB8BWV4KTW");

const HERMES_DETAIL: NodeHash = NodeHash::literal("EKYATKXH392BP");

const HERMES_RAW: NodeHash = NodeHash::literal("CXXS1KVSC0YVJ");

/// Ids as another implementation made them: the first symbol of a ULID is 0 to 7.
const ACTIVE: &str = "7ZZZ4QJ2V8RKTB6WXMF3C9D0HE";

const FRESH: &str = "ZZ0W4QJ2V8RKTB6WXMF3C9D0HF";

const FINISHED: &str = "ZZ0W4QJ2V8RKTB6WXMF3C9D0HG";

/// Unix milliseconds every node was stored at.
const STORED_AT: u64 = 1_770_000_000_000;

/// A store as files.
struct Foreign {
    root: PathBuf,
}

impl Foreign {
    /// Writes a node's file; returns its hash. The map's keys are in another order than ours.
    fn write(&self, draft: NodeDraft) -> NodeHash {
        let mut bytes = vec![0xa3];
        let mut entry = |key: &str, value: &[u8]| {
            bytes.extend(cbor::encode(&json!(key)).unwrap());
            bytes.extend(value);
        };
        entry("type", &cbor::encode(&json!(draft.type_hash())).unwrap());
        entry("timestamp", &cbor::encode(&json!(STORED_AT)).unwrap());
        entry("payload", draft.cbor());
        fs::write(self.root.join("cas").join(format!("{}.bin", draft.hash())), bytes).unwrap();
        draft.hash()
    }

    fn put(&self, type_hash: NodeHash, payload: Value) -> NodeHash {
        self.write(NodeDraft::new(type_hash, payload).unwrap())
    }

    fn step(
        &self,
        type_hash: NodeHash,
        start: NodeHash,
        prev: Option<NodeHash>,
        role: &str,
        [output, detail]: [NodeHash; 2],
    ) -> NodeHash {
        self.put(
            type_hash,
            json!({"start": start, "prev": prev, "role": role, "output": output, "detail": detail, "agent": "hermes"}),
        )
    }
}

/// Hashes of a foreign store that tests speak of.
struct Hashes {
    workflow: NodeHash,
    meta_schema: NodeHash,
    detail: NodeHash,
    steps: [NodeHash; 2],
}

fn write_store(home: &TestHome) -> Hashes {
    let store = Foreign { root: home.root() };
    fs::create_dir(home.root().join("cas")).unwrap();
    let meta_schema = store
        .write(NodeDraft::self_typed(json!({"title": "their meta-schema", "type": ["object", "boolean"]})).unwrap());
    let plan = store
        .put(meta_schema, json!({"type": "object", "properties": {"plan": {"type": "string"}}, "required": ["plan"]}));
    let change = store.put(
        meta_schema,
        json!({
            "type": "object",
            "properties": {"done": {"type": "boolean"}, "files": {"type": "array", "items": {"type": "string"}}},
            "required": ["done"],
            "additionalProperties": false,
        }),
    );
    let workflow = store.put(WORKFLOW, json!({
        "name": "solve-issue",
        "description": "from another implementation",
        "roles": {
            "planner": {"description": "plans", "systemPrompt": "Make a plan.", "extractPrompt": "the plan", "outputSchema": plan},
            "coder": {"description": "codes", "systemPrompt": "Write the code.", "outputSchema": change},
        },
        "conditions": {"unfinished": {"description": "there is more to do", "expression": "steps[-1].output.done = false"}},
        "graph": {
            "$START": [{"role": "planner", "condition": null}],
            "planner": [{"role": "coder", "condition": null}],
            "coder": [{"role": "coder", "condition": "unfinished"}, {"role": "$END", "condition": null}],
        },
    }));
    let start = store.put(START[0], json!({"workflow": workflow, "prompt": "# Fix the bug\n\nIt crashes."}));
    let turns = [
        json!({"index": 0, "role": "assistant", "content": "Looking at it.", "toolCalls": [{"name": "read", "args": "a.rs"}], "reasoning": null}),
        json!({"index": 1, "role": "assistant", "content": "---\nplan: Read a.rs\n---\n# My plan\n\nI read `a.rs`.", "toolCalls": null, "reasoning": "hm"}),
    ];
    let turns: Vec<NodeHash> = turns.into_iter().map(|turn| store.put(HERMES_TURN, turn)).collect();
    let detail = store.put(
        HERMES_DETAIL,
        json!({"sessionId": "s-1", "model": "some-model", "duration": 1200, "turnCount": 2, "turns": turns}),
    );
    let planned = store.put(plan, json!({"plan": "Read a.rs"}));
    let first = store.step(STEP[0], start, None, "planner", [planned, detail]);
    let raw = store.put(HERMES_RAW, json!("---\ndone: false\nfiles: [a.rs]\n---\nHalf of it is done.\n"));
    let changed = store.put(change, json!({"done": false, "files": ["a.rs"]}));
    let second = store.step(STEP[1], start, Some(first), "coder", [changed, raw]);
    let fresh = store.put(START[1], json!({"workflow": workflow, "prompt": "Another task."}));

    fs::write(home.root().join("workflows.yaml"), format!("solve-issue: {workflow}\n")).unwrap();
    // As YAML libraries write it: quotes only where they must be, any order.
    fs::write(home.root().join("threads.yaml"), format!("{FRESH}: '{fresh}'\n{ACTIVE}: {second}\n")).unwrap();
    let line = json!({"thread": FINISHED, "workflow": workflow, "head": second, "completedAt": STORED_AT});
    fs::write(home.root().join("history.jsonl"), format!("{line}\n")).unwrap();
    Hashes { workflow, meta_schema, detail, steps: [first, second] }
}

/// A home with the foreign store, and an agent that answers with what is asked for.
fn foreign_home() -> (TestHome, Hashes) {
    let home = home();
    home.worker("output: json", "#!/bin/sh\ncat > prompt\ncase $UWF_ROLE in planner) echo '{\"plan\": \"go on\"}';; coder) echo '{\"done\": true}';; esac\n");
    let hashes = write_store(&home);
    (home, hashes)
}

#[test]
fn its_threads_are_listed_and_shown() {
    let (home, hashes) = foreign_home();
    assert_snapshot!(transcript(&home, &["thread", "list", "--all"]), @r##"
    exit 0
    [{"thread":"<id>","workflow":"#1","head":"#2","state":"completed","role":"coder","startedAt":null,"changedAt":<ms>,"workflowName":"solve-issue","task":"# Fix the bug It crashes."},{"thread":"<id>","workflow":"#1","head":"#3","state":"active","role":null,"startedAt":null,"changedAt":null,"workflowName":"solve-issue","task":"Another task."},{"thread":"<id>","workflow":"#1","head":"#2","state":"active","role":"coder","startedAt":null,"changedAt":<ms>,"workflowName":"solve-issue","task":"# Fix the bug It crashes."}]
    "##);
    assert_snapshot!(transcript(&home, &["thread", "list", "--all", "--format", "text"]), @"
    exit 0
    thread                      state      workflow     role     steps  changed     task
    <id>  completed  solve-issue  –        2      2026-02-02  # Fix the bug It crashes.
    <id>  active     solve-issue  planner  0      –           Another task.
    <id>  active     solve-issue  coder    2      2026-02-02  # Fix the bug It crashes.
    the last 4 symbols of a thread are enough
    ");
    assert_snapshot!(transcript(&home, &["thread", "show", ACTIVE]), @r##"
    exit 0
    {"workflow":"#1","thread":"<id>","head":"#2","done":false,"state":"active","role":"coder","task":"# Fix the bug\n\nIt crashes.","steps":2,"startedAt":null,"changedAt":<ms>}
    "##);
    assert_snapshot!(transcript(&home, &["thread", "show", "7zzz"]), @r##"
    exit 0
    {"workflow":"#1","thread":"<id>","head":"#2","done":false,"state":"active","role":"coder","task":"# Fix the bug\n\nIt crashes.","steps":2,"startedAt":null,"changedAt":<ms>}
    "##);
    assert_snapshot!(transcript(&home, &["thread", "show", FRESH]), @r##"
    exit 0
    {"workflow":"#1","thread":"<id>","head":"#2","done":false,"state":"active","role":null,"task":"Another task.","steps":0,"startedAt":null,"changedAt":null}
    "##);
    assert_snapshot!(transcript(&home, &["thread", "show", FINISHED]), @r##"
    exit 0
    {"workflow":"#1","thread":"<id>","head":"#2","done":true,"state":"completed","role":"coder","task":"# Fix the bug\n\nIt crashes.","steps":2,"startedAt":null,"changedAt":<ms>}
    "##);
    let head = hashes.steps[1].to_string();
    assert_eq!(home.json(&["thread", "show", ACTIVE])["head"], json!(head));
}

#[test]
fn its_steps_are_read() {
    let (home, _) = foreign_home();
    assert_snapshot!(transcript(&home, &["thread", "steps", ACTIVE]), @r##"
    exit 0
    {"thread":"<id>","workflow":"#1","steps":[{"hash":"#2","workflow":"#1","prompt":"# Fix the bug\n\nIt crashes.","timestamp":null},{"hash":"#3","role":"planner","output":{"plan":"Read a.rs"},"detail":"#4","agent":"hermes","timestamp":<ms>},{"hash":"#5","role":"coder","output":{"done":false,"files":["a.rs"]},"detail":"#6","agent":"hermes","timestamp":<ms>}]}
    "##);
    assert_snapshot!(transcript(&home, &["thread", "read", ACTIVE]), @r"
    exit 0
    # solve-issue

    thread `<id>` · active · 2 steps

    ## Task

    ### Fix the bug

    It crashes.

    ## 1. planner

    by hermes · <time> UTC · step `#1`

    ### My plan

    I read `a.rs`.

    **Output**

    - **plan**: Read a.rs

    ## 2. coder

    by hermes · <time> UTC · step `#2`

    Half of it is done.

    **Output**

    - **done**: false
    - **files**: a.rs
    ");
    assert_snapshot!(transcript(&home, &["thread", "read", FINISHED, "--quota", "0"]), @r"
    exit 0
    # solve-issue

    thread `<id>` · completed · 2 steps

    ## Task

    [… 26 characters left out: `uwf cas get #1`]

    [Earlier: step 1, shown by `uwf thread read <id> --before #2 --quota 0`]

    ## 2. coder

    by hermes · <time> UTC · step `#2`

    Half of it is done.

    **Output**

    - **done**: false
    - **files**: a.rs

    ## Completed

    <time> UTC: its end was not recorded.
    ");
    assert_eq!(home.json(&["thread", "eval", ACTIVE, "steps.output.plan"]), json!("Read a.rs"));
}

#[test]
fn its_details_are_expanded() {
    let (home, hashes) = foreign_home();
    assert_snapshot!(transcript(&home, &["thread", "step-details", &hashes.steps[0].to_string(), "--format", "yaml"]), @r"
    exit 0
    hash: #1
    type: StepNode
    timestamp: <ms>
    role: planner
    agent: hermes
    start: #2
    prev: null
    output:
      plan: Read a.rs
    detail:
      hash: #3
      type: hermes-detail
      model: some-model
      turns:
      - hash: #4
        type: hermes-turn
        role: assistant
        index: 0
        content: Looking at it.
        reasoning: null
        toolCalls:
        - args: a.rs
          name: read
      - hash: #5
        type: hermes-turn
        role: assistant
        index: 1
        content: |-
          ---
          plan: Read a.rs
          ---
          # My plan

          I read `a.rs`.
        reasoning: hm
        toolCalls: null
      duration: 1200
      sessionId: s-1
      turnCount: 2
    ");
    assert_snapshot!(transcript(&home, &["thread", "step-details", &hashes.steps[1].to_string(), "--format", "yaml"]), @r"
    exit 0
    hash: #1
    type: StepNode
    timestamp: <ms>
    role: coder
    agent: hermes
    start: #2
    prev: #3
    output:
      done: false
      files:
      - a.rs
    detail:
      hash: #4
      type: hermes-raw-output
      payload: |
        ---
        done: false
        files: [a.rs]
        ---
        Half of it is done.
    ");
    assert_snapshot!(transcript(&home, &["thread", "step-details", &hashes.detail.to_string(), "--format", "json"]), @r##"
    exit 0
    {"hash":"#1","type":"hermes-detail","timestamp":<ms>,"model":"some-model","turns":[{"hash":"#2","type":"hermes-turn","role":"assistant","index":0,"content":"Looking at it.","reasoning":null,"toolCalls":[{"args":"a.rs","name":"read"}]},{"hash":"#3","type":"hermes-turn","role":"assistant","index":1,"content":"---\nplan: Read a.rs\n---\n# My plan\n\nI read `a.rs`.","reasoning":"hm","toolCalls":null}],"duration":1200,"sessionId":"s-1","turnCount":2}
    "##);
}

#[test]
fn its_nodes_are_read_and_walked() {
    let (home, hashes) = foreign_home();
    assert_snapshot!(transcript(&home, &["cas", "get", &hashes.steps[1].to_string()]), @r##"
    exit 0
    {"hash":"#1","type":"#2","payload":{"prev":"#3","role":"coder","agent":"hermes","start":"#4","detail":"#5","output":"#6"},"timestamp":<ms>}
    "##);
    assert_snapshot!(transcript(&home, &["cas", "get", &hashes.meta_schema.to_string()]), @r##"
    exit 0
    {"hash":"#1","type":"#1","payload":{"type":["object","boolean"],"title":"their meta-schema"},"timestamp":<ms>}
    "##);
    assert_snapshot!(transcript(&home, &["cas", "walk", &hashes.steps[1].to_string(), "--types", "--format", "text"]), @r"
    exit 0
    #1  StepNode
    #2  StepNode
    #3  StartNode
    #4  hermes-raw-output
    #5  type #6
    #7  hermes-detail
    #8  type #9
    #10  Workflow
    #6  their meta-schema
    #11  hermes-turn
    #12  hermes-turn
    #9  their meta-schema
    #13  their meta-schema
    ");
    assert_snapshot!(transcript(&home, &["cas", "verify"]), @r#"
    exit 0
    {"checked":14,"bytes":2043,"problems":[]}
    "#);
    assert_snapshot!(transcript(&home, &["workflow", "list"]), @r##"
    exit 0
    [{"name":"solve-issue","hash":"#1","origin":"registry"}]
    "##);
    assert_eq!(home.json(&["workflow", "show", "solve-issue"])["hash"], json!(hashes.workflow));
}

#[test]
fn its_threads_are_stepped_to_the_end() {
    let (home, hashes) = foreign_home();
    assert_snapshot!(transcript(&home, &["thread", "step", ACTIVE]), @r"
    exit 64
    --- stderr
    error: this machine does not know where thread <id> works
    hint: set it once: `uwf thread step <id> --cwd DIR`
    ");
    let report = home.json(&["thread", "step", ACTIVE, "--cwd", "."]);
    assert_eq!(json!([report["role"], report["done"], report["reason"]]), json!(["coder", true, "end"]));
    let steps = home.json(&["thread", "steps", ACTIVE]);
    let roles: Vec<&str> = steps["steps"].as_array().unwrap().iter().filter_map(|step| step["role"].as_str()).collect();
    assert_eq!(roles, ["planner", "coder", "coder"]);
    let new = home.json(&["cas", "get", &text(&steps["steps"][3], "hash")]);
    assert_eq!(new["payload"]["prev"], json!(hashes.steps[1]), "the new step follows theirs");
    let prompt = fs::read_to_string(home.work().join("prompt")).unwrap();
    assert!(prompt.contains("Write the code.") && prompt.contains("It crashes."), "{prompt}");
    assert_eq!(home.uwf(&["cas", "verify", &text(&steps["steps"][3], "hash")]).code, Some(0));

    assert_eq!(home.json(&["thread", "step", FRESH, "--cwd", "."])["role"], json!("planner"));
    assert_eq!(home.json(&["thread", "run", FRESH])["done"], json!(true));
    assert_eq!(home.json(&["thread", "rm", FINISHED]), json!({"thread": FINISHED, "archived": false}));
}

#[test]
fn its_steps_are_forked_and_its_workflow_started() {
    let (home, hashes) = foreign_home();
    for from in [ACTIVE, FINISHED, &hashes.steps[1].to_string(), &hashes.steps[0].to_string()] {
        let fork = text(&home.json(&["thread", "fork", from]), "thread");
        assert_eq!(home.json(&["thread", "run", &fork])["done"], json!(true), "{from}");
    }
    let back = text(&home.json(&["thread", "fork", ACTIVE, "--from-role", "coder"]), "thread");
    assert_eq!(home.head(&back), Some(hashes.steps[0].to_string()));
    let started = text(&home.json(&["thread", "start", "solve-issue", "-p", "Go on."]), "thread");
    let report = home.json(&["thread", "run", &started]);
    assert_eq!(json!([report["done"], report["reason"]]), json!([true, "end"]));
}

#[test]
fn a_new_version_takes_over_its_registry() {
    let (home, hashes) = foreign_home();
    let new = home.put("solve-issue", &uwf_testing::counting_workflow(1).replace("count-rounds", "solve-issue"));
    assert_eq!(
        home.json(&["thread", "list", "--workflow", "solve-issue"]).as_array().map(Vec::len),
        Some(2),
        "threads of both versions"
    );
    let shown = home.json(&["workflow", "history", "solve-issue"]).to_string();
    assert!(shown.contains(&new) && shown.contains(&hashes.workflow.to_string()), "{shown}");
}
