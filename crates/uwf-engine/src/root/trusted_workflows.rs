//! Workflows whose commands a person lets uwf run on this machine.
//!
//! A role with `run` is code. A person trusts it by naming its file on the command line, by `workflow put`, or by `workflow trust`. Trust
//! applies to the hash, so every change needs it again. A workflow that came with a repository or from another store is not trusted.

use std::collections::BTreeSet;
use std::io::ErrorKind;

use durable_files::regular;
use json_cas::NodeHash;
use uwf_core::text::one_line;
use uwf_core::workflow::Workflow;

use crate::error::{AtPath, Error, Result};
use crate::root::config_file;
use crate::root::home::Home;

/// Most commands that an error lists.
const LISTED: usize = 8;

/// Whether the commands of a workflow may run. A workflow without commands needs no trust.
pub fn allows(home: &Home, hash: NodeHash, workflow: &Workflow) -> Result<bool> {
    Ok(workflow.commands().next().is_none() || read(home)?.contains(&hash))
}

/// Trusts a workflow, if it has commands.
pub fn trust(home: &Home, hash: NodeHash, workflow: &Workflow) -> Result<()> {
    if allows(home, hash, workflow)? {
        return Ok(());
    }
    change(home, |trusted| trusted.insert(hash))
}

/// Withdraws the trust in a workflow.
pub fn distrust(home: &Home, hash: NodeHash) -> Result<()> {
    change(home, |trusted| trusted.remove(&hash))
}

/// The error for a step that would run a command without trust.
pub(crate) fn refusal(workflow: &Workflow, hash: NodeHash) -> Error {
    let name = &workflow.name;
    let error =
        Error::config(format!("workflow `{name}` {hash} runs commands on this machine, and you have not trusted it"));
    let commands: Vec<String> =
        workflow.commands().map(|(role, run)| format!("role `{role}` runs: {}", one_line(&run.command))).collect();
    let error = commands.iter().take(LISTED).fold(error, |error, line| error.hint(line.clone()));
    error.hint(format!("if that is what you want: `uwf workflow trust {hash}`"))
}

fn read(home: &Home) -> Result<BTreeSet<NodeHash>> {
    let path = home.trusted_workflows_file();
    match regular::read_to_string(&path, regular::MAX_TEXT) {
        Ok(text) => Ok(text.lines().filter_map(|line| line.trim().parse().ok()).collect()),
        Err(missing) if missing.kind() == ErrorKind::NotFound => Ok(BTreeSet::new()),
        other => other.map(|_| BTreeSet::new()).path_context("read", &path),
    }
}

fn change(home: &Home, edit: impl FnOnce(&mut BTreeSet<NodeHash>) -> bool) -> Result<()> {
    std::fs::create_dir_all(home.root()).path_context("create", home.root())?;
    let _lock = config_file::lock(home)?;
    let mut trusted = read(home)?;
    if !edit(&mut trusted) {
        return Ok(());
    }
    let text: String = trusted.iter().map(|hash| format!("{hash}\n")).collect();
    Ok(durable_files::replace(&home.trusted_workflows_file(), text.as_bytes())?)
}
