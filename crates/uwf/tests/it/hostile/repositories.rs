//! What an agent does to git in its worktree, and what uwf's own git makes of it.

use std::fs;
use std::path::PathBuf;

use uwf_testing::{TestHome, text};

use crate::fixtures::repository::{git, git_that_first, home_with_repository, start_in_worktree, uwf_in};

/// A thread with a worktree whose agent runs `sabotage` there and then counts, the repository, and where programs that the agent
/// chose leave their environment.
fn sabotaged(sabotage: &str) -> (TestHome, String, PathBuf, PathBuf) {
    let home = home_with_repository(9);
    let (repo, ran) = (home.work().join("repo"), home.work().join("ran"));
    let evil = home.script("evil", &format!("#!/bin/sh\nenv > '{}'\ncat\n", ran.display()));
    let script = format!(
        "#!/bin/sh\ncat > /dev/null\nREPO='{}'\nEVIL='{}'\nexec 3>&1 >/dev/null 2>&1\n{sabotage}\nrm -f '{}'\necho '{{\"n\": 1}}' >&3\n",
        repo.display(),
        evil.display(),
        ran.display()
    );
    home.worker("output: json", &script);
    home.uwf(&["config", "set", "secrets", "[MY_KEY]"]);
    let (thread, _) = start_in_worktree(&home, &repo);
    (home, thread, repo, ran)
}

/// Attributes by which every file goes through a filter.
const ATTRIBUTES: &str = "echo '* filter=x diff=x merge=x' > .gitattributes\n";

/// Settings by which git would run a program.
const SETTINGS: &str = "\
    set_all() {\n\
      for key in filter.x.clean filter.x.smudge filter.x.process core.fsmonitor core.sshCommand diff.x.command diff.x.textconv \
                 merge.x.driver core.alternateRefsCommand uploadpack.packObjectsHook credential.helper gpg.program; do\n\
        git \"$@\" $key \"$EVIL\"\n\
      done\n\
      git \"$@\" filter.x.required true; git \"$@\" core.hooksPath \"$PWD/hooks\"\n\
    }\n\
    mkdir -p hooks\n\
    for hook in reference-transaction post-index-change post-checkout pre-commit commit-msg post-commit; do cp \"$EVIL\" hooks/$hook; done\n";

#[test]
fn git_never_runs_programs_chosen_by_agent() {
    for (what, sabotage) in [
        (
            "another repository by a file",
            "git init -q --bare e.git; rm .git; echo 'gitdir: e.git' > .git\nset_all --git-dir=e.git config\n",
        ),
        ("another repository in its place", "rm .git; git init -q .; set_all config\n"),
        (
            "a link to another repository",
            "git init -q --bare e.git; rm .git; ln -s e.git .git; set_all --git-dir=e.git config\n",
        ),
        ("settings of the repository", "set_all --git-dir=\"$REPO/.git\" config\n"),
        ("settings of the worktree", "git config extensions.worktreeConfig true; set_all config --worktree\n"),
        ("included settings", "set_all config --file=\"$PWD/settings\"; git config include.path \"$PWD/settings\"\n"),
        ("attributes of the repository", "set_all config; cp .gitattributes \"$REPO/.git/info/attributes\"\n"),
    ] {
        let (home, thread, repo, ran) = sabotaged(&format!("{ATTRIBUTES}{SETTINGS}{sabotage}"));
        let step = home.command(&["thread", "step", &thread]).env("MY_KEY", "a-key-of-the-person").output().unwrap();
        let report: serde_json::Value =
            serde_json::from_slice(&step.stdout).unwrap_or_else(|_| panic!("{what}: {step:?}"));
        assert!(!ran.exists(), "{what}: {}", fs::read_to_string(&ran).unwrap());
        let (tree, commit) = (text(&report["files"], "tree"), text(&report["files"], "commit"));
        let clean = ["-c", "filter.x.required=false", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"];
        let objects = |args: &[&str]| git(&home, &repo, &[&clean, args].concat());
        assert_eq!(objects(&["rev-parse", &format!("{commit}^{{tree}}")]), tree, "{what}: they are in the repository");
        assert!(objects(&["ls-tree", "--name-only", &tree]).contains(".gitattributes"), "{what}");
        // Whatever looks at the worktree later runs nothing either.
        for args in [
            &["thread", "show", &thread][..],
            &["gc", "--grace", "0s"],
            &["thread", "kill", &thread],
            &["thread", "rm", &thread],
            &["thread", "rm", &thread, "--discard"],
        ] {
            let done = uwf_in(&home, &home.work(), args);
            assert!(!ran.exists(), "{what}: {args:?}: {done:?}");
        }
    }
}

#[test]
fn forked_worktree_runs_no_agent_program() {
    let (home, thread, repo, ran) =
        sabotaged(&format!("{ATTRIBUTES}{SETTINGS}rm .git; git init -q .; set_all config\n"));
    home.json(&["thread", "step", &thread]);
    let fork = uwf_in(&home, &repo, &["thread", "fork", &thread]).json();
    let dir = PathBuf::from(text(&fork["worktree"], "dir"));
    assert!(dir.join(".gitattributes").exists() && dir.join("README").exists());
    assert!(!ran.exists());
    home.json(&["thread", "step", &text(&fork, "thread")]);
    assert!(!ran.exists());
}

#[test]
fn git_gets_no_key() {
    let home = home_with_repository(3);
    let repo = home.work().join("repo");
    let (thread, _) = start_in_worktree(&home, &repo);
    git_that_first(&home, &format!("env >> '{}'", home.work().join("environment").display()));
    let keys = [
        ("MY_KEY", "k1"),
        ("AWS_SECRET_ACCESS_KEY", "k2"),
        ("PGPASSWORD", "k3"),
        ("OPENAI_API_KEY", "k4"),
        ("GIT_CONFIG_PARAMETERS", "'a.b'='k5'"),
    ];
    let step = home.command(&["thread", "step", &thread]).envs(keys).output().unwrap();
    assert!(step.status.success(), "{step:?}");
    let seen = fs::read_to_string(home.work().join("environment")).unwrap();
    assert!(seen.contains("PATH=") && seen.contains("HOME="), "{seen}");
    for (name, _) in keys {
        assert!(!seen.contains(name), "{name}: {seen}");
    }
}

/// Commands that look at the worktree of a thread whose agent has made this.
fn ends_in_spite_of(make: &str) {
    let (home, thread, repo, _) = sabotaged(make);
    let report = home.json(&["thread", "step", &thread]);
    let files = &report["files"];
    assert!(files["tree"].is_string() || files["notRecorded"].is_string(), "{make}: {report}");
    home.uwf(&["thread", "kill", &thread]);
    for args in [
        &["thread", "merge", &thread][..],
        &["thread", "rm", &thread],
        &["gc", "--grace", "0s"],
        &["thread", "rm", &thread, "--discard"],
    ] {
        let done = uwf_in(&home, &repo, args);
        assert!(done.code.is_some(), "{make}: {args:?}");
    }
    assert_eq!(home.uwf(&["gc"]).code, Some(0), "{make}: the lock is free");
}

/// See `./test --campaigns`.
mod campaigns {
    use super::*;

    #[test]
    fn pipe_replacing_git_file_blocks_nothing() {
        for make in [
            "mkfifo .gitignore || { rm .gitignore; mkfifo .gitignore; }",
            "rm -f .gitattributes; mkfifo .gitattributes",
            "mkdir -p deep/er; mkfifo deep/er/.gitignore",
            "rm -f .gitmodules; mkfifo .gitmodules",
            "index=$(git rev-parse --git-path index); rm -f \"$index\"; mkfifo \"$index\"",
            "rm .git; mkfifo .git",
            "rm -f \"$REPO/.git/info/exclude\"; mkdir -p \"$REPO/.git/info\"; mkfifo \"$REPO/.git/info/exclude\"",
        ] {
            ends_in_spite_of(make);
        }
    }
}
