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

/// Cargo leaves out what has `test = false`, and ignores names beside `--tests`, so each test target is named.
#[test]
fn script_names_every_test_target() {
    let script = fs::read_to_string(repository().join("test")).unwrap();
    let named: BTreeSet<&str> =
        script.split("--test ").skip(1).filter_map(|rest| rest.split([' ', ')', '\n']).next()).collect();
    let roots = packages().into_iter().flat_map(|package| {
        let files = rust_files(&package.join("tests"));
        files.into_iter().filter(move |file| is_root(&package, file)).collect::<Vec<_>>()
    });
    let targets: BTreeSet<String> = roots
        .map(|root| {
            let root = if root.ends_with("main.rs") { root.parent().unwrap().to_owned() } else { root };
            root.file_stem().unwrap().to_string_lossy().into_owned()
        })
        .collect();
    assert!(targets.len() > 10, "{targets:?}");
    let forgotten: Vec<&String> = targets.iter().filter(|target| !named.contains(target.as_str())).collect();
    assert!(forgotten.is_empty(), "no part of ./test builds these: {forgotten:?}");
}
