//! A file that no `mod` names is not compiled, so its tests never run, and no report says so.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use uwf_testing::repository;

use crate::modules::Modules;

/// Files of Rust below a directory.
pub(crate) fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let Ok(entries) = fs::read_dir(dir) else { return files };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort_unstable();
    files
}

/// Directories of the packages of the workspace, and of the fuzz targets.
pub(crate) fn packages() -> Vec<PathBuf> {
    let crates = fs::read_dir(repository().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let mut packages: Vec<PathBuf> = crates.chain(["bench", "fuzz"].map(|name| repository().join(name))).collect();
    packages.sort_unstable();
    packages
}

/// The files that cargo compiles by themselves: libraries, programs, tests, examples, build scripts.
fn is_root(package: &Path, file: &Path) -> bool {
    let parts: Vec<&str> = file.strip_prefix(package).unwrap().iter().map(|part| part.to_str().unwrap()).collect();
    matches!(
        parts[..],
        ["build.rs"]
            | ["src", "lib.rs" | "main.rs"]
            | ["src", "bin", _]
            | ["examples" | "benches" | "tests" | "fuzz_targets", _]
            | ["examples" | "benches" | "tests", _, "main.rs"]
    )
}

#[test]
fn every_file_is_a_module_of_something() {
    let files: BTreeSet<PathBuf> = packages().iter().flat_map(|package| rust_files(package)).collect();
    let mut compiled = BTreeSet::new();
    for package in packages() {
        for root in files.iter().filter(|file| file.starts_with(&package) && is_root(&package, file)) {
            compiled.extend(Modules::read(root).files().map(|file| file.canonicalize().unwrap()));
        }
    }
    assert!(files.len() > 400, "{} files", files.len());
    let forgotten: Vec<_> = files.difference(&compiled).collect();
    assert!(forgotten.is_empty(), "no `mod` names these files, so they are not compiled: {forgotten:#?}");
}
