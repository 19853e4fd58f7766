//! A folder with too many files has several subjects, and a reader no longer sees what belongs together.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::forgotten_files::{packages, rust_files};

/// About as many names as fit on a screen with the first lines of their parent.
const MAX_FILES: usize = 35;

#[test]
fn source_folders_have_few_files() {
    let mut files: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for file in packages().iter().flat_map(|package| rust_files(&package.join("src"))) {
        *files.entry(file.with_file_name("")).or_default() += 1;
    }
    assert!(files.len() > 100, "{} folders", files.len());
    files.retain(|_, count| *count > MAX_FILES);
    assert!(files.is_empty(), "group the files of these folders in folders of their own: {files:#?}");
}
