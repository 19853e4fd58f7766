//! The user's editor.

use std::path::Path;
use std::process::Command;

use uwf_engine::error::Error;

use crate::error::CommandError;

/// How often a command reopens the editor, so that an editor that returns at once does not loop forever.
pub(crate) const MAX_EDITS: usize = 20;

/// Opens a file in `$VISUAL`, `$EDITOR` or vi.
///
/// # Errors
/// `Config` if the editor does not start, or fails; the file remains.
pub(crate) fn open(path: &Path) -> Result<(), CommandError> {
    let named = ["VISUAL", "EDITOR"].into_iter().filter_map(|name| std::env::var(name).ok());
    let editor = named.into_iter().find(|editor| !editor.trim().is_empty()).unwrap_or_else(|| "vi".to_owned());
    // Through a shell, because the variable may include options: `code --wait`.
    let status = Command::new("sh").args(["-c", &format!("{editor} \"$1\""), "sh"]).arg(path).status();
    let problem = match status {
        Ok(status) if status.success() => return Ok(()),
        Ok(status) => format!("the editor `{editor}` ended with {status}"),
        Err(error) => format!("cannot start the editor `{editor}`: {error}"),
    };
    Err(CommandError::from(Error::config(problem))
        .hint(format!("set VISUAL or EDITOR; your text is kept in {}", path.display())))
}
