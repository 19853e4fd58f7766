//! The index of names: read as what it says, or refused as a whole and left alone; written again it says the same.

use std::fs;

use json_cas::{FsHeads, HeadBackend, HeadsError, HeadsFiles, MAX_NAME_LEN, NameVersion, NodeHash, SwapOutcome};
use tempfile::TempDir;
use uwf_testing::{FuzzTarget, dir_in_memory};

pub(crate) const SUBJECT: FuzzTarget = FuzzTarget {
    name: "threads.yaml",
    samples: &[
        b"01ARZ3NDEKTSV4RRFFQ69G5FAV: \"1234567890123\"\n01ARZ3NDEKTSV4RRFFQ69G5FAW: \"0000000000001\"\n",
        b"a: \"1234567890123\"\nb: \"0000000000001\"\nb.c: \"0ZK4000000000\"\n",
        b"b: 0000000000001\na: 12345678901E5 # comment\n",
        b"{\"a\": \"1234567890123\", b: '0000000000001'}",
        b"\xef\xbb\xbf# threads\r\n---\r\nb: \"0000000000001\"\r\na: \"1234567890123\"\r\n",
        b"? a\n: \"1234567890123\"\n? 'b'\n: >-\n  0000000000001\n",
        b"{}\n",
    ],
    words: &[
        "a",
        "b",
        "zz",
        ": ",
        ": \"",
        "\"\n",
        "\n",
        "1234567890123",
        "0000000000001",
        "---\n",
        "...\n",
        "&x ",
        "*x",
        "!!str ",
        "|\n  ",
        "? ",
        "- ",
        "{",
        "}",
        "#",
        "'",
        "<<",
        "~",
    ],
    check,
};

/// Names that are looked up one by one.
const LOOKED_UP: usize = 20;

thread_local! {
    /// One directory for all inputs: it is emptied before each.
    static DIR: TempDir = dir_in_memory();
}

fn check(bytes: &[u8]) {
    DIR.with(|dir| {
        let file = |name: &str| dir.path().join(name);
        fs::write(file("threads.yaml"), bytes).expect("the index can be written");
        let heads = FsHeads::new(HeadsFiles {
            index: file("threads.yaml"),
            journal: file("history.jsonl"),
            lock: file("lock"),
            name_key: "thread".to_owned(),
        });
        match heads.list() {
            Ok(names) => readable(&heads, &names),
            Err(HeadsError::Unreadable { reason, .. }) => {
                assert!(!reason.is_empty());
                unreadable(&heads, bytes);
            }
            Err(other) => panic!("{other}"),
        }
    });
}

fn readable(heads: &FsHeads, names: &[(String, NodeHash)]) {
    assert!(names.is_sorted_by(|one, next| one.0 < next.0), "{names:?}");
    assert_eq!(heads.salvage().entries, names);
    for (name, hash) in names.iter().take(LOOKED_UP) {
        assert_eq!(hash_of(heads, name), Some(*hash), "{name}");
    }
    assert_eq!(hash_of(heads, "no-such-name"), None);

    let mut expected = names.to_vec();
    let new = NodeHash::from_u64(77);
    match expected.binary_search_by(|(name, _)| name.as_str().cmp("b")) {
        Ok(at) => {
            let version = heads.read("b").expect("readable").expect("it is there").version;
            assert_eq!(heads.swap("b", &version, new).expect("a swap"), SwapOutcome::Done);
            expected[at].1 = new;
        }
        Err(at) => {
            assert_eq!(heads.create("b", new).expect("a swap"), SwapOutcome::Done);
            expected.insert(at, ("b".to_owned(), new));
        }
    }
    assert_eq!(heads.list().expect("what was written is readable"), expected);
    let lines: String = expected.iter().map(|(name, hash)| format!("{name}: \"{hash}\"\n")).collect();
    // A hash in lower case stays as it is written.
    let written = fs::read_to_string(&heads.files().index).expect("it is text");
    assert!(written.eq_ignore_ascii_case(&lines), "{written}");
}

/// Nothing is written in the place of what nobody can read.
fn unreadable(heads: &FsHeads, bytes: &[u8]) {
    let salvaged = heads.salvage();
    assert!(salvaged.fault.is_some());
    assert!(salvaged.entries.is_sorted_by(|one, next| one.0 < next.0), "{:?}", salvaged.entries);
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for (name, hash) in lines.iter().filter_map(|line| whole(line)) {
        let others = lines.iter().filter(|line| line.contains(name)).count();
        let found = salvaged.entries.iter().any(|(salvaged, to)| salvaged == name && *to == hash);
        assert!(found || others > 1, "{name} is lost: {:?}", salvaged.entries);
    }
    let swapped = heads.swap("b", &NameVersion::new("0000000000001"), NodeHash::from_u64(77));
    assert!(matches!(swapped, Err(HeadsError::Unreadable { .. })), "{swapped:?}");
    assert_eq!(fs::read(&heads.files().index).expect("it is there"), bytes);
}

/// A line as the store writes it.
fn whole(line: &str) -> Option<(&str, NodeHash)> {
    let (name, rest) = line.split_once(": \"")?;
    let hash = rest.strip_suffix("\"\n")?;
    let is_name = (1..=MAX_NAME_LEN).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_hash = hash.len() == 13 && hash.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_name && is_hash).then_some(())?;
    Some((name, hash.parse().ok()?))
}

fn hash_of(heads: &FsHeads, name: &str) -> Option<NodeHash> {
    heads.read(name).expect("the index is readable").map(|head| head.hash)
}
