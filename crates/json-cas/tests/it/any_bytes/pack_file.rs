//! A pack: whatever its bytes are, an object is what was packed, or the pack is damaged. Its checksums are put right first, or
//! nothing behind them would ever be read.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use json_cas::{FsObjects, NodeHash, ObjectBackend, PackRequest, StoreError, xxh64};
use uwf_testing::FuzzTarget;

pub(crate) const SUBJECT: FuzzTarget = FuzzTarget {
    name: "pack file",
    samples: &[include_bytes!("pack_file/three.pack"), include_bytes!("pack_file/many.pack")],
    words: &["JCASPACK", "JCASPEND", "\x01\0\0\0", "\0\0\0\0\0\0\0\0", "\x10\0\0\0\0\0\0\0", "\x28\u{b5}\x2f"],
    check,
};

/// How large parts of a pack are. The samples have three objects, and 300 small ones on three pages.
const FOOT: usize = 64;
const PAGE: usize = 128 * 28;

fn check(bytes: &[u8]) {
    let dir = directory();
    let packs = dir.join("packs");
    fs::remove_dir_all(&packs).ok();
    fs::create_dir_all(&packs).expect("a directory");
    let bytes = summed(bytes.to_vec());
    let name = foot(&bytes, 48).map_or(NodeHash::from_u64(0), NodeHash::from_u64);
    fs::write(packs.join(format!("{name}.pack")), &bytes).expect("a file");
    let objects = FsObjects::new(dir);
    let listed = match objects.list(None) {
        Ok(listed) => listed,
        // Then nothing is done with any pack.
        Err(StoreError::NewerFormat { version, .. }) => return assert!(version > 1, "{version}"),
        Err(error) => {
            assert!(matches!(error, StoreError::DamagedPack { .. }), "{error}");
            Vec::new()
        }
    };
    for hash in listed.iter().copied().take(300).chain([NodeHash::from_u64(1), NodeHash::from_u64(u64::MAX)]) {
        match objects.get(hash) {
            Ok(Some(bytes)) => {
                let stored = objects.stored(hash).expect("its entry was read").expect("it is there");
                assert_eq!(stored.bytes, bytes.len() as u64);
            }
            // An index that is not sorted does not find what it lists.
            Ok(None) => {}
            Err(StoreError::Corrupt { hash: told, reason }) => assert!(told == hash && reason.contains(".pack")),
            Err(other) => panic!("{other}"),
        }
    }
    // The next pack is written beside it.
    objects.put_all(&[(NodeHash::from_u64(7), b"seven".to_vec())]).expect("a put");
    let anything = |_: NodeHash, _: &[u8]| true;
    let request =
        PackRequest { objects: &[NodeHash::from_u64(7)], is_sound: &anything, dry_run: false, progress: &mut |_| () };
    match objects.pack(request) {
        Ok(_) | Err(StoreError::Corrupt { .. } | StoreError::DamagedPack { .. }) => {}
        Err(other) => panic!("{other}"),
    }
    let seven = objects.get(NodeHash::from_u64(7)).expect("it can be read").expect("it is there");
    assert!(seven == b"seven" || listed.contains(&NodeHash::from_u64(7)));
    fs::remove_file(objects.path(NodeHash::from_u64(7))).ok();
}

/// The bytes with every checksum as it must be, as far as there are such places.
fn summed(mut bytes: Vec<u8>) -> Vec<u8> {
    let size = bytes.len();
    let (Some(index), Some(fences), Some(entries)) = (foot(&bytes, 24), foot(&bytes, 32), foot(&bytes, 16)) else {
        return bytes;
    };
    let at = |offset: u64| usize::try_from(offset).ok().filter(|at| *at <= size);
    if let (Some(index), Some(fences)) = (at(index), at(fences)) {
        for entry in 0..entries.min(300) as usize {
            let at = index + entry * 28 + entry / 128 * 8;
            let block = bytes.get(at + 8..at + 14).map(|block| block.iter().rev().fold(0, |n, b| n << 8 | *b as usize));
            if let Some(block) = block {
                sum_block(&mut bytes, block);
            }
        }
        let mut page = index;
        while page + 8 < fences {
            let end = (page + PAGE).min(fences - 8);
            sum(&mut bytes, page, end);
            page = end + 8;
        }
        if size >= FOOT + 8 {
            sum(&mut bytes, fences, size - FOOT - 8);
        }
    }
    sum(&mut bytes, size - FOOT, size - 8);
    bytes
}

/// Puts the checksum of a part behind it.
fn sum(bytes: &mut [u8], from: usize, to: usize) {
    if from <= to && to + 8 <= bytes.len() {
        let sum = xxh64(&bytes[from..to]).as_u64().to_le_bytes();
        bytes[to..to + 8].copy_from_slice(&sum);
    }
}

/// Puts the checksum of a block, which is that of its lengths and of what is stored, in between.
fn sum_block(bytes: &mut [u8], at: usize) {
    let Some(stored) = bytes.get(at..at.saturating_add(4)).and_then(|len| len.try_into().ok()).map(u32::from_le_bytes)
    else {
        return;
    };
    let Some(end) = at.checked_add(16).and_then(|begin| begin.checked_add(stored as usize)) else { return };
    if end <= bytes.len() {
        let covered = [&bytes[at..at + 8], &bytes[at + 16..end]].concat();
        let sum = xxh64(&covered).as_u64().to_le_bytes();
        bytes[at + 8..at + 16].copy_from_slice(&sum);
    }
}

/// A number of the foot.
fn foot(bytes: &[u8], at: usize) -> Option<u64> {
    let foot = bytes.len().checked_sub(FOOT)?;
    Some(u64::from_le_bytes(bytes[foot + at..foot + at + 8].try_into().ok()?))
}

/// A directory for all inputs of this process.
fn directory() -> &'static Path {
    static DIR: OnceLock<tempfile::TempDir> = OnceLock::new();
    DIR.get_or_init(uwf_testing::dir_in_memory).path()
}
