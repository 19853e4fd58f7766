//! docx-diff 0.1.0 on documents made with python-docx 1.2.0.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;
use uwf_testing::{TestHome, repository, text};

use super::{detail, installed};

/// An `office-agent` that writes real documents; `#!` is the installed Python.
const OFFICE: &str = r#"
import sys
from docx import Document

command, rest = sys.argv[1], sys.argv[2:]
document = Document() if command == "create" else Document(rest[0])
document.add_paragraph(rest[0] if command == "create" else rest[1])
document.save(rest[2] if command == "create" else rest[0])
print(command, "done")
"#;

/// A home with the shipped example and its configuration, the real docx-diff and an office-agent on python-docx.
fn office() -> TestHome {
    let home = super::home(&[("docx-diff", "venv/bin/docx-diff")]);
    home.script("office-agent", &format!("#!{}{OFFICE}", installed("venv/bin/python").display()));
    home.config(&fs::read_to_string(repository().join("examples/write-document.config.yaml")).unwrap());
    home
}

/// Runs Python code with the installed packages; returns what it prints.
fn python(code: &str, args: &[&Path]) -> String {
    let output = Command::new(installed("venv/bin/python")).arg("-c").arg(code).args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn start(home: &TestHome, task: &str) -> String {
    let example = repository().join("examples/write-document.yaml");
    super::start(home, example.to_str().unwrap(), task)
}

#[test]
fn docx_diff_shows_what_was_changed() {
    let home = office();
    let input = home.work().join("offer.docx");
    python(
        "import sys\nfrom docx import Document\nd = Document()\nd.add_paragraph('A shed.')\nd.save(sys.argv[1])",
        &[&input],
    );
    let thread = start(&home, &json!({ "prompt": "And a fence.", "inputDocx": "offer.docx" }).to_string());
    let report = home.json(&["thread", "run", &thread]);
    assert_eq!((&report["done"], &report["reason"]), (&json!(true), &json!("end")), "{report}");
    let step = home.json(&["thread", "steps", &thread])["steps"][2]["output"].clone();
    let diff = text(&step, "diffDocx");
    let words = python(
        "import sys\nfrom docx import Document\nd = Document(sys.argv[1])\nprint('\\n'.join([p.text for p in d.paragraphs] + [c.text for t in d.tables for r in t.rows for c in r.cells]))",
        &[Path::new(&diff)],
    );
    assert!(words.contains("And a fence."), "{words}");
    assert_eq!(detail(&home, &thread)["extractedBy"], "submit");
}

#[test]
fn docx_diff_fails_on_what_is_no_document() {
    let home = office();
    let input = home.work().join("offer.docx");
    python("import sys\nfrom docx import Document\nDocument().save(sys.argv[1])", &[&input]);
    let thread = start(&home, &json!({ "prompt": "And a fence.", "inputDocx": "offer.docx" }).to_string());
    home.json(&["thread", "step", &thread]);
    let dir = home.root().join("outputs").join(&thread);
    fs::write(dir.join("modified.docx"), "no document").unwrap();
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(40), "it exits with 1, as it does for a difference: {}", ran.transcript());
    assert!(ran.stderr.contains("diff.docx was not made"), "{}", ran.stderr);
}
