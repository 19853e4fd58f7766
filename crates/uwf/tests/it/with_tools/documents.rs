//! The agents that write and compare documents, with the example and its configuration as they are shipped, and programs
//! that do what the real ones do.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use uwf_testing::{TestHome, repository, text};

use crate::home;

/// An `office-agent` that knows the smallest document there is: one paragraph in one part.
const OFFICE: &str = r#"#!/usr/bin/env python3
import os, re, sys, zipfile

def text(path):
    with zipfile.ZipFile(path) as docx:
        return re.sub("<[^>]*>", "", docx.read("word/document.xml").decode())

def write(path, words):
    body = "<w:document xmlns:w='http://schemas.openxmlformats.org/wordprocessingml/2006/main'><w:body><w:p><w:r><w:t>"
    with zipfile.ZipFile(path, "w") as docx:
        docx.writestr("[Content_Types].xml", "<Types xmlns='http://schemas.openxmlformats.org/package/2006/content-types'/>")
        docx.writestr("word/document.xml", body + words + "</w:t></w:r></w:p></w:body></w:document>")

if "FAIL" in " ".join(sys.argv):
    sys.exit("office-agent: no licence")
if "SLOW" in " ".join(sys.argv):
    import time
    print("thinking", flush=True)
    time.sleep(60)
if sys.argv[1] == "create":
    assert sys.argv[3] == "-o", sys.argv
    if "NOTHING" not in sys.argv[2]:
        write(sys.argv[4], sys.argv[2])
elif "NOTHING" not in sys.argv[3]:
    write(sys.argv[2], text(sys.argv[2]) + " " + sys.argv[3])
print(f"{sys.argv[1]}: done in {os.path.basename(os.getcwd())}")
"#;

/// A `docx-diff` with the exit codes of the real one: 1 both for a difference and for a traceback.
const DIFF: &str = r#"#!/usr/bin/env python3
import sys, zipfile
source, modified = sys.argv[1:3]
assert sys.argv[3:6] == ["--output", "docx", "--out-file"], sys.argv
read = lambda path: zipfile.ZipFile(path).read("word/document.xml")
a, b = read(source), read(modified)
with zipfile.ZipFile(sys.argv[6], "w") as docx:
    docx.writestr("word/document.xml", a + b"|" + b)
sys.exit(0 if a == b else 1)
"#;

/// A home with the shipped configuration and both programs.
fn office() -> TestHome {
    let home = home();
    home.script("office-agent", OFFICE);
    home.script("docx-diff", DIFF);
    home.config(&fs::read_to_string(repository().join("examples/write-document.config.yaml")).unwrap());
    home
}

fn start(home: &TestHome, task: &str) -> String {
    let example = repository().join("examples/write-document.yaml");
    text(&home.json(&["thread", "start", example.to_str().unwrap(), "-p", task]), "thread")
}

/// The words of a document.
fn words(path: &str) -> String {
    let script = "import re,sys,zipfile; print(re.sub('<[^>]*>', '', zipfile.ZipFile(sys.argv[1]).read('word/document.xml').decode()))";
    let output = Command::new("python3").args(["-c", script, path]).output().unwrap();
    assert!(output.status.success(), "{path}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// Makes a document in the workspace.
fn document(home: &TestHome, name: &str, content: &str) -> PathBuf {
    let path = home.work().join(name);
    let mut python = Command::new("python3").arg("-").stdin(Stdio::piped()).spawn().unwrap();
    let script = format!(
        "import zipfile\nwith zipfile.ZipFile({:?}, 'w') as docx: docx.writestr('word/document.xml', {content:?})\n",
        path.to_str().unwrap()
    );
    python.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    assert!(python.wait().unwrap().success());
    path
}

/// Outputs of the steps so far.
fn outputs(home: &TestHome, thread: &str) -> Vec<Value> {
    let steps = home.json(&["thread", "steps", thread])["steps"].as_array().unwrap().clone();
    steps.iter().skip(1).map(|step| step["output"].clone()).collect()
}

fn dir(home: &TestHome, thread: &str) -> PathBuf {
    home.root().join("outputs").join(thread)
}

#[test]
fn a_new_document_needs_no_comparison() {
    let home = office();
    let thread = start(&home, "An offer for a shed");
    let report = home.json(&["thread", "run", &thread]);
    assert_eq!((&report["done"], &report["reason"]), (&json!(true), &json!("end")), "{report}");
    let output = dir(&home, &thread).join("output.docx");
    assert_eq!(outputs(&home, &thread), [json!({ "mode": "generate", "outputDocx": output, "sourceDocx": null })]);
    assert_eq!(words(output.to_str().unwrap()), "An offer for a shed");
}

#[test]
fn changed_document_is_compared_with_original() {
    let home = office();
    let input = document(&home, "offer.docx", "A shed.");
    let before = fs::read(&input).unwrap();
    let thread = start(&home, &json!({ "prompt": "And a fence.", "inputDocx": "offer.docx" }).to_string());
    let report = home.json(&["thread", "run", &thread]);
    assert_eq!(report["done"], true, "{report}");
    let file = |name: &str| dir(&home, &thread).join(name);
    let (original, modified, diff) = (file("original.docx"), file("modified.docx"), file("diff.docx"));
    assert_eq!(
        outputs(&home, &thread),
        [
            json!({ "mode": "edit", "outputDocx": modified, "sourceDocx": original }),
            json!({ "sourceDocx": original, "modifiedDocx": modified, "diffDocx": diff }),
        ]
    );
    assert_eq!(words(diff.to_str().unwrap()), "A shed.|A shed. And a fence.");
    assert_eq!(fs::read(&input).unwrap(), before, "the input is never written to");
    let head = text(&home.json(&["thread", "show", &thread]), "head");
    let detail = home.json(&["thread", "step-details", &head, "--format", "json"])["detail"].clone();
    assert_eq!((&detail["extractedBy"], &detail["source"]), (&json!("submit"), &json!("stdout")));
}

#[test]
fn a_comparison_without_a_changed_document_is_refused() {
    let home = office();
    let example = fs::read_to_string(repository().join("examples/write-document.yaml")).unwrap();
    let unconditional = example.replace("    - role: differ\n      condition: edited\n", "    - role: differ\n");
    home.put("write-document", &unconditional);
    let thread = home.start("write-document", "An offer");
    home.json(&["thread", "step", &thread]);
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(40));
    let why = "there is nothing to compare: step 1 (writer) has mode `generate`";
    assert_eq!(text(&home.json(&["thread", "show", &thread]), "why"), why);
    assert!(
        ran.stderr.contains("hint: route to this role only after a step whose output.mode is \"edit\""),
        "{}",
        ran.stderr
    );
}

/// Exit code and reason of a step that fails.
fn failure(home: &TestHome, task: &str) -> (Option<i32>, String) {
    let thread = start(home, task);
    let ran = home.uwf(&["thread", "step", &thread]);
    let why = text(&home.json(&["thread", "show", &thread]), "why");
    (ran.code, why.replace(&thread, "<thread>").replace(home.root().parent().unwrap().to_str().unwrap(), "<dir>"))
}

#[test]
fn every_failure_says_what_is_missing() {
    let home = office();
    document(&home, "offer.docx", "A shed.");
    let edit = |prompt: &str| json!({ "prompt": prompt, "inputDocx": "offer.docx" }).to_string();
    let dir = "<dir>/root/outputs/<thread>";
    let cases = [
        ("FAIL".to_owned(), "agent `writer` exited with 1; its last words: office-agent: no licence".to_owned()),
        (
            "NOTHING".to_owned(),
            format!(
                "agent `writer` exited with 0; its last words: create: done in <thread> ({dir}/output.docx was not made)"
            ),
        ),
        (edit("NOTHING"), format!("agent `writer` exited with 0, but left {dir}/modified.docx as it was")),
        (
            json!({ "prompt": "x", "inputDocx": "gone.docx" }).to_string(),
            format!("the document to be changed, {}/gone.docx, does not exist", "<dir>/work"),
        ),
        (json!({ "inputDocx": "offer.docx" }).to_string(), "the task is JSON without a text `prompt`".to_owned()),
    ];
    for (task, why) in cases {
        assert_eq!(failure(&home, &task), (Some(40), why), "{task}");
    }
}

#[test]
fn the_programs_own_time_limit_ends_it() {
    let home = office();
    let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    home.config(&config.replace("timeout: 15m", "timeout: 0.5"));
    assert_eq!(failure(&home, "SLOW"), (Some(40), "agent `writer` was ended after its timeout of 0.5 s".to_owned()));
}

#[test]
fn comparison_without_file_fails_regardless_of_exit_code() {
    let home = office();
    let report = "#!/bin/sh\necho 'Traceback (most recent call last):' >&2\necho 'PackageNotFoundError: no document' >&2\nexit 1\n";
    home.script("docx-diff", report);
    document(&home, "offer.docx", "A shed.");
    let thread = start(&home, &json!({ "prompt": "And a fence.", "inputDocx": "offer.docx" }).to_string());
    home.json(&["thread", "step", &thread]);
    // What an earlier try left is not taken for a result.
    fs::write(dir(&home, &thread).join("diff.docx"), "old").unwrap();
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
    let why = text(&home.json(&["thread", "show", &thread]), "why");
    assert!(why.contains("exited with 1; its last words: PackageNotFoundError: no document ("), "{why}");
    assert!(why.ends_with("diff.docx was not made)"), "{why}");
    home.script("docx-diff", "#!/bin/sh\ntouch \"$6\"\nexit 2\n");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40), "2 is no comparison, file or not");
    home.script("docx-diff", DIFF);
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
    assert!(Path::new(outputs(&home, &thread)[1]["diffDocx"].as_str().unwrap()).is_absolute());
}

#[test]
fn documents_without_a_difference_are_compared_too() {
    let home = office();
    document(&home, "offer.docx", "A shed.");
    let thread = start(&home, &json!({ "prompt": "And a fence.", "inputDocx": "offer.docx" }).to_string());
    home.json(&["thread", "step", &thread]);
    home.script("docx-diff", "#!/bin/sh\nexit 0\n");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
    let why = text(&home.json(&["thread", "show", &thread]), "why");
    assert!(why.starts_with("agent `differ` exited with 0 (") && why.ends_with("diff.docx was not made)"), "{why}");
    home.script("docx-diff", "#!/bin/sh\necho same > \"$6\"\nexit 0\n");
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
    assert_eq!(fs::read_to_string(dir(&home, &thread).join("diff.docx")).unwrap(), "same\n");
}

#[test]
fn comparison_without_written_document_fails() {
    let home = office();
    let example = fs::read_to_string(repository().join("examples/write-document.yaml")).unwrap();
    home.put("write-document", &example.replace("  $START:\n    - role: writer\n", "  $START:\n    - role: differ\n"));
    let thread = home.start("write-document", "An offer");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
    let why = "there is nothing to compare: no step has changed a document (an output with mode `edit`)";
    assert_eq!(text(&home.json(&["thread", "show", &thread]), "why"), why);
}

#[test]
fn outputs_default_to_storage_root() {
    let home = office();
    home.config("agents: { writer: { command: uwf-office }, differ: { command: uwf-docx-diff } }\nagentOverrides: { write-document: { writer: writer, differ: differ } }\n");
    document(&home, "offer.docx", "A shed.");
    let thread = start(&home, &json!({ "prompt": "And a fence.", "inputDocx": "offer.docx" }).to_string());
    home.json(&["thread", "run", &thread]);
    let diff = fs::canonicalize(home.root()).unwrap().join("outputs").join(&thread).join("diff.docx");
    assert_eq!(words(diff.to_str().unwrap()), "A shed.|A shed. And a fence.");
    assert_eq!(outputs(&home, &thread)[1]["diffDocx"], json!(diff));
}

#[test]
fn output_directory_and_program_path_are_configurable() {
    let home = office();
    let script = home.file("tools-office", OFFICE);
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    let elsewhere = home.work().join("made");
    let settings = format!("command: ./tools-office, outputDir: {}", elsewhere.display());
    home.config(&config.replace("command: office-agent, outputDir: outputs", &settings));
    let thread = start(&home, "An offer");
    home.json(&["thread", "step", &thread]);
    assert_eq!(words(elsewhere.join(&thread).join("output.docx").to_str().unwrap()), "An offer");
}
