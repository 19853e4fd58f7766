//! The index file: which hash each name points at.
//!
//! It is written as sorted lines `NAME: "HASH"`, which are YAML. If people or other programs wrote the file in another form, it is read as
//! YAML and written back as lines. The quotes matter: YAML readers take a hash of digits for a number.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::Path;

use super::yaml;
use crate::hash::NodeHash;
use crate::heads::{HeadsError, is_name};

/// An index without names, as a file. Not an empty file, because a crash can leave one behind.
const EMPTY: &str = "{}\n";

/// Names and their hashes.
pub(super) type Index = BTreeMap<String, NodeHash>;

/// Parses the bytes of an index file.
pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<Index, HeadsError> {
    // Sorted lines don't need the YAML reader, which takes a hundred times as long.
    match lines(bytes) {
        Some(index) => Ok(index),
        None => yaml::read(path, bytes),
    }
}

/// The hash of a name that has its own line, found by binary search because the lines are sorted. A thread can continue although another
/// thread's line is broken, and reading one of 10,000 names does not parse the others. `None` is inconclusive: then use [`parse`].
pub(super) fn find(bytes: &[u8], name: &str) -> Option<NodeHash> {
    let (mut low, mut high) = (0, bytes.len());
    while low < high {
        let middle = low + (high - low) / 2;
        let start = bytes[..middle].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let end = middle + bytes[middle..].iter().position(|byte| *byte == b'\n')? + 1;
        let (found, hash) = line(&bytes[start..end])?;
        match found.as_str().cmp(name) {
            Ordering::Equal => return Some(hash),
            Ordering::Less => low = end,
            Ordering::Greater => high = start,
        }
    }
    None
}

/// The bytes of an index file.
pub(super) fn render(index: &Index) -> String {
    if index.is_empty() {
        return EMPTY.to_owned();
    }
    index.iter().map(|(name, hash)| format!("{name}: \"{hash}\"\n")).collect()
}

/// Parses bytes that consist only of strictly sorted lines.
fn lines(bytes: &[u8]) -> Option<Index> {
    let entries: Vec<(String, NodeHash)> =
        bytes.split_inclusive(|byte| *byte == b'\n').map(line).collect::<Option<_>>()?;
    (!entries.is_empty() && entries.is_sorted_by(|(a, _), (b, _)| a < b)).then(|| entries.into_iter().collect())
}

/// Names and hashes of all intact lines, whatever the other bytes are. A name with several hashes is left out, because the right one is
/// unknown.
pub(super) fn salvage(bytes: &[u8]) -> Vec<(String, NodeHash)> {
    let mut found: BTreeMap<String, Option<NodeHash>> = BTreeMap::new();
    for (name, hash) in bytes.split_inclusive(|byte| *byte == b'\n').filter_map(line) {
        let known = found.entry(name).or_insert(Some(hash));
        *known = known.filter(|known| *known == hash);
    }
    found.into_iter().filter_map(|(name, hash)| Some((name, hash?))).collect()
}

/// Name and hash of one line as this module writes it, including the line break.
fn line(line: &[u8]) -> Option<(String, NodeHash)> {
    let (name, hash) = std::str::from_utf8(line).ok()?.strip_suffix("\"\n")?.split_once(": \"")?;
    is_name(name.as_bytes()).then_some((name.to_owned(), hash.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const A: NodeHash = NodeHash::literal("0000000000001");
    const B: NodeHash = NodeHash::literal("1234567890123");

    fn read(text: &str) -> Result<Index, String> {
        parse(Path::new("index.yaml"), text.as_bytes()).map_err(|error| error.to_string())
    }

    proptest! {
        #[test]
        fn written_entries_are_read_back(index in prop::collection::btree_map("[a-c._-]{1,3}", any::<u64>().prop_map(NodeHash::from_u64), 0..20)) {
            let text = render(&index);
            prop_assert_eq!(lines(text.as_bytes()).unwrap_or_default(), index.clone());
            for name in ["a", "b.c", "_-_"].iter().copied().chain(index.keys().map(String::as_str)) {
                prop_assert_eq!(find(text.as_bytes(), name), index.get(name).copied());
            }
            prop_assert_eq!(read(&text), Ok(index));
        }
    }

    #[test]
    fn reads_other_yaml_and_writes_lines() {
        let lines = "a: \"1234567890123\"\nb: \"0000000000001\"\n";
        for text in [
            "b: 0000000000001\na: 1234567890123\n",
            "{\"a\": \"1234567890123\", b: '0000000000001'}",
            "# names\r\n---\r\nb: \"0000000000001\"\r\na: \"1234567890123\"\r\n",
            "\u{feff}b: \"0000000000001\"\na: \"1234567890123\"",
            "'a': \"1234567890123\" # the first\n\nb: 0000000000001",
        ] {
            assert_eq!(render(&read(text).unwrap()), lines, "{text}");
        }
        assert_eq!(read("a: 12345678901e5").unwrap().get("a"), Some(&NodeHash::literal("12345678901E5")));
    }

    #[test]
    fn malformed_index_is_error_not_empty() {
        let message = |text: &str| read(text).err().unwrap();
        let at = |line: usize, reason: &str| format!("cannot read the index index.yaml, line {line}: {reason}");
        assert_eq!(message(""), "cannot read the index index.yaml: the file has no content, as after a crash");
        assert_eq!(message("\0\0\0"), "cannot read the index index.yaml: the file has no content, as after a crash");
        assert_eq!(message("- a\n"), at(1, "a map of names to hashes is expected"));
        assert_eq!(message("hello\n"), at(1, "a map of names to hashes is expected"));
        assert_eq!(
            message("a: \"1234567890123\"\nb: [x]\n"),
            at(2, "the hash of `b` is expected, not a list or a map")
        );
        assert_eq!(message("a: \"1234567890123\"\nb: 12\n"), at(2, "`12` is not a hash: a hash has 13 symbols"));
        assert_eq!(message("a: \"1234567890123\"\na: \"1234567890123\"\n"), at(2, "the name `a` occurs twice"));
        assert_eq!(message("a b: \"1234567890123\"\n"), at(1, "`a b` cannot be a name"));
        assert_eq!(
            message("a: \"1234567890123\"\n---\nb: \"1234567890123\"\n"),
            at(2, "a second document starts here")
        );
        assert!(message("a: \"12345\nb: c\n").starts_with("cannot read the index index.yaml, line"));
        let nested = "[".repeat(100_000);
        assert_eq!(message(&nested), at(1, "recursion limit exceeded"));
    }

    #[test]
    fn names_match_only_whole_lines() {
        let text = "a: \"0000000000001\"\nb: \"1234567890123\"\n";
        assert_eq!(["a", "b", "c", ""].map(|name| find(text.as_bytes(), name)), [Some(A), Some(B), None, None]);
        for text in ["", "{}\n", "a: 1\n", "a: \"0000000000001\"", "{a: \"0000000000001\"}\n"] {
            assert_eq!(find(text.as_bytes(), "a"), None, "{text}");
        }
    }

    #[test]
    fn salvage_finds_whole_lines_of_broken_index() {
        let bytes = b"a: \"0000000000001\"\nb: \"0000000000001\"\nb: \"1234567890123\"\n\xff\xfe\n: \"1234567890123\"\nc: \"12345\nz: \"1234567890123\"\ny: \"1234567890123\"\nx: \"12345678";
        let found = salvage(bytes);
        assert_eq!(found, [("a".to_owned(), A), ("y".to_owned(), B), ("z".to_owned(), B)]);
    }

    #[test]
    fn bytes_that_are_no_text_are_an_error() {
        let error = parse(Path::new("t"), &[0xff, 0xfe, b'a']).err().unwrap();
        assert_eq!(error.to_string(), "cannot read the index t: not UTF-8 text");
    }
}
