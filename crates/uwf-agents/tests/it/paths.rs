//! No path leads out of the workspace, however it is put together.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tempfile::TempDir;
use uwf_agents::react::workspace::ConfinedWorkspace;

/// Pieces paths are made of: what is there, what is not, and every way out.
const PIECES: [&str; 16] =
    ["..", ".", "", "a", "b", "new", "out", "outdir", "loop", "in", "absolute", "~", "ä", "...", "secret", "w"];

/// A workspace `w` beside a secret, with links of every kind.
fn place() -> TempDir {
    let dir = TempDir::new().unwrap();
    let work = dir.path().join("w");
    fs::create_dir_all(work.join("a/b")).unwrap();
    fs::create_dir(dir.path().join("outside")).unwrap();
    fs::write(dir.path().join("secret"), "secret").unwrap();
    fs::write(dir.path().join("outside/secret"), "secret").unwrap();
    fs::write(work.join("a/secret"), "mine").unwrap();
    for (name, target) in [
        ("out", PathBuf::from("../secret")),
        ("outdir", PathBuf::from("../outside")),
        ("a/outdir", PathBuf::from("../../outside")),
        ("absolute", dir.path().join("outside")),
        ("loop", PathBuf::from("loop")),
        ("in", PathBuf::from("a")),
    ] {
        symlink(target, work.join(name)).unwrap();
    }
    dir
}

/// Everything outside the workspace: path and content.
fn outside(dir: &Path) -> Vec<(PathBuf, Option<String>)> {
    let mut found = Vec::new();
    for place in [dir.to_owned(), dir.join("outside")] {
        for entry in fs::read_dir(place).unwrap() {
            let path = entry.unwrap().path();
            let text = fs::read_to_string(&path).ok();
            found.push((path, text));
        }
    }
    found.sort();
    found
}

fn path() -> impl Strategy<Value = String> {
    let pieces = proptest::collection::vec(prop::sample::select(PIECES.to_vec()), 0..6);
    let start =
        prop::sample::select(vec!["", "/", "<w>/", "<w>", "<dir>/", "//", "/proc/self/cwd/", "/proc/self/root/"]);
    (start, pieces).prop_map(|(start, pieces)| format!("{start}{}", pieces.join("/")))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_path_escapes(paths in proptest::collection::vec(path(), 1..8)) {
        use std::io::{Read, Write};
        let dir = place();
        let work = dir.path().join("w");
        let before = outside(dir.path());
        let workspace = ConfinedWorkspace::open(&work).unwrap();
        for path in paths {
            let path = path.replace("<w>", &work.to_string_lossy()).replace("<dir>", &dir.path().to_string_lossy());
            if let Ok(mut file) = workspace.read(&path) {
                let mut text = String::new();
                file.read_to_string(&mut text).unwrap();
                prop_assert_ne!(text, "secret", "{} was read", path);
            }
            if let Ok(mut file) = workspace.edit(&path) {
                file.write_all(b"edited").unwrap();
            }
            if let Ok(mut file) = workspace.write(&path) {
                file.write_all(b"written").unwrap();
            }
        }
        prop_assert_eq!(outside(dir.path()), before);
    }

    #[test]
    fn any_text_is_a_path_or_is_refused(path in any::<String>()) {
        let dir = place();
        let before = outside(dir.path());
        let workspace = ConfinedWorkspace::open(&dir.path().join("w")).unwrap();
        let _ = workspace.read(&path);
        let _ = workspace.write(&path);
        prop_assert_eq!(outside(dir.path()), before);
    }
}
