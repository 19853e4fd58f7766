//! Owners of files.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use durable_files::regular;

/// The owner of a file: the name of a user, or the user id if it has no name.
pub(crate) fn owner(path: &Path) -> String {
    path.metadata().map_or_else(|_| "another user".to_owned(), |meta| name_of_user(meta.uid()))
}

/// The name of a user, or the user id if it has no name.
pub fn name_of_user(uid: u32) -> String {
    let uid = uid.to_string();
    let users = regular::read_to_string(Path::new("/etc/passwd"), regular::MAX_TEXT);
    let users = users.unwrap_or_default();
    let mut names = users.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == uid).then(|| name.to_owned())
    });
    names.next().unwrap_or_else(|| format!("user {uid}"))
}
