//! The editor of the person.

use std::path::Path;
use std::process::Command;

use uwf_engine::error::Error;

use crate::error::CommandError;

/// Times an editor is opened again by one command, so that an editor that returns at once does not continue for ever.
pub(crate) const MAX_EDITS: usize = 20;

/// Lets the person edit a file: in `$VISUAL`, else `$EDITOR`, else vi.
///
/// # Errors
/// `Config` when the editor does not start, or ends with a failure; the file stays.
pub(crate) fn open(path: &Path) -> Result<(), CommandError> {
    let named = ["VISUAL", "EDITOR"].into_iter().filter_map(|name| std::env::var(name).ok());
    let editor = named.into_iter().find(|editor| !editor.trim().is_empty()).unwrap_or_else(|| "vi".to_owned());
    // By a shell, since people give their editor options: `code --wait`.
    let status = Command::new("sh").args(["-c", &format!("{editor} \"$1\""), "sh"]).arg(path).status();
    let problem = match status {
        Ok(status) if status.success() => return Ok(()),
        Ok(status) => format!("the editor `{editor}` ended with {status}"),
        Err(error) => format!("cannot start the editor `{editor}`: {error}"),
    };
    Err(CommandError::from(Error::config(problem))
        .hint(format!("set VISUAL or EDITOR; what was written is kept in {}", path.display())))
}
