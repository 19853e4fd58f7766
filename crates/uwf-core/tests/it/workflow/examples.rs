//! Files as users have them.

use uwf_core::workflow::{DraftSchema, GraphDrawing, Transition, Workflow, check};

use super::{lines, shared};

/// Reads an example, which must have no error, and gives it with its warnings.
fn example(name: &str, stem: &str) -> Option<(Workflow, String)> {
    let text = shared(&format!("examples/{name}"))?;
    let parsed = check(&text, name, Some(stem));
    assert!(!parsed.has_errors(), "{}", lines(&parsed.problems));
    crate::file_schema::agrees_on_workflow(&text, &parsed.problems);
    let workflow = parsed
        .draft
        .expect("no errors")
        .resolve(|_, schema| json_cas::NodeDraft::new(json_cas::bootstrap::HASH, schema).map(|draft| draft.hash()));
    Some((workflow.expect("schemas encode"), lines(&parsed.problems)))
}

fn to(role: &str, condition: Option<&str>) -> Transition {
    Transition { role: role.to_owned(), condition: condition.map(str::to_owned), outcome: None }
}

#[test]
fn the_current_form_loads_without_a_word() {
    for stem in ["analyze-topic", "solve-issue"] {
        let Some((workflow, warnings)) = example(&format!("{stem}.yaml"), stem) else {
            return;
        };
        assert_eq!((workflow.name.as_str(), warnings.as_str()), (stem, ""));
    }
}

#[test]
fn the_earlier_role_form_loads() {
    let Some((workflow, warnings)) = example("legacy-role-form.yaml", "legacy-role-form") else {
        return;
    };
    let role = &workflow.roles["planner"];
    assert_eq!(role.goal, "You are a planning agent...");
    assert_eq!((role.procedure.as_str(), role.output.as_str()), ("", ""));
    assert_eq!(workflow.graph["$START"], [to("planner", None)]);
    assert_eq!(workflow.graph["planner"], [to("$END", Some("needsClarification")), to("developer", None)]);
    assert_eq!(warnings, "");
}

#[test]
fn the_transition_table_loads() {
    let Some((workflow, warnings)) = example("solve-issue-rfc.json", "solve-issue") else {
        return;
    };
    assert_eq!(warnings, "");
    assert_eq!(workflow.graph["$START"], [to("preparer", None)]);
    assert_eq!(workflow.graph["submitter"], [to("$END", None)]);
    assert_eq!(workflow.roles["developer"].output, "Extract the developer result as JSON...");
}

#[test]
fn conditions_written_into_the_table_get_names() {
    let Some((workflow, _)) = example("develop-rfc.json", "develop") else {
        return;
    };
    let names: Vec<&str> = workflow.conditions.keys().map(String::as_str).collect();
    assert_eq!(names, ["coder-to-reviewer", "planner-to-end", "reviewer-to-tester", "tester-to-committer"]);
    assert_eq!(workflow.graph["planner"], [to("$END", Some("planner-to-end")), to("coder", None)]);
    assert_eq!(workflow.conditions["planner-to-end"].expression, "$steps[role='planner'].meta.status = 'aborted'");
    assert!(GraphDrawing::from_workflow(&workflow, None).mermaid().contains("-->|\"planner-to-end"));
}

#[test]
fn schemas_get_a_title_unless_they_have_one() {
    let text = "
name: check-title
roles:
  a: { meta: { type: object, properties: { x: {} } } }
  b: { meta: { title: mine, type: object } }
  c: { meta: \"0ABCDEFGHJKMN\" }
graph:
  $START: [ { role: a } ]
  a: [ { role: b } ]
  b: [ { role: c } ]
  c: [ { role: $END } ]
";
    let draft = super::sound(text);
    assert!(matches!(&draft.roles["c"].meta, DraftSchema::Stored(hash) if hash.to_string() == "0ABCDEFGHJKMN"));
    let mut seen = Vec::new();
    let workflow = draft.resolve(|role, schema| {
        seen.push((role.to_owned(), schema["title"].as_str().map(str::to_owned)));
        Ok::<_, ()>(json_cas::NodeHash::from_u64(7))
    });
    let expected =
        [("a", "check-title.a"), ("b", "mine")].map(|(role, title)| (role.to_owned(), Some(title.to_owned())));
    assert_eq!(seen, expected);
    assert_eq!(workflow.map(|w| w.roles["a"].meta), Ok(json_cas::NodeHash::from_u64(7)));
}
