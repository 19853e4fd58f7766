//! Documents say by which tests a promise is held. A test that was renamed or removed has to be followed there.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use uwf_testing::repository;

use crate::forgotten_files::{packages, rust_files};

/// Names of functions, of everything that is tested.
fn functions() -> BTreeSet<String> {
    let files = packages().iter().flat_map(|package| rust_files(package)).collect::<Vec<PathBuf>>();
    let texts = files.iter().map(|file| fs::read_to_string(file).unwrap());
    let names = |text: String| {
        let after = text.split("fn ").skip(1).map(|after| after.split(['(', '<']).next().unwrap().to_owned());
        after.collect::<Vec<_>>()
    };
    texts.flat_map(names).collect()
}

/// The words in backticks that look like a test: a sentence of three words or more, or the beginning of one before `…`.
fn sentences(document: &str) -> Vec<&str> {
    let quoted = document.split('`').skip(1).step_by(2);
    let is_name =
        |word: &&str| word.bytes().all(|byte| byte == b'_' || byte.is_ascii_lowercase() || byte.is_ascii_digit());
    quoted
        .map(|word| (word.strip_suffix('…').unwrap_or(word), word.ends_with('…')))
        .filter(|(word, is_cut)| is_name(word) && word.matches('_').count() >= if *is_cut { 1 } else { 2 })
        .map(|(word, _)| word)
        .collect()
}

#[test]
fn tests_and_files_named_in_documents_exist() {
    let functions = functions();
    let directory = repository().join("docs/internals");
    let mut seen = 0;
    let mut missing = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        for sentence in sentences(&text) {
            seen += 1;
            let next = functions.range(sentence.to_owned()..).next();
            if !next.is_some_and(|next| next.starts_with(sentence)) {
                missing.push(format!("{name}: {sentence}"));
            }
        }
        let quoted = text.split('`').skip(1).step_by(2);
        for file in quoted.filter(|word| word.ends_with(".rs") && word.contains("/tests/")) {
            seen += 1;
            let file = file.trim_start_matches("crates/");
            if !repository().join("crates").join(file).exists() {
                missing.push(format!("{name}: {file}"));
            }
        }
    }
    assert!(seen > 80, "{seen} tests and files were found in the documents");
    assert!(missing.is_empty(), "documents name tests and files that do not exist: {missing:#?}");
}
