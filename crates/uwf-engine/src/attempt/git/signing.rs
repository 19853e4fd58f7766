//! Signs commits with the key and the program of the person's own configuration.
//!
//! An agent may be able to write the repository's configuration, and a signer is a program with the person's keys. So
//! uwf ignores the repository's key and program. `commit.gpgsign` of the repository counts only if the person has set how to sign, and
//! the repository does not.

use super::GitRunner;
use crate::error::Result;

/// The setting for whether to sign.
const SIGN: &str = "commit.gpgsign";

/// Settings for signing, each with its default.
const SETTINGS: [(&str, &str); 8] = [
    (SIGN, "false"),
    ("user.signingkey", ""),
    ("gpg.format", "openpgp"),
    ("gpg.program", "gpg"),
    ("gpg.openpgp.program", "gpg"),
    ("gpg.x509.program", "gpgsm"),
    ("gpg.ssh.program", "ssh-keygen"),
    ("gpg.ssh.defaultkeycommand", "false"),
];

/// Configuration scopes that belong to the person or the machine.
const OF_PERSON: [&str; 3] = ["system", "global", "command"];

/// How a person signs commits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CommitSigning {
    /// Whether commits are signed.
    pub(super) is_on: bool,
    /// Whether the repository asks for signed commits, but only with its own settings.
    pub(crate) is_ignored: bool,
    /// Settings that override the repository's settings.
    pub(super) settings: Vec<String>,
}

impl<'d> GitRunner<'d> {
    /// The person's way of signing the commits that are created here.
    pub(crate) fn signing_of_person(&self) -> Result<CommitSigning> {
        let args = ["config", "--null", "--show-scope", "--list", "--includes"];
        let listed = self.text("read the configuration of git", args)?;
        let mut signing = CommitSigning::parse_config_list(&listed);
        let has_no_key = signing.settings.iter().any(|setting| setting == "user.signingkey=");
        if signing.is_on && has_no_key && value(&listed, "gpg.format", true) != Some("ssh") {
            // Without a key, git uses the committer's.
            let ident = self.text("look who makes commits", ["var", "GIT_COMMITTER_IDENT"])?;
            let who = ident.rsplitn(3, ' ').last().unwrap_or_default();
            signing.settings.push(format!("user.signingkey={who}"));
        }
        Ok(signing)
    }

    /// The same git with this way of signing commits.
    pub(crate) fn signing(self, signing: &CommitSigning) -> GitRunner<'d> {
        GitRunner { signing: signing.clone(), ..self }
    }
}

impl CommitSigning {
    /// Parses the output of `--list`: scope, key and value of each setting.
    fn parse_config_list(listed: &str) -> CommitSigning {
        let mut settings = Vec::new();
        for (key, none) in SETTINGS {
            let is_outdone = value(listed, key, false).is_some();
            if let Some(value) = value(listed, key, true).or(is_outdone.then_some(none)) {
                settings.push(format!("{key}={value}"));
            }
        }
        let wants = |of_person| value(listed, SIGN, of_person).is_some_and(is_true);
        let sets_how =
            |of_person| SETTINGS.iter().any(|(key, _)| *key != SIGN && value(listed, key, of_person).is_some());
        if wants(true) {
            return CommitSigning { is_on: true, is_ignored: false, settings };
        }
        let is_on = wants(false) && sets_how(true) && !sets_how(false);
        if is_on {
            settings[0] = format!("{SIGN}=true");
        }
        CommitSigning { is_on, is_ignored: wants(false) && !is_on, settings }
    }
}

/// The last value that the person, or the repository, has set.
fn value<'l>(listed: &'l str, key: &str, of_person: bool) -> Option<&'l str> {
    let mut parts = listed.split_terminator('\0');
    let mut found = None;
    while let (Some(scope), Some(setting)) = (parts.next(), parts.next()) {
        // A key without a value means true.
        let (known, value) = setting.split_once('\n').unwrap_or((setting, "true"));
        if known == key && OF_PERSON.contains(&scope) == of_person {
            found = Some(value);
        }
    }
    found
}

/// Values that git reads as true.
fn is_true(value: &str) -> bool {
    let is_word = ["true", "yes", "on"].iter().any(|word| value.eq_ignore_ascii_case(word));
    is_word || value.parse::<i64>().is_ok_and(|number| number != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(settings: &[(&str, &str)]) -> (bool, String) {
        let listed: String = settings.iter().map(|(scope, setting)| format!("{scope}\0{setting}\0")).collect();
        let CommitSigning { is_on, is_ignored, settings } = CommitSigning::parse_config_list(&listed);
        assert!(!is_on || !is_ignored);
        (is_on, settings.join(" "))
    }

    #[test]
    fn the_repository_is_outdone() {
        let expected = |is_on, settings: &str| (is_on, settings.to_owned());
        assert_eq!(of(&[("global", "user.name\nA")]), expected(false, ""));
        let settings = [("local", "commit.gpgsign\ntrue"), ("local", "gpg.program\nevil")];
        assert_eq!(of(&settings), expected(false, "commit.gpgsign=false gpg.program=gpg"));
        let settings =
            [("system", "commit.gpgsign"), ("worktree", "commit.gpgsign\nfalse"), ("local", "user.signingkey\nx")];
        assert_eq!(of(&settings), expected(true, "commit.gpgsign=true user.signingkey="));
        let settings =
            [("system", "gpg.format\nx509"), ("global", "gpg.format\nssh"), ("local", "gpg.format\nopenpgp")];
        assert_eq!(of(&settings), expected(false, "gpg.format=ssh"));
        let settings =
            [("global", "commit.gpgsign\nfalse"), ("global", "user.signingkey\nx"), ("local", "commit.gpgsign")];
        assert_eq!(of(&settings), expected(true, "commit.gpgsign=true user.signingkey=x"));
    }

    #[test]
    fn yes_is_written_in_several_ways() {
        assert!(["true", "Yes", "ON", "1", "-1"].into_iter().all(is_true));
        assert!(["false", "no", "off", "0", "", "maybe"].into_iter().all(|value| !is_true(value)));
    }
}
