//! The tools on real files and processes.

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use json_cas::{MemoryObjects, NodeDraft, Store};
use serde_json::{Value, json};
use tempfile::TempDir;
use uwf_agents::react::tools::submit::SubmitTool;
use uwf_agents::react::tools::{Answer, ReactToolContext, find};
use uwf_agents::react::workspace::ConfinedWorkspace;
use uwf_core::node::{ContentNode, TypedPayload};

/// Text that no tool may reveal.
const SECRET: &str = "sk-0123456789";

struct Place {
    dir: TempDir,
    store: Store,
    /// Lines reported while a command ran.
    heard: RefCell<Vec<u8>>,
}

impl Place {
    fn new() -> Place {
        let dir = TempDir::new().unwrap();
        fs::create_dir(dir.path().join("w")).unwrap();
        Place { dir, store: Store::new(Arc::new(MemoryObjects::default())), heard: RefCell::default() }
    }

    fn work(&self) -> std::path::PathBuf {
        self.dir.path().join("w")
    }

    fn file(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.work().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.work().join(name)).unwrap()
    }

    fn run(&self, tool: &str, arguments: Value) -> Answer {
        let workspace = ConfinedWorkspace::open(&self.work()).unwrap();
        let prepare = |command: &mut Command| {
            command.env_remove("A_SECRET_OF_THE_TEST");
        };
        let scene = ReactToolContext {
            workspace: &workspace,
            store: &self.store,
            prepare: &prepare,
            clean: &|text: &str| text.replace(SECRET, "[redacted]"),
            heard: &|bytes: &[u8]| self.heard.borrow_mut().extend_from_slice(bytes),
        };
        (find(tool).unwrap().run)(&scene, arguments.as_object().unwrap())
    }
}

fn ok(text: &str) -> Answer {
    Ok(text.to_owned())
}

fn refused(text: &str) -> Answer {
    Err(text.to_owned())
}

#[test]
fn secrets_split_across_chunks_or_cuts_are_redacted() {
    let place = Place::new();
    let pieces = "printf 'it is sk-01234'; sleep 0.3; printf '56789 now'";
    assert_eq!(place.run("shell_exec", json!({ "command": pieces })), ok("exit 0\nit is [redacted] now"));
    assert_eq!(place.heard.take(), b"it is [redacted] now");
    // Of 32 KB the first and the last 16 are kept: both places of the cut fall into a secret.
    let long = "head -c 16378 /dev/zero | tr '\\0' x; echo; echo sk-0123456789; yes | head -c 9998; echo sk-0123456789; \
                yes | head -c 16376";
    let told = place.run("shell_exec", json!({ "command": long })).unwrap();
    assert!(told.contains("bytes cut") && !told.contains("sk-0") && !told.contains("56789"), "{told}");
}

#[test]
fn file_is_read_by_lines_and_reports_rest() {
    let place = Place::new();
    place.file("a.txt", "one\ntwo\nthree\nfour");
    let read = |arguments| place.run("read_file", arguments);
    assert_eq!(read(json!({ "path": "a.txt" })), ok("one\ntwo\nthree\nfour"));
    assert_eq!(
        read(json!({ "path": "./a.txt", "offset": 2, "limit": 2 })),
        ok("two\nthree\n[lines 2 to 3 of a file of 18 bytes; continue with offset 4]")
    );
    assert_eq!(read(json!({ "path": "a.txt", "offset": 4 })), ok("four"));
    assert_eq!(read(json!({ "path": "a.txt", "offset": 9 })), refused("`a.txt` has 4 lines; line 9 is not there"));
    assert_eq!(read(json!({ "path": "b.txt" })), refused("`b.txt` does not exist"));
    place.file("empty", "");
    assert_eq!(read(json!({ "path": "empty" })), ok(""));
    let absolute = place.work().join("a.txt");
    assert_eq!(read(json!({ "path": absolute, "offset": 4 })), ok("four"));
}

#[test]
fn parts_of_large_file_join_without_gaps() {
    let place = Place::new();
    let text: String = (0..20_000).map(|n| format!("this is line {n}\n")).collect();
    place.file("large", &text);
    let (mut joined, mut offset) = (String::new(), 1);
    loop {
        let told = place.run("read_file", json!({ "path": "large", "offset": offset, "limit": 100_000 })).unwrap();
        assert!(told.len() < 70_000);
        match told.rsplit_once("continue with offset ") {
            Some((part, next)) => {
                joined.push_str(&part[..part.rfind('[').unwrap()]);
                offset = next.trim_end_matches(']').parse().unwrap();
            }
            None => {
                joined.push_str(&told);
                break;
            }
        }
    }
    assert!(joined == text);
    place.file("one-line", "x".repeat(200_000));
    let told = place.run("read_file", json!({ "path": "one-line" })).unwrap();
    assert!(
        told.ends_with("\n[line 1 is longer than this; the file has 200000 bytes]"),
        "{}",
        &told[told.len() - 99..]
    );
}

#[test]
fn non_text_file_is_rejected_without_blocking() {
    let place = Place::new();
    place.file("bin", b"a\0b");
    place.file("dir/x", "");
    let made = Command::new("mkfifo").arg(place.work().join("fifo")).status().unwrap();
    assert!(made.success());
    let begun = Instant::now();
    assert_eq!(place.run("read_file", json!({ "path": "bin" })), refused("`bin` is not a text (3 bytes)"));
    assert_eq!(place.run("read_file", json!({ "path": "dir" })), refused("`dir` is a directory"));
    assert_eq!(place.run("read_file", json!({ "path": "fifo" })), refused("`fifo` is not a regular file"));
    assert_eq!(
        place.run("write_file", json!({ "path": "fifo", "content": "x" })),
        refused("`fifo` is not a regular file")
    );
    assert_eq!(place.run("write_file", json!({ "path": "dir", "content": "x" })), refused("`dir` is a directory"));
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_file_is_written_with_its_directories() {
    let place = Place::new();
    assert_eq!(
        place.run("write_file", json!({ "path": "a/b/c.txt", "content": "long before" })),
        ok("wrote 11 bytes to a/b/c.txt")
    );
    fs::set_permissions(place.work().join("a/b/c.txt"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(
        place.run("write_file", json!({ "path": "a/b/c.txt", "content": "new" })),
        ok("wrote 3 bytes to a/b/c.txt")
    );
    assert_eq!(place.text("a/b/c.txt"), "new");
    let mode = place.work().join("a/b/c.txt").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755, "it is the same file, not another in its place");
    assert_eq!(
        place.run("write_file", json!({ "path": "a/b/c.txt/d", "content": "" })),
        refused("`a/b/c.txt/d` goes through something that is not a directory")
    );
}

#[test]
fn old_text_of_patch_must_be_unique() {
    let place = Place::new();
    let patch = |old: &str, new: &str| place.run("patch_file", json!({ "path": "f", "old": old, "new": new }));
    place.file("f", "fn a() {}\nfn b() {}\n");
    assert_eq!(patch("fn b() {}", "fn b() { 1 }"), ok("patched f at line 2"));
    assert_eq!(place.text("f"), "fn a() {}\nfn b() { 1 }\n");
    assert_eq!(
        patch("fn ", "x"),
        refused("the old text occurs more than once in `f` (lines 1, 2); include more of the surrounding text")
    );
    assert_eq!(
        patch("fn c", "x"),
        refused("the old text does not occur in `f`; read the file and copy it letter by letter")
    );
    assert!(patch("", "x").unwrap_err().contains("write_file"));
    place.file("f", "aaa");
    assert!(patch("aa", "b").is_err(), "overlapping places are two places");
    place.file("f", "one\r\ntwo\r\n");
    assert_eq!(patch("one\ntwo\n", "1\n2\n"), ok("patched f at line 1"));
    assert_eq!(place.text("f"), "1\r\n2\r\n");
    place.file("f", b"\xff");
    assert_eq!(patch("x", "y"), refused("`f` is not UTF-8 text"));
}

#[test]
fn invalid_arguments_are_stated_as_facts() {
    let place = Place::new();
    let told = |tool: &str, arguments| place.run(tool, arguments).unwrap_err();
    assert_eq!(told("read_file", json!({})), "invalid arguments: missing field `path`");
    assert!(told("read_file", json!({ "path": 7 })).contains("expected a string"));
    assert!(told("read_file", json!({ "path": "x", "lines": 7 })).contains("unknown field `lines`"));
    assert!(told("shell_exec", json!({ "command": "true", "timeout": 0 })).contains("up to 1800 seconds"));
    assert!(told("cas_get", json!({ "hash": "nope" })).contains("`nope` is not a hash"));
}

#[test]
fn command_runs_in_workspace_and_reports_exit_code() {
    let place = Place::new();
    place.file("here", "");
    let exec = |command: &str| place.run("shell_exec", json!({ "command": command })).unwrap();
    assert_eq!(exec("ls; echo oops >&2; exit 3"), "exit 3\nhere\noops\n");
    assert_eq!(exec("cat"), "exit 0\n", "there is no input");
    assert_eq!(exec("kill -9 $$"), "ended by signal 9\n");
    let flood = exec("head -c 1000000 /dev/zero | tr '\\0' x; echo end");
    assert!(flood.len() < 40_000 && flood.ends_with("end\n") && flood.contains("bytes cut"), "{}", flood.len());
}

#[test]
fn timed_out_command_is_ended_with_its_descendants() {
    let place = Place::new();
    let begun = Instant::now();
    // The inner shell ignores TERM, and so must be killed.
    let command = "echo begun; (trap '' TERM; echo $BASHPID > inner; sleep 30; sleep 30) & sleep 30";
    let told = place.run("shell_exec", json!({ "command": command, "timeout": 0.3 }));
    assert_eq!(told, ok("ended after 0.3 s, with everything it had started\nbegun\n"));
    assert!(begun.elapsed() < Duration::from_secs(10));
    let stat = fs::read_to_string(format!("/proc/{}/stat", place.text("inner").trim())).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z "), "it is still there: {stat}");
}

#[test]
fn leftover_process_is_reported_and_does_not_block() {
    let place = Place::new();
    let begun = Instant::now();
    let told = place.run("shell_exec", json!({ "command": "sleep 12 & echo started" })).unwrap();
    assert!(told.starts_with("exit 0 (a process that it started is still running"), "{told}");
    assert!(told.ends_with("started\n"), "{told}");
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_node_is_read_by_its_hash() {
    let place = Place::new();
    let schema = place.store.put_schema(json!({ "title": "t", "type": "object" })).unwrap();
    let node = place.store.put(&NodeDraft::new(schema, json!({ "n": 1 })).unwrap()).unwrap();
    let told = place.run("cas_get", json!({ "hash": node.to_string() }));
    assert_eq!(told, ok("{\n  \"n\": 1\n}"));
    let text = ContentNode { text: "what was said".to_owned() }.draft();
    let missing = place.run("cas_get", json!({ "hash": text.hash().to_string() })).unwrap_err();
    assert!(missing.contains(&text.hash().to_string()), "{missing}");
}

#[test]
fn non_object_output_is_submitted_wrapped() {
    let schema = json_cas::CompiledSchema::compile(
        &json!({ "type": "array", "items": { "$ref": "#/$defs/n" }, "$defs": { "n": { "type": "integer" } } }),
    )
    .unwrap();
    let submit = SubmitTool::new(&schema);
    assert_eq!(
        submit.parameters(),
        json!({
            "type": "object", "required": ["value"], "additionalProperties": false,
            "$defs": { "n": { "type": "integer" } },
            "properties": { "value": { "type": "array", "items": { "$ref": "#/$defs/n" } } },
        })
    );
    let check = |arguments: Value| submit.check(arguments.as_object().unwrap(), &|value| schema.violations(value));
    assert_eq!(check(json!({ "value": [1, 2] })), Ok(json!([1, 2])));
    assert!(check(json!({ "value": ["x"] })).unwrap_err().starts_with("not accepted, the output is not valid:\n- "));
    assert!(check(json!({})).unwrap_err().contains("`value` is missing"));
}

#[test]
fn links_are_followed_only_inside_workspace() {
    let place = Place::new();
    let outside = place.dir.path().join("secret");
    fs::write(&outside, "secret").unwrap();
    place.file("sub/file", "inside");
    symlink("../secret", place.work().join("out")).unwrap();
    symlink(&outside, place.work().join("absolute")).unwrap();
    symlink("..", place.work().join("up")).unwrap();
    symlink("sub/file", place.work().join("in")).unwrap();
    for path in ["out", "absolute", "up/secret", "up/w/sub/file"] {
        let told = place.run("read_file", json!({ "path": path })).unwrap_err();
        assert!(told.contains("leads out of the workspace"), "{path}: {told}");
        assert!(place.run("write_file", json!({ "path": path, "content": "x" })).is_err(), "{path}");
        assert!(place.run("patch_file", json!({ "path": path, "old": "s", "new": "x" })).is_err(), "{path}");
    }
    assert!(place.run("write_file", json!({ "path": "up/new/file", "content": "x" })).is_err());
    assert!(!place.dir.path().join("new").exists());
    if cfg!(target_os = "linux") {
        assert_eq!(place.run("read_file", json!({ "path": "in" })), ok("inside"));
    }
    assert_eq!(fs::read_to_string(Path::new(&outside)).unwrap(), "secret");
}

#[test]
fn outside_hard_link_is_readable_but_not_writable() {
    let place = Place::new();
    let outside = place.dir.path().join("profile");
    fs::write(&outside, "secret").unwrap();
    fs::hard_link(&outside, place.work().join("notes")).unwrap();
    assert_eq!(place.run("read_file", json!({ "path": "notes" })), ok("secret"));
    for (tool, arguments) in [
        ("write_file", json!({ "path": "notes", "content": "x" })),
        ("patch_file", json!({ "path": "notes", "old": "secret", "new": "x" })),
    ] {
        let told = place.run(tool, arguments).unwrap_err();
        assert!(told.contains("`notes` is one of 2 names of its file (hard links)"), "{told}");
    }
    assert_eq!(fs::read_to_string(&outside).unwrap(), "secret");
    // As the prompt asks of the model.
    fs::copy(place.work().join("notes"), place.work().join("copy")).unwrap();
    fs::rename(place.work().join("copy"), place.work().join("notes")).unwrap();
    place.run("write_file", json!({ "path": "notes", "content": "mine" })).unwrap();
    assert_eq!(fs::read_to_string(&outside).unwrap(), "secret");
    // Where the configuration allows it (`hardLinks: true`).
    fs::hard_link(&outside, place.work().join("shared")).unwrap();
    let workspace = ConfinedWorkspace::open(&place.work()).unwrap().with_hard_links(true);
    assert!(workspace.write("shared").is_ok() && workspace.edit("shared").is_ok());
}
