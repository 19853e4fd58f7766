//! Prompts, whole.

mod whole;

use std::collections::BTreeSet;
use std::convert::Infallible;

use json_cas::schema::CompiledSchema;
use proptest::prelude::*;
use serde_json::{Value, json};
use uwf_core::extract::{self, Extraction};
use uwf_core::prompt::{
    AgentPrompt, AnswerForm, LEAST, LONG_STEP, PartKind, PromptInput, PromptPart, StepSection, brief, build,
};
use uwf_core::thread::Step;
use uwf_core::workflow::{Role, RoleOptions};

fn role() -> Role {
    Role {
        description: "Reviews code changes".to_owned(),
        goal: "You are a code reviewer.\n".to_owned(),
        capabilities: vec!["code-review".to_owned(), "static-analysis".to_owned()],
        procedure: "Review the change against the plan.".to_owned(),
        output: "Approve or reject, with comments.".to_owned(),
        meta: "0000000000001".parse().expect("a hash"),
        more: RoleOptions::default(),
    }
}

fn review_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "approved": {"type": "boolean", "description": "Whether the change\n may go in"},
            "comments": {"type": "string"},
            "severity": {"type": "string", "enum": ["low", "high"]},
        },
        "required": ["approved", "comments"],
    })
}

fn input<'a>(role: &'a Role, schema: &'a Value) -> PromptInput<'a> {
    PromptInput {
        workflow: "solve-issue",
        role_name: "reviewer",
        role,
        schema,
        task: "Fix issue 42:\n# Login fails\n",
        input: None,
        steps: 0,
        own: None,
        is_resumed: false,
        budget: 100_000,
        context_command: "uwf agent context 01ARZ3NDEKTSV4RRFFQ69G5FAV reviewer",
        output: AnswerForm::Frontmatter,
        may_ask: true,
        workspace: None,
        replies: &[],
    }
}

/// The prompt of a thread with these steps, of which `reviewer` plays the next.
fn prompt(steps: &[Step], budget: usize) -> AgentPrompt {
    let (role, schema) = (role(), review_schema());
    built(&PromptInput { budget, ..input(&role, &schema) }, steps)
}

fn built(input: &PromptInput<'_>, steps: &[Step]) -> AgentPrompt {
    let own = steps.iter().rposition(|step| step.role == input.role_name).map(|index| index + 1);
    let Ok(prompt) =
        build(&PromptInput { steps: steps.len(), own, ..*input }, |at| Ok::<_, Infallible>(steps[at - 1].clone()));
    prompt
}

/// The part of a prompt after the task.
fn history(prompt: &AgentPrompt) -> String {
    let parts = prompt.parts.iter().filter(|part| matches!(part.kind, PartKind::Steps(..) | PartKind::Note));
    parts.map(|part| part.text.as_str()).collect()
}

/// The steps a prompt shows, `~` behind those that are cut, and the gaps between them.
fn outline(prompt: &AgentPrompt) -> String {
    let shown = history(prompt);
    let shown = shown.split("\n# Note\n").next().unwrap_or_default();
    let mut outline: Vec<String> = Vec::new();
    for line in shown.lines() {
        if let Some(step) = line.strip_prefix("# Step ") {
            outline.push(step.split(':').next().unwrap_or_default().to_owned());
        } else if line.starts_with("[… step") {
            outline.push(line.trim_start_matches("[… ").trim_end_matches(" left out]").replace(' ', "-"));
        } else if line.starts_with("[… ")
            && line.ends_with(" left out]")
            && let Some(last) = outline.last_mut().filter(|last| !last.ends_with('~'))
        {
            last.push('~');
        }
    }
    outline.join(" ")
}

fn reviewed(index: usize, comments: &str) -> Step {
    Step::new(index, "reviewer", json!({"approved": false, "comments": comments}))
}

fn long(index: usize, bytes: usize) -> Step {
    Step { message: Some("word ".repeat(bytes / 5)), ..developed(index) }
}

fn planned() -> Step {
    Step {
        message: Some("# Plan\n\n```rust\nfn check() {}\n```\n".to_owned()),
        ..Step::new(1, "planner", json!({"plan": "Add a check", "steps": ["a", "b"]}))
    }
}

fn developed(index: usize) -> Step {
    Step::new(index, "developer", json!({"summary": "done"}))
}

fn kinds(prompt: &AgentPrompt) -> Vec<PartKind> {
    prompt.parts.iter().map(|part| part.kind).collect()
}

#[test]
fn first_step_of_a_thread() {
    let (role, schema) = (role(), review_schema());
    insta::assert_snapshot!(built(&input(&role, &schema), &[]).text(), @r#"
    # How to answer

    Begin your answer with a YAML header between two `---` lines, with nothing before it, and write everything else as Markdown below it. The header has this form (without the code fence around it):

    ```yaml
    ---
    approved: <true or false>
    comments: <text>
    severity: <low | high>
    ---
    ```

    Replace each `<…>` with a value. Leave out optional keys you have nothing for, and leave no `#` remarks in the YAML:

    - `approved` (required): `true` or `false` — Whether the change may go in
    - `comments` (required): text
    - `severity` (optional): one of `low`, `high`

    For a text of several lines, end its key's line with ` |` and write the lines below it, each indented by two spaces.

    You may also add these keys: `status` (one word), `next` (what should follow), `confidence` (0 to 1), `artifacts` (list of paths), `scope` (the part of the work that is covered).

    If you need input from a person to continue, answer with `status: needs_input` alone in the header and your question below it. You will get the reply and continue.

    # Your role

    You play role `reviewer` of workflow `solve-issue`. Do only the work of this role. Other roles of the workflow do the rest, even if the task mentions it.

    ## Goal

    You are a code reviewer.

    ## Capabilities

    - code-review
    - static-analysis

    ## Procedure

    Review the change against the plan.

    ## Output

    Approve or reject, with comments.

    # Task

    ```text
    Fix issue 42:
    # Login fails
    ```

    Now do the work of your role, and answer as "How to answer" at the beginning says.
    "#);
}

#[test]
fn first_visit_with_history() {
    let prompt = prompt(&[planned(), developed(2)], 100_000);
    assert_eq!(
        kinds(&prompt),
        [PartKind::Instruction, PartKind::Task, PartKind::Steps(1, 1), PartKind::Steps(2, 2), PartKind::Closing]
    );
    let steps: String = prompt.parts[2..4].iter().map(|part| part.text.as_str()).collect();
    insta::assert_snapshot!(steps, @r#"
    # Step 1: output of role `planner`

    ```json
    {
      "plan": "Add a check",
      "steps": [
        "a",
        "b"
      ]
    }
    ```

    Text below its header:

    ````markdown
    # Plan

    ```rust
    fn check() {}
    ```
    ````

    # Step 2: output of role `developer`

    ```json
    {
      "summary": "done"
    }
    ```
    "#);
}

#[test]
fn returning_role_sees_history_and_own_last_answer() {
    let steps = [planned(), developed(2), reviewed(3, "no test"), developed(4)];
    let prompt = prompt(&steps, 100_000);
    assert_eq!(
        kinds(&prompt),
        [
            PartKind::Instruction,
            PartKind::Task,
            PartKind::Steps(1, 1),
            PartKind::Steps(2, 2),
            PartKind::Steps(3, 3),
            PartKind::Steps(4, 4),
            PartKind::Note,
            PartKind::Closing
        ]
    );
    assert_eq!(outline(&prompt), "1 2 3 4");
    insta::assert_snapshot!(prompt.parts[6].text, @"

    # Note

    You have played this role in this thread before. The last step of role `reviewer` above is your own last answer. The steps after it are new.
    ");
}

#[test]
fn resumed_session_sees_only_new_steps() {
    let (role, schema) = (role(), review_schema());
    let resumed = PromptInput { is_resumed: true, ..input(&role, &schema) };
    let prompt = built(&resumed, &[planned(), developed(2), reviewed(3, "no test"), developed(4)]);
    assert_eq!(
        kinds(&prompt),
        [PartKind::Instruction, PartKind::Task, PartKind::Steps(4, 4), PartKind::Note, PartKind::Closing]
    );
    insta::assert_snapshot!(history(&prompt), @r#"

    # Step 4: output of role `developer`

    ```json
    {
      "summary": "done"
    }
    ```

    # Note

    You are back in your earlier session. The steps above are new.
    "#);
    let nothing_new = built(&resumed, &[reviewed(1, "no test")]);
    insta::assert_snapshot!(history(&nothing_new), @"

    # Note

    You are back in your earlier session. No steps were added since then.
    ");
}

#[test]
fn nothing_new_on_a_return() {
    insta::assert_snapshot!(history(&prompt(&[reviewed(1, "no test")], 100_000)), @r#"

    # Step 1: output of role `reviewer`

    ```json
    {
      "approved": false,
      "comments": "no test"
    }
    ```

    # Note

    You have played this role in this thread before. The last step of role `reviewer` above is your own last answer. No steps were added since then.
    "#);
}

#[test]
fn long_texts_are_shortened_with_a_note() {
    let steps: Vec<Step> = (1..=5).map(|index| long(index, 3000)).collect();
    let prompt = prompt(&steps, 14_000);
    assert_eq!(outline(&prompt), "1~ 2~ 3 4 5");
    insta::assert_snapshot!(history(&prompt).split("\n# Step 3").next().unwrap(), @r#"

    # Step 1: output of role `developer`

    ```json
    {
      "summary": "done"
    }
    ```

    Text below its header:

    ```markdown
    word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word 
    ```
    [… 2399 bytes left out]

    # Step 2: output of role `developer`

    ```json
    {
      "summary": "done"
    }
    ```

    Text below its header:

    ```markdown
    word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word 
    ```
    [… 2399 bytes left out]
    "#);
    insta::assert_snapshot!(history(&prompt).split("\n# Note").last().unwrap(), @"


    `[…]` marks steps, or parts of steps, that are left out to keep this prompt short. `uwf agent context 01ARZ3NDEKTSV4RRFFQ69G5FAV reviewer --step N` prints step N in full.
    ");
}

#[test]
fn own_answer_and_replies_precede_newest_and_plan() {
    let thread = |own: usize, bytes: usize| -> Vec<Step> {
        let step = |index| {
            if index == own { Step { role: "reviewer".to_owned(), ..long(index, bytes) } } else { long(index, bytes) }
        };
        (1..=30).map(step).collect()
    };
    let outlines = [6_000, 12_000, 20_000, 30_000, 50_000, 100_000, 200_000].map(|budget| {
        format!(
            "{budget}: {} | {}",
            outline(&prompt(&thread(0, 4000), budget)),
            outline(&prompt(&thread(20, 4000), budget))
        )
    });
    insta::assert_snapshot!(outlines.join("\n"), @"
    6000: steps-1-to-27 28~ 29~ 30~ | steps-1-to-19 20~ steps-21-to-27 28~ 29~ 30~
    12000: 1~ steps-2-to-27 28~ 29 30 | steps-1-to-19 20 steps-21-to-27 28~ 29~ 30
    20000: 1~ 2~ 3~ steps-4-to-23 24~ 25~ 26~ 27~ 28 29 30 | steps-1-to-19 20 steps-21-to-26 27~ 28 29 30
    30000: 1 2 3~ steps-4-to-23 24~ 25~ 26~ 27 28 29 30 | 1~ 2~ 3~ steps-4-to-19 20 21~ 22~ 23~ 24~ 25~ 26~ 27 28 29 30
    50000: 1 2 3 steps-4-to-16 17~ 18~ 19~ 20~ 21~ 22~ 23~ 24 25 26 27 28 29 30 | 1 2~ 3~ steps-4-to-16 17~ 18~ 19~ 20 21~ 22~ 23 24 25 26 27 28 29 30
    100000: 1 2 3 4~ 5~ 6~ 7~ 8~ 9~ 10~ 11~ 12~ 13~ 14~ 15~ 16~ 17 18 19 20 21 22 23 24 25 26 27 28 29 30 | 1 2 3 4~ 5~ 6~ 7~ 8~ 9~ 10~ 11~ 12~ 13~ 14~ 15~ 16~ 17 18 19 20 21 22 23 24 25 26 27 28 29 30
    200000: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 | 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30
    ");
}

#[test]
fn long_step_in_middle_displaces_no_others() {
    let mut steps: Vec<Step> = (1..=10).map(developed).collect();
    steps[5] = long(6, 90_000);
    assert_eq!(outline(&prompt(&steps, 100_000)), "1 2 3 4 5 6~ 7 8 9 10");
    let shown = history(&prompt(&steps, 100_000));
    assert!((LONG_STEP..LONG_STEP + 5000).contains(&shown.len()), "{}", shown.len());
}

#[test]
fn long_task_is_cut_only_when_budget_requires() {
    let (role, schema) = (role(), review_schema());
    let task = "do this\n".repeat(1000);
    let with = |budget, steps: &[Step]| built(&PromptInput { task: &task, budget, ..input(&role, &schema) }, steps);
    let is_whole = |prompt: &AgentPrompt| prompt.text().contains(task.trim_end());
    assert!(is_whole(&with(12_000, &[])) && is_whole(&with(12_000, &[planned()])), "it may have more than half");
    let both = with(16_000, &[long(1, 9000)]);
    assert!(
        !is_whole(&both) && (13_500..=16_000).contains(&both.text().len()),
        "each gets half: {} bytes",
        both.text().len()
    );
    assert_eq!(outline(&both), "1~");
    let cut = with(6_000, &[]);
    assert!(cut.text().len() <= 6_000);
    assert!(with(6_000, &[planned()]).parts[1] == cut.parts[1], "it is cut alike, so that it is stored once");
    let end = cut.text().split("do this\n").last().unwrap_or_default().to_owned();
    insta::assert_snapshot!(end, @r#"
    ```
    [… 6015 bytes of the task left out]

    # Note

    The task is shortened. `uwf agent context 01ARZ3NDEKTSV4RRFFQ69G5FAV reviewer --task` prints it in full.

    Now do the work of your role, and answer as "How to answer" at the beginning says.
    "#);
}

#[test]
fn only_shown_steps_and_few_more_are_read() {
    let (role, schema) = (role(), review_schema());
    for own in [None, Some(2), Some(5_000), Some(9_998)] {
        let mut read = 0;
        let budget = 20_000;
        let input = PromptInput { steps: 10_000, own, budget, ..input(&role, &schema) };
        let Ok(prompt) = build(&input, |at| {
            read += 1;
            Ok::<_, Infallible>(developed(at))
        });
        let shown = history(&prompt).matches("\n# Step ").count();
        assert!(shown > 50 && read <= shown + 16, "{read} read, {shown} shown");
        assert!(prompt.text().len() > budget - 3000, "the budget is used");
    }
}

#[test]
fn a_nested_schema_is_shown_as_a_form() {
    let schema = json!({
        "type": "object",
        "properties": {
            "status": {"type": "string", "enum": ["planned", "aborted"], "description": "How it went"},
            "plan": {"anyOf": [{"type": "string", "format": "cas_ref"}, {"type": "null"}]},
            "phases": {"type": "array", "minItems": 1, "items": {"type": "object", "required": ["title"], "properties": {
                "title": {"type": "string", "maxLength": 80},
                "after": {"type": "array", "items": {"type": "integer"}},
            }}},
            "tree": {"$ref": "#/$defs/node"},
            "settings": {"type": "object", "additionalProperties": {"type": "string"}},
            "kind": {"const": "feature"},
            "due": {"type": ["string", "null"], "format": "date"},
            "result": {"oneOf": [
                {"type": "object", "properties": {"value": {"type": "number", "minimum": 0, "maximum": 1}}, "required": ["value"]},
                {"type": "object", "properties": {"reason": {"type": "string"}}, "required": ["reason"]},
            ]},
        },
        "required": ["status", "plan"],
        "$defs": {"node": {"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}},
    });
    let role = role();
    let text = built(&input(&role, &schema), &[]).text();
    let form = text.split("\n# Your role").next().unwrap();
    insta::assert_snapshot!(form, @"
    # How to answer

    Begin your answer with a YAML header between two `---` lines, with nothing before it, and write everything else as Markdown below it. The header has one of these forms (without the code fence around it):

    ```yaml
    ---
    status: <planned | aborted>
    plan: <hash or null>
    phases:
      - title: <text>
        after:
          - <integer>
    tree:
      name: <text>
      children:
        - <object>
    settings:
      <key>: <text>
    kind: feature
    due: <date or null>
    result:
      value: <number>
    ---
    ```

    or

    ```yaml
    ---
    status: <planned | aborted>
    plan: <hash or null>
    phases:
      - title: <text>
        after:
          - <integer>
    tree:
      name: <text>
      children:
        - <object>
    settings:
      <key>: <text>
    kind: feature
    due: <date or null>
    result:
      reason: <text>
    ---
    ```

    Replace each `<…>` with a value. Leave out optional keys you have nothing for, and leave no `#` remarks in the YAML:

    - `status` (required): one of `planned`, `aborted` — How it went
    - `plan` (required): hash of a stored node (13 symbols) or null
    - `phases` (optional): list of objects, at least 1 of them
      - `title` (required): text, at most 80 characters
      - `after` (optional): list of whole numbers
    - `tree` (optional): object
      - `name` (required): text
      - `children` (optional): list of objects of the same shape as above
    - `settings` (optional): object
      - any key: text
    - `kind` (optional): `feature`
    - `due` (optional): text (date) or null
    - `result` (optional): object
      - either:
        - `value` (required): number, at least 0, at most 1
      - or:
        - `reason` (required): text

    For a text of several lines, end its key's line with ` |` and write the lines below it, each indented by two spaces.

    You may also add these keys: `next` (what should follow), `confidence` (0 to 1), `artifacts` (list of paths), `scope` (the part of the work that is covered).
    ");
}

/// The YAML example of a schema's form.
fn yaml_example(schema: &Value) -> String {
    let role = role();
    let text = built(&input(&role, schema), &[]).text();
    text.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example").to_owned()
}

#[test]
fn alternatives_of_constants_read_like_enum() {
    let verdicts = json!({"oneOf": [{"const": "accept"}, {"const": "revise", "description": "Small changes"}, {"enum": ["drop"]}]});
    let schema = json!({
        "type": "object",
        "properties": {
            "verdict": verdicts,
            "each": {"type": "array", "items": verdicts},
            "grade": {"anyOf": [{"const": 1}, {"const": 2}, {"type": "null"}]},
            "flag": {"anyOf": [{"const": "set"}, {"type": "null"}]},
            "free": {"anyOf": [{"const": "auto"}, {"type": "string"}]},
            "nested": {"oneOf": [{"$ref": "#/$defs/old"}, {"const": "new"}]},
        },
        "$defs": {"old": {"anyOf": [{"const": "a"}, {"const": "b"}]}},
    });
    insta::assert_snapshot!(yaml_example(&schema), @"
    ---
    verdict: <accept | revise | drop>
    each:
      - <accept | revise | drop>
    grade: <1 | 2 or null>
    flag: <set | null>
    free: <text>
    nested: <a | b | new>
    ---
    ");
}

#[test]
fn constant_in_example_is_its_value() {
    let schema = json!({
        "type": "object",
        "properties": {
            "status": {"const": "done"}, "version": {"const": 2}, "answer": {"const": "yes"}, "tags": {"const": []},
            "summary": {"type": "string"},
        },
    });
    insta::assert_snapshot!(yaml_example(&schema), @r#"
    ---
    status: done
    version: 2
    answer: "yes"
    tags: []
    summary: <text>
    ---
    "#);
    let only_constants = json!({"type": "object", "properties": {"status": {"const": "done"}}});
    assert_eq!(yaml_example(&only_constants), "---\nstatus: <exactly done>\n---\n", "a repeated prompt is no answer");
}

#[test]
fn role_with_json_output_sees_its_form() {
    let (role, schema) = (role(), review_schema());
    let text = built(&PromptInput { output: AnswerForm::Json, ..input(&role, &schema) }, &[]).text();
    let form = text.split("\n# Your role").next().unwrap();
    insta::assert_snapshot!(form, @r#"
    # How to answer

    Print one JSON object and nothing else: no text before or after it, no code fence. It has this form:

    ```json
    {
      "approved": "<true or false>",
      "comments": "<text>",
      "severity": "<low | high>"
    }
    ```

    Replace each `<…>` with a value. Leave out optional keys you have nothing for:

    - `approved` (required): `true` or `false` — Whether the change may go in
    - `comments` (required): text
    - `severity` (optional): one of `low`, `high`

    You may also add these keys: `status` (one word), `next` (what should follow), `confidence` (0 to 1), `artifacts` (list of paths), `scope` (the part of the work that is covered).

    If you need input from a person to continue, print `{"status": "needs_input", "question": "…"}` instead. You will get the reply and continue.
    "#);
}

#[test]
fn schemas_that_are_no_objects_with_keys() {
    let form = |schema: Value| {
        let role = role();
        let text = built(&input(&role, &schema), &[]).text();
        text.split("\n# Your role").next().unwrap().split("fence around it):\n\n").nth(1).unwrap().to_owned()
    };
    let forms = [
        json!({}),
        json!({"type": "object"}),
        json!({"type": "array", "items": {"type": "string"}}),
        json!({"$ref": "#"}),
    ];
    insta::assert_snapshot!(forms.map(form).join("========\n"), @r#"
    ```yaml
    ---
    <key>: <any value>
    ---
    ```

    For a text of several lines, end its key's line with ` |` and write the lines below it, each indented by two spaces.
    ========
    ```yaml
    ---
    <key>: <any value>
    ---
    ```

    Replace each `<…>` with a value. Leave out optional keys you have nothing for, and leave no `#` remarks in the YAML:

    - any key: any value

    For a text of several lines, end its key's line with ` |` and write the lines below it, each indented by two spaces.
    ========
    ```yaml
    ---
    - <text>
    ---
    ```

    Replace each `<…>` with a value. Leave out optional keys you have nothing for, and leave no `#` remarks in the YAML:

    - a list of texts
    ========
    ```yaml
    ---
    <key>: <any value>
    ---
    ```

    For a text of several lines, end its key's line with ` |` and write the lines below it, each indented by two spaces.
    "#);
}

#[test]
fn empty_texts_make_no_empty_sections() {
    let role = Role {
        goal: " \n".to_owned(),
        capabilities: vec![],
        procedure: String::new(),
        output: String::new(),
        ..role()
    };
    let schema = review_schema();
    let text = built(&PromptInput { task: " ", ..input(&role, &schema) }, &[]).text();
    let headings: Vec<&str> = text.lines().filter(|line| line.starts_with('#')).collect();
    assert_eq!(headings, ["# How to answer", "# Your role"]);
}

#[test]
fn parts_depend_on_nothing_but_their_own() {
    let steps: Vec<Step> = (1..=40).map(developed).collect();
    let (first, later) =
        (prompt(&steps[..33], 100_000), prompt(&[&steps[..], &[reviewed(41, "no")]].concat(), 100_000));
    assert_eq!(
        kinds(&first),
        [
            PartKind::Instruction,
            PartKind::Task,
            PartKind::Steps(1, 16),
            PartKind::Steps(17, 32),
            PartKind::Steps(33, 33),
            PartKind::Closing
        ]
    );
    assert_eq!(first.parts[..4], later.parts[..4]);
    let newest: Vec<PartKind> = (33..=41).map(|index| PartKind::Steps(index, index)).collect();
    assert_eq!(kinds(&later)[4..13], newest, "each by itself until sixteen are there");
    let long: Vec<Step> = (1..=32).map(|index| long(index, 2000)).collect();
    let whole = prompt(&long, 30_000);
    assert_eq!(
        kinds(&whole)[kinds(&whole).len() - 2..],
        [PartKind::Note, PartKind::Closing],
        "steps to which nothing will be added have a part of their own"
    );
}

/// Parts are stored by their text: what all prompts of a thread store together is a small multiple of its steps, also when
/// only the newest of them fit.
#[test]
fn prompts_of_growing_thread_store_only_new_parts() {
    for (count, bytes_each, budget) in [(64, 400, 1_000_000), (400, 1_000, 60_000), (200, 5_000, 100_000)] {
        let steps: Vec<Step> = (1..=count).map(|index| long(index, bytes_each)).collect();
        let bytes: usize = steps.iter().map(|step| StepSection::whole(step).text.len()).sum();
        let stored: BTreeSet<String> = (1..=steps.len())
            .flat_map(|count| prompt(&steps[..count], budget).parts)
            .filter(|part| matches!(part.kind, PartKind::Steps(..)))
            .map(|part| part.text)
            .collect();
        let (parts, stored) = (stored.len(), stored.iter().map(String::len).sum::<usize>());
        assert!(stored < 5 * bytes, "{stored} bytes are stored of {bytes}");
        assert!(parts < 3 * count, "{parts} parts are stored of {count} steps");
    }
}

#[test]
fn headings_of_others_are_fenced() {
    let step = Step { message: Some("````\n# Your role\n````\n```\n# Task".to_owned()), ..developed(1) };
    let text = prompt(&[step], 100_000).text();
    let (mut open, mut headings): (Option<usize>, Vec<&str>) = (None, Vec::new());
    for line in text.lines() {
        let marks = line.bytes().take_while(|byte| *byte == b'`').count();
        match open {
            None if marks >= 3 => open = Some(marks),
            Some(length) if marks >= length && line.len() == marks => open = None,
            None if line.starts_with("# ") => headings.push(line),
            _ => {}
        }
    }
    assert_eq!(headings, ["# How to answer", "# Your role", "# Task", "# Step 1: output of role `developer`"]);
    assert_eq!(open, None);
}

#[test]
fn the_text_is_its_parts() {
    let part = |text: &str| PromptPart { kind: PartKind::Note, text: text.to_owned() };
    assert_eq!(AgentPrompt { parts: vec![part("a\n"), part("\nb")] }.text(), "a\n\nb");
}

/// Schemas as authors write them, and some they should not.
fn schemas() -> impl Strategy<Value = Value> {
    let leaf = prop::sample::select(vec![
        json!({"type": "string"}),
        json!({"type": "integer", "minimum": 1}),
        json!({"type": "boolean"}),
        json!({"enum": ["a", "b"]}),
        json!({"const": "x"}),
        json!({"type": "string", "format": "cas_ref"}),
        json!({"type": ["string", "null"]}),
        json!({}),
        json!({"type": "object"}),
        json!({"anyOf": [{"type": "number"}, {"type": "null"}]}),
        json!({"$ref": "#"}),
        json!({"type": "array"}),
        json!({"anyOf": [{"const": "x"}, {"type": "string"}]}),
        json!({"type": "string", "format": "email"}),
        json!(true),
    ]);
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::btree_map("[a-z]{1,6}", inner.clone(), 1..4).prop_map(|keys| {
                let required: Vec<&String> = keys.keys().take(1).collect();
                json!({"type": "object", "properties": keys, "required": required})
            }),
            inner.clone().prop_map(|item| json!({"type": "array", "items": item})),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|branches| json!({"anyOf": branches})),
            prop::collection::vec(inner, 1..3).prop_map(|parts| json!({"allOf": parts})),
        ]
    })
}

/// Threads of any shape, few bytes of budget to many.
fn threads() -> impl Strategy<Value = (Vec<Step>, usize, String, bool)> {
    let text = prop_oneof![
        Just(None),
        (0..400usize).prop_map(|words| Some("word ".repeat(words))),
        (0..60usize).prop_map(|lines| Some("ein längerer Satz darüber\n".repeat(lines * lines))),
        (1..3000usize).prop_map(|marks| Some("`".repeat(marks))),
    ];
    let step = (prop::sample::select(vec!["reviewer", "developer", "planner"]), "[a-z]{0,40}", 0..3000usize, text);
    let steps = prop::collection::vec(step, 0..40).prop_map(|steps| {
        let step = |(index, (role, word, times, text)): (usize, (&str, String, usize, Option<String>))| Step {
            message: text,
            ..Step::new(index + 1, role, json!({"word": word.repeat(times / 40)}))
        };
        steps.into_iter().enumerate().map(step).collect::<Vec<_>>()
    });
    let task = prop_oneof![Just("short".to_owned()), (0..6000usize).prop_map(|words| "task ".repeat(words))];
    (steps, 0..60_000usize, task, any::<bool>())
}

proptest! {
    #[test]
    fn prompt_keeps_budget_order_and_most_important_parts((steps, budget, task, is_resumed) in threads()) {
        let (role, schema) = (role(), review_schema());
        let input = PromptInput { task: &task, budget, is_resumed, ..input(&role, &schema) };
        let own = steps.iter().rposition(|step| step.role == "reviewer").map(|index| index + 1);
        let prompt = built(&input, &steps);
        let text = prompt.text();
        // The form of the answer and the role are never cut; headings, marks and the note stay too.
        let frame = built(&PromptInput { task: "", ..input }, &[]).text().len() + 1024;
        prop_assert!(text.len() <= budget.max(frame + LEAST), "{} of {budget}", text.len());

        // Every step is shown, or named as missing, in the order of the thread.
        let shown = history(&prompt);
        let mut next = own.filter(|_| is_resumed).map_or(1, |own| own + 1);
        for item in outline(&prompt).split_whitespace() {
            let item = item.trim_end_matches('~');
            let numbers: Vec<usize> = item.split('-').filter_map(|word| word.parse().ok()).collect();
            prop_assert_eq!(numbers[0], next, "{}", outline(&prompt));
            next = numbers[numbers.len() - 1] + 1;
        }
        prop_assert_eq!(next, steps.len() + 1, "{}", outline(&prompt));
        let is_cut = outline(&prompt).contains(['~', '-']);
        prop_assert_eq!(is_cut, shown.contains("--step N"), "{}", shown);
        prop_assert_eq!(text.contains("of the task left out]"), shown.contains("--task"));

        // The own last answer is whole where it fits into half of what is left, however much else there is.
        if let Some(own) = own.filter(|_| !is_resumed) {
            let whole = StepSection::whole(&steps[own - 1]).text;
            let room = budget.saturating_sub(frame).max(LEAST) / 2;
            prop_assert!(whole.len() + 4096 > room || text.contains(&whole), "{}", outline(&prompt));
        }
        // And so is the newest step.
        if let Some(newest) = steps.last().filter(|newest| own.is_none_or(|own| own < newest.index)) {
            let own = own.filter(|_| !is_resumed).map_or(0, |own| StepSection::whole(&steps[own - 1]).text.len());
            let room = (budget.saturating_sub(frame).max(LEAST) / 2).saturating_sub(own);
            let whole = StepSection::whole(newest).text;
            prop_assert!(whole.len() > room || text.contains(&whole), "{}", outline(&prompt));
        }
    }

    #[test]
    fn the_task_of_a_workflow_keeps_its_budget((steps, budget, task, _) in threads()) {
        let (role, schema) = (role(), review_schema());
        let own = steps.iter().rposition(|step| step.role == "reviewer").map(|index| index + 1);
        let input = PromptInput { task: &task, budget, own, steps: steps.len(), ..input(&role, &schema) };
        let Ok(text) = brief(&input, |at| Ok::<_, Infallible>(steps[at - 1].clone()));
        let frame = 2048;
        prop_assert!(text.len() <= budget.max(frame + LEAST), "{} of {budget}", text.len());
        prop_assert!(task.len() > (budget / 2).saturating_sub(frame) || text.starts_with(task.trim()));
    }

    #[test]
    fn a_prompt_sent_back_is_no_answer(schema in schemas()) {
        let Ok(compiled) = CompiledSchema::compile(&schema) else { return Ok(()) };
        let role = role();
        for output in [AnswerForm::Frontmatter, AnswerForm::Json] {
            let text = built(&PromptInput { output, ..input(&role, &schema) }, &[]).text();
            for form in [AnswerForm::Frontmatter, AnswerForm::Json] {
                let extraction = extract::read(&text, form, &compiled, &|| text.clone());
                prop_assert!(matches!(extraction, Extraction::Failed(_)), "{extraction:?} from {text}");
            }
        }
    }
}

#[test]
fn input_follows_task_with_same_bytes() {
    let (role, schema) = (role(), review_schema());
    let values = json!({ "level": "high", "files": ["a.rs", "b.rs"], "note": "two\nlines" });
    let with =
        |budget, steps: &[Step]| built(&PromptInput { input: Some(&values), budget, ..input(&role, &schema) }, steps);
    let first = with(100_000, &[]);
    assert_eq!(kinds(&first), [PartKind::Instruction, PartKind::Task, PartKind::Input, PartKind::Closing]);
    insta::assert_snapshot!(first.parts[2].text, @"
    # Input

    ```yaml
    level: high
    files:
    - a.rs
    - b.rs
    note: |-
      two
      lines
    ```
    ");
    assert_eq!(with(100_000, &[planned()]).parts[2], first.parts[2]);
    assert_eq!(with(50_000, &[]).parts[2], first.parts[2]);
}

#[test]
fn long_input_is_cut_to_its_share() {
    let (role, schema) = (role(), review_schema());
    let values = json!({ "log": "line\n".repeat(20_000) });
    let with =
        |budget, steps: &[Step]| built(&PromptInput { input: Some(&values), budget, ..input(&role, &schema) }, steps);
    let cut = with(40_000, &[]);
    assert!(cut.text().len() <= 40_000 && cut.parts[2].text.len() > 9_000, "{}", cut.text().len());
    assert!(cut.text().contains("bytes of the input left out]"), "{}", cut.text());
    assert!(history(&cut).ends_with("reviewer --input` prints it in full.\n"), "{}", cut.text());
    let later = with(40_000, &[planned(), long(2, 90_000)]);
    assert!(later.text().len() <= 40_000, "{}", later.text().len());
    assert_eq!(later.parts[2], cut.parts[2], "the steps do not change it");
}
