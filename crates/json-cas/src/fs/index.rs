//! The index file: which name points where.
//!
//! Written as sorted lines `NAME: "HASH"`, which are YAML and can be searched without parsing
//! (10,000 of them: a few microseconds). A file that people or other programs wrote in any other
//! form is read as YAML and written back as lines. The quotes matter: a hash of digits is a
//! number to YAML readers.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use memchr::memmem;

use super::yaml;
use crate::hash::Hash;
use crate::heads::{HeadsError, is_name};

/// What stands between name and hash.
const SEPARATOR: &[u8] = b": \"";

/// What stands after the hash.
const END: &[u8] = b"\"\n";

/// Length of a line without its name.
const FIXED_LEN: usize = SEPARATOR.len() + Hash::LEN + END.len();

/// An index without names, as a file. A file without bytes is what a crash leaves behind.
const EMPTY: &[u8] = b"{}\n";

/// An index in its line form, with the place of every line.
pub(super) struct Index {
    text: Vec<u8>,
    lines: Vec<Range<usize>>,
}

impl Index {
    /// An index without names.
    pub(super) fn empty() -> Index {
        Index { text: Vec::new(), lines: Vec::new() }
    }

    /// The index in a file's bytes.
    pub(super) fn parse(path: &Path, bytes: Vec<u8>) -> Result<Index, HeadsError> {
        if bytes == EMPTY {
            return Ok(Index::empty());
        }
        if let Some(lines) = scan(&bytes) {
            return Ok(Index { text: bytes, lines });
        }
        let mut entries = yaml::read(path, &bytes)?;
        entries.sort_unstable();
        let mut index = Index::empty();
        for (name, hash) in entries {
            let at = index.text.len();
            index.insert(at, index.lines.len(), &name, hash);
        }
        Ok(index)
    }

    /// The bytes of the file.
    pub(super) fn bytes(&self) -> &[u8] {
        if self.lines.is_empty() { EMPTY } else { &self.text }
    }

    pub(super) fn get(&self, name: &str) -> Option<Hash> {
        let line = self.find(name).ok()?;
        hash_in(&self.text[self.lines[line].clone()])
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (&str, Hash)> {
        self.lines.iter().filter_map(|line| {
            let line = &self.text[line.clone()];
            let name = std::str::from_utf8(name_in(line)).ok()?;
            Some((name, hash_in(line)?))
        })
    }

    pub(super) fn set(&mut self, name: &str, hash: Hash) {
        match self.find(name) {
            Ok(line) => {
                let at = self.lines[line].end - END.len() - Hash::LEN;
                self.text[at..at + Hash::LEN].copy_from_slice(&hash.to_ascii());
            }
            Err(line) => {
                let at = self.lines.get(line).map_or(self.text.len(), |at| at.start);
                self.insert(at, line, name, hash);
            }
        }
    }

    /// Drops a name; says whether it was there.
    pub(super) fn remove(&mut self, name: &str) -> bool {
        let Ok(line) = self.find(name) else {
            return false;
        };
        let range = self.lines.remove(line);
        self.text.drain(range.clone());
        for later in &mut self.lines[line..] {
            *later = later.start - range.len()..later.end - range.len();
        }
        true
    }

    fn insert(&mut self, at: usize, line: usize, name: &str, hash: Hash) {
        let added = render(name, hash);
        let len = added.len();
        self.text.splice(at..at, added);
        self.lines.insert(line, at..at + len);
        for later in &mut self.lines[line + 1..] {
            *later = later.start + len..later.end + len;
        }
    }

    fn find(&self, name: &str) -> Result<usize, usize> {
        self.lines.binary_search_by(|line| name_in(&self.text[line.clone()]).cmp(name.as_bytes()))
    }
}

/// Looks one name up without parsing. `None` when the bytes do not say: the name is not there in
/// line form, or more than once.
pub(super) fn lookup(bytes: &[u8], name: &str) -> Option<Hash> {
    let mut needle = Vec::with_capacity(name.len() + SEPARATOR.len() + 1);
    needle.push(b'\n');
    needle.extend_from_slice(name.as_bytes());
    needle.extend_from_slice(SEPARATOR);
    let finder = memmem::Finder::new(&needle);
    let after = match bytes.starts_with(&needle[1..]) {
        true => needle.len() - 1,
        false => finder.find(bytes)? + needle.len(),
    };
    let rest = &bytes[after..];
    let hash = rest.get(..Hash::LEN)?;
    if !rest[Hash::LEN..].starts_with(END) || finder.find(rest).is_some() {
        return None;
    }
    Hash::from_ascii(hash)
}

fn render(name: &str, hash: Hash) -> Vec<u8> {
    let mut line = Vec::with_capacity(name.len() + FIXED_LEN);
    line.extend_from_slice(name.as_bytes());
    line.extend_from_slice(SEPARATOR);
    line.extend_from_slice(&hash.to_ascii());
    line.extend_from_slice(END);
    line
}

fn name_in(line: &[u8]) -> &[u8] {
    &line[..line.len() - FIXED_LEN]
}

fn hash_in(line: &[u8]) -> Option<Hash> {
    let end = line.len() - END.len();
    Hash::from_ascii(&line[end - Hash::LEN..end])
}

/// Names and hashes of the lines that are whole, whatever else the bytes are. A name that stands
/// for several hashes is left out: nobody knows which is right.
pub(super) fn salvage(bytes: &[u8]) -> Vec<(String, Hash)> {
    let mut found: BTreeMap<String, Option<Hash>> = BTreeMap::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| is_line(line)) {
        let (Ok(name), Some(hash)) = (std::str::from_utf8(name_in(line)), hash_in(line)) else { continue };
        let known = found.entry(name.to_owned()).or_insert(Some(hash));
        *known = known.filter(|known| *known == hash);
    }
    found.into_iter().filter_map(|(name, hash)| Some((name, hash?))).collect()
}

/// Whether bytes are one line as written here, its end included.
fn is_line(line: &[u8]) -> bool {
    if line.len() <= FIXED_LEN {
        return false;
    }
    let (name, fixed) = line.split_at(line.len() - FIXED_LEN);
    let hash = fixed.strip_prefix(SEPARATOR).and_then(|rest| rest.strip_suffix(END));
    hash.and_then(Hash::from_ascii).is_some() && is_name(name)
}

/// The places of the lines, when the bytes are nothing but strictly sorted lines.
fn scan(bytes: &[u8]) -> Option<Vec<Range<usize>>> {
    let mut lines = Vec::with_capacity(bytes.len() / 44 + 1);
    let mut last: &[u8] = b"";
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', bytes) {
        let line = &bytes[start..=end];
        if !is_line(line) || last >= name_in(line) {
            return None;
        }
        let name = name_in(line);
        lines.push(start..end + 1);
        last = name;
        start = end + 1;
    }
    (start == bytes.len() && !lines.is_empty()).then_some(lines)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const A: Hash = Hash::literal("0000000000001");
    const B: Hash = Hash::literal("1234567890123");

    fn parse(text: &str) -> Result<Index, String> {
        Index::parse(Path::new("index.yaml"), text.as_bytes().to_vec()).map_err(|error| error.to_string())
    }

    fn text_of(index: &Index) -> &str {
        std::str::from_utf8(index.bytes()).unwrap()
    }

    #[test]
    fn keeps_lines_sorted_through_changes() {
        let mut index = Index::empty();
        for (name, hash) in [("m", A), ("b", A), ("z", B), ("b.1", B), ("b", B)] {
            index.set(name, hash);
        }
        assert_eq!(
            text_of(&index),
            "b: \"1234567890123\"\nb.1: \"1234567890123\"\nm: \"0000000000001\"\nz: \"1234567890123\"\n"
        );
        let reread = parse(text_of(&index)).unwrap();
        assert_eq!(reread.entries().collect::<Vec<_>>(), [("b", B), ("b.1", B), ("m", A), ("z", B)]);
        assert!(index.remove("b.1") && !index.remove("b.1"));
        assert_eq!((index.get("m"), index.get("b.1")), (Some(A), None));
        for name in ["b", "m", "z"] {
            assert!(index.remove(name));
        }
        assert_eq!(text_of(&index), "{}\n");
        assert_eq!(parse("{}\n").unwrap().entries().count(), 0);
    }

    proptest! {
        /// Any changes leave what a sorted map would hold, in bytes that say the same again.
        #[test]
        fn behaves_like_a_sorted_map(changes in prop::collection::vec(("[a-c._-]{1,3}", any::<Option<u64>>()), 0..40)) {
            let mut index = Index::empty();
            let mut map = BTreeMap::new();
            for (name, value) in changes {
                match value {
                    Some(value) => {
                        index.set(&name, Hash::from_u64(value));
                        map.insert(name, Hash::from_u64(value));
                    }
                    None => prop_assert_eq!(index.remove(&name), map.remove(&name).is_some()),
                }
            }
            let read = Index::parse(Path::new("t"), index.bytes().to_vec()).unwrap();
            for index in [&index, &read] {
                let entries: Vec<_> = index.entries().map(|(name, hash)| (name.to_owned(), hash)).collect();
                prop_assert_eq!(entries, map.clone().into_iter().collect::<Vec<_>>());
            }
            for (name, hash) in map {
                prop_assert_eq!(lookup(index.bytes(), &name), Some(hash));
            }
        }

        #[test]
        fn parse_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = lookup(&bytes, "a");
            if let Ok(index) = Index::parse(Path::new("t"), bytes) {
                prop_assert!(Index::parse(Path::new("t"), index.bytes().to_vec()).is_ok());
            }
        }
    }

    #[test]
    fn looks_up_only_whole_unique_lines() {
        let text = b"ab: \"0000000000001\"\nb: \"1234567890123\"\n";
        assert_eq!(lookup(text, "ab"), Some(A));
        assert_eq!(lookup(text, "b"), Some(B));
        assert_eq!(lookup(text, "a"), None);
        assert_eq!(lookup(b"a: \"0000000000001\"\na: \"1234567890123\"\n", "a"), None);
        assert_eq!(lookup(b"a: \"0000000000001", "a"), None);
        assert_eq!(lookup(b"a: \"00000", "a"), None);
        assert_eq!(lookup(b"a: \"0000000000001\" # note\n", "a"), None);
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
            assert_eq!(text_of(&parse(text).unwrap()), lines, "{text}");
        }
        assert_eq!(parse("a: 12345678901e5").unwrap().get("a"), Some(Hash::literal("12345678901E5")));
    }

    #[test]
    fn anything_else_is_an_error_not_an_empty_index() {
        let message = |text: &str| parse(text).err().unwrap();
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
    fn of_a_broken_index_the_whole_lines_are_found() {
        let bytes = b"a: \"0000000000001\"\nb: \"0000000000001\"\nb: \"1234567890123\"\n\xff\xfe\n: \"1234567890123\"\nc: \"12345\nz: \"1234567890123\"\ny: \"1234567890123\"\nx: \"12345678";
        let found = salvage(bytes);
        assert_eq!(found, [("a".to_owned(), A), ("y".to_owned(), B), ("z".to_owned(), B)]);
    }

    #[test]
    fn bytes_that_are_no_text_are_an_error() {
        let error = Index::parse(Path::new("t"), vec![0xff, 0xfe, b'a']).err().unwrap();
        assert_eq!(error.to_string(), "cannot read the index t: not UTF-8 text");
    }
}
