//! A sandbox by bubblewrap: the program gets a file system of mounts, and its own processes, users and devices.
//!
//! Its processes don't end with bubblewrap's own (`--die-with-parent`): a program that gets a stop signal has its time to end, and the keeper
//! ends everything that is left.

use std::path::Path;

use uwf_core::config::NetworkPolicy;
use uwf_engine::attempt::program;

use super::inside_request::{InsideRequest, SocketRule};
use super::{PathAccess, SandboxRules, inside_words};

/// The program.
const PROGRAM: &str = "bwrap";

/// The socket of the proxy, as the program sees it.
const PROXY: &str = "/run/uwf-proxy.sock";

/// The namespaces and rights of every sandbox.
const ISOLATED: [&str; 7] =
    ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--cap-drop", "ALL"];

/// The command line up to the program.
pub(super) fn words(rules: &SandboxRules<'_>) -> Result<Vec<String>, String> {
    let program = program::find(PROGRAM).ok_or("`bwrap` is not installed")?;
    let mut words = WordList(vec![text(&program)?]);
    words.add(&ISOLATED);
    let has_own_network = *rules.network != NetworkPolicy::Open;
    if has_own_network {
        words.add(&["--unshare-net"]);
    }
    // A program with a terminal could type into it.
    if std::fs::File::open("/dev/tty").is_ok() {
        words.add(&["--new-session"]);
    }
    let mut sealed = Vec::new();
    for (path, access) in rules.view.entries() {
        mount(path, access, rules, &mut words, &mut sealed)?;
    }
    if let Some(socket) = rules.proxy {
        words.add(&["--ro-bind", &text(socket)?, PROXY]);
    }
    sealed.iter().for_each(|path: &String| words.add(&["--remount-ro", path]));
    words.add(&["--"]);
    let sockets = if has_own_network { SocketRule::OwnNetwork } else { SocketRule::OpenNetwork };
    let proxy = rules.proxy.map(|_| PROXY.into());
    let request = InsideRequest { files: None, sockets, scope: !has_own_network, proxy };
    Ok([words.0, inside_words(rules.uwf, &request)?].concat())
}

/// Adds the mount of an entry. A directory that must not change, but was created by bubblewrap, is added to `sealed`.
fn mount(
    path: &Path,
    access: PathAccess,
    rules: &SandboxRules<'_>,
    words: &mut WordList,
    sealed: &mut Vec<String>,
) -> Result<(), String> {
    let at = text(path)?;
    match (access, at.as_str()) {
        (PathAccess::Hidden, "/") => {
            links_of_root(words)?;
            sealed.push(at);
        }
        (PathAccess::Hidden, "/dev" | "/proc") => words.add(&[&format!("--{}", &at[1..]), &at]),
        (PathAccess::Hidden, "/tmp" | "/var/tmp") => words.add(&["--bind", &text(rules.temporary)?, &at]),
        (PathAccess::Hidden, _) if at == "/run" || rules.view.around(path) != PathAccess::Hidden => {
            if path.is_dir() {
                words.add(&["--tmpfs", &at]);
                sealed.push(at);
            } else {
                words.add(&["--ro-bind", "/dev/null", &at]);
            }
        }
        // The directory around it is not there.
        (PathAccess::Hidden, _) => {}
        (PathAccess::Read | PathAccess::PreferablyRead, _) => words.add(&["--ro-bind", &at, &at]),
        (PathAccess::Write, _) => words.add(&["--bind", &at, &at]),
    }
    Ok(())
}

/// The links directly below `/`, such as `/bin`.
fn links_of_root(words: &mut WordList) -> Result<(), String> {
    let entries = std::fs::read_dir("/").map_err(|error| format!("/: {error}"))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        if let Ok(target) = std::fs::read_link(&path) {
            words.add(&["--symlink", &text(&target)?, &text(&path)?]);
        }
    }
    Ok(())
}

/// A command line that grows.
struct WordList(Vec<String>);

impl WordList {
    fn add(&mut self, words: &[&str]) {
        self.0.extend(words.iter().map(|word| (*word).to_owned()));
    }
}

fn text(path: &Path) -> Result<String, String> {
    path.to_str().map(str::to_owned).ok_or_else(|| format!("the path {} is not UTF-8", path.display()))
}
