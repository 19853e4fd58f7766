//! A sandbox by Landlock: the kernel allows the program only listed files, and a filter of system calls does the rest.
//!
//! Landlock only adds rights. So a directory with something hidden in it is not listed itself; its other entries are. And a path cannot be
//! excepted from a directory that the program may write.

use std::path::{Path, PathBuf};

use uwf_core::config::NetworkPolicy;

use super::inside_request::{FileRules, InsideRequest, SocketRule};
use super::view::SandboxView;
use super::{PathAccess, SandboxRules};

/// The devices that programs need.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// The request to the process before the program.
pub(super) fn request(rules: &SandboxRules<'_>) -> Result<InsideRequest, String> {
    let sockets = match rules.network {
        NetworkPolicy::Open => SocketRule::NoLocal,
        NetworkPolicy::None => SocketRule::None,
        NetworkPolicy::Hosts(_) => return Err("it cannot limit the network to hosts".to_owned()),
    };
    let view = rules.view;
    let mut files = FileRules::default();
    for (path, access) in view.entries() {
        match (access, view.around(path)) {
            (PathAccess::Hidden | PathAccess::Read, PathAccess::Write) => {
                let kind = if path.ends_with(".git") { "read-only" } else { "apart" };
                let (path, around) = (path.display(), path.parent().unwrap_or(path).display());
                return Err(format!("the program may write {around}, so it cannot keep {path} {kind}"));
            }
            (PathAccess::Hidden | PathAccess::PreferablyRead, _) => {}
            (PathAccess::Read, _) => show(view, path, &mut files.read),
            (PathAccess::Write, _) => files.write.push(path.to_owned()),
        }
    }
    files.write.push(rules.temporary.to_owned());
    files.read.push(PathBuf::from("/proc"));
    files.devices = DEVICES.iter().map(PathBuf::from).filter(|path| path.exists()).collect();
    Ok(InsideRequest { files: Some(files), sockets, scope: true, proxy: None })
}

/// Adds a directory that the program may read, or its parts if something in it is an entry of its own.
fn show(view: &SandboxView, path: &Path, read: &mut Vec<PathBuf>) {
    let is_apart =
        |(entry, access): (&Path, PathAccess)| access == PathAccess::Hidden && entry != path && entry.starts_with(path);
    if !view.entries().any(is_apart) {
        read.push(path.to_owned());
        return;
    }
    // The program sees nothing of a directory that uwf cannot list.
    let Ok(entries) = std::fs::read_dir(path) else { return };
    for entry in entries.flatten() {
        let child = entry.path();
        let is_entry = view.entries().any(|(known, _)| known == child);
        // The target of a link has rights of its own.
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        if !is_entry && !is_link {
            show(view, &child, read);
        }
    }
}
