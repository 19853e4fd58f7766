//! Prompts, whole.

use std::convert::Infallible;

use json_cas::schema::Schema;
use proptest::prelude::*;
use serde_json::{Value, json};
use uwf_core::extract::{Extraction, frontmatter, json as json_rung};
use uwf_core::prompt::{
    AnswerForm, Omitted, PER_STEP_CAP, Part, PartKind, PriorStep, Prompt, PromptInput, StepSection, Visit, build,
    newest_that_fit,
};
use uwf_core::workflow::Role;

fn role() -> Role {
    Role {
        description: "Reviews code changes".to_owned(),
        goal: "You are a code reviewer.\n".to_owned(),
        capabilities: vec!["code-review".to_owned(), "static-analysis".to_owned()],
        procedure: "Review the change against the plan.".to_owned(),
        output: "Approve or reject, with comments.".to_owned(),
        meta: "0000000000001".parse().expect("a hash"),
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

fn input<'a>(role: &'a Role, schema: &'a Value, steps: &'a [StepSection]) -> PromptInput<'a> {
    PromptInput {
        workflow: "solve-issue",
        role_name: "reviewer",
        role,
        schema,
        task: "Fix issue 42:\n# Login fails\n",
        steps,
        omitted: Omitted::default(),
        visit: Visit::First,
        read_hint: Some("uwf thread read 01ARZ3NDEKTSV4RRFFQ69G5FAV"),
        output: AnswerForm::Frontmatter,
    }
}

/// The newest of these steps that fit.
fn within(bytes: usize, steps: &[PriorStep]) -> Vec<StepSection> {
    let Ok(sections) =
        newest_that_fit(bytes, steps.iter().rev().map(|step| Ok::<_, Infallible>(step.clone().rendered())));
    sections
}

/// These steps, whole.
fn told(steps: &[PriorStep]) -> Vec<StepSection> {
    within(100_000, steps)
}

fn planned() -> PriorStep {
    PriorStep {
        index: 1,
        role: "planner".to_owned(),
        output: json!({"plan": "Add a check", "steps": ["a", "b"]}),
        text: Some("# Plan\n\n```rust\nfn check() {}\n```\n".to_owned()),
    }
}

fn developed(index: usize) -> PriorStep {
    PriorStep { index, role: "developer".to_owned(), output: json!({"summary": "done"}), text: None }
}

fn kinds(prompt: &Prompt) -> Vec<PartKind> {
    prompt.parts.iter().map(|part| part.kind).collect()
}

/// Steps and the note that follows them in one part.
fn parted(text: &str) -> (&str, &str) {
    text.split_at(text.find("\n# Note\n").expect("there is a note"))
}

#[test]
fn first_step_of_a_thread() {
    let (role, schema) = (role(), review_schema());
    insta::assert_snapshot!(build(&input(&role, &schema, &[])).text(), @r#"
    # How to answer

    Begin your answer with a YAML header between two `---` lines, with nothing before it, and write everything else as Markdown below it. The header has this form (without the code fence around it):

    ```yaml
    ---
    approved: <true or false>
    comments: <text>
    severity: <low | high>
    ---
    ```

    Replace each `<…>` by a value, leave out optional keys you have nothing for, and write no comments:

    - `approved` (required): `true` or `false` — Whether the change may go in
    - `comments` (required): text
    - `severity` (optional): one of `low`, `high`

    A text of several lines goes below its key, which then ends in ` |`, each line indented by two blanks.

    These keys may be there too; they are noted, but have no effect: `status` (one word), `next` (what should follow), `confidence` (0 to 1), `artifacts` (list of paths), `scope` (what the work covered).

    # Your role

    You play the role `reviewer` of the workflow `solve-issue`. Do this role's work and deliver what is asked of this role, nothing else: the other roles of the workflow do their own part, even if the task names it.

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
    "#);
}

#[test]
fn first_visit_with_history() {
    let (role, schema) = (role(), review_schema());
    let steps = told(&[planned(), developed(2)]);
    let prompt = build(&input(&role, &schema, &steps));
    assert_eq!(kinds(&prompt), [PartKind::Instruction, PartKind::Task, PartKind::Steps(1, 2)]);
    insta::assert_snapshot!(prompt.parts[2].text, @r#"
    # Step 1 of this thread: what the role `planner` delivered

    ```json
    {
      "plan": "Add a check",
      "steps": [
        "a",
        "b"
      ]
    }
    ```

    Its text:

    ````markdown
    # Plan

    ```rust
    fn check() {}
    ```
    ````

    # Step 2 of this thread: what the role `developer` delivered

    ```json
    {
      "summary": "done"
    }
    ```
    "#);
}

#[test]
fn return_visit_with_what_is_new() {
    let (role, schema) = (role(), review_schema());
    let steps = told(&[developed(4)]);
    let omitted = Omitted { told_before: 3, over_budget: 0 };
    let prompt = build(&PromptInput { visit: Visit::Return, omitted, ..input(&role, &schema, &steps) });
    assert_eq!(kinds(&prompt), [PartKind::Instruction, PartKind::Task, PartKind::Steps(4, 4), PartKind::Note]);
    insta::assert_snapshot!(prompt.parts[3].text, @r#"
    # Note

    You have played this role in this thread before. What stands above is new since then. Deliver again in the form above.
    Earlier steps, your own last one included, are not repeated here.
    The command `uwf thread read 01ARZ3NDEKTSV4RRFFQ69G5FAV` shows the whole thread.
    "#);
}

#[test]
fn nothing_new_on_a_return() {
    let (role, schema) = (role(), review_schema());
    let prompt = build(&PromptInput { visit: Visit::Return, read_hint: None, ..input(&role, &schema, &[]) });
    insta::assert_snapshot!(prompt.parts[2].text, @r#"
    # Note

    You have played this role in this thread before. No step was taken since. Deliver again in the form above.
    "#);
}

#[test]
fn a_short_budget_keeps_the_newest_and_says_what_is_left_out() {
    let (role, schema) = (role(), review_schema());
    let steps: Vec<PriorStep> =
        (1..=5).map(|index| PriorStep { index, text: Some("x".repeat(300)), ..developed(index) }).collect();
    let steps = within(1200, &steps);
    let omitted = Omitted { over_budget: 12, told_before: 0 };
    let prompt = build(&PromptInput { omitted, ..input(&role, &schema, &steps) });
    assert_eq!(kinds(&prompt), [PartKind::Instruction, PartKind::Task, PartKind::Steps(3, 5)]);
    let (told, note) = parted(&prompt.parts[2].text);
    assert!(told.len() <= 1200, "{}", told.len());
    let oldest = told.split("\n# Step 4").next().unwrap_or_default();
    insta::assert_snapshot!(format!("{oldest}{note}"), @r#"
    # Step 3 of this thread: what the role `developer` delivered

    ```json
    {
      "summary": "done"
    }
    ```

    [… its text of 300 bytes left out]

    # Note

    Steps before the first one above are left out here to keep this text short.
    Steps marked with […] are shortened.
    The command `uwf thread read 01ARZ3NDEKTSV4RRFFQ69G5FAV` shows the whole thread.
    "#);
}

#[test]
fn nested_schema() {
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
    let text = build(&input(&role, &schema, &[])).text();
    let form = text.split("\n# Your role").next().unwrap();
    insta::assert_snapshot!(form, @r#"
    # How to answer

    Begin your answer with a YAML header between two `---` lines, with nothing before it, and write everything else as Markdown below it. The header has this form (without the code fence around it):

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
    kind: <exactly feature>
    due: <date or null>
    result:
      value: <number>
    ---
    ```

    Replace each `<…>` by a value, leave out optional keys you have nothing for, and write no comments:

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

    A text of several lines goes below its key, which then ends in ` |`, each line indented by two blanks.

    These keys may be there too; they are noted, but have no effect: `next` (what should follow), `confidence` (0 to 1), `artifacts` (list of paths), `scope` (what the work covered).
    "#);
}

#[test]
fn json_form() {
    let (role, schema) = (role(), review_schema());
    let text = build(&PromptInput { output: AnswerForm::Json, ..input(&role, &schema, &[]) }).text();
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

    Replace each `<…>` by a value, leave out optional keys you have nothing for, and write no comments:

    - `approved` (required): `true` or `false` — Whether the change may go in
    - `comments` (required): text
    - `severity` (optional): one of `low`, `high`

    These keys may be there too; they are noted, but have no effect: `status` (one word), `next` (what should follow), `confidence` (0 to 1), `artifacts` (list of paths), `scope` (what the work covered).
    "#);
}

#[test]
fn schemas_that_are_no_objects_with_keys() {
    let form = |schema: Value| {
        let role = role();
        let text = build(&input(&role, &schema, &[])).text();
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

    A text of several lines goes below its key, which then ends in ` |`, each line indented by two blanks.
    ========
    ```yaml
    ---
    <key>: <any value>
    ---
    ```

    Replace each `<…>` by a value, leave out optional keys you have nothing for, and write no comments:

    - any key: any value

    A text of several lines goes below its key, which then ends in ` |`, each line indented by two blanks.
    ========
    ```yaml
    ---
    - <text>
    ---
    ```

    Replace each `<…>` by a value, leave out optional keys you have nothing for, and write no comments:

    - a list of texts
    ========
    ```yaml
    ---
    <key>: <any value>
    ---
    ```

    A text of several lines goes below its key, which then ends in ` |`, each line indented by two blanks.
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
    let text = build(&PromptInput { task: " ", ..input(&role, &schema, &[]) }).text();
    let headings: Vec<&str> = text.lines().filter(|line| line.starts_with('#')).collect();
    assert_eq!(headings, ["# How to answer", "# Your role"]);
}

#[test]
fn parts_depend_on_nothing_but_their_own() {
    let (role, schema) = (role(), review_schema());
    let steps = told(&(1..=40).map(developed).collect::<Vec<_>>());
    let first = build(&input(&role, &schema, &steps[..33]));
    let later = build(&PromptInput { visit: Visit::Return, read_hint: None, ..input(&role, &schema, &steps) });
    assert_eq!(
        kinds(&first),
        [
            PartKind::Instruction,
            PartKind::Task,
            PartKind::Steps(1, 16),
            PartKind::Steps(17, 32),
            PartKind::Steps(33, 33)
        ]
    );
    assert_eq!(first.parts[..4], later.parts[..4]);
    assert_eq!(later.parts[4].kind, PartKind::Steps(33, 40));
    let whole = build(&PromptInput { visit: Visit::Return, ..input(&role, &schema, &steps[..32]) });
    assert_eq!(whole.parts[..4], later.parts[..4]);
    assert_eq!(kinds(&whole)[4..], [PartKind::Note], "steps to which nothing will be added have a part of their own");
}

#[test]
fn long_texts_are_cut_and_that_is_said() {
    let (role, schema) = (role(), review_schema());
    let steps = told(&[PriorStep { text: Some("ä".repeat(PER_STEP_CAP)), ..developed(1) }]);
    let prompt = build(&input(&role, &schema, &steps));
    let (told, note) = parted(&prompt.parts[2].text);
    assert!(told.ends_with(&format!("\n[… {PER_STEP_CAP} bytes left out]\n")), "{told}");
    insta::assert_snapshot!(note, @r#"
    # Note

    Steps marked with […] are shortened.
    The command `uwf thread read 01ARZ3NDEKTSV4RRFFQ69G5FAV` shows the whole thread.
    "#);
}

#[test]
fn headings_of_others_are_fenced() {
    let (role, schema) = (role(), review_schema());
    let steps = told(&[PriorStep { text: Some("````\n# Your role\n````\n```\n# Task".to_owned()), ..developed(1) }]);
    let prompt = build(&input(&role, &schema, &steps));
    let text = prompt.text();
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
    assert_eq!(
        headings,
        ["# How to answer", "# Your role", "# Task", "# Step 1 of this thread: what the role `developer` delivered"]
    );
    assert_eq!(open, None);
}

#[test]
fn the_text_is_its_parts() {
    let part = |text: &str| Part { kind: PartKind::Note, text: text.to_owned() };
    assert_eq!(Prompt { parts: vec![part("a\n"), part("\nb")] }.text(), "a\n\nb");
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

proptest! {
    #[test]
    fn a_prompt_sent_back_is_no_answer(schema in schemas()) {
        let Ok(compiled) = Schema::compile(&schema) else { return Ok(()) };
        let role = role();
        for output in [AnswerForm::Frontmatter, AnswerForm::Json] {
            let text = build(&PromptInput { output, ..input(&role, &schema, &[]) }).text();
            for extraction in [frontmatter(&text, &compiled), json_rung(&text, &compiled)] {
                prop_assert!(matches!(extraction, Extraction::Failed(_)), "{extraction:?} from {text}");
            }
        }
    }
}
