//! The list of packs that count.
//!
//! The file is text with these lines, in this order:
//!
//! * `json-cas packs 1`
//! * `pack NAME` for each pack, newest first
//! * `old NAME` for each replaced pack that is to be deleted
//! * `gone HASH` for each removed object that is still in packs
//! * `sum XXH64` of all lines before
//!
//! If the list is missing or damaged, all packs in the directory count and no object is gone. Removed objects may then exist again, as
//! after a power cut, but nothing is lost.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use durable_files::FileError;

use crate::hash::{NodeHash, xxh64};

/// Name of the file.
pub(super) const NAME: &str = "current";

/// Maximum size: a million objects that are gone. They are cleaned up long before that.
pub(super) const MAX: u64 = 20 << 20;

const FIRST_LINE: &str = "json-cas packs 1";

/// Start of the first line in every version, and the version written here.
const KIND: &str = "json-cas packs ";
const VERSION: u64 = 1;

/// Returns the version of a list that a newer library wrote; `None` for other lists, and for any list with a wrong checksum.
pub(super) fn newer(bytes: &[u8]) -> Option<u64> {
    summed(bytes)?;
    let line = std::str::from_utf8(bytes.split(|byte| *byte == b'\n').next()?).ok()?;
    line.strip_prefix(KIND)?.parse().ok().filter(|version| *version > VERSION)
}

/// Returns the lines before the checksum, if the checksum matches.
fn summed(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?.strip_suffix('\n')?;
    let (_, last) = text.rsplit_once('\n')?;
    let covered = &text[..text.len() - last.len()];
    (last.strip_prefix("sum ")?.parse() == Ok(xxh64(covered.as_bytes()))).then_some(covered)
}

/// Which packs count, and which of their objects don't.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PackManifest {
    /// Names of the packs, newest first.
    pub(super) packs: Vec<NodeHash>,
    /// Names of replaced packs that may still exist.
    pub(super) old: BTreeSet<NodeHash>,
    /// Objects that were removed but are still in packs.
    pub(super) gone: BTreeSet<NodeHash>,
}

impl PackManifest {
    pub(super) fn parse(bytes: &[u8]) -> Option<PackManifest> {
        let mut lines = summed(bytes)?.lines();
        if lines.next()? != FIRST_LINE {
            return None;
        }
        let mut manifest = PackManifest::default();
        for line in lines {
            match line.split_once(' ')? {
                ("pack", name) => manifest.packs.push(name.parse().ok()?),
                ("old", name) => drop(manifest.old.insert(name.parse().ok()?)),
                ("gone", hash) => drop(manifest.gone.insert(hash.parse().ok()?)),
                _ => return None,
            }
        }
        Some(manifest)
    }

    fn text(&self) -> String {
        let mut text = format!("{FIRST_LINE}\n");
        text.extend(self.packs.iter().map(|name| format!("pack {name}\n")));
        text.extend(self.old.iter().map(|name| format!("old {name}\n")));
        text.extend(self.gone.iter().map(|hash| format!("gone {hash}\n")));
        let sum = xxh64(text.as_bytes());
        text.push_str(&format!("sum {sum}\n"));
        text
    }

    /// Replaces the list, atomically and durably.
    pub(super) fn save(&self, dir: &Path) -> Result<(), FileError> {
        let (path, text) = (dir.join(NAME), self.text());
        if text.len() as u64 > MAX {
            // Readers would take a larger list for a damaged one.
            return Err(FileError::failed_to("write", &path)(io::ErrorKind::FileTooLarge.into()));
        }
        durable_files::replace_itself(&path, text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oversized_list_is_not_written() {
        let dir = tempfile::tempdir().unwrap();
        let with =
            |gone: u64| PackManifest { gone: (0..gone).map(NodeHash::from_u64).collect(), ..PackManifest::default() };
        with(1_000_000).save(dir.path()).unwrap();
        let written = std::fs::read(dir.path().join(NAME)).unwrap();
        assert_eq!(PackManifest::parse(&written), Some(with(1_000_000)));
        assert_eq!(with(1_200_000).save(dir.path()).unwrap_err().source.kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(std::fs::read(dir.path().join(NAME)).unwrap(), written);
    }

    #[test]
    fn a_newer_list_is_no_damaged_one() {
        let summed = |text: &str| format!("{text}sum {}\n", xxh64(text.as_bytes()));
        assert_eq!(newer(summed("json-cas packs 2\nwhatever\n").as_bytes()), Some(2));
        assert_eq!(newer(b"json-cas packs 2\nwhatever\n"), None, "without its checksum it is damaged");
        for text in ["json-cas packs 1\n", "json-cas packs x\n", "json-cas packs 0\n", "other 2\n"] {
            assert_eq!(newer(summed(text).as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn manifest_reads_only_its_own_form() {
        let one = NodeHash::from_u64(7);
        let list = PackManifest {
            packs: vec![NodeHash::from_u64(9), NodeHash::from_u64(8)],
            old: BTreeSet::from([NodeHash::from_u64(6)]),
            gone: BTreeSet::from([one]),
        };
        let text = list.text();
        assert_eq!(
            text,
            "json-cas packs 1\npack 0000000000009\npack 0000000000008\nold 0000000000006\ngone 0000000000007\nsum CGMNFXS9GEJTK\n"
        );
        assert_eq!(PackManifest::parse(text.as_bytes()), Some(list));
        assert_eq!(PackManifest::parse(PackManifest::default().text().as_bytes()), Some(PackManifest::default()));
        for cut in 0..text.len() {
            assert_eq!(PackManifest::parse(&text.as_bytes()[..cut]), None, "cut at {cut}");
            let mut changed = text.clone().into_bytes();
            changed[cut] ^= 1;
            assert_eq!(PackManifest::parse(&changed), None, "changed at {cut}");
        }
    }
}
