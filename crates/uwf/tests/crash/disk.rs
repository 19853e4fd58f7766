//! A disk as POSIX promises one: what is synced is there, of everything else any part may be.
//!
//! Files and directories are inodes. An operation changes the content of a file, or entries of a directory, and nothing
//! orders two changes but a sync: the sync of a file makes its content durable, not its name; the sync of a directory
//! its entries, not what they lead to. A rename is one change: both names or neither.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::record::Op;

type Inode = usize;

/// Files by path below the storage root; `None` is a directory.
pub(crate) type Tree = BTreeMap<PathBuf, Option<Vec<u8>>>;

const ROOT: Inode = 0;

/// One change that a crash may undo.
#[derive(Debug, Clone)]
struct Change {
    what: What,
    /// Position of the operation that made it.
    made: usize,
    /// Position of the operation from which on it is durable.
    durable: Option<usize>,
}

#[derive(Debug, Clone)]
enum What {
    Enter { dir: Inode, name: String, inode: Inode },
    Remove { dir: Inode, name: String },
    Move { from: Inode, old: String, to: Inode, new: String, inode: Inode },
    Write { file: Inode, at: u64, bytes: Vec<u8> },
    Truncate { file: Inode, len: u64 },
}

/// How much of a change reached the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Fate {
    /// All of it.
    Whole,
    /// Nothing.
    Lost,
    /// The first bytes of a write.
    Torn(usize),
    /// The length a write gave the file, and none of its bytes.
    Zeros,
}

/// Everything that happened to a storage root.
pub(crate) struct Disk {
    before: Vec<Node>,
    changes: Vec<Change>,
    /// Number of operations.
    pub(crate) length: usize,
    said: Vec<(usize, Vec<u8>)>,
}

#[derive(Debug, Clone)]
enum Node {
    Dir(BTreeMap<String, Inode>),
    File(Vec<u8>),
}

impl Disk {
    /// The changes that operations made to a tree that was durable before.
    pub(crate) fn new(root: &Path, before: &Tree, ops: &[Op]) -> Disk {
        let mut nodes = vec![Node::Dir(BTreeMap::new())];
        for (path, content) in before {
            if path.as_os_str().is_empty() {
                continue;
            }
            let dir = walk(&nodes, path.parent().unwrap()).expect("a directory comes before what is in it");
            nodes.push(content.clone().map_or_else(|| Node::Dir(BTreeMap::new()), Node::File));
            let inode = nodes.len() - 1;
            enter(&mut nodes, dir, name_of(path), inode);
        }
        let before = nodes.clone();
        let mut recorder = Recorder { root, nodes, changes: Vec::new(), syncs: HashMap::new(), said: Vec::new() };
        for (position, op) in ops.iter().enumerate() {
            recorder.apply(position, op);
        }
        let Recorder { nodes, changes, said, .. } = recorder;
        // Inodes are numbered through; those made later are empty before.
        let mut before = before;
        for node in &nodes[before.len()..] {
            before.push(match node {
                Node::Dir(_) => Node::Dir(BTreeMap::new()),
                Node::File(_) => Node::File(Vec::new()),
            });
        }
        Disk { before, changes, length: ops.len(), said }
    }

    /// What was printed before a crash in front of operation `crash`.
    pub(crate) fn said(&self, crash: usize) -> String {
        let bytes = self.said.iter().filter(|(position, _)| *position < crash).flat_map(|(_, bytes)| bytes.clone());
        String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into_owned()
    }

    /// Whether a crash in front of operation `crash` finds bytes with this text durable in a file's content.
    pub(crate) fn is_durable(&self, crash: usize, text: &str) -> bool {
        self.changes.iter().any(|change| match &change.what {
            What::Write { bytes, .. } => change.is_durable(crash) && String::from_utf8_lossy(bytes).contains(text),
            _ => false,
        })
    }

    /// For each change that a crash in front of operation `crash` may undo: the length of the write it is, `None` when
    /// it is no write.
    pub(crate) fn pending(&self, crash: usize) -> Vec<Option<usize>> {
        self.changes
            .iter()
            .filter(|change| change.is_pending(crash))
            .map(|change| match &change.what {
                What::Write { bytes, .. } => Some(bytes.len()),
                _ => None,
            })
            .collect()
    }

    /// The tree after a crash in front of operation `crash`, with a fate for each pending change.
    pub(crate) fn crashed(&self, crash: usize, fates: &[Fate]) -> Tree {
        let mut nodes = self.before.clone();
        let mut fates = fates.iter().copied();
        for change in self.changes.iter().filter(|change| change.made < crash) {
            let fate = if change.is_pending(crash) { fates.next().unwrap_or(Fate::Whole) } else { Fate::Whole };
            change.what.apply(&mut nodes, fate);
        }
        let mut tree = Tree::new();
        collect(&nodes, ROOT, Path::new(""), &mut tree);
        tree
    }
}

impl Change {
    fn is_durable(&self, crash: usize) -> bool {
        self.durable.is_some_and(|durable| durable < crash)
    }

    fn is_pending(&self, crash: usize) -> bool {
        self.made < crash && !self.is_durable(crash)
    }
}

impl What {
    fn apply(&self, nodes: &mut [Node], fate: Fate) {
        if fate == Fate::Lost {
            return;
        }
        match self {
            What::Enter { dir, name, inode } => enter(nodes, *dir, name, *inode),
            What::Remove { dir, name } => drop(remove(nodes, *dir, name)),
            What::Move { from, old, to, new, inode } => {
                // The old name may be another file's by now, or never have reached the disk.
                if entries(nodes, *from).get(old) == Some(inode) {
                    remove(nodes, *from, old);
                }
                enter(nodes, *to, new, *inode);
            }
            What::Write { file, at, bytes } => {
                let written = match fate {
                    Fate::Torn(len) => bytes[..len].to_vec(),
                    Fate::Zeros => vec![0; bytes.len()],
                    Fate::Whole | Fate::Lost => bytes.clone(),
                };
                let content = content(nodes, *file);
                let at = usize::try_from(*at).unwrap();
                content.resize(content.len().max(at + written.len()), 0);
                content[at..at + written.len()].copy_from_slice(&written);
            }
            What::Truncate { file, len } => content(nodes, *file).resize(usize::try_from(*len).unwrap(), 0),
        }
    }

    /// Whether the sync of this inode makes it durable.
    fn belongs_to(&self, inode: Inode) -> bool {
        match self {
            What::Enter { dir, .. } | What::Remove { dir, .. } => *dir == inode,
            What::Move { from, to, .. } => {
                assert_eq!(from, to, "a rename between directories has no one sync");
                *to == inode
            }
            What::Write { file, .. } | What::Truncate { file, .. } => *file == inode,
        }
    }
}

/// Follows the operations as the running system sees them.
struct Recorder<'r> {
    root: &'r Path,
    nodes: Vec<Node>,
    changes: Vec<Change>,
    /// Syncs under way: the inode, and how many changes there were when it began.
    syncs: HashMap<usize, (Inode, usize)>,
    said: Vec<(usize, Vec<u8>)>,
}

impl Recorder<'_> {
    fn apply(&mut self, position: usize, op: &Op) {
        match op {
            Op::Open { path, truncate } => match self.find(path) {
                Some(file) if *truncate && !content(&mut self.nodes, file).is_empty() => {
                    self.change(position, What::Truncate { file, len: 0 });
                }
                Some(_) => {}
                None => self.create(position, path, Node::File(Vec::new())),
            },
            Op::MakeDir { path } => self.create(position, path, Node::Dir(BTreeMap::new())),
            Op::Write { path, at, bytes } => {
                let file = self.must_find(path);
                let at = at.unwrap_or(content(&mut self.nodes, file).len() as u64);
                self.change(position, What::Write { file, at, bytes: bytes.clone() });
            }
            Op::Truncate { path, len } => {
                let file = self.must_find(path);
                self.change(position, What::Truncate { file, len: *len });
            }
            Op::Rename { from, to } => {
                let inode = self.must_find(from);
                let (from, old) = self.place(from);
                let (to, new) = self.place(to);
                self.change(position, What::Move { from, old, to, new, inode });
            }
            Op::Link { from, to } => {
                let inode = self.must_find(from);
                let (dir, name) = self.place(to);
                self.change(position, What::Enter { dir, name, inode });
            }
            Op::Unlink { path } => {
                let (dir, name) = self.place(path);
                self.change(position, What::Remove { dir, name });
            }
            Op::SyncBegin { path, number } => {
                let inode = self.must_find(path);
                self.syncs.insert(*number, (inode, self.changes.len()));
            }
            Op::SyncEnd { number } => {
                let (inode, before) = self.syncs.remove(number).expect("a sync begins before it ends");
                for change in self.changes[..before].iter_mut().filter(|change| change.what.belongs_to(inode)) {
                    change.durable = change.durable.or(Some(position));
                }
            }
            Op::Said { bytes } => self.said.push((position, bytes.clone())),
        }
    }

    fn create(&mut self, position: usize, path: &Path, node: Node) {
        self.nodes.push(node);
        let inode = self.nodes.len() - 1;
        let (dir, name) = self.place(path);
        self.change(position, What::Enter { dir, name, inode });
    }

    fn change(&mut self, position: usize, what: What) {
        what.apply(&mut self.nodes, Fate::Whole);
        self.changes.push(Change { what, made: position, durable: None });
    }

    fn find(&self, path: &Path) -> Option<Inode> {
        walk(&self.nodes, path.strip_prefix(self.root).expect("only paths below the root are recorded"))
    }

    fn must_find(&self, path: &Path) -> Inode {
        self.find(path).unwrap_or_else(|| panic!("the model has no {}", path.display()))
    }

    fn place(&self, path: &Path) -> (Inode, String) {
        (self.must_find(path.parent().unwrap()), name_of(path).to_owned())
    }
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).expect("names are text")
}

fn walk(nodes: &[Node], path: &Path) -> Option<Inode> {
    path.iter().try_fold(ROOT, |dir, name| match &nodes[dir] {
        Node::Dir(entries) => entries.get(name.to_str()?).copied(),
        Node::File(_) => None,
    })
}

fn entries(nodes: &mut [Node], dir: Inode) -> &mut BTreeMap<String, Inode> {
    match &mut nodes[dir] {
        Node::Dir(entries) => entries,
        Node::File(_) => panic!("a file has no entries"),
    }
}

fn content(nodes: &mut [Node], file: Inode) -> &mut Vec<u8> {
    match &mut nodes[file] {
        Node::File(content) => content,
        Node::Dir(_) => panic!("a directory has no content"),
    }
}

fn enter(nodes: &mut [Node], dir: Inode, name: &str, inode: Inode) {
    entries(nodes, dir).insert(name.to_owned(), inode);
}

fn remove(nodes: &mut [Node], dir: Inode, name: &str) -> Option<Inode> {
    entries(nodes, dir).remove(name)
}

fn collect(nodes: &[Node], inode: Inode, path: &Path, tree: &mut Tree) {
    match &nodes[inode] {
        Node::File(content) => drop(tree.insert(path.to_owned(), Some(content.clone()))),
        Node::Dir(entries) => {
            tree.insert(path.to_owned(), None);
            entries.iter().for_each(|(name, inode)| collect(nodes, *inode, &path.join(name), tree));
        }
    }
}

/// The files below a directory.
pub(crate) fn tree_of(root: &Path) -> Tree {
    fn add(dir: &Path, path: &Path, tree: &mut Tree) {
        tree.insert(path.to_owned(), None);
        for entry in fs::read_dir(dir).unwrap() {
            let entry = entry.unwrap();
            let path = path.join(entry.file_name());
            match entry.file_type().unwrap().is_dir() {
                true => add(&entry.path(), &path, tree),
                false => drop(tree.insert(path, Some(fs::read(entry.path()).unwrap()))),
            }
        }
    }
    let mut tree = Tree::new();
    add(root, Path::new(""), &mut tree);
    tree
}

/// Makes a directory hold just these files.
pub(crate) fn write_tree(root: &Path, tree: &Tree) {
    if root.exists() {
        fs::remove_dir_all(root).unwrap();
    }
    for (path, content) in tree {
        let path = root.join(path);
        match content {
            None => fs::create_dir(&path).unwrap(),
            Some(content) => {
                fs::write(&path, content).unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            }
        }
    }
}
