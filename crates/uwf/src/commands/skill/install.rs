//! `uwf skill install`

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Command as Definitions, ValueEnum};
use durable_files::{publish_all, replace};
use json_cas::hash_bytes;
use serde::Serialize;
use uwf_engine::error::{AtPath, ErrorKind};

use crate::error::CommandError;
use crate::install;
use crate::printer::{CommandReport, CommandResult, PrintableReport};
use crate::skills::SkillSubject;

/// Arguments of `uwf skill install`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf skill install                           into the project in the current directory, for all three
  uwf skill install --for claude --global     for all your projects
  uwf skill install --dir ~/src/my-project --for codex --for cursor

  Claude Code   .claude/skills/uwf/SKILL.md   --global: ~/.claude/skills/uwf/SKILL.md
  codex         .agents/skills/uwf/SKILL.md   --global: ~/.agents/skills/uwf/SKILL.md
  cursor        .cursor/rules/uwf.mdc         --global: ~/.cursor/skills/uwf/SKILL.md

Run this again after an update of uwf. Files that were changed are kept (exit 64), unless you add --force.")]
pub(crate) struct Args {
    /// The tool; can be given several times. Default: all.
    #[arg(long = "for", value_name = "TOOL")]
    tools: Vec<SkillTool>,
    /// The project.
    #[arg(long, default_value = ".", value_hint = clap::ValueHint::DirPath)]
    dir: PathBuf,
    /// For all your projects, into your home directory.
    #[arg(long, conflicts_with = "dir")]
    global: bool,
    /// Also replace files that were changed.
    #[arg(long)]
    force: bool,
}

/// A tool whose agents read skill files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
enum SkillTool {
    /// Claude Code.
    Claude,
    /// codex.
    Codex,
    /// cursor.
    Cursor,
}

/// When an agent should read the text; tools show this before they load the rest.
const DESCRIPTION: &str = "Run, watch and repair workflows of AI agents with the command uwf, and write such workflows. Use it when a \
                           task names uwf, a workflow in .workflows, or a thread id, or asks to start, step, explain, fork or answer one.";

/// Prefix of the digest of the written text, at the end of the file.
const MARK: &str = "<!-- made by `uwf skill install`; renewed by it as long as nobody changes it: ";

/// The result for a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum SkillFileOutcome {
    Wrote,
    Renewed,
    Kept,
}

#[derive(Serialize)]
struct SkillFile {
    tool: SkillTool,
    path: PathBuf,
    outcome: SkillFileOutcome,
}

#[derive(Serialize)]
#[serde(transparent)]
struct SkillInstallReport(Vec<SkillFile>);

impl CommandReport for SkillInstallReport {
    fn text(&self) -> String {
        let line = |SkillFile { path, outcome, .. }: &SkillFile| {
            let outcome = match outcome {
                SkillFileOutcome::Wrote => "wrote",
                SkillFileOutcome::Renewed => "renewed",
                SkillFileOutcome::Kept => "kept",
            };
            format!("{outcome} {}\n", path.display())
        };
        self.0.iter().map(line).collect()
    }
}

/// Installs the text for each tool.
pub(crate) fn run(args: &Args, root: Definitions) -> CommandResult {
    let tools = if args.tools.is_empty() { SkillTool::value_variants() } else { &args.tools };
    let body = SkillSubject::Cli.text(root);
    let mut files = Vec::new();
    for tool in SkillTool::value_variants().iter().filter(|tool| tools.contains(tool)) {
        let path = if args.global { tool.personal()? } else { in_project(&args.dir, tool.in_project()) };
        let content = marked(&format!("{}\n{body}", tool.header(args.global)));
        let outcome = outcome(&path, &content)?;
        files.push((
            SkillFile { tool: *tool, path, outcome: outcome.unwrap_or(SkillFileOutcome::Renewed) },
            outcome,
            content,
        ));
    }
    let changed: Vec<String> = files
        .iter()
        .filter(|(_, outcome, _)| outcome.is_none())
        .map(|(file, ..)| file.path.display().to_string())
        .collect();
    if !changed.is_empty() && !args.force {
        let (verb, them) = if changed.len() == 1 { ("has", "it") } else { ("have", "them") };
        let message = format!("{} {verb} been changed, or {verb} not been written by uwf", changed.join(", "));
        let hint = format!("nothing was written; --force replaces {them}");
        return Err(CommandError::new(ErrorKind::Usage, message).hint(hint));
    }
    let mut installed = Vec::new();
    for (file, _, content) in files {
        write(&file, &content)?;
        installed.push(file);
    }
    PrintableReport::new(&SkillInstallReport(installed))
}

/// Writes the whole file.
fn write(file: &SkillFile, content: &str) -> Result<(), CommandError> {
    let path = &file.path;
    match file.outcome {
        SkillFileOutcome::Kept => {}
        SkillFileOutcome::Renewed => replace(path, content.as_bytes())?,
        SkillFileOutcome::Wrote => {
            let (dir, name) = (path.parent().unwrap_or(Path::new(".")), path.file_name().unwrap_or_default());
            if publish_all(dir, &[(PathBuf::from(name), content.as_bytes())])? != [true]
                && read(path)? != Some(content.to_owned())
            {
                let message = format!("another process has just created {}", path.display());
                return Err(CommandError::new(ErrorKind::Busy, message).hint("try again"));
            }
        }
    }
    Ok(())
}

/// Decides about a file; `None` if it was edited since uwf wrote it.
fn outcome(path: &Path, content: &str) -> Result<Option<SkillFileOutcome>, CommandError> {
    Ok(match read(path)? {
        None => Some(SkillFileOutcome::Wrote),
        Some(there) if there == content => Some(SkillFileOutcome::Kept),
        Some(there) => is_own(&there).then_some(SkillFileOutcome::Renewed),
    })
}

fn read(path: &Path) -> Result<Option<String>, CommandError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(missing) if missing.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).path_context("read", path)?,
    }
}

/// The text followed by the mark.
fn marked(text: &str) -> String {
    format!("{text}\n{MARK}{} -->\n", digest(text))
}

/// Whether a file is unchanged since uwf wrote it.
fn is_own(there: &str) -> bool {
    let parts =
        there.rsplit_once(MARK).and_then(|(text, mark)| Some((text.strip_suffix('\n')?, mark.strip_suffix(" -->\n")?)));
    parts.is_some_and(|(text, mark)| mark == digest(text))
}

fn digest(text: &str) -> String {
    hash_bytes(b"skill", text.as_bytes()).to_string()
}

fn in_project(dir: &Path, below: &str) -> PathBuf {
    if dir == Path::new(".") { PathBuf::from(below) } else { dir.join(below) }
}

impl SkillTool {
    /// The file's path in a project.
    fn in_project(self) -> &'static str {
        match self {
            SkillTool::Claude => ".claude/skills/uwf/SKILL.md",
            SkillTool::Codex => ".agents/skills/uwf/SKILL.md",
            SkillTool::Cursor => ".cursor/rules/uwf.mdc",
        }
    }

    /// The file's path for the user.
    fn personal(self) -> Result<PathBuf, CommandError> {
        // The other tools have no variable for their directories.
        let (variable, below_home) = match self {
            SkillTool::Claude => ("CLAUDE_CONFIG_DIR", ".claude"),
            SkillTool::Codex => ("", ".agents"),
            SkillTool::Cursor => ("", ".cursor"),
        };
        let dir = install::dir(variable, below_home)
            .map_err(|error| CommandError { hints: vec!["name a project: --dir DIR".to_owned()], ..error })?;
        Ok(dir.join("skills/uwf/SKILL.md"))
    }

    /// The header that the tool reads first.
    fn header(self, global: bool) -> String {
        match self {
            SkillTool::Cursor if !global => format!("---\ndescription: {DESCRIPTION}\nalwaysApply: false\n---\n"),
            SkillTool::Claude | SkillTool::Codex | SkillTool::Cursor => {
                format!("---\nname: uwf\ndescription: {DESCRIPTION}\n---\n")
            }
        }
    }
}
