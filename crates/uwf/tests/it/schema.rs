//! `uwf schema`: JSON Schemas of the files that people write.

use std::fs;
use std::path::{Path, PathBuf};

use json_cas::CompiledSchema;
use serde_json::{Value, json};
use uwf_core::document::SourceDocument;
use uwf_testing::repository;

use crate::home;

const NAMES: [&str; 4] = ["workflow", "config", "mock", "events"];

fn printed(name: &str) -> Value {
    let ran = home().uwf(&["schema", name]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    serde_json::from_str(&ran.stdout).unwrap()
}

fn compiled(schema: &Value) -> CompiledSchema {
    CompiledSchema::compile(schema).unwrap_or_else(|error| panic!("{error}"))
}

/// What a schema refuses in a file.
fn refused(schema: &CompiledSchema, text: &str, file: &str) -> Vec<String> {
    let document = SourceDocument::parse(text, file).unwrap_or_else(|problems| panic!("{file}: {problems:?}"));
    schema.violations(&document.value).iter().map(|violation| format!("{file}{violation:?}")).collect()
}

#[test]
fn without_a_name_the_schemas_are_listed() {
    let home = home();
    let names: Vec<Value> =
        home.json(&["schema"]).as_array().unwrap().iter().map(|line| line["name"].clone()).collect();
    assert_eq!(names, NAMES);
    insta::assert_snapshot!(home.transcript(&["schema", "--format", "text"]), @"
    exit 0
    workflow  workflow files
    config    config.yaml
    mock      scripts for the agent uwf-mock
    events    events, one line of `uwf thread live --format json`
    ");
}

#[test]
fn unknown_name_is_rejected_with_possible_values() {
    insta::assert_snapshot!(home().transcript(&["schema", "workflows"]), @"
    exit 64
    --- stderr
    error: invalid value 'workflows' for '[NAME]'
    hint: possible values: workflow, config, mock, events
    hint: a similar value exists: 'workflow'
    ");
}

#[test]
fn a_schema_is_json_in_every_format() {
    let home = home();
    let text = home.uwf(&["schema", "config", "--format", "text"]).stdout;
    let json = home.uwf(&["schema", "config", "--format", "json"]).stdout;
    assert!(text.lines().count() > 100);
    assert_eq!(json.lines().count(), 1);
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), serde_json::from_str::<Value>(&json).unwrap());
}

#[test]
fn schema_needs_neither_root_nor_valid_config() {
    let home = home();
    home.config("agents: [");
    assert_eq!(home.uwf(&["schema", "workflow"]).code, Some(0));
    let mut command = home.command(&["schema", "workflow"]);
    let ran: uwf_testing::FinishedRun =
        command.env("UNCAGED_WORKFLOW_STORAGE_ROOT", "/dev/null/nowhere").output().unwrap().into();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

#[test]
fn the_published_schemas_are_current() {
    for name in NAMES {
        let path = repository().join(format!("docs/reference/schemas/{name}.json"));
        let stored = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            stored == home().uwf(&["schema", name]).stdout,
            "{name}.json is out of date; run: cargo run -p uwf -- schema {name} > docs/reference/schemas/{name}.json"
        );
    }
}

/// A schema that its own dialect refuses would be silently ignored by editors.
#[test]
fn schemas_are_valid_in_their_declared_dialect() {
    for name in NAMES {
        let schema = printed(name);
        assert_eq!(schema["$schema"], "http://json-schema.org/draft-07/schema#");
        let errors: Vec<_> = json_cas::schema::check(&schema)
            .into_iter()
            .filter(|problem| problem.severity != json_cas::schema::SchemaSeverity::Note)
            .collect();
        assert_eq!(errors, [], "{name}");
    }
}

#[test]
fn example_and_shared_files_match_schemas() {
    let (workflow, config) = (compiled(&printed("workflow")), compiled(&printed("config")));
    let mut looked_at = 0;
    for dir in [repository().join("examples"), repository().join("../shared/examples")] {
        // A clone has only the first.
        let Ok(entries) = fs::read_dir(&dir) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()) {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let schema = match name.rsplit_once('.') {
                Some((stem, "yaml")) if stem.ends_with("config") => &config,
                Some((_, "yaml" | "json")) => &workflow,
                _ => continue,
            };
            looked_at += 1;
            assert_eq!(refused(schema, &fs::read_to_string(&path).unwrap(), &name), Vec::<String>::new());
        }
    }
    assert!(looked_at >= 8, "{looked_at} files are too few");
}

/// The pages people read.
fn pages() -> Vec<PathBuf> {
    let mut pages = vec![repository().join("README.md"), repository().join("examples/README.md")];
    for dir in ["guide", "reference", "internals"] {
        let entries = fs::read_dir(repository().join("docs").join(dir)).unwrap();
        pages.extend(entries.map(|entry| entry.unwrap().path()).filter(|path| path.extension() == Some("md".as_ref())));
    }
    pages.sort();
    pages
}

/// The blocks of YAML in a page, each with its line.
fn yaml_blocks(page: &Path) -> Vec<(String, String)> {
    let text = fs::read_to_string(page).unwrap();
    let mut blocks = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (number, line) in text.lines().enumerate() {
        match &mut open {
            Some((begun, block)) if line.starts_with("```") => {
                blocks.push((format!("{}:{begun}", page.display()), std::mem::take(block)));
                open = None;
            }
            Some((_, block)) => {
                block.push_str(line);
                block.push('\n');
            }
            None if line == "```yaml" => open = Some((number + 2, String::new())),
            None => {}
        }
    }
    blocks
}

/// A part of a file may lack what the whole needs.
fn part_of(schema: &Value) -> CompiledSchema {
    let mut part = schema.clone();
    for key in ["required", "oneOf"] {
        part.as_object_mut().unwrap().shift_remove(key);
    }
    compiled(&part)
}

#[test]
fn documentation_yaml_blocks_match_schemas() {
    let schemas = ["workflow", "config", "mock"].map(printed);
    let keys = |schema: &Value| schema["properties"].as_object().cloned().unwrap_or_default();
    let parts = [part_of(&schemas[0]), part_of(&schemas[1]), compiled(&schemas[2])];
    let mut counts = [0; 3];
    let mut others = Vec::new();
    for (place, block) in pages().iter().flat_map(|page| yaml_blocks(page)) {
        let Ok(document) = SourceDocument::parse(&block, &place) else {
            others.push(place);
            continue;
        };
        let Some(map) = document.value.as_object() else {
            others.push(place);
            continue;
        };
        let of = |which: usize| map.keys().all(|key| keys(&schemas[which]).contains_key(key));
        let is_script = map.values().all(|value| {
            value.as_array().is_some_and(|entries| {
                let acts = ["reply", "fail", "hang", "garbage"];
                entries.iter().all(|entry| acts.iter().any(|act| entry.get(act).is_some()))
            })
        });
        let which = if of(0) && map.keys().any(|key| key != "description") {
            0
        } else if of(1) {
            1
        } else if is_script {
            2
        } else {
            others.push(place);
            continue;
        };
        counts[which] += 1;
        let is_whole_workflow = which == 0 && map.contains_key("name") && map.contains_key("roles");
        let schema = if is_whole_workflow { &compiled(&schemas[0]) } else { &parts[which] };
        assert_eq!(refused(schema, &block, &place), Vec::<String>::new());
    }
    assert!(counts.iter().all(|count| *count >= 2), "{counts:?}");
    // The configuration of another program, and lines from within a graph.
    let pages: Vec<&str> = others.iter().filter_map(|place| place.rsplit(['/', ':']).nth(1)).collect();
    assert_eq!(pages, ["for-agents.md", "workflow-format.md"], "{others:#?}");
}

#[test]
fn mistakes_are_reported_with_their_position() {
    let schema = compiled(&printed("workflow"));
    let text =
        "name: w\nroles: { a: { gaol: x, meta: { type: strin } } }\ngraph: { $START: [ { role: a, when: x } ] }\n";
    let document = SourceDocument::parse(text, "w.yaml").unwrap();
    let paths: Vec<String> = schema.violations(&document.value).into_iter().map(|violation| violation.path).collect();
    assert!(paths.iter().any(|path| path.starts_with("/graph/$START/0")), "{paths:?}");
    assert!(paths.iter().any(|path| path.starts_with("/roles/a")), "{paths:?}");
    let config = compiled(&printed("config"));
    let value = json!({ "providers": { "p": { "baseUrl": "u", "apiKeyEnv": "sk-0123456789abcdef0123" } } });
    assert_eq!(config.violations(&value)[0].path, "/providers/p/apiKeyEnv");
}

#[test]
fn events_of_a_real_thread_fit() {
    let home = home();
    home.worker("output: json", "#!/bin/sh\necho '{\"n\": 1}'\n");
    let thread = home.start_counting(2, "count");
    home.uwf(&["thread", "run", &thread]);
    let ran = home.uwf(&["thread", "live", &thread, "--format", "json"]);
    let schema = compiled(&printed("events"));
    let events: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(events.iter().any(|event| event["event"] == "step") && events.len() >= 4, "{}", ran.stdout);
    for event in events {
        assert_eq!(schema.violations(&event), [], "{event}");
    }
}
