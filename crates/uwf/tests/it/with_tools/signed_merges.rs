//! `uwf thread merge` where the person's git signs commits, with a key of ssh.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use uwf_testing::{TestHome, text};

use crate::fixtures::repository::{git, home_with_repository, start_in_worktree, uwf_in};

/// A key that belongs to no person.
fn key(home: &TestHome, name: &str) -> PathBuf {
    let path = home.work().join(name);
    let mut command = Command::new("ssh-keygen");
    home.prepare(&mut command);
    let made = command.args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f"]).arg(&path).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    path
}

/// Has every commit be signed by a key, in this part of git's configuration.
fn sign_by(home: &TestHome, dir: &Path, part: &str, key: &Path) {
    let key = format!("{}.pub", key.display());
    for (name, value) in [("commit.gpgSign", "true"), ("gpg.format", "ssh"), ("user.signingKey", &key)] {
        git(home, dir, &["config", part, name, value]);
    }
}

/// A person who signs by the key that is returned, and a repository with a commit of theirs after a thread began.
fn signing() -> (TestHome, PathBuf, String, PathBuf) {
    let home = home_with_repository(9);
    let repo = home.work().join("repo");
    let (thread, _) = start_in_worktree(&home, &repo);
    home.json(&["thread", "step", &thread]);
    let person = key(&home, "person");
    let public = fs::read_to_string(person.with_extension("pub")).unwrap();
    let signers = home.file("signers", &format!("a@example.org {public}"));
    git(&home, &repo, &["config", "--global", "gpg.ssh.allowedSignersFile", signers.to_str().unwrap()]);
    fs::write(repo.join("own"), "own\n").unwrap();
    git(&home, &repo, &["add", "own"]);
    git(&home, &repo, &["commit", "--quiet", "-m", "own"]);
    sign_by(&home, &repo, "--global", &person);
    (home, repo, thread, person)
}

fn merge(home: &TestHome, repo: &Path, thread: &str, manner: &str) -> uwf_testing::FinishedRun {
    uwf_in(home, repo, &["thread", "merge", thread, manner])
}

/// By whose key a commit is signed: `G` for the person's, `U` for another, `N` for none.
fn signature(home: &TestHome, repo: &Path, commit: &str) -> String {
    // To look at one, git runs the program that the repository names.
    git(home, repo, &["-c", "gpg.ssh.program=ssh-keygen", "log", "-1", "--format=%G?", commit])
}

#[test]
fn every_commit_of_a_merge_is_signed() {
    for manner in ["--no-ff", "--squash"] {
        let (home, repo, thread, _) = signing();
        let merged = merge(&home, &repo, &thread, manner).json();
        assert_eq!(merged["committed"], 2, "{merged}");
        assert_eq!(signature(&home, &repo, "HEAD"), "G", "{manner}");
        assert_eq!(signature(&home, &repo, &format!("uwf/{thread}")), "G", "{manner}");
    }
}

#[test]
fn the_repository_does_not_decide_who_signs() {
    let (home, repo, thread, _) = signing();
    let other = key(&home, "other");
    sign_by(&home, &repo, "--local", &other);
    let ran = home.work().join("ran");
    let program = home.script("signer", &format!("#!/bin/sh\ntouch '{}'\nexit 1\n", ran.display()));
    for name in ["gpg.program", "gpg.ssh.program", "gpg.ssh.defaultKeyCommand"] {
        git(&home, &repo, &["config", "--local", name, program.to_str().unwrap()]);
    }
    merge(&home, &repo, &thread, "--no-ff").json();
    assert_eq!(signature(&home, &repo, "HEAD"), "G");
    assert!(!ran.exists());

    // Nor whether.
    git(&home, &repo, &["config", "--global", "commit.gpgSign", "false"]);
    let (thread, _) = start_in_worktree(&home, &repo);
    home.json(&["thread", "step", &thread]);
    merge(&home, &repo, &thread, "--no-ff").json();
    assert_eq!(signature(&home, &repo, "HEAD"), "N");
    assert!(!ran.exists());

    // Without a key of the person there is none.
    git(&home, &repo, &["config", "--global", "commit.gpgSign", "true"]);
    git(&home, &repo, &["config", "--global", "--unset", "user.signingKey"]);
    let (thread, _) = start_in_worktree(&home, &repo);
    home.json(&["thread", "step", &thread]);
    assert_eq!(merge(&home, &repo, &thread, "--no-ff").code, Some(78));
    assert!(!ran.exists());
}

#[test]
fn failed_signer_leaves_checkout_unchanged() {
    for (name, value) in [
        ("user.signingKey", "/no/such/key.pub"),
        ("gpg.ssh.program", "/no/such/program"),
        ("gpg.ssh.program", "false"),
        ("gpg.format", "openpgp"),
    ] {
        for manner in ["--no-ff", "--squash"] {
            let (home, repo, thread, _) = signing();
            let what = format!("{name} {value} {manner}");
            git(&home, &repo, &["config", "--global", "gpg.program", "false"]);
            // The commit on the thread's branch is signed first, then the merge commit.
            let committed = git(&home, &repo, &["rev-parse", &format!("uwf/{thread}")]);
            let before = [git(&home, &repo, &["rev-parse", "HEAD"]), git(&home, &repo, &["status", "--porcelain"])];
            git(&home, &repo, &["config", "--global", name, value]);
            for is_committed in [false, true] {
                if is_committed {
                    let worktree = home.root().join("worktrees").join(&thread);
                    git(&home, &worktree, &["add", "-A"]);
                    git(&home, &worktree, &["commit", "--quiet", "--no-gpg-sign", "-m", "by hand"]);
                }
                let failed = merge(&home, &repo, &thread, manner);
                assert_eq!(failed.code, Some(78), "{what}: {failed:?}");
                assert!(
                    failed.stderr.contains("error: cannot sign the commit: git says: "),
                    "{what}: {}",
                    failed.stderr
                );
                assert!(failed.stderr.contains("git config --global"), "{what}: {}", failed.stderr);
                let after = [git(&home, &repo, &["rev-parse", "HEAD"]), git(&home, &repo, &["status", "--porcelain"])];
                assert_eq!(after, before, "{what}");
                let left =
                    ["MERGE_HEAD", "SQUASH_MSG", "index.lock", "uwf-merge"].map(|name| repo.join(".git").join(name));
                assert!(!left.iter().any(|path| path.exists()), "{what}");
                if !is_committed {
                    assert_eq!(git(&home, &repo, &["rev-parse", &format!("uwf/{thread}")]), committed, "{what}");
                }
            }
            git(&home, &repo, &["config", "--global", "commit.gpgSign", "false"]);
            assert_eq!(text(&merge(&home, &repo, &thread, manner).json(), "into"), "main", "{what}");
        }
    }
}
