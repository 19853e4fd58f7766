//! Owners of files.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use durable_files::regular;

/// The owner of a file: the name of a user, or the user id if it has no name.
pub(crate) fn owner(path: &Path) -> String {
    let Ok(meta) = path.metadata() else { return "somebody else".to_owned() };
    let uid = meta.uid().to_string();
    let users = regular::read_to_string(Path::new("/etc/passwd"), regular::MAX_TEXT);
    let users = users.unwrap_or_default();
    let mut names = users.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == uid).then(|| name.to_owned())
    });
    names.next().unwrap_or_else(|| format!("user {uid}"))
}
