//! The environment of an agent: variables that `.env` adds, and secrets that are withheld.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use crate::attempt::agents;
use crate::attempt::child_threads::branch_path;
use crate::attempt::recorded::AttemptOpening;
use crate::attempt_variable::ATTEMPT_VARIABLE;
use crate::error::Result;
use crate::root::env_file;
use crate::root::home::Home;
use crate::root::project::TRUST_VARIABLE;
use crate::root::received_keys;

/// Variable for the format of reports.
const FORMAT_VARIABLE: &str = "UWF_FORMAT";

/// The environment of an agent: the engine's own plus `.env` (existing variables win), without the configured secrets
/// that the agent is not given.
pub(crate) fn for_agent(
    inherited: impl IntoIterator<Item = (OsString, OsString)>,
    env_file: &[(String, String)],
    secrets: &BTreeSet<String>,
    given: &[String],
) -> BTreeMap<OsString, OsString> {
    let mut variables: BTreeMap<OsString, OsString> =
        env_file.iter().map(|(name, value)| (name.into(), value.into())).collect();
    variables.extend(inherited);
    // A person's preferred format must not affect scripts that read reports.
    variables.remove(&OsString::from(FORMAT_VARIABLE));
    // Only a person decides on trust, so an agent can't make uwf trust its own changes.
    variables.remove(&OsString::from(TRUST_VARIABLE));
    for name in secrets.iter().filter(|name| !given.contains(name)) {
        variables.remove(&OsString::from(name));
    }
    variables
}

/// The whole environment of the agent process of an attempt.
///
/// # Errors
/// `Config` when `.env` is not readable, `Io` when its permissions cannot be restricted.
pub(crate) fn of_attempt(home: &Home, opened: &AttemptOpening) -> Result<BTreeMap<OsString, OsString>> {
    let path = home.env_file();
    env_file::protect(&path)?;
    let spec = &opened.agent;
    // The keepers of a child thread read the file themselves.
    let reads_itself = spec.holds_store();
    let env_file = if reads_itself { Vec::new() } else { env_file::read(&path)? };
    let given = [spec.env.as_slice(), &spec.own_keys].concat();
    let secrets = opened.secrets.iter().cloned().collect();
    let mut env = for_agent(received_keys::variables(), &env_file, &secrets, &given);
    // Where uwf is the agent process, it may hold a model's key. These variables are for the program that it starts.
    let own = spec.variables().filter(|_| spec.played_by().is_none());
    env.extend(own.map(|(name, value)| (name.into(), value.into())));
    env.extend(agents::protocol_variables(home, opened.thread.as_str(), &opened.role, &opened.attempt));
    if let Some(branch) = &opened.branch {
        env.extend(branch.variables(branch_path::path(home, &opened.thread)));
    }
    Ok(env)
}

/// The whole environment of a command that prepares the worktree of an attempt: the agent's, without secrets.
pub(crate) fn of_preparation(home: &Home, opened: &AttemptOpening) -> Result<BTreeMap<OsString, OsString>> {
    let path = home.env_file();
    env_file::protect(&path)?;
    let secrets = opened.secrets.iter().cloned().collect();
    let mut env = for_agent(received_keys::variables(), &env_file::read(&path)?, &secrets, &[]);
    // After a crash, the next step ends the processes of an attempt, which it finds by this variable.
    env.insert(ATTEMPT_VARIABLE.into(), opened.attempt.clone().into());
    Ok(env)
}

/// Names of configured secrets that have a value but were not given to the agent of an attempt.
pub(crate) fn withheld(opened: &AttemptOpening, env_file: &[(String, String)]) -> Vec<String> {
    let spec = &opened.agent;
    let is_given = |name: &String| spec.env.contains(name) || spec.set.contains_key(name);
    opened
        .secrets
        .iter()
        .filter(|name| !is_given(name) && env_file::value_of(name, env_file).is_some())
        .cloned()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn agent_gets_file_variables_but_only_granted_secrets() {
        let inherited = [("PATH", "/bin"), ("A_KEY", "from-shell"), ("B_KEY", "b")].map(|(n, v)| (n.into(), v.into()));
        let file = [pair("A_KEY", "from-file"), pair("C_KEY", "c"), pair("PLAIN", "p")];
        let secrets = ["A_KEY", "B_KEY", "C_KEY"].map(str::to_owned).into();
        let seen = for_agent(inherited, &file, &secrets, &["A_KEY".to_owned()]);
        let expected: BTreeMap<OsString, OsString> =
            [("PATH", "/bin"), ("A_KEY", "from-shell"), ("PLAIN", "p")].map(|(n, v)| (n.into(), v.into())).into();
        assert_eq!(seen, expected);
    }
}
