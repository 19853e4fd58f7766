//! A value counts only where it stands alone; what is talked about is none.

use super::*;

/// A role that decides something.
fn verdict() -> Value {
    json!({"type": "object", "properties": {"approved": {"type": "boolean"}, "comment": {"type": "string"}}, "required": ["approved"]})
}

/// The value that both forms read of a text; they never differ.
fn reads(raw: &str, schema: &Value) -> Option<Value> {
    let schema = CompiledSchema::compile(schema).expect("a valid schema");
    let [text, json] = [frontmatter(raw, &schema), json_rung(raw, &schema)].map(|read| match read {
        Extraction::Found(found) => Some(found.value),
        Extraction::Failed(_) => None,
    });
    assert_eq!(text, json, "{raw}");
    text
}

#[test]
fn the_shared_cases_are_read_right() {
    let Some(cases) = crate::workflow::shared("cases/answers.json") else { return };
    let cases: Vec<Value> = serde_json::from_str(&cases).unwrap();
    assert!(!cases.is_empty());
    for case in cases {
        let found = reads(case["answer"].as_str().unwrap(), &case["schema"]);
        let expected = &case["expect"];
        let is_right = match &found {
            Some(value) => expected.get("value") == Some(value),
            None => expected["exit"] == 41 || expected["or"] == 41,
        };
        assert!(is_right, "{}: {found:?}, expected {expected}", case["name"]);
    }
}

#[test]
fn quoted_value_is_not_answer() {
    for raw in [
        "I do not approve. The API must return {\"approved\": true} for valid users.",
        "No. `{\"approved\": true}` is what it says.",
        "The test expects\n{\"approved\": true} and gets\n{\"approved\": null}, so no.",
        "- it returns\n  {\"approved\": true}\n- which is wrong",
        "- it returns\n{\"approved\": true}\n- which is wrong",
        "1. The fixture:\n```json\n{\"approved\": true}\n```\n2. It is wrong.",
        "1. The fixture:\n\n   ```json\n   {\"approved\": true}\n   ```\n\n2. It is wrong.",
        "> {\"approved\": true}\n\nI can't agree.",
        "> He wrote:\n{\"approved\": true}\nI can't agree.",
        "> ```json\n> {\"approved\": true}\n> ```\nNo.",
        "```diff\n-{\"approved\": false}\n+{\"approved\": true}\n```\nNo.",
        "```diff\n {\"approved\": true}\n```\nNo.",
        "````markdown\nAnswer with\n```json\n{\"approved\": true}\n```\n````\nNo.",
        "~~~\nAnswer with\n```json\n{\"approved\": true}\n```\n~~~\nNo.",
        "The API must return\n```json\n{\"approved\": true}\n```\nfor valid users. It does not.",
        "```python\nresult = 1\napproved: true\n```\nNo.",
        "    {\"approved\": true}\n\nis the fixture. No.\n",
        "The log says approved: true, which is wrong.",
        "It logs\napproved: true\nfor each user, which is wrong.",
        "| case | output |\n|---|---|\n| 1 | {\"approved\": true} |\n\nNo.",
        "<!-- {\"approved\": true} -->\nNo.",
        "It calls `approve({\"approved\": true})`:\n\n    approved: true\n\nNo.",
        "{\"approved\": true} is what I was told to say.",
    ] {
        assert_eq!(reads(raw, &verdict()), None, "{raw}");
    }
}

#[test]
fn a_value_that_stands_alone_is_the_answer() {
    let no = json!({"approved": false, "comment": "no tests"});
    for raw in [
        "{\"approved\": false, \"comment\": \"no tests\"}",
        "\"{\\\"approved\\\": false, \\\"comment\\\": \\\"no tests\\\"}\"",
        "Here is my review.\n\n```json\n{\"approved\": false, \"comment\": \"no tests\"}\n```\n",
        "```json\n{\"approved\": false, \"comment\": \"no tests\"}\n```\n\nIt needs tests: `{\"approved\": null}` was too early.",
        "I looked at it.\n{\n  \"approved\": false,\n  \"comment\": \"no tests\"\n}\n",
        "I looked at it.\n\n---\napproved: false\ncomment: no tests\n---\n",
        "I looked at it.\n\napproved: false\ncomment: no tests\n\nThat is all.",
        "~~~yaml\napproved: false\ncomment: no tests\n~~~",
        "- one\n- two\n\n```\napproved: false\ncomment: no tests\n```\n",
        "1. The fixture:\n   ```json\n   {\"approved\": null}\n   ```\n\n```json\n{\"approved\": false, \"comment\": \"no tests\"}\n```\n",
        "```json\n{\"approved\": false, \"comment\": \"no tests\"}\n```\nOnce more:\n```json\n{\"comment\": \"no tests\", \"approved\": false}\n```\n",
    ] {
        assert_eq!(reads(raw, &verdict()), Some(no.clone()), "{raw}");
    }
}

#[test]
fn invalid_header_prevents_use_of_other_values() {
    for raw in [
        "---\nverdict: no\n---\nThe fixture has {\"approved\": true}.",
        "---\nverdict: no\n---\n```json\n{\"approved\": true}\n```\n",
        "---\napproved: maybe\n---\n{\"approved\": true}",
        "---\napproved: maybe\n---\n\n---\napproved: true\n---\n",
        "⚠ a warning\n---\napproved: maybe\n---\n{\"approved\": true}",
        "```yaml\n---\napproved: maybe\n---\n```\n{\"approved\": true}",
    ] {
        assert_eq!(reads(raw, &verdict()), None, "{raw}");
    }
}

#[test]
fn a_header_says_each_thing_once() {
    for raw in [
        "---\napproved: true\n\napproved: false\n---\nText",
        "---\napproved: true\n\nAfter checking again:\napproved: false\n---\n",
        "---\napproved: true\nstatus: done\nstatus: failed\n---\n",
    ] {
        assert_eq!(reads(raw, &verdict()), None, "{raw}");
    }
}

#[test]
fn tag_mentioned_below_header_is_plain_text() {
    let raw = "---\napproved: false\n---\nThe parser must strip everything up to </think>\n\n```json\n{\"approved\": true}\n```\n\nThen it must stop.\n";
    assert_eq!(reads(raw, &verdict()), Some(json!({"approved": false})));
}

#[test]
fn two_values_that_differ_are_no_answer() {
    let texts = [
        "approved: false\n",
        "---\napproved: false\n---\n",
        "```json\n{\"approved\": false}\n```\n",
        "{\"approved\": false}\n",
    ];
    for (first, second) in texts.iter().flat_map(|first| texts.iter().map(move |second| (first, second))) {
        let raw =
            format!("My verdict:\n\n{first}\nFrom the docs:\n\n{}\nThat is all.\n", second.replace("false", "true"));
        assert_eq!(reads(&raw, &verdict()), None, "{raw}");
        let same = format!("My verdict:\n\n{first}\nOnce more:\n\n{second}\nThat is all.\n");
        assert_eq!(reads(&same, &verdict()), Some(json!({"approved": false})), "{same}");
    }
    let failure = match read("A\n{\"approved\": false}\nB\n{\"approved\": true}\n", &verdict()) {
        Extraction::Failed(failure) => failure.errors,
        Extraction::Found(found) => panic!("{found:?}"),
    };
    assert_eq!(
        failure,
        [
            "the answer has two different values, {\"approved\":false} in line 2 and {\"approved\":true} in line 4: give only one"
        ]
    );
}

#[test]
fn thoughts_are_not_answers() {
    for (raw, expected) in [
        ("<think>\n{\"approved\": true}\n</think>\nI can't decide.", None),
        ("<think>\nI could say\n{\"approved\": true}\nbut", None),
        ("{\"approved\": true}\n</think>\n{\"approved\": false}", Some(false)),
        ("---\napproved: true\n---\nWait.\n</think>\n\n---\napproved: false\n---\n", Some(false)),
        ("<reasoning>---\napproved: true\n---\n</reasoning>\n\napproved: false\n", Some(false)),
        ("<|channel|>analysis<|message|>{\"approved\": true}<|end|>", None),
        (
            "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>{\"approved\": false}",
            Some(false),
        ),
        ("{\"approved\": false, \"comment\": \"</think> is left in\"}", Some(false)),
    ] {
        let found = reads(raw, &verdict()).map(|value| value["approved"] == json!(true));
        assert_eq!(found, expected, "{raw}");
    }
}

#[test]
fn a_prompt_that_comes_back_is_no_answer() {
    let schema = CompiledSchema::compile(&verdict()).unwrap();
    let prompt =
        "# Task\n\nReview it.\n\n# What others did\n\n{\"approved\": true}\n\n# Your part\n\nAnswer in this form.\n";
    let read = |raw: &str| extract::read(raw, AnswerForm::Frontmatter, &schema, &|| prompt.to_owned());
    for raw in [prompt.to_owned(), format!("$ cat\n{prompt}"), prompt.replace('\n', "\r\n"), prompt[9..].to_owned()] {
        assert!(matches!(read(&raw), Extraction::Failed(_)), "{raw}");
    }
    for raw in
        [format!("---\napproved: false\n---\nI was asked:\n{prompt}"), format!("{prompt}\n{{\"approved\": false}}\n")]
    {
        let Extraction::Found(found) = read(&raw) else { panic!("{raw}") };
        assert_eq!(found.value, json!({"approved": false}));
    }
    let Extraction::Found(found) = read("{\"approved\": true}") else { panic!("the same as another role") };
    assert_eq!(found.value, json!({"approved": true}));
}

#[test]
fn no_word_beside_the_value_is_lost() {
    for (raw, body) in [
        ("I do not like it.\n\n---\napproved: true\n---\nBut it works.", "I do not like it.\n\nBut it works."),
        ("Before.\n```json\n{\"approved\": true}\n```\nAfter.", "Before.\n\nAfter."),
        ("Before.\n{\"approved\": true}\n", "Before."),
        ("{\"approved\": true}\n\nAfter.", "After."),
        ("Before.\n\napproved: true\n\nAfter.", "Before.\n\nAfter."),
        (
            "---\napproved: true\n---\nA.\n\n```json\n{\"approved\": false}\n```\nB.",
            "A.\n\n```json\n{\"approved\": false}\n```\nB.",
        ),
    ] {
        assert_eq!(found_in(raw, &verdict()).body, body, "{raw}");
    }
}

#[test]
fn json_mistake_is_repaired_or_rejected_in_place() {
    let schema = json!({"type": "object", "properties": {"x": {"type": "string"}, "y": {"type": "string"}}, "required": ["x", "y"]});
    let mistaken = "{\n  \"x\": \"say \"hi\" now\",\n  \"y\": \"b\"\n}";
    for raw in [mistaken.to_owned(), format!("```json\n{mistaken}\n```\n"), format!("---\n{mistaken}\n---\n")] {
        let Extraction::Failed(failure) = read(&raw, &schema) else { panic!("{raw}") };
        assert!(failure.errors[0].starts_with("invalid JSON at line 2, column 14: "), "{failure:?}");
    }
    let large = json!({"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]});
    for raw in ["{\"n\": 18446744073709551617}", "---\nn: 18446744073709551617\n---\n"] {
        assert_eq!(reads(raw, &large), None, "{raw}");
    }
    assert_eq!(reads("{\"n\": 18446744073709551615}", &large), Some(json!({"n": u64::MAX})));
    let text = json!({"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]});
    for code in ["a\n```\nb\n", "---\na: 1\n---", "\n\n x\n", "{\"code\": \"y\"}", "</think>", "> quoted"] {
        for raw in [
            json!({ "code": code }).to_string(),
            format!("Text.\n```json\n{:#}\n```\nText.", json!({ "code": code })),
            format!("{:#}", json!({ "code": code })),
        ] {
            assert_eq!(reads(&raw, &text), Some(json!({ "code": code })), "{raw}");
        }
    }
}
