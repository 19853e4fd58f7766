//! Ways to spoil a file.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use fastrand::Rng;

/// A kind of damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Harm {
    /// One bit is another.
    Flip,
    /// The end is missing.
    Cut,
    /// Nothing is left.
    Empty,
    /// The length is right, and every byte 0.
    Zero,
    /// One block of it is 0.
    Hole,
    /// It and another file have changed places.
    Swap,
    /// A link to another file is in its place.
    Link,
    /// A link that leads nowhere is in its place.
    Dangle,
    /// Its name, or what is in it, is in lower case.
    WrongCase,
    /// A copy of it has another file's name, or a line is there twice.
    Double,
    /// A line of it is missing.
    DropLine,
    /// It is gone.
    Gone,
    /// A directory is in its place.
    Directory,
}

impl Harm {
    /// What can befall any file.
    pub(crate) const FILE: [Harm; 10] = [
        Harm::Flip,
        Harm::Cut,
        Harm::Empty,
        Harm::Zero,
        Harm::Hole,
        Harm::Swap,
        Harm::Link,
        Harm::Dangle,
        Harm::Gone,
        Harm::Directory,
    ];

    /// What can befall a file of lines beside that.
    pub(crate) const LINES: [Harm; 3] = [Harm::WrongCase, Harm::Double, Harm::DropLine];

    /// Spoils a file; `other` is another one.
    pub(crate) fn apply(self, path: &Path, other: &Path, rng: &mut Rng) {
        let bytes = fs::read(path).unwrap();
        let write = |bytes: Vec<u8>| fs::write(path, bytes).unwrap();
        match self {
            Harm::Flip => write(flipped(bytes, rng)),
            Harm::Cut => write(bytes[..rng.usize(0..bytes.len().max(1))].to_vec()),
            Harm::Empty => write(Vec::new()),
            Harm::Zero => write(vec![0; bytes.len()]),
            Harm::Hole => write(with_hole(bytes, rng)),
            Harm::Swap => {
                write(fs::read(other).unwrap());
                fs::write(other, bytes).unwrap();
            }
            Harm::Link | Harm::Dangle | Harm::Gone | Harm::Directory => self.take_away(path, other),
            Harm::WrongCase => write(bytes.to_ascii_lowercase()),
            Harm::Double | Harm::DropLine => write(self.with_line(&bytes, rng)),
        }
    }

    fn take_away(self, path: &Path, other: &Path) {
        fs::remove_file(path).unwrap();
        match self {
            Harm::Link => symlink(other, path).unwrap(),
            Harm::Dangle => symlink(path.with_file_name("nowhere").join("file"), path).unwrap(),
            Harm::Directory => fs::create_dir(path).unwrap(),
            _ => {}
        }
    }

    fn with_line(self, bytes: &[u8], rng: &mut Rng) -> Vec<u8> {
        let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        if lines.is_empty() {
            return Vec::new();
        }
        let at = rng.usize(0..lines.len());
        match self {
            Harm::Double => lines.insert(at, lines[at]),
            _ => drop(lines.remove(at)),
        }
        lines.concat()
    }
}

fn flipped(mut bytes: Vec<u8>, rng: &mut Rng) -> Vec<u8> {
    if !bytes.is_empty() {
        let at = rng.usize(0..bytes.len());
        bytes[at] ^= 1 << rng.u8(0..8);
    }
    bytes
}

fn with_hole(mut bytes: Vec<u8>, rng: &mut Rng) -> Vec<u8> {
    let from = rng.usize(0..=bytes.len());
    let to = rng.usize(from..=bytes.len());
    bytes[from..to].fill(0);
    bytes
}
