//! Finds the file of a program, or explains why no such program can be started.

use crate::error::Error;
use std::fmt;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use durable_files::regular;

/// Bytes of a script that are read to find its interpreter; Linux reads 256.
const FIRST_LINE: u64 = 256;

/// Why a program cannot be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramFault {
    /// Neither `PATH` nor the given path has such a file.
    Missing(PathBuf),
    /// It is a directory, a device or a pipe.
    NotAFile(PathBuf),
    /// The file exists but is not executable.
    NotExecutable(PathBuf),
    /// The first line of the script names a program that does not exist.
    NoInterpreter {
        /// The script.
        script: PathBuf,
        /// The interpreter in its first line, without arguments.
        interpreter: PathBuf,
    },
}

impl ProgramFault {
    /// The error for an agent with this program.
    pub fn refusal(&self, agent: &str) -> Error {
        Error::config(format!("cannot start agent `{agent}`: {self}")).hint(self.hint())
    }

    /// How to fix it.
    pub fn hint(&self) -> String {
        match self {
            ProgramFault::Missing(name) if is_path(name) => "check the path".to_owned(),
            ProgramFault::Missing(_) => "install it, or give the program's full path".to_owned(),
            ProgramFault::NotAFile(_) => "name the program itself".to_owned(),
            ProgramFault::NotExecutable(path) => format!("make it executable: chmod +x {}", path.display()),
            ProgramFault::NoInterpreter { script, interpreter }
                if interpreter.as_os_str().as_bytes().ends_with(b"\r") =>
            {
                format!("its lines end in CRLF; change them to LF: sed -i 's/\\r$//' {}", script.display())
            }
            ProgramFault::NoInterpreter { script, .. } => {
                format!("install it, or change the first line of {}", script.display())
            }
        }
    }
}

impl fmt::Display for ProgramFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProgramFault::Missing(name) if is_path(name) => write!(out, "file {} does not exist", name.display()),
            ProgramFault::Missing(name) => write!(out, "program `{}` is not on PATH", name.display()),
            ProgramFault::NotAFile(path) => write!(out, "{} is not a regular file", path.display()),
            ProgramFault::NotExecutable(path) => write!(out, "the file {} is not executable", path.display()),
            ProgramFault::NoInterpreter { script, interpreter } => {
                let interpreter = interpreter.to_string_lossy();
                write!(
                    out,
                    "the interpreter {} of the script {} does not exist",
                    interpreter.trim_end(),
                    script.display()
                )
            }
        }
    }
}

/// The file of a command: a path relative to `dir`, or a bare name on `PATH`.
///
/// # Errors
/// The reason why the program can't be started.
pub fn look_up(command: &str, dir: &Path) -> Result<PathBuf, ProgramFault> {
    let found = if command.contains('/') {
        usable(&dir.join(command.strip_prefix("./").unwrap_or(command)))?
    } else {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut refused = None;
        let mut tried = std::env::split_paths(&path).map(|place| usable(&place.join(command)));
        let found = tried.find_map(|tried| match tried {
            Ok(file) => Some(file),
            Err(ProgramFault::Missing(_)) => None,
            Err(why) => {
                refused.get_or_insert(why);
                None
            }
        });
        found.ok_or_else(|| refused.unwrap_or_else(|| ProgramFault::Missing(PathBuf::from(command))))?
    };
    match interpreter(&found) {
        Some(interpreter) if interpreter.is_absolute() && !interpreter.exists() => {
            Err(ProgramFault::NoInterpreter { script: found, interpreter })
        }
        _ => Ok(found),
    }
}

/// The file of a command, whatever it contains: a path as given, or a bare name on `PATH`.
pub fn find(command: &str) -> Option<PathBuf> {
    if command.contains('/') {
        return usable(Path::new(command)).ok();
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).find_map(|dir| usable(&dir.join(command)).ok())
}

/// Whether a file is the running program itself, under any name.
pub fn is_own(file: &Path) -> bool {
    let identity = |path: &Path| path.metadata().ok().map(|meta| (meta.dev(), meta.ino()));
    std::env::current_exe().ok().and_then(|own| identity(&own)).is_some_and(|own| identity(file) == Some(own))
}

/// The last part of a command's path.
pub fn file_name(command: &str) -> &str {
    command.rsplit('/').next().unwrap_or(command)
}

fn is_path(name: &Path) -> bool {
    name.as_os_str().as_bytes().contains(&b'/')
}

fn usable(path: &Path) -> Result<PathBuf, ProgramFault> {
    match path.metadata() {
        Err(_) => Err(ProgramFault::Missing(path.to_owned())),
        Ok(meta) if !meta.is_file() => Err(ProgramFault::NotAFile(path.to_owned())),
        Ok(meta) if meta.permissions().mode() & 0o111 == 0 => Err(ProgramFault::NotExecutable(path.to_owned())),
        Ok(_) => Ok(path.to_owned()),
    }
}

/// The interpreter in the first line of a script; `None` for other or unreadable files.
fn interpreter(path: &Path) -> Option<PathBuf> {
    let mut beginning = Vec::new();
    regular::open(path).ok()?.take(FIRST_LINE).read_to_end(&mut beginning).ok()?;
    let line = beginning.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let words = line.trim_ascii_start();
    let end = words.iter().position(|byte| matches!(byte, b' ' | b'\t')).unwrap_or(words.len());
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(&words[..end])))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};

    use super::*;

    #[test]
    fn start_failures_are_explained() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str, mode: u32| {
            let path = dir.path().join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        };
        file("fine", "#!/bin/sh\n", 0o755);
        file("plain", "#!/bin/sh\n", 0o644);
        file("lost", "#! /no/such/shell -x\n", 0o755);
        file("windows", "#!/bin/sh\r\necho\r\n", 0o755);
        file("binary", "\u{7f}ELF", 0o755);
        let told = |name: &str| {
            let found = look_up(&format!("./{name}"), dir.path());
            let told = found.map_or_else(|why| format!("{why}; {}", why.hint()), |_| "usable".to_owned());
            told.replace(&format!("{}/", dir.path().display()), "").replace('\r', "<CR>")
        };
        assert_eq!(told("fine"), "usable");
        assert_eq!(told("binary"), "usable");
        assert_eq!(told("plain"), "the file plain is not executable; make it executable: chmod +x plain");
        assert_eq!(told("absent"), "file absent does not exist; check the path");
        assert_eq!(
            told("lost"),
            "the interpreter /no/such/shell of the script lost does not exist; install it, or change the first line of lost"
        );
        assert_eq!(
            told("windows"),
            "the interpreter /bin/sh of the script windows does not exist; its lines end in CRLF; change them to LF: sed -i 's/\\r$//' windows"
        );
        let nowhere = look_up("no-such-program-anywhere", dir.path()).unwrap_err();
        assert_eq!(nowhere.to_string(), "program `no-such-program-anywhere` is not on PATH");
    }

    #[test]
    fn the_running_program_is_known_by_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("another-name");
        std::os::unix::fs::symlink(std::env::current_exe().unwrap(), &link).unwrap();
        assert!(is_own(&link));
        assert!(!is_own(Path::new("/bin/sh")));
    }
}
