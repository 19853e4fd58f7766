//! A project's own configuration, `.workflows/config.yaml`, and over it one person's for the project, `config.local.yaml`. Each overrides
//! the user's configuration after a person has trusted it, and only while it is unchanged.
//!
//! Such a file names programs that uwf runs. It comes with a repository, and an agent that works there can write it. So
//! trust applies to its content, not to its name, and the storage root keeps a copy of the trusted content.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use durable_files::regular;
use uwf_core::config::UwfConfig;
use uwf_core::document::{FileProblem, has_no_content};

use crate::error::{self, AtPath, Error, Result};
use crate::root::home::Home;
use crate::root::project_files::{self, CONFIG, LOCAL_CONFIG};
use crate::root::{config_file, config_text};

/// Most bytes of such a file. People write it, and uwf keeps a whole copy for each project.
const MAX_BYTES: u64 = 256 << 10;

/// The variable with directories whose projects are trusted as they are found. Agents don't get it.
pub(crate) const TRUST_VARIABLE: &str = "UWF_TRUST";

/// A project's current configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectConfig {
    /// The file, without links in its path.
    pub file: PathBuf,
    /// The directory that contains `.workflows`.
    dir: PathBuf,
    /// The file whose trust applies. For a file in the worktree of a thread, this is its original.
    stands_for: PathBuf,
    /// Its content.
    text: String,
    /// Whether it is trusted.
    pub trust: ProjectTrust,
    /// The person's own file over it. If there is only one file, it is the configuration itself.
    local: Option<Box<ProjectConfig>>,
}

/// Trust in a project's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectTrust {
    /// Its current content is trusted.
    Trusted,
    /// It was trusted with other content.
    Changed,
    /// It was never trusted.
    Unknown,
}

impl ProjectConfig {
    /// Directory that contains `.workflows`.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The files, each of which overrides those before it.
    pub fn files(&self) -> impl Iterator<Item = &ProjectConfig> {
        std::iter::once(self).chain(self.local.as_deref())
    }

    /// The files that apply.
    pub fn trusted_files(&self) -> impl Iterator<Item = &ProjectConfig> {
        self.files().filter(|file| file.trust == ProjectTrust::Trusted)
    }

    /// Whether it contains only comments.
    fn says_nothing(&self) -> bool {
        has_no_content(&self.text)
    }

    /// The content of the file itself.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Why one of the files is ignored; `None` if all apply, or have no content.
    pub fn ignored(&self) -> Option<String> {
        self.files().find_map(ProjectConfig::file_ignored)
    }

    /// Why this file is ignored.
    pub fn file_ignored(&self) -> Option<String> {
        let why = match self.trust {
            ProjectTrust::Trusted => return None,
            ProjectTrust::Changed | ProjectTrust::Unknown if self.says_nothing() => return None,
            ProjectTrust::Changed => "it has changed since it was trusted",
            ProjectTrust::Unknown => "it is not trusted",
        };
        let (file, dir) = (self.file.display(), self.dir().display());
        Some(format!("{file} is ignored: {why}. Read it, then `uwf config trust {dir}`"))
    }
}

/// The configuration of a directory's project: from the nearest `.workflows` at or above it, in the same repository.
///
/// # Errors
/// `Config` when a file is too large or not text, `Io`.
pub fn find_project_config(home: &Home, dir: &Path) -> Result<Option<ProjectConfig>> {
    let Some(found) = project_files::dir(dir) else { return Ok(None) };
    let found = std::fs::canonicalize(&found).unwrap_or(found);
    let shared = read(home, &found, found.join(CONFIG))?;
    // It isn't committed, so it is in no other worktree. Use the original's.
    let origin = project_files::origin(home, &found);
    let local = match read(home, &found, origin.join(LOCAL_CONFIG))? {
        None => project_files::in_main_worktree(&origin)
            .map(|main| read(home, &found, main.join(LOCAL_CONFIG)))
            .transpose()?
            .flatten(),
        own => own,
    };
    Ok(match (shared, local) {
        (Some(shared), local) => Some(ProjectConfig { local: local.map(Box::new), ..shared }),
        (None, local) => local,
    })
}

/// One file of a project, whose directory `.workflows` this is; `None` if it does not exist.
fn read(home: &Home, workflows: &Path, file: PathBuf) -> Result<Option<ProjectConfig>> {
    let text = match regular::read_to_string(&file, MAX_BYTES) {
        Ok(text) => text,
        Err(missing) if missing.kind() == ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(Error { kind: error::ErrorKind::Config, ..Error::file("read", &file, source) }),
    };
    let stands_for = project_files::origin(home, &file);
    let key = stands_for.to_string_lossy();
    let trusted = trusted(home)?;
    let in_main = || {
        let main = project_files::in_main_worktree(&stands_for)?;
        trusted.get(&*main.to_string_lossy())
    };
    let trust = match trusted.get(&*key) {
        Some(known) if *known == text => ProjectTrust::Trusted,
        // The same content in the same repository.
        _ if in_main() == Some(&text) => ProjectTrust::Trusted,
        Some(_) => ProjectTrust::Changed,
        None if is_trusted_by_environment(&stands_for)? => {
            // From here on it counts like any trusted content, so an agent's change to it is not trusted.
            change(home, |trusted| drop(trusted.insert(key.into_owned(), text.clone())))?;
            ProjectTrust::Trusted
        }
        None => ProjectTrust::Unknown,
    };
    let dir = workflows.parent().unwrap_or(workflows).to_owned();
    Ok(Some(ProjectConfig { file, dir, stands_for, text, trust, local: None }))
}

/// The configuration that applies in a directory: the user's, overridden by the project's if that is trusted.
pub fn config(home: &Home, dir: &Path) -> Result<UwfConfig> {
    checked_config(home, dir).map(|(config, ..)| config)
}

/// Like [`config`], with the warnings about both files, and the project, trusted or not.
pub fn checked_config(home: &Home, dir: &Path) -> Result<(UwfConfig, Vec<FileProblem>, Option<ProjectConfig>)> {
    let (mut config, mut problems) = home.checked_config()?;
    let project = find_project_config(home, dir)?;
    for trusted in project.iter().flat_map(ProjectConfig::trusted_files) {
        let (overlaid, further) =
            over(&config, trusted).map_err(|error| match project.as_ref().and_then(ProjectConfig::ignored) {
                Some(ignored) => without_ignored(ignored, error),
                None => error,
            })?;
        config = overlaid;
        problems.extend(further);
    }
    Ok((config, problems, project))
}

/// The error of a file that may only lack what an ignored file declares.
fn without_ignored(ignored: String, error: Error) -> Error {
    let first = error.message.lines().next().unwrap_or_default();
    Error::config(ignored).hint(format!("without it: {first}"))
}

/// The configuration that applies in this process's directory: an agent's process works in the thread's workspace.
pub fn config_here(home: &Home) -> Result<UwfConfig> {
    match std::env::current_dir() {
        Ok(dir) => config(home, &dir),
        // The directory is gone, and its project with it.
        Err(_) => home.config(),
    }
}

/// A file that a person can trust.
#[derive(Debug)]
pub struct TrustableFile {
    /// Its path.
    pub file: PathBuf,
    /// Its content.
    pub text: String,
    /// The content that was trusted before.
    pub before: Option<String>,
    /// The key of the trust.
    stands_for: PathBuf,
}

/// The current configuration of a directory's project, for a person who may trust it. Also returns warnings.
///
/// # Errors
/// `NotFound` without such a configuration, `Config` when it has errors, so that it can't be trusted; `Io`.
pub fn to_trust(home: &Home, dir: &Path) -> Result<(Vec<TrustableFile>, Vec<FileProblem>)> {
    let project = known(home, dir)?;
    let (mut config, mut problems) = (home.config()?, Vec::new());
    for file in project.files() {
        let (overlaid, further) = over(&config, file)?;
        config = overlaid;
        problems.extend(further);
    }
    let trusted = trusted(home)?;
    let files = project.files().map(|file| TrustableFile {
        file: file.file.clone(),
        text: file.text.clone(),
        before: trusted.get(&*file.stands_for.to_string_lossy()).cloned(),
        stands_for: file.stands_for.clone(),
    });
    Ok((files.collect(), problems))
}

/// Trusts files with the content that was read, whatever they have now.
///
/// # Errors
/// `Busy`, `Io`.
pub fn trust(home: &Home, files: &[TrustableFile]) -> Result<()> {
    change(home, |trusted| {
        for file in files {
            trusted.insert(file.stands_for.to_string_lossy().into_owned(), file.text.clone());
        }
    })
}

/// All problems of the files of a directory's project over the user's configuration, whether they are trusted or not, and the configuration
/// with each file.
///
/// # Errors
/// Errors of [`find_project_config`].
pub fn check(home: &Home, dir: &Path, user: &UwfConfig) -> Result<Vec<(ProjectConfig, UwfConfig, Vec<FileProblem>)>> {
    let Some(project) = find_project_config(home, dir)? else { return Ok(Vec::new()) };
    let mut config = user.clone();
    let checked = project.files().map(|file| {
        let (overlaid, problems) = config.with_project(&file.text, &file.file.display().to_string(), file.dir());
        config = overlaid;
        (file.clone(), config.clone(), problems)
    });
    Ok(checked.collect())
}

/// Whether `UWF_TRUST` names a directory that contains the file: in CI, no person can trust a project.
///
/// # Errors
/// `Config` for a relative directory, which would be another one for each process.
pub(crate) fn is_trusted_by_environment(file: &Path) -> Result<bool> {
    let Some(dirs) = std::env::var_os(TRUST_VARIABLE) else { return Ok(false) };
    let mut dirs = std::env::split_paths(&dirs).filter(|dir| !dir.as_os_str().is_empty());
    dirs.try_fold(false, |found, dir| match dir.is_absolute() {
        true => Ok(found || std::fs::canonicalize(&dir).is_ok_and(|dir| file.starts_with(dir))),
        false => Err(Error::config(format!("{TRUST_VARIABLE} has the relative directory {}", dir.display()))
            .hint(format!("give it in full: {TRUST_VARIABLE}=\"$PWD\""))),
    })
}

/// Withdraws the trust in a project's configuration.
///
/// # Errors
/// `NotFound` without such a configuration, `Busy`, `Io`.
pub fn distrust(home: &Home, dir: &Path) -> Result<ProjectConfig> {
    let project = known(home, dir)?;
    change(home, |trusted| project.files().for_each(|file| drop(trusted.remove(&*file.stands_for.to_string_lossy()))))?;
    Ok(project)
}

fn known(home: &Home, dir: &Path) -> Result<ProjectConfig> {
    find_project_config(home, dir)?.ok_or_else(|| {
        // Without the `.` of a directory that was not named.
        let dir: PathBuf = dir.components().collect();
        Error::not_found(format!("no project of {} has a .workflows/config.yaml", dir.display()))
            .hint("uwf looks in the directory and above it, up to the directory with `.git`")
    })
}

/// The user's configuration, overridden by the project's, and the warnings about that.
fn over(user: &UwfConfig, project: &ProjectConfig) -> Result<(UwfConfig, Vec<FileProblem>)> {
    let (config, problems) = user.with_project(&project.text, &project.file.display().to_string(), project.dir());
    let (errors, warnings): (Vec<FileProblem>, Vec<FileProblem>) =
        problems.into_iter().partition(FileProblem::is_error);
    if errors.is_empty() { Ok((config, warnings)) } else { Err(config_text::invalid(&errors)) }
}

/// Path and trusted content of each file.
fn trusted(home: &Home) -> Result<BTreeMap<String, String>> {
    let path = home.trusted_file();
    match regular::read(&path, regular::MAX_TEXT) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| {
            Error::config(format!("{} is not readable: {error}", path.display()))
                .hint("remove it, then trust your projects again: `uwf config trust DIR`")
        }),
        Err(missing) if missing.kind() == ErrorKind::NotFound => Ok(BTreeMap::new()),
        other => other.map(|_| BTreeMap::new()).path_context("read", &path),
    }
}

fn change(home: &Home, edit: impl FnOnce(&mut BTreeMap<String, String>)) -> Result<()> {
    std::fs::create_dir_all(home.root()).path_context("create", home.root())?;
    let _lock = config_file::lock(home)?;
    let mut trusted = trusted(home)?;
    edit(&mut trusted);
    let text = serde_json::to_string_pretty(&trusted).expect("a map of texts");
    Ok(durable_files::replace(&home.trusted_file(), format!("{text}\n").as_bytes())?)
}
