//! A project's own configuration, `.workflows/config.yaml`. It overrides the user's configuration after a person has
//! trusted it, and only while it is unchanged.
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
use crate::root::project_files::{self, CONFIG};
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
    /// The file whose trust applies. For a file in the worktree of a thread, this is its original.
    stands_for: PathBuf,
    /// Its content.
    text: String,
    /// Whether it is trusted.
    pub trust: ProjectTrust,
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
        // The file was found as `.workflows/config.yaml` in it.
        self.file.parent().and_then(Path::parent).unwrap_or(&self.file)
    }

    /// Whether it contains only comments.
    fn says_nothing(&self) -> bool {
        has_no_content(&self.text)
    }

    /// The content of the file itself.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Why it is ignored; `None` if it applies, or has no content.
    pub fn ignored(&self) -> Option<String> {
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
/// `Config` when it is too large or not text, `Io`.
pub fn find_project_config(home: &Home, dir: &Path) -> Result<Option<ProjectConfig>> {
    let Some(file) = project_files::dir(dir).map(|found| found.join(CONFIG)) else { return Ok(None) };
    let file = match std::fs::canonicalize(file.parent().unwrap_or(dir)) {
        Ok(parent) => parent.join(CONFIG),
        Err(_) => file,
    };
    let text = match regular::read_to_string(&file, MAX_BYTES) {
        Ok(text) => text,
        Err(missing) if missing.kind() == ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(Error { kind: error::ErrorKind::Config, ..Error::file("read", &file, source) }),
    };
    let stands_for = project_files::origin(home, &file);
    let key = stands_for.to_string_lossy();
    let trust = match trusted(home)?.get(&*key) {
        Some(known) if *known == text => ProjectTrust::Trusted,
        Some(_) => ProjectTrust::Changed,
        None if is_trusted_by_environment(&stands_for)? => {
            // From here on it counts like any trusted content: what an agent makes of it is not trusted.
            change(home, |trusted| drop(trusted.insert(key.into_owned(), text.clone())))?;
            ProjectTrust::Trusted
        }
        None => ProjectTrust::Unknown,
    };
    Ok(Some(ProjectConfig { file, stands_for, text, trust }))
}

/// The configuration that applies in a directory: the user's, overridden by the project's if that is trusted.
pub fn config(home: &Home, dir: &Path) -> Result<UwfConfig> {
    checked_config(home, dir).map(|(config, ..)| config)
}

/// Like [`config`], with the warnings about both files, and the project, trusted or not.
pub fn checked_config(home: &Home, dir: &Path) -> Result<(UwfConfig, Vec<FileProblem>, Option<ProjectConfig>)> {
    let (user, mut problems) = home.checked_config()?;
    let project = find_project_config(home, dir)?;
    let Some(trusted) = project.as_ref().filter(|project| project.trust == ProjectTrust::Trusted) else {
        return Ok((user, problems, project));
    };
    let (config, further) = over(&user, trusted)?;
    problems.extend(further);
    Ok((config, problems, project))
}

/// The configuration that applies in this process's directory: an agent's process works in the thread's workspace.
pub fn config_here(home: &Home) -> Result<UwfConfig> {
    match std::env::current_dir() {
        Ok(dir) => config(home, &dir),
        // The directory is gone, and its project with it.
        Err(_) => home.config(),
    }
}

/// Trusts the current configuration of a directory's project. Also returns the content that was trusted before, and warnings.
///
/// # Errors
/// `NotFound` without such a configuration, `Config` when it has errors, in which case it is not trusted; `Busy`, `Io`.
pub fn trust(home: &Home, dir: &Path) -> Result<(ProjectConfig, Option<String>, Vec<FileProblem>)> {
    let project = known(home, dir)?;
    let (_, problems) = over(&home.config()?, &project)?;
    let key = project.stands_for.to_string_lossy().into_owned();
    let mut before = None;
    change(home, |trusted| before = trusted.insert(key, project.text.clone()))?;
    Ok((ProjectConfig { trust: ProjectTrust::Trusted, ..project }, before, problems))
}

/// All problems of a directory's project configuration over the user's, whether it is trusted or not; `None` without one.
///
/// # Errors
/// Those of [`find_project_config`].
pub fn check(home: &Home, dir: &Path, user: &UwfConfig) -> Result<Option<(ProjectConfig, Vec<FileProblem>)>> {
    let project = find_project_config(home, dir)?;
    Ok(project.map(|project| {
        let (_, problems) = user.with_project(&project.text, &project.file.display().to_string(), project.dir());
        (project, problems)
    }))
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
    let key = project.stands_for.to_string_lossy().into_owned();
    change(home, |trusted| drop(trusted.remove(&key)))?;
    Ok(ProjectConfig { trust: ProjectTrust::Unknown, ..project })
}

fn known(home: &Home, dir: &Path) -> Result<ProjectConfig> {
    find_project_config(home, dir)?.ok_or_else(|| {
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
