//! `uwf config trust`

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;
use serde_json::{Value, json};
use uwf_core::config::edit::{self, KeyPath};
use uwf_engine::error::ErrorKind;
use uwf_engine::root::project::{self, TrustableFile};

use crate::ask::TerminalAsker;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::{CommandResult, PrintableReport};
use crate::style;

/// Arguments of `uwf config trust`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf config trust                  the project of the current directory
  uwf config trust ../app
  uwf config trust --revoke

The files .workflows/config.yaml and config.local.yaml name programs that uwf runs for you. At a terminal, uwf shows
what they set and asks before it trusts them; in a script, read them first. You trust their current content: after a change you must trust them again, and see what changed. For threads that work in the
project, they override your own configuration; config.local.yaml is for you alone and overrides the other.

In CI, UWF_TRUST=DIR, an absolute directory or several with `:` between them, trusts the projects below it as they are
when uwf first reads them, and the commands of their workflows. Agents do not get the variable.")]
pub(crate) struct Args {
    /// A directory of the project.
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// Revoke the trust.
    #[arg(long)]
    revoke: bool,
    /// Don't ask at a terminal.
    #[arg(short, long, conflicts_with = "revoke")]
    yes: bool,
}

/// Trusts the configuration of a project.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let dir = context.cwd.join(&args.dir);
    if args.revoke {
        let project = project::distrust(&context.home, &dir)?;
        let files = project.files().map(|file| TrustChange::revoked(file.file.display().to_string()));
        return Ok(report(files.collect()));
    }
    let (files, warnings) = project::to_trust(&context.home, &dir)?;
    warnings.iter().for_each(|problem| context.printer.warn(&problem.to_string()));
    let mut changes: Vec<TrustChange> = files.iter().map(TrustChange::of_file).collect();
    let is_new = files.iter().any(|file| file.before.as_ref() != Some(&file.text));
    if is_new && !args.yes && TerminalAsker::has_person() {
        let asker = TerminalAsker::new(context.printer);
        changes.iter().for_each(|change| asker.print_line(&change.shown));
        if !asker.yes("trust this?")? {
            return Err(CommandError::new(ErrorKind::Interrupted, "you answered no, so nothing was trusted"));
        }
        changes.iter_mut().for_each(TrustChange::shorten);
    }
    project::trust(&context.home, &files)?;
    Ok(report(changes))
}

/// The report of the files: the first one, with the person's own below it.
fn report(files: Vec<TrustChange>) -> PrintableReport {
    let text: String = files.iter().map(|file| file.text.as_str()).collect();
    let mut values = files.into_iter().map(|file| file.value);
    let mut value = values.next().unwrap_or_default();
    if let Some(local) = values.next() {
        value["local"] = local;
    }
    PrintableReport::value_with_text(value, text)
}

/// A file whose trust changed, for programs and for people.
struct TrustChange {
    value: Value,
    text: String,
    /// The text that a person reads before the decision.
    shown: String,
}

impl TrustChange {
    fn revoked(file: String) -> TrustChange {
        let text = format!("{} is no longer trusted\n", style::bold(&file));
        TrustChange { value: json!({ "file": file, "trusted": false, "sets": [] }), text, shown: String::new() }
    }

    /// Leaves out what the person has already seen.
    fn shorten(&mut self) {
        self.text = self.text.lines().take(1).map(|line| format!("{line}\n")).collect();
    }

    fn of_file(trusted: &TrustableFile) -> TrustChange {
        let file = trusted.file.display().to_string();
        let values = |text: &str| edit::values(text, &file).unwrap_or_default();
        let (now, before) = (values(&trusted.text), trusted.before.as_deref().map(values));
        let leaves = edit::leaves(&now);
        let changes = before.as_ref().map(|before| changes(&edit::leaves(before), &leaves));
        let lines: String = match &changes {
            None => leaves.iter().map(|(path, value)| format!("  {path} = {value}\n")).collect(),
            Some(changes) if changes.is_empty() => "no key has changed since it was last trusted\n".to_owned(),
            Some(changes) => {
                let lines: String = changes.iter().map(TrustedKeyChange::text).collect();
                format!("changed since it was last trusted:\n{lines}")
            }
        };
        let sets: Vec<Value> =
            leaves.into_iter().map(|(path, value)| json!({ "key": path.to_string(), "value": value })).collect();
        let text = format!("trusted {}\n{lines}", style::bold(&file));
        let shown = format!("{}\n{}", style::bold(&file), lines.trim_end());
        TrustChange { shown, value: json!({ "file": file, "trusted": true, "sets": sets, "changes": changes }), text }
    }
}

/// A key whose value has changed since the file was last trusted.
#[derive(Serialize)]
struct TrustedKeyChange {
    key: String,
    /// Its value before; null if it was not set.
    before: Option<Value>,
    /// Its value now; null if it is no longer set.
    after: Option<Value>,
}

impl TrustedKeyChange {
    fn text(&self) -> String {
        let line = |sign: String, value: &Option<Value>| {
            value.as_ref().map(|value| format!("  {sign} {} = {value}\n", self.key)).unwrap_or_default()
        };
        line(style::red("-"), &self.before) + &line(style::green("+"), &self.after)
    }
}

fn changes(before: &[(KeyPath, &Value)], after: &[(KeyPath, &Value)]) -> Vec<TrustedKeyChange> {
    let keyed = |leaves: &[(KeyPath, &Value)]| -> BTreeMap<String, Value> {
        leaves.iter().map(|(path, value)| (path.to_string(), (*value).clone())).collect()
    };
    let (mut before, after) = (keyed(before), keyed(after));
    let mut changes: Vec<TrustedKeyChange> = after
        .into_iter()
        .map(|(key, value)| TrustedKeyChange { before: before.remove(&key), after: Some(value), key })
        .filter(|change| change.before != change.after)
        .collect();
    changes.extend(before.into_iter().map(|(key, value)| TrustedKeyChange { key, before: Some(value), after: None }));
    changes.sort_by(|one, other| one.key.cmp(&other.key));
    changes
}
