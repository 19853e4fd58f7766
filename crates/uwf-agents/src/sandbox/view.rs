//! The files that a program in a sandbox sees: for each path, the deepest entry at or above it decides.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use uwf_core::config::{SandboxPolicy, WORKSPACE};
use uwf_engine::attempt::program;

use super::{PathAccess, repository};

/// Directories of the system that programs need if `read` lists what they see.
const SYSTEM: [&str; 15] = [
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu", "/snap", "/sys",
    "/System", "/Library",
];

/// Directories with sockets, devices, processes and temporary files of other programs. A mechanism puts its own in their place.
pub(super) const REPLACED: [&str; 5] = ["/dev", "/proc", "/run", "/tmp", "/var/tmp"];

/// Directories that no `write` or `read` can contain.
const NEVER: [&str; 2] = ["/dev", "/proc"];

/// Files and directories below the home directory with keys, passwords, and the sockets of programs that act for the user. A program sees
/// them only if `read` or `write` lists them.
const CREDENTIALS: [&str; 36] = [
    ".1password",
    ".aws",
    ".azure",
    ".bash_history",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".colima",
    ".config/1Password",
    ".config/chromium",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/google-chrome",
    ".config/hub",
    ".config/op",
    ".config/rclone",
    ".config/sops",
    ".docker",
    ".git-credentials",
    ".gnupg",
    ".kube",
    ".lima",
    ".local/share/keyrings",
    ".mozilla",
    ".my.cnf",
    ".netrc",
    ".npmrc",
    ".password-store",
    ".pgpass",
    ".pypirc",
    ".ssh",
    ".terraform.d",
    ".uncaged",
    ".vault-token",
    ".zsh_history",
    "Library/Keychains",
];

/// Directories of the storage root that may be links to another disk.
const STORE_DIRS: [&str; 2] = ["cas", "threads"];

/// The input of a view.
pub(crate) struct ViewRequest<'r> {
    /// The sandbox as configured.
    pub(crate) policy: &'r SandboxPolicy,
    /// Directory of the thread.
    pub(crate) workspace: &'r Path,
    /// The storage root.
    pub(crate) root: &'r Path,
    /// The program.
    pub(crate) program: &'r str,
    /// Further files that it reads, if they exist.
    pub(crate) further: &'r [PathBuf],
}

/// The files that a program sees.
#[derive(Debug, Default)]
pub(crate) struct SandboxView {
    entries: BTreeMap<PathBuf, PathAccess>,
}

impl SandboxView {
    /// The view for a request. `uwf` is this program, which runs inside.
    ///
    /// # Errors
    /// The reason why there can be none.
    pub(super) fn new(request: &ViewRequest<'_>, uwf: &Path) -> Result<SandboxView, String> {
        let ViewRequest { policy, workspace, root, program, further } = *request;
        let workspace = real(workspace)?;
        // Before the first thread there may be none.
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        if workspace == root {
            return Err("the workspace is the storage root".to_owned());
        }
        let mut view = SandboxView::default();
        view.base(policy);
        view.hide(&root);
        STORE_DIRS.iter().for_each(|name| view.hide(&root.join(name)));
        view.hide_sockets();
        // The workspace may be a worktree below the storage root.
        view.entries.insert(workspace.clone(), PathAccess::Read);
        let lookup = program::look_up(program, &workspace).ok();
        for file in lookup.iter().map(PathBuf::as_path).chain([uwf]).chain(further.iter().map(PathBuf::as_path)) {
            view.show(file);
        }
        let places = PathBases { workspace: &workspace, root: &root };
        let written = policy.write.iter().map(|text| places.find(text, "write"));
        let mut written = written.collect::<Result<Vec<_>, _>>()?;
        for text in policy.read.iter().flatten() {
            if let Some(ListedPath { path, .. }) = places.find(text, "read")? {
                view.entries.insert(path, PathAccess::Read);
            }
        }
        // Shallow ones first, so that a link below one that can be written is noticed.
        written.sort_by_key(|place| place.as_ref().map(|place| place.path.components().count()));
        let written: Vec<ListedPath> = written.into_iter().flatten().collect();
        for (at, place) in written.iter().enumerate() {
            let above = written[..at].iter().find(|above| place.named.starts_with(&above.path));
            if let Some(above) = above.filter(|above| !place.path.starts_with(&above.path)) {
                let (named, path) = (place.named.display(), place.path.display());
                return Err(format!("`write`: {named} is a link out of {}, to {path}", above.path.display()));
            }
            view.entries.insert(place.path.clone(), PathAccess::Write);
        }
        for place in &written {
            for (path, access) in repository::entries(&place.path) {
                if access == PathAccess::Write || !written.iter().any(|written| written.path == path) {
                    view.entries.insert(path, access);
                }
            }
        }
        match view.access(&root) {
            PathAccess::Read | PathAccess::PreferablyRead | PathAccess::Write if root.exists() => {
                Err("it would show the storage root".to_owned())
            }
            _ => Ok(view),
        }
    }

    /// The beginning of every view: the system, without the files of other programs.
    fn base(&mut self, policy: &SandboxPolicy) {
        let base = if policy.read.is_some() { PathAccess::Hidden } else { PathAccess::Read };
        self.entries.insert(PathBuf::from("/"), base);
        if policy.read.is_some() {
            let system = SYSTEM.iter().map(Path::new).filter_map(|dir| dir.canonicalize().ok());
            self.entries.extend(system.map(|dir| (dir, PathAccess::Read)));
        }
        for dir in REPLACED.iter().map(Path::new).filter(|dir| dir.is_dir()) {
            self.entries.insert(dir.to_owned(), PathAccess::Hidden);
        }
        // Where the names of hosts are looked up.
        if let Ok(file) = Path::new("/etc/resolv.conf").canonicalize() {
            self.show(&file);
        }
        let home = std::env::home_dir().filter(|home| home.is_absolute());
        for name in home.iter().flat_map(|home| CREDENTIALS.iter().map(move |name| home.join(name))) {
            self.hide(&name);
        }
    }

    /// Hides sockets that the environment names.
    fn hide_sockets(&mut self) {
        for name in ["SSH_AUTH_SOCK", "DOCKER_HOST"] {
            let named = std::env::var(name).unwrap_or_default();
            let path = Path::new(named.strip_prefix("unix://").unwrap_or(&named));
            if path.is_absolute() {
                self.hide(path);
            }
        }
    }

    fn hide(&mut self, path: &Path) {
        if let Ok(path) = path.canonicalize() {
            self.entries.insert(path, PathAccess::Hidden);
        }
    }

    /// Shows a file that would be hidden otherwise, under its name and under its real one.
    fn show(&mut self, file: &Path) {
        let Ok(found) = file.canonicalize() else { return };
        let named = file.parent().and_then(|dir| dir.canonicalize().ok()).zip(file.file_name());
        for path in named.map(|(dir, name)| dir.join(name)).into_iter().chain([found]) {
            if self.access(&path) == PathAccess::Hidden {
                self.entries.insert(path, PathAccess::Read);
            }
        }
    }

    /// The access to a path.
    pub(super) fn access(&self, path: &Path) -> PathAccess {
        path.ancestors().find_map(|at| self.entries.get(at)).copied().unwrap_or(PathAccess::Hidden)
    }

    /// The access to the directory around an entry.
    pub(super) fn around(&self, path: &Path) -> PathAccess {
        path.parent().map_or(PathAccess::Hidden, |dir| self.access(dir))
    }

    /// The entries, each after those above it.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&Path, PathAccess)> {
        self.entries.iter().map(|(path, access)| (path.as_path(), *access))
    }
}

/// A path of `write` or `read`.
struct ListedPath {
    /// As it is named, absolute.
    named: PathBuf,
    /// Without links.
    path: PathBuf,
}

/// The directories that paths are relative to.
struct PathBases<'p> {
    workspace: &'p Path,
    root: &'p Path,
}

impl PathBases<'_> {
    /// The place of a text of `write` or `read`; `None` for a path to read that does not exist.
    fn find(&self, text: &str, key: &str) -> Result<Option<ListedPath>, String> {
        let home = || std::env::home_dir().ok_or_else(|| format!("`{key}`: {text}: the home directory is unknown"));
        let (named, is_relative) = match (text, text.strip_prefix("~/")) {
            (WORKSPACE, _) => (self.workspace.to_owned(), false),
            ("~", _) => (home()?, false),
            (_, Some(below)) => (home()?.join(below), false),
            _ => (self.workspace.join(text), Path::new(text).is_relative()),
        };
        let path = match named.canonicalize() {
            Ok(path) => path,
            Err(error) if key == "read" && error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("`{key}`: {}: {error}", named.display())),
        };
        if is_relative && !path.starts_with(self.workspace) {
            return Err(format!("`{key}`: {text} leads out of the workspace, to {}", path.display()));
        }
        let is_in_root = path.starts_with(self.root) && !path.starts_with(self.workspace);
        if is_in_root {
            return Err(format!("`{key}`: {} is in the storage root", path.display()));
        }
        if NEVER.iter().any(|never| path.starts_with(never)) || path == Path::new("/") {
            return Err(format!("`{key}`: {} cannot be listed", path.display()));
        }
        Ok(Some(ListedPath { named: without_dots(&named), path }))
    }
}

/// A path without `.` and `..`, by its names alone.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

fn real(path: &Path) -> Result<PathBuf, String> {
    path.canonicalize().map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
impl SandboxView {
    /// A view with these entries.
    pub(super) fn from_entries<const N: usize>(entries: [(&str, PathAccess); N]) -> SandboxView {
        let entries = entries.into_iter().map(|(path, access)| (PathBuf::from(path), access));
        SandboxView { entries: entries.collect() }
    }
}
