//! What a command really did to the files of its storage root: its system calls, as strace saw them.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use uwf_testing::TestHome;

/// Every call by which a program can change a file or a directory, or make one durable. What is missing here, or is
/// understood wrongly, shows at once: the end of the recording is compared with the real files.
const CALLS: &str = "openat,open,creat,write,pwrite64,writev,pwritev,pwritev2,fsync,fdatasync,sync,syncfs,\
sync_file_range,rename,renameat,renameat2,link,linkat,symlink,symlinkat,unlink,unlinkat,rmdir,mkdir,mkdirat,ftruncate,\
truncate,fallocate,copy_file_range,sendfile,splice";

/// One change, in the order in which the changes took effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Op {
    /// A name for a new, empty file, or the same for one that is there; `truncate` empties it.
    Open { path: PathBuf, truncate: bool },
    /// A new directory.
    MakeDir { path: PathBuf },
    /// Bytes at a place, or behind what the file has.
    Write { path: PathBuf, at: Option<u64>, bytes: Vec<u8> },
    /// Another length.
    Truncate { path: PathBuf, len: u64 },
    /// Another name in the place of one.
    Rename { from: PathBuf, to: PathBuf },
    /// One more name.
    Link { from: PathBuf, to: PathBuf },
    /// A name less, of a file or an empty directory.
    Unlink { path: PathBuf },
    /// What was written before this is durable once the `SyncEnd` of the same number is reached.
    SyncBegin { path: PathBuf, number: usize },
    /// The sync has returned.
    SyncEnd { number: usize },
    /// The command printed something.
    Said { bytes: Vec<u8> },
}

/// Runs a command of a home and returns its system calls below the storage root.
pub(crate) fn record(home: &TestHome, args: &[&str]) -> Vec<Op> {
    let trace = home.work().join("trace");
    let said = home.work().join("said");
    let plain = home.command(args);
    let mut command = Command::new("strace");
    home.prepare(&mut command);
    command.args(["-f", "-y", "-xx", "-qq", "-s", "1000000", "-o"]).arg(&trace);
    command.args(["-e", &format!("trace={CALLS}"), "-e", "signal=none"]);
    command.arg(plain.get_program()).args(args).stdout(fs::File::create(&said).unwrap()).stderr(Stdio::piped());
    let ran = command.output().expect("strace is installed");
    assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
    let text = fs::read_to_string(&trace).unwrap();
    let ops = Reader { root: &home.root(), said: &said, open: HashMap::new(), ops: Vec::new(), syncs: 0 }.read(&text);
    assert!(!ops.is_empty(), "the recorder saw nothing");
    ops
}

struct Reader<'r> {
    root: &'r Path,
    said: &'r Path,
    /// Calls that have begun and not returned, by process: the text so far, and the number of the sync it is.
    open: HashMap<&'r str, (&'r str, Option<usize>)>,
    ops: Vec<Op>,
    syncs: usize,
}

impl<'r> Reader<'r> {
    fn read(mut self, text: &'r str) -> Vec<Op> {
        for line in text.lines() {
            let (process, rest) = line.split_once(' ').unwrap_or_else(|| panic!("no process in {line}"));
            let rest = rest.trim_start();
            if let Some(begun) = rest.strip_suffix("<unfinished ...>") {
                let sync = self.begin_sync(begun);
                self.open.insert(process, (begun, sync));
            } else if let Some(resumed) = rest.strip_prefix("<... ") {
                let (begun, sync) = self.open.remove(process).unwrap_or_else(|| panic!("nothing begun for {line}"));
                let end = resumed.split_once("resumed>").map_or("", |(_, end)| end);
                self.call(&format!("{begun}{end}"), sync);
            } else if rest.contains('(') {
                let sync = self.begin_sync(rest);
                self.call(rest, sync);
            }
        }
        self.ops
    }

    fn begin_sync(&mut self, call: &str) -> Option<usize> {
        let (name, arguments) = call.split_once('(')?;
        assert!(!matches!(name, "sync" | "syncfs" | "sync_file_range"), "{name} is not modelled");
        if !matches!(name, "fsync" | "fdatasync") {
            return None;
        }
        let path = self.inside(described(arguments)?)?;
        self.syncs += 1;
        self.ops.push(Op::SyncBegin { path, number: self.syncs });
        Some(self.syncs)
    }

    /// The path, when it is one of the storage root.
    fn inside(&self, path: PathBuf) -> Option<PathBuf> {
        path.starts_with(self.root).then_some(path)
    }

    fn call(&mut self, call: &str, sync: Option<usize>) {
        let (name, rest) = call.split_once('(').unwrap_or_else(|| panic!("no call: {call}"));
        let Some((arguments, result)) = rest.rsplit_once(" = ") else { return };
        if result.starts_with(['-', '?']) {
            return;
        }
        if let Some(number) = sync {
            self.ops.push(Op::SyncEnd { number });
            return;
        }
        let arguments = arguments.trim_end().strip_suffix(')').unwrap_or(arguments);
        let arguments = split(arguments);
        let path = |at: usize| path_at(&arguments, at);
        let op = match name {
            "openat" => {
                let flags = arguments[2];
                let path = flags.contains("O_CREAT").then(|| path(0)).and_then(|path| self.inside(path));
                path.map(|path| Op::Open { path, truncate: flags.contains("O_TRUNC") })
            }
            "write" | "pwrite64" => self.write(name, &arguments),
            "mkdir" => self.inside(plain(arguments[0])).map(|path| Op::MakeDir { path }),
            "mkdirat" => self.inside(path(0)).map(|path| Op::MakeDir { path }),
            "unlink" | "rmdir" => self.inside(plain(arguments[0])).map(|path| Op::Unlink { path }),
            "unlinkat" => self.inside(path(0)).map(|path| Op::Unlink { path }),
            "rename" => self.both(plain(arguments[0]), plain(arguments[1])).map(|(from, to)| Op::Rename { from, to }),
            "renameat" | "renameat2" => self.both(path(0), path(2)).map(|(from, to)| Op::Rename { from, to }),
            "linkat" => self.both(path(0), path(2)).map(|(from, to)| Op::Link { from, to }),
            "ftruncate" => {
                let path = described(arguments[0]).and_then(|path| self.inside(path));
                path.map(|path| Op::Truncate { path, len: arguments[1].parse().unwrap() })
            }
            // Room beyond its end changes neither what a file says nor how long it is.
            "fallocate" if arguments[1] == "FALLOC_FL_KEEP_SIZE" => None,
            _ => {
                let root = self.root.to_str().unwrap();
                assert!(!decode(call).contains(root), "{name} is not modelled: {}", decode(call));
                None
            }
        };
        self.ops.extend(op);
    }

    fn write(&self, name: &str, arguments: &[&str]) -> Option<Op> {
        let path = described(arguments[0])?;
        let bytes = bytes(arguments[1]);
        if path == self.said {
            return Some(Op::Said { bytes });
        }
        let at = (name == "pwrite64").then(|| arguments[3].parse().unwrap());
        self.inside(path).map(|path| Op::Write { path, at, bytes })
    }

    fn both(&self, from: PathBuf, to: PathBuf) -> Option<(PathBuf, PathBuf)> {
        let (inside, to) = (from.starts_with(self.root), self.inside(to));
        assert_eq!(inside, to.is_some(), "{} moves over the border of the storage root", from.display());
        to.map(|to| (from, to))
    }
}

/// Arguments, split at their commas. Texts are hexadecimal, so none has a comma in it.
fn split(arguments: &str) -> Vec<&str> {
    arguments.split(", ").collect()
}

/// A path given by a directory's descriptor and a name below it.
fn path_at(arguments: &[&str], at: usize) -> PathBuf {
    let dir = described(arguments[at]).unwrap_or_default();
    dir.join(plain(arguments[at + 1]))
}

/// The path that strace prints behind a descriptor: `3<\x2f…>`.
fn described(argument: &str) -> Option<PathBuf> {
    let (_, rest) = argument.split_once('<')?;
    let (path, _) = rest.split_once('>')?;
    Some(PathBuf::from(decode(path)))
}

fn plain(argument: &str) -> PathBuf {
    PathBuf::from(String::from_utf8(bytes(argument)).unwrap())
}

/// The bytes of a text in quotes, each `\xHH`.
fn bytes(argument: &str) -> Vec<u8> {
    let text = argument.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let text = text.unwrap_or_else(|| panic!("not a whole text: {argument}"));
    text.split("\\x").skip(1).map(|hex| u8::from_str_radix(hex, 16).unwrap()).collect()
}

/// A text in which each `\xHH` stands for a byte.
fn decode(text: &str) -> String {
    let mut parts = text.split("\\x");
    let mut decoded = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (hex, rest) = part.split_at(2);
        decoded.push(u8::from_str_radix(hex, 16).unwrap());
        decoded.extend(rest.as_bytes());
    }
    String::from_utf8_lossy(&decoded).into_owned()
}
