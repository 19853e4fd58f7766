//! `uwf api`, and the description of the API.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use uwf_testing::{TestHome, repository};

fn home() -> TestHome {
    TestHome::new(uwf_testing::uwf_program())
}

#[test]
fn the_api_is_called_without_a_server() {
    let home = home();
    home.worker("output: json", "#!/bin/sh\ncat > /dev/null\necho '{\"n\": 1}'\n");
    let thread = home.start_counting(1, "count");
    assert_eq!(home.json(&["api", "GET", "/threads"]), home.json(&["thread", "list", "--all"]));
    assert_eq!(home.json(&["api", "get", "/api/threads?state=active"])[0]["thread"], json!(thread));
    let status = home.json(&["api", "GET", &format!("/threads/{thread}")]);
    let mut shown = home.json(&["thread", "show", &thread]);
    shown["records"] = home.json(&["thread", "steps", &thread])["steps"].take();
    assert_eq!(status, shown);
    let data = json!({ "expectedHead": status["head"] }).to_string();
    let step = ["api", "POST", &*format!("/threads/{thread}/step"), "--data", &data];
    assert_eq!(home.json(&step)["done"], true);
    assert_eq!(home.uwf(&step).code, Some(75), "the same again is refused");
    assert_eq!(home.uwf(&["api", "GET", "/threads/ZZZZZ"]).code, Some(69));
    assert_eq!(home.uwf(&["api", "GET", "threads"]).code, Some(64));
}

#[test]
fn events_are_printed_until_the_thread_ends() {
    let home = home();
    home.worker("output: json", "#!/bin/sh\ncat > /dev/null\necho '{\"n\": 1}'\n");
    let thread = home.start_counting(1, "count");
    assert_eq!(home.uwf(&["run", &thread]).code, Some(0));
    let ran = home.uwf(&["api", "GET", &format!("/threads/{thread}/events")]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stdout.contains("event: step") && ran.stdout.contains("event: end"), "{}", ran.stdout);
}

/// Whatever a route of the API is called in the source is described, and the other way round.
#[test]
fn the_description_has_every_path_and_no_other() {
    let document = home().json(&["api", "GET", "/openapi.json"]);
    assert_eq!(document["openapi"], "3.1.0");
    let described: BTreeSet<String> = document["paths"].as_object().expect("paths").keys().cloned().collect();
    let mut routes = BTreeSet::new();
    let sources = repository().join("crates/uwf-server/src");
    let files =
        std::fs::read_dir(sources.join("api")).expect("the API has files").map(|entry| entry.expect("an entry").path());
    for file in files.chain(["gateway/lists.rs", "gateway/events.rs", "hooks.rs"].map(|file| sources.join(file))) {
        let source = std::fs::read_to_string(file).unwrap_or_default();
        let source = source.split("#[cfg(test)]").next().unwrap_or_default();
        let path = |rest: &str| {
            let named = rest.split(',').next()?.trim();
            let literal = match named.strip_prefix('"') {
                Some(literal) => literal,
                // A constant of that file.
                None => source.split_once(&format!("const {named}: &str = \""))?.1,
            };
            literal.split('"').next().map(|path| path.strip_prefix("/api").unwrap_or(path).to_owned())
        };
        routes.extend(source.split(".route(").skip(1).filter_map(path));
    }
    // The actions are one route, and each is described.
    assert!(routes.remove("/threads/{thread}/{action}"), "{routes:?}");
    let actions =
        |path: &String| document["paths"][path].get("post").is_some() && path.starts_with("/threads/{thread}/");
    let others: BTreeSet<String> = described.iter().filter(|path| !actions(path)).cloned().collect();
    assert_eq!(others, routes);
    let operations = document["paths"].as_object().into_iter().flatten().flat_map(|(_, item)| item.as_object());
    let ids: Vec<&Value> = operations.flatten().map(|(_, operation)| &operation["operationId"]).collect();
    assert_eq!(ids.iter().map(|id| id.as_str()).collect::<BTreeSet<_>>().len(), ids.len(), "ids are unique");
}

/// A field that names an option which the command does not have would be described by nothing.
#[test]
fn fields_and_queries_are_described_by_their_commands() {
    let document = home().json(&["api", "GET", "/openapi.json"]);
    let operations =
        document["paths"].as_object().into_iter().flatten().flat_map(|(_, item)| item.as_object().unwrap());
    let mut described = 0;
    for (_, operation) in operations {
        assert!(operation["summary"].as_str().is_some_and(|summary| summary.ends_with('.')), "{operation}");
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let body = &operation["requestBody"]["content"]["application/json"]["schema"]["properties"];
        let fields = body.as_object().into_iter().flatten().map(|(_, field)| field);
        for field in parameters.chain(fields) {
            assert!(
                field["description"].as_str().is_some_and(|text| !text.is_empty()),
                "{}: {field}",
                operation["operationId"]
            );
            described += 1;
        }
    }
    assert!(described > 50, "{described}");
    let limit =
        &document["paths"]["/threads/{thread}/limit"]["post"]["requestBody"]["content"]["application/json"]["schema"];
    assert_eq!(limit["properties"]["steps"], json!({ "type": "integer", "description": "Maximum number of steps." }));
    let by = &document["paths"]["/cost"]["get"]["parameters"][1];
    assert_eq!(by["schema"]["enum"][0], "thread", "{by}");
}

/// Also without python3, which writes the file.
#[test]
fn published_openapi_document_is_current() {
    let published = std::fs::read_to_string(repository().join("docs/reference/openapi.json")).unwrap();
    let published: Value = serde_json::from_str(&published).unwrap();
    let is_current = published == home().json(&["api", "GET", "/openapi.json"]);
    assert!(
        is_current,
        "docs/reference/openapi.json is out of date; run: python3 scripts/http-api.py target/debug/uwf"
    );
}

mod with_tools {
    use super::*;

    #[test]
    fn the_published_description_is_current() {
        let mut python = std::process::Command::new("python3");
        let home = home();
        home.prepare(&mut python);
        let output =
            python.arg(repository().join("scripts/http-api.py")).args([uwf_testing::uwf_program(), "--check"]).output();
        let output = output.expect("python3 starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
