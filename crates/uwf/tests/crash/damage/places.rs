//! Something else is in the place of a file: a FIFO nobody writes to, a socket, a device that never ends, a file of a
//! terabyte without a byte on the disk. No command waits for it, is killed over it, or calls it a fault of uwf.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use uwf_platform::host;
use uwf_testing::{FinishedRun, TestHome, counting_workflow};

use super::{Whole, each};
use crate::campaign::Campaign;

/// Damages tried in a plain run, each with every command.
const SHORT: usize = 8;

/// How long a command may take on a busy machine. None of them waits for anything.
const LIMIT: Duration = Duration::from_secs(30);

/// A terabyte: more than there is memory.
const SPARSE: u64 = 1 << 40;

/// What stands in the place of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Thing {
    Fifo,
    Socket,
    Device,
    Sparse,
}

impl Thing {
    const ALL: [Thing; 4] = [Thing::Fifo, Thing::Socket, Thing::Device, Thing::Sparse];

    fn put(self, path: &Path) {
        if self == Thing::Sparse {
            return fs::File::options().append(true).open(path).unwrap().set_len(SPARSE).unwrap();
        }
        fs::remove_file(path).unwrap();
        match self {
            Thing::Fifo => assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
            Thing::Socket => {
                let dir = host().short_directory(path.parent().unwrap()).unwrap();
                // The file stays.
                drop(UnixListener::bind(dir.path().join(path.file_name().unwrap())).unwrap());
            }
            Thing::Device => symlink("/dev/zero", path).unwrap(),
            Thing::Sparse => {}
        }
    }
}

#[derive(Debug)]
struct Case {
    thing: Thing,
    file: PathBuf,
}

/// Every file of the root, of nodes one of each kind.
fn files(home: &TestHome, whole: &Whole) -> Vec<PathBuf> {
    let root = home.root();
    let show = home.json(&["thread", "show", &whole.counting]);
    let head = show["head"].as_str().unwrap();
    let details = home.json(&["thread", "step-details", head, "--format", "json"]);
    let nodes = [
        head.to_owned(),
        show["workflow"].as_str().unwrap().to_owned(),
        details["start"].as_str().unwrap_or(head).to_owned(),
    ];
    let mut files = vec![];
    let mut dirs = vec![root.clone()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap().is_dir() {
                true => dirs.push(entry.path()),
                false => files.push(entry.path().strip_prefix(&root).unwrap().to_owned()),
            }
        }
    }
    files.retain(|file| !file.starts_with("cas") || nodes.iter().any(|node| file.ends_with(format!("{node}.bin"))));
    files.sort();
    files
}

/// Every command that reads something of a root, some that write.
fn commands(whole: &Whole) -> Vec<Vec<String>> {
    let thread = whole.counting.as_str();
    let lines = [
        format!("thread show {thread}"),
        format!("thread steps {thread}"),
        format!("thread read {thread}"),
        "thread list".to_owned(),
        "thread list --all".to_owned(),
        format!("thread show {}", whole.ended),
        format!("thread eval {thread} $count(steps)"),
        format!("thread step {thread} --dry-run"),
        "workflow list".to_owned(),
        "workflow show count-rounds".to_owned(),
        "workflow validate new.yaml".to_owned(),
        "workflow put new.yaml".to_owned(),
        "config list".to_owned(),
        "config validate".to_owned(),
        "config set maxSteps 50".to_owned(),
        "cas list --type StepNode".to_owned(),
        "cas verify".to_owned(),
        "cas schema list".to_owned(),
        "doctor --offline".to_owned(),
        "agent describe".to_owned(),
        "recover --dry-run".to_owned(),
        format!("thread pause {thread}"),
        format!("thread resume {thread}"),
        "thread start count-rounds -p x".to_owned(),
        format!("thread step {thread}"),
        format!("thread step {}", whole.adding),
        format!("thread fork {thread}"),
        format!("thread kill {}", whole.adding),
        format!("thread rm {}", whole.ended),
        "recover".to_owned(),
        "cas reindex".to_owned(),
    ];
    lines.iter().map(|line| line.split(' ').map(str::to_owned).collect()).collect()
}

/// Runs a command, for no longer than [`LIMIT`].
fn within_limit(home: &TestHome, args: &[String]) -> FinishedRun {
    let [out, err] = ["out", "err"].map(|name| home.work().join(name));
    let to = |path: &Path| Stdio::from(fs::File::create(path).unwrap());
    let mut child = home.command(args).stdout(to(&out)).stderr(to(&err)).spawn().unwrap();
    let begun = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if begun.elapsed() < LIMIT => std::thread::sleep(Duration::from_millis(3)),
            None => {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("{args:?} hangs");
            }
        }
    };
    let text = |path: &Path| fs::read_to_string(path).unwrap();
    FinishedRun { code: status.code(), stdout: text(&out), stderr: text(&err) }
}

#[test]
fn special_files_never_block_commands() {
    let whole = Whole::new();
    let pristine = whole.copy();
    pristine.json(&["cas", "list", "--type", "StepNode"]);
    pristine.json(&["thread", "list", "--all"]);
    fs::write(pristine.root().join(".env"), "A_KEY=sk-0123456789\n").unwrap();
    pristine.json(&["thread", "pause", &whole.adding]);
    let files = files(&pristine, &whole);
    assert!(files.len() > 15, "{files:?}");
    let tree = crate::disk::tree_of(&pristine.root());
    let cases: Vec<Case> =
        files.iter().flat_map(|file| Thing::ALL.map(|thing| Case { thing, file: file.clone() })).collect();
    let campaign = Campaign::new("special_files_never_block_commands");
    each(campaign, cases, SHORT, |case, _| {
        let home = whole.copy();
        crate::disk::write_tree(&home.root(), &tree);
        case.thing.put(&home.root().join(&case.file));
        home.file("new.yaml", &counting_workflow(9));
        for args in commands(&whole) {
            let ran = within_limit(&home, &args);
            let is_told = matches!(ran.code, Some(0 | 10 | 20 | 40 | 64 | 65 | 69 | 74 | 78));
            assert!(is_told && !ran.stderr.contains("panicked"), "{args:?}: {ran:?}");
            if ran.code == Some(74) {
                let name = case.file.file_name().unwrap().to_string_lossy().into_owned();
                assert!(ran.stderr.contains(&name), "{args:?} names it: {ran:?}");
            }
        }
    });
}
