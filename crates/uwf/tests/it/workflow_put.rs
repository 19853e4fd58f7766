//! `uwf workflow put`: a file becomes a stored workflow.

use uwf_testing::text;

use crate::home;

pub(crate) const REVIEW: &str = r#"name: review-text
description: A writer and a reviewer.
roles:
  writer:
    description: writes one sentence
    goal: Write one sentence.
    meta: { type: object, properties: { title: { type: string }, words: { type: integer } }, required: [title] }
  reviewer:
    description: approves it or not
    goal: Approve or not.
    meta: { type: object, properties: { approved: { type: boolean } }, required: [approved] }
conditions:
  rejected: { description: not good yet, expression: "steps[-1].output.approved = false" }
graph:
  $START: [ { role: writer } ]
  writer: [ { role: reviewer } ]
  reviewer:
    - { role: writer, condition: rejected }
    - { role: $END }
"#;

/// The same with one mistake of each kind that people make.
pub(crate) const BROKEN: &str = r#"name: review-text
roles:
  writer:
    goal: Write one sentence.
    meta: { type: object, properties: { title: { type: strin } } }
  reviewer:
    goal: Approve or not.
    meta: 0000000000000
conditions:
  rejected: { expression: "steps[-1].output.approved = " }
graph:
  $START: [ { role: writer } ]
  writer: [ { role: reveiwer } ]
  reviewer:
	- { role: writer, condition: rejcted }
"#;

pub(crate) fn broken() -> String {
    BROKEN.replace('\t', "    ")
}

#[test]
fn what_validate_takes_put_takes_and_what_it_refuses_put_refuses() {
    let home = home();
    let schema = text(&home.json(&["cas", "schema", "put", r#"{"type":"object"}"#]), "hash");
    let by_hash = |hash: &str| {
        REVIEW.replace(
            "meta: { type: object, properties: { approved: { type: boolean } }, required: [approved] }",
            &format!("meta: {hash}"),
        )
    };
    for (name, content, code) in [
        ("inline", REVIEW.to_owned(), 0),
        ("stored-schema", by_hash(&schema), 0),
        ("unknown-schema", by_hash("0000000000001"), 65),
        ("broken", broken(), 65),
        ("empty", String::new(), 65),
        ("list", "[1, 2]".to_owned(), 65),
    ] {
        let file = home.file(&format!("{name}.yaml"), &content);
        let codes = ["validate", "put"]
            .map(|command| home.uwf(&["workflow".as_ref(), command.as_ref(), file.as_os_str()]).code);
        assert_eq!(codes, [Some(code); 2], "{name}");
    }
}
