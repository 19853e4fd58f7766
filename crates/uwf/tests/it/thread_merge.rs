//! `uwf thread merge`: what a thread did in its worktree is brought into one's own branch.

use std::fs;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use serde_json::json;
use uwf_testing::{FinishedRun, TestHome, text};

use crate::fixtures::repository::{
    git, git_that_first, home_with_repository, real_git, repository, start_in_worktree, uwf_in,
};
use crate::fixtures::review::step;
use crate::fixtures::terminal::session_at;

/// A thread with two steps in a worktree, and the repository.
fn worked() -> (TestHome, PathBuf, String, PathBuf) {
    let home = home_with_repository(9);
    let repo = home.work().join("repo");
    let (thread, worktree) = start_in_worktree(&home, &repo);
    step(&home, &thread, 2);
    (home, repo, thread, worktree)
}

fn subjects(home: &TestHome, dir: &Path) -> Vec<String> {
    git(home, dir, &["log", "--format=%s", "--first-parent"]).lines().map(|line| home.steady(line)).collect()
}

fn told(home: &TestHome, dir: &Path, args: &[&str]) -> String {
    home.steady(&uwf_in(home, dir, args).transcript())
}

/// Commits a change of the person's own.
fn commit(home: &TestHome, repo: &Path, file: &str, content: &str) {
    fs::write(repo.join(file), content).unwrap();
    git(home, repo, &["add", file]);
    git(home, repo, &["commit", "--quiet", "-m", &format!("own {file}")]);
}

#[test]
fn a_branch_is_brought_back_by_moving_forward() {
    let (home, repo, thread, worktree) = worked();
    let merged = uwf_in(&home, &repo.join("sub"), &["thread", "merge", &thread]).json();
    let commit = git(&home, &repo, &["rev-parse", "HEAD"]);
    assert_eq!(
        merged,
        json!({ "thread": thread, "branch": format!("uwf/{thread}"), "into": "main", "how": "fast-forward",
            "commit": commit, "committed": 3, "task": "count" })
    );
    assert_eq!(subjects(&home, &repo), ["count", "first"]);
    assert_eq!(git(&home, &repo, &["log", "-1", "--format=%an <%ae>"]), "A Person <a@example.org>");
    assert!(repo.join("step-2.txt").exists() && worktree.join("step-2.txt").exists());
    assert_eq!(git(&home, &worktree, &["status", "--porcelain"]), "");
    assert_snapshot!(told(&home, &repo, &["thread", "merge", &thread, "--format", "text"]), @r"
    exit 0
    main has all of uwf/<id> already
    remove thread and worktree with: uwf thread rm <id>
    --- stderr
    thread <id>: count
    ");
    // The thread continues, and its next steps are brought in as well.
    step(&home, &thread, 1);
    assert_eq!(uwf_in(&home, &repo, &["thread", "merge", &thread, "--ff-only"]).json()["how"], json!("fast-forward"));
    home.json(&["thread", "kill", &thread]);
    assert_eq!(home.json(&["thread", "rm", &thread])["worktree"], json!({ "dir": worktree }), "the branch goes too");
}

#[test]
fn diverged_branches_merge_by_commit_or_squash() {
    let (home, repo, thread, _) = worked();
    commit(&home, &repo, "own", "own\n");
    let before = git(&home, &repo, &["rev-parse", "HEAD"]);
    let refused = told(&home, &repo, &["thread", "merge", &thread, "--ff-only"]);
    assert_snapshot!(refused, @"
    exit 64
    --- stderr
    error: uwf/<id> and the branch checked out in <dir>/work/repo both have new commits
    hint: without --ff-only there will be a merge commit
    ");
    assert_eq!(uwf_in(&home, &repo, &["thread", "merge", &thread]).json()["how"], json!("merge"));
    assert_eq!(subjects(&home, &repo), ["Merge uwf/<id>: count", "own own", "first"]);
    git(&home, &repo, &["reset", "--quiet", "--hard", &before]);
    let squashed = uwf_in(&home, &repo, &["thread", "merge", &thread, "--squash", "--format", "text"]);
    let commit = git(&home, &repo, &["rev-parse", "--short=7", "HEAD"]);
    assert_eq!(
        home.steady(&squashed.transcript().replace(&commit, "<commit>")),
        "exit 0\nsquashed uwf/<id> into main, commit <commit>\nremove thread and worktree with: uwf thread rm <id>\n\
         --- stderr\nthread <id>: count\n"
    );
    assert_eq!(subjects(&home, &repo), ["count", "own own", "first"]);
    assert!(repo.join("step-2.txt").exists());
    assert_eq!(uwf_in(&home, &repo, &["thread", "merge", &thread, "--squash"]).json()["how"], json!("up-to-date"));
    // A merge commit in any case, also of a bare commit.
    let (home, repo, thread, _) = worked();
    git(&home, &repo, &["checkout", "--quiet", "--detach"]);
    let merged = uwf_in(&home, &repo, &["thread", "merge", &thread, "--no-ff"]).json();
    assert_eq!((&merged["how"], merged.get("into")), (&json!("merge"), None));
}

#[test]
fn conflicts_are_named_and_nothing_is_lost() {
    for how in [&[][..], &["--squash"]] {
        let (home, repo, thread, worktree) = worked();
        commit(&home, &repo, "count", "many\n");
        commit(&home, &repo, "step-1.txt", "mine\n");
        fs::write(repo.join("README"), "not committed\n").unwrap();
        let before = git(&home, &repo, &["rev-parse", "HEAD"]);
        let merge = [&["thread", "merge", &thread], how].concat();
        insta::allow_duplicates! {
            assert_snapshot!(told(&home, &repo, &merge), @r"
            exit 20
            --- stderr
            waiting: uwf/<id> has conflicts with the branch checked out in <dir>/work/repo: count, step-1.txt
            hint: resolve them there, then `git add` these files and `git commit`
            hint: or go back to before the merge: `uwf thread merge <id> --abort`
            ");
            assert_snapshot!(told(&home, &repo, &merge), @r"
            exit 64
            --- stderr
            error: a merge is under way in <dir>/work/repo
            hint: conclude it: `git commit`, once its conflicts are resolved and added
            hint: or go back to before it: `uwf thread merge <id> --abort`
            ");
        }
        assert_eq!(subjects(&home, &worktree), ["count", "first"], "the work is committed on the thread's branch");
        assert_eq!(uwf_in(&home, &repo, &["thread", "merge", &thread, "--abort"]).json()["aborted"], json!(true));
        assert_eq!(git(&home, &repo, &["rev-parse", "HEAD"]), before);
        assert_eq!(git(&home, &repo, &["status", "--porcelain"]), " M README", "what was not committed is still there");
        assert_eq!(fs::read_to_string(repo.join("count")).unwrap(), "many\n");
        let again = told(&home, &repo, &["thread", "merge", &thread, "--abort"]);
        assert!(again.starts_with("exit 64\n--- stderr\nerror: no merge of uwf/<id> is under way in "), "{again}");

        // Resolved as a person would.
        assert_eq!(uwf_in(&home, &repo, &merge).code, Some(20));
        fs::write(repo.join("count"), "both\n").unwrap();
        fs::write(repo.join("step-1.txt"), "both\n").unwrap();
        git(&home, &repo, &["add", "count", "step-1.txt"]);
        git(&home, &repo, &["commit", "--quiet", "--no-edit"]);
        assert!(repo.join("step-2.txt").exists());
    }
}

#[test]
fn merge_never_overwrites_local_changes() {
    let (home, repo, thread, worktree) = worked();
    fs::write(repo.join("count"), "mine, and new\n").unwrap();
    let refused = told(&home, &repo, &["thread", "merge", &thread]);
    assert_snapshot!(refused, @"
    exit 64
    --- stderr
    error: files that git does not know in <dir>/work/repo would be overwritten: count
    hint: move them away, or add and commit them, then merge again
    ");
    fs::remove_file(repo.join("count")).unwrap();
    fs::write(repo.join("README"), "mine, and not committed\n").unwrap();
    fs::write(worktree.join("README"), "theirs\n").unwrap();
    assert_snapshot!(told(&home, &repo, &["thread", "merge", &thread]), @"
    exit 64
    --- stderr
    error: uncommitted changes in <dir>/work/repo would be overwritten: README
    hint: commit them, or put them aside: `git stash`; then merge again
    ");
    git(&home, &repo, &["restore", "README"]);
    fs::write(repo.join("count"), "mine, and new\n").unwrap();
    assert_eq!(fs::read_to_string(repo.join("count")).unwrap(), "mine, and new\n");
    assert_eq!(git(&home, &worktree, &["status", "--porcelain"]), "", "the work is committed on the thread's branch");
    git(&home, &repo, &["add", "count"]);
    assert_snapshot!(told(&home, &repo, &["thread", "merge", &thread, "--squash"]), @r"
    exit 64
    --- stderr
    error: there are staged changes in <dir>/work/repo, which would become part of the commit
    hint: commit them, or unstage them: `git restore --staged .`
    ");
}

#[test]
fn failed_merges_explain_why() {
    let (home, repo, thread, worktree) = worked();
    let plain = home.start("count-rounds", "count");
    assert_snapshot!(told(&home, &repo, &["thread", "merge", &plain]), @r"
    exit 64
    --- stderr
    error: thread <id> has no git worktree: its agents work in its directory
    hint: `uwf thread start --worktree` gives a thread one
    ");
    let other = repository(&home, "other");
    assert_snapshot!(told(&home, &other, &["thread", "merge", &thread]), @r"
    exit 64
    --- stderr
    error: <dir>/work/other is in no working tree of the git repository <dir>/work/repo/.git, to which thread <id> belongs
    hint: run this in a checkout of that repository, on the branch to merge into
    ");
    let outside = told(&home, &home.work(), &["thread", "merge", &thread]);
    assert!(outside.starts_with("exit 64\n--- stderr\nerror: <dir>/work is in no working tree of "), "{outside}");
    assert_snapshot!(told(&home, &worktree, &["thread", "merge", &thread]), @r"
    exit 64
    --- stderr
    error: this is the worktree of thread <id> itself
    hint: run this on the branch that should receive uwf/<id>
    ");
    assert_eq!(home.uwf(&["thread", "merge", "ZZZZ"]).code, Some(69));
    git(&home, &worktree, &["checkout", "--quiet", "-b", "elsewhere"]);
    assert_snapshot!(told(&home, &repo, &["thread", "merge", &thread]), @r"
    exit 64
    --- stderr
    error: <dir>/root/worktrees/<id> has the branch elsewhere checked out, not uwf/<id>
    hint: check it out there, or merge it yourself
    ");
    git(&home, &worktree, &["checkout", "--quiet", &format!("uwf/{thread}")]);
    // Nobody is to commit without a name.
    fs::remove_file(home.root().parent().unwrap().join(".gitconfig")).unwrap();
    git(&home, &repo, &["config", "user.useConfigOnly", "true"]);
    assert_snapshot!(told(&home, &repo, &["thread", "merge", &thread]), @r"
    exit 78
    --- stderr
    error: git does not know who you are, and a commit needs an author
    hint: git config --global user.name 'NAME'; git config --global user.email ADDRESS
    ");
    git(&home, &repo, &["config", "user.name", "X"]);
    git(&home, &repo, &["config", "user.email", "x@example.org"]);
    // Of a worktree that is gone there is still the branch.
    git(&home, &worktree, &["add", "-A"]);
    git(&home, &worktree, &["commit", "--quiet", "-m", "the work"]);
    fs::remove_dir_all(&worktree).unwrap();
    let merged = uwf_in(&home, &repo, &["thread", "merge", &thread]).json();
    assert_eq!((text(&merged, "how"), &merged["committed"]), ("fast-forward".to_owned(), &json!(0)));
}

#[test]
fn running_thread_is_not_merged() {
    let (home, repo, thread, _) = worked();
    home.script("worker", "#!/bin/sh\ncat > /dev/null\ntouch \"$HOME/begun\"\nwhile [ ! -e \"$HOME/go\" ]; do sleep 0.02; done\necho '{\"n\": 1}'\n");
    let dir = home.root().parent().unwrap().to_owned();
    let mut stepping = home.command(&["thread", "step", &thread]).stdout(std::process::Stdio::null()).spawn().unwrap();
    while !dir.join("begun").exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(uwf_in(&home, &repo, &["thread", "merge", &thread]).code, Some(75));
    fs::write(dir.join("go"), "").unwrap();
    assert!(stepping.wait().unwrap().success());
    assert_eq!(uwf_in(&home, &repo, &["thread", "merge", &thread]).code, Some(0));
}

/// A repository with a commit and a file in a directory of the worktree.
fn nested(home: &TestHome, worktree: &Path) -> PathBuf {
    let lib = worktree.join("lib");
    fs::create_dir(&lib).unwrap();
    git(home, &lib, &["init", "--quiet"]);
    fs::write(lib.join("main.c"), "precious").unwrap();
    git(home, &lib, &["add", "main.c"]);
    git(home, &lib, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "own"]);
    lib
}

#[test]
fn nested_repository_is_not_treated_as_files() {
    let (home, repo, thread, worktree) = worked();
    let lib = nested(&home, &worktree);
    let refused = uwf_in(&home, &repo, &["thread", "merge", &thread]);
    assert_eq!(refused.code, Some(64), "{}", refused.transcript());
    assert!(refused.stderr.contains("lib in ") && refused.stderr.contains("move "), "{}", refused.stderr);
    let report = home.json(&["thread", "step", &thread]);
    assert_eq!(report["files"]["leftOut"], "lib: a git repository of its own", "{report}");
    home.json(&["thread", "kill", &thread]);
    // Also when somebody commits it as git would: a name of a commit, and no file.
    git(&home, &worktree, &["add", "--all"]);
    git(&home, &worktree, &["commit", "--quiet", "-m", "all"]);
    assert_eq!(home.json(&["gc", "--grace", "0s"])["keptWorktrees"], 1);
    let kept = home.uwf(&["thread", "rm", &thread]);
    assert_eq!(kept.code, Some(64), "{}", kept.transcript());
    assert!(kept.stderr.contains("is a git repository of its own"), "{}", kept.stderr);
    assert!(lib.join("main.c").exists());
    fs::rename(lib.join(".git"), home.work().join("lib.git")).unwrap();
    git(&home, &worktree, &["rm", "--quiet", "--cached", "lib"]);
    uwf_in(&home, &repo, &["thread", "merge", &thread]).json();
    assert_eq!(fs::read_to_string(repo.join("lib/main.c")).unwrap(), "precious");
}

#[test]
fn a_worktree_that_git_would_keep_is_kept() {
    let (home, repo, thread, worktree) = worked();
    uwf_in(&home, &repo, &["thread", "merge", &thread]).json();
    home.json(&["thread", "kill", &thread]);
    let refused = |why: &str| {
        assert_eq!(home.json(&["gc", "--grace", "0s"])["keptWorktrees"], 1, "{why}");
        let ran = home.uwf(&["thread", "rm", &thread]);
        assert!(ran.code == Some(64) && ran.stderr.contains(why), "{}", ran.transcript());
    };
    git(&home, &repo, &["worktree", "lock", &worktree.display().to_string()]);
    refused("`git worktree lock` keeps it");
    git(&home, &repo, &["worktree", "unlock", &worktree.display().to_string()]);
    let own = PathBuf::from(git(&home, &worktree, &["rev-parse", "--path-format=absolute", "--git-dir"]));
    fs::create_dir_all(own.join("modules/sub")).unwrap();
    refused("submodules are checked out in it");
    fs::remove_dir_all(own.join("modules")).unwrap();
    let file = fs::read(worktree.join(".git")).unwrap();
    fs::remove_file(worktree.join(".git")).unwrap();
    git(&home, &worktree, &["init", "--quiet"]);
    refused("it is no longer a worktree of its git repository");
    fs::remove_dir_all(worktree.join(".git")).unwrap();
    fs::write(worktree.join(".git"), file).unwrap();
    home.json(&["thread", "rm", &thread]);
    assert!(!worktree.exists());
}

#[test]
fn only_a_merge_of_the_thread_is_aborted() {
    let (home, repo, thread, _) = worked();
    git(&home, &repo, &["branch", "feature"]);
    commit(&home, &repo, "shared.txt", "mine\n");
    git(&home, &repo, &["checkout", "--quiet", "feature"]);
    commit(&home, &repo, "shared.txt", "theirs\n");
    git(&home, &repo, &["checkout", "--quiet", "main"]);
    let mut squash = std::process::Command::new("git");
    home.prepare(&mut squash);
    assert!(!squash.args(["merge", "--squash", "feature"]).current_dir(&repo).output().unwrap().status.success());
    fs::write(repo.join("shared.txt"), "half resolved\n").unwrap();
    let refused = uwf_in(&home, &repo, &["thread", "merge", &thread, "--abort"]);
    assert_eq!(refused.code, Some(64), "{}", refused.transcript());
    assert_eq!(fs::read_to_string(repo.join("shared.txt")).unwrap(), "half resolved\n");
}

#[test]
fn merge_with_failed_commit_leaves_nothing_behind() {
    let (home, repo, thread, _) = worked();
    commit(&home, &repo, "own.txt", "mine\n");
    git(&home, &repo, &["config", "--global", "commit.gpgsign", "true"]);
    git(&home, &repo, &["config", "--global", "gpg.program", "false"]);
    for manner in ["--squash", "--no-ff"] {
        let failed = uwf_in(&home, &repo, &["thread", "merge", &thread, manner]);
        assert_eq!(failed.code, Some(78), "{}", failed.transcript());
        assert_eq!(git(&home, &repo, &["status", "--porcelain"]), "", "{manner}");
    }
    git(&home, &repo, &["config", "--global", "commit.gpgsign", "false"]);
    git(&home, &repo, &["config", "branch.main.mergeOptions", "--no-commit"]);
    assert_eq!(uwf_in(&home, &repo, &["thread", "merge", &thread]).json()["how"], "merge");
}

#[test]
fn only_settings_of_person_sign_merge() {
    let (home, repo, thread, _) = worked();
    let signer = home.script(
        "signer",
        "#!/bin/sh\ncat > /dev/null\nprintf '\\n[GNUPG:] SIG_CREATED \\n' >&2\n\
         printf -- '-----BEGIN PGP SIGNATURE-----\\nx\\n-----END PGP SIGNATURE-----\\n'\n",
    );
    let signer = signer.to_str().unwrap();
    git(&home, &repo, &["config", "commit.gpgsign", "true"]);
    git(&home, &repo, &["config", "gpg.program", signer]);
    let before = git(&home, &repo, &["rev-parse", "HEAD"]);
    let is_signed = || git(&home, &repo, &["cat-file", "commit", "HEAD"]).contains("gpgsig");
    let warned = merge(&home, &repo, &thread);
    assert!(!is_signed(), "an agent may have changed the settings of the repository");
    let why = "the commit is not signed: uwf ignores `commit.gpgsign`";
    assert!(text(&warned.json(), "unsigned").starts_with(why), "{}", warned.transcript());
    assert!(warned.stderr.contains(&format!("warning: {why}")), "{}", warned.transcript());

    // The person says how, the repository only whether.
    git(&home, &repo, &["reset", "--quiet", "--hard", &before]);
    git(&home, &repo, &["config", "--unset", "gpg.program"]);
    git(&home, &repo, &["config", "--global", "gpg.program", signer]);
    let signed = merge(&home, &repo, &thread);
    assert!(is_signed() && !signed.transcript().contains("not signed"), "{}", signed.transcript());
    git(&home, &repo, &["config", "--global", "--unset", "gpg.program"]);
    git(&home, &repo, &["config", "gpg.program", signer]);

    git(&home, &repo, &["reset", "--quiet", "--hard", &before]);
    let own = home.work().join("gitconfig-repo");
    let file = own.to_str().unwrap();
    git(&home, &repo, &["config", "--file", file, "commit.gpgsign", "true"]);
    git(&home, &repo, &["config", "--file", file, "gpg.program", signer]);
    let path = format!("includeIf.gitdir:{}/.path", repo.to_str().unwrap());
    git(&home, &repo, &["config", "--global", &path, file]);
    merge(&home, &repo, &thread);
    assert!(is_signed());
}

/// Merges with a merge commit.
fn merge(home: &TestHome, repo: &Path, thread: &str) -> FinishedRun {
    let merged = uwf_in(home, repo, &["thread", "merge", thread, "--no-ff"]);
    assert_eq!(merged.code, Some(0), "{}", merged.transcript());
    merged
}

/// A home as [`worked`], in which a merge commit is needed and signed by a program that asks at the terminal.
fn signing() -> (TestHome, PathBuf, String) {
    let (home, repo, thread, worktree) = worked();
    commit(&home, &repo, "own", "own\n");
    git(&home, &worktree, &["add", "-A"]);
    git(&home, &worktree, &["commit", "--quiet", "-m", "by hand"]);
    let signer = home.script(
        "signer",
        "#!/bin/sh\nprintf 'Passphrase? ' > /dev/tty\nread -r secret < /dev/tty\necho \"$secret\" > ../said\ncat > /dev/null\n\
         printf '\\n[GNUPG:] SIG_CREATED \\n' >&2\nprintf -- '-----BEGIN PGP SIGNATURE-----\\nx\\n-----END PGP SIGNATURE-----\\n'\n",
    );
    git(&home, &repo, &["config", "--global", "gpg.program", signer.to_str().unwrap()]);
    git(&home, &repo, &["config", "--global", "commit.gpgSign", "true"]);
    // At the terminal of a test nothing is on PATH but what is there.
    git_that_first(&home, "export PATH=/usr/bin:/bin");
    (home, repo, thread)
}

#[test]
fn missing_branch_or_repository_is_reported() {
    let (home, repo, thread, worktree) = worked();
    git(&home, &worktree, &["switch", "--quiet", "--detach"]);
    git(&home, &repo, &["branch", "--quiet", "-m", &format!("uwf/{thread}"), "mine"]);
    assert_snapshot!(told(&home, &repo, &["thread", "merge", &thread]), @"
    exit 69
    --- stderr
    error: branch uwf/<id> of thread <id> is gone
    hint: `uwf thread steps <id>` lists the steps; the files of each are a commit below refs/uwf/<id>
    hint: restore the branch: git branch uwf/<id> COMMIT
    ");
    let elsewhere = home.work().join("elsewhere");
    fs::rename(&repo, &elsewhere).unwrap();
    assert_snapshot!(told(&home, &elsewhere, &["thread", "merge", &thread]), @"
    exit 69
    --- stderr
    error: the git repository <dir>/work/repo/.git of thread <id> is gone
    hint: if it was moved, run this in its new directory: git merge uwf/<id>
    hint: or move it back
    ");
}

mod with_tools {
    use super::*;

    #[test]
    fn commit_signing_prompts_at_the_terminal() {
        let (home, repo, thread) = signing();
        for (manner, answer) in [("--no-ff", "first"), ("--squash", "second")] {
            let before = git(&home, &repo, &["rev-parse", "HEAD"]);
            let dialog = [("Passphrase?", &*format!("{answer}\r"))];
            let seen = session_at(&home, &repo, 100, &[], &["thread", "merge", &thread, manner], &dialog);
            assert_eq!(seen.code, Some(0), "{}", seen.shown);
            assert_eq!(fs::read_to_string(home.work().join("said")).unwrap(), format!("{answer}\n"));
            assert!(git(&home, &repo, &["cat-file", "commit", "HEAD"]).contains("gpgsig"), "it is signed");
            git(&home, &repo, &["reset", "--quiet", "--hard", &before]);
        }
    }

    #[test]
    fn cancelled_signing_merges_nothing() {
        let (home, repo, thread) = signing();
        let before = git(&home, &repo, &["rev-parse", "HEAD"]);
        for manner in ["--no-ff", "--squash"] {
            let args = ["thread", "merge", &thread, manner];
            let seen = session_at(&home, &repo, 100, &[], &args, &[("Passphrase?", "\u{3}")]);
            assert_eq!(seen.code, Some(130), "{}", seen.shown);
            assert_eq!(git(&home, &repo, &["status", "--porcelain", "--branch"]), "## main", "{manner}");
            assert_eq!(git(&home, &repo, &["rev-parse", "HEAD"]), before);
            assert!(!repo.join(".git/MERGE_HEAD").exists() && !repo.join(".git/SQUASH_MSG").exists());
        }
    }
}

#[test]
fn later_user_changes_survive_killed_merge() {
    let (home, repo, thread, _) = worked();
    let kill = format!(
        "case \"$*\" in *' merge --no-edit '*) cd '{}'; printf 'st' > step-1.txt; kill -9 $PPID; exit 1;; esac",
        repo.display()
    );
    git_that_first(&home, &kill);
    assert_eq!(uwf_in(&home, &repo, &["thread", "merge", &thread]).code, None);
    real_git(&home);
    fs::write(repo.join("step-2.txt"), "of the person\n").unwrap();
    let again = uwf_in(&home, &repo, &["thread", "merge", &thread]);
    assert!(again.code == Some(64) && again.stderr.contains("step-2.txt"), "{again:?}");
    assert_eq!(fs::read_to_string(repo.join("step-2.txt")).unwrap(), "of the person\n");
    assert!(!repo.join("step-1.txt").exists());
}

#[test]
fn concurrent_merges_all_land_with_clean_checkout() {
    for round in 0..4 {
        let home = home_with_repository(9);
        let repo = home.work().join("repo");
        let threads: Vec<String> = (0..3)
            .map(|number| {
                let (thread, worktree) = start_in_worktree(&home, &repo);
                fs::write(worktree.join(format!("page-{number}")), "a page\n").unwrap();
                thread
            })
            .collect();
        let merge = |thread: &String| home.command(&["thread", "merge", thread]).current_dir(&repo).spawn().unwrap();
        let merging: Vec<_> = threads.iter().map(merge).collect();
        for mut one in merging {
            assert!(one.wait().unwrap().success(), "round {round}");
        }
        assert_eq!(git(&home, &repo, &["status", "--porcelain"]), "", "round {round}");
        let pages = git(&home, &repo, &["ls-files", "page-*"]);
        assert_eq!(pages, "page-0\npage-1\npage-2", "round {round}");
    }
}

#[test]
fn empty_squash_leaves_no_commit_message() {
    let (home, repo, thread, _) = worked();
    commit(&home, &repo, "own.txt", "own\n");
    assert_eq!(uwf_in(&home, &repo, &["thread", "merge", &thread, "--squash"]).json()["how"], "squash");
    assert_eq!(uwf_in(&home, &repo, &["thread", "merge", &thread, "--squash"]).json()["how"], "up-to-date");
    assert!(!["SQUASH_MSG", "AUTO_MERGE"].iter().any(|name| repo.join(".git").join(name).exists()));
}

/// See `./test --campaigns`.
mod campaigns {
    use super::*;

    /// What a git that is killed while it merges may leave, in shell: `$GIT` is the real one, `$TIP` the branch, and
    /// `$BASE` where it began.
    const LEFT_BEHIND: [(&str, &str); 7] = [
        ("nothing", "true"),
        ("its lock", "touch .git/index.lock .git/HEAD.lock .git/refs/heads/main.lock"),
        (
            "new files that the index does not know",
            "cp .git/index i; GIT_INDEX_FILE=i $GIT read-tree --aggressive -m -u $BASE HEAD $TIP; rm i; touch .git/index.lock",
        ),
        ("the beginning of a file", "printf 'st' > step-2.txt; touch .git/index.lock"),
        ("new files and index, and the old commit", "$GIT read-tree --aggressive -m -u $BASE HEAD $TIP"),
        ("a merge without its commit", "$GIT merge --quiet --no-ff --no-commit $TIP"),
        ("a squash without its commit", "$GIT merge --quiet --squash $TIP"),
    ];

    #[test]
    fn killed_merge_is_undone_by_next_merge() {
        let (home, repo, thread, _) = worked();
        let before = home.snapshot();
        for manner in [None, Some("--no-ff"), Some("--squash")] {
            for (what, left) in LEFT_BEHIND {
                home.restore(&before);
                let what = format!("{what}, {manner:?}");
                if manner.is_some() {
                    commit(&home, &repo, "own.txt", "own\n");
                }
                fs::write(repo.join("README"), "a change of the person\n").unwrap();
                fs::write(repo.join("new.txt"), "a file of the person\n").unwrap();
                let kill = format!(
                    "GIT={}; TIP=uwf/{thread}; case \"$*\" in *' merge --no-edit '*) cd '{}' && BASE=$($GIT merge-base HEAD $TIP) && {left}; kill -9 $PPID; exit 1;; esac",
                    uwf_engine::attempt::program::find("git").unwrap().display(),
                    repo.display()
                );
                git_that_first(&home, &kill);
                let args: Vec<&str> = ["thread", "merge", &thread].into_iter().chain(manner).collect();
                assert_eq!(uwf_in(&home, &repo, &args).code, None, "{what}: it is killed");
                real_git(&home);
                let again = uwf_in(&home, &repo, &args);
                assert_eq!(again.code, Some(0), "{what}: {again:?}");
                assert_eq!(git(&home, &repo, &["status", "--porcelain"]), " M README\n?? new.txt", "{what}");
                assert_eq!(fs::read_to_string(repo.join("README")).unwrap(), "a change of the person\n", "{what}");
                assert_eq!(fs::read_to_string(repo.join("step-2.txt")).unwrap(), "step 2\n", "{what}");
            }
        }
    }

    /// Git is killed while uwf continues.
    #[test]
    fn merge_is_undone_immediately_when_git_dies() {
        let (home, repo, thread, _) = worked();
        let before = home.snapshot();
        for (what, left) in LEFT_BEHIND {
            home.restore(&before);
            commit(&home, &repo, "own.txt", "own\n");
            fs::write(repo.join("README"), "a change of the person\n").unwrap();
            let kill = format!(
                "GIT={}; TIP=uwf/{thread}; case \"$*\" in *' merge --no-edit '*) cd '{}' && BASE=$($GIT merge-base HEAD $TIP) && {left}; kill -9 $$;; esac",
                uwf_engine::attempt::program::find("git").unwrap().display(),
                repo.display()
            );
            git_that_first(&home, &kill);
            let failed = uwf_in(&home, &repo, &["thread", "merge", &thread]);
            assert_eq!(failed.code, Some(74), "{what}: {failed:?}");
            real_git(&home);
            assert_eq!(git(&home, &repo, &["status", "--porcelain"]), " M README", "{what}");
            git(&home, &repo, &["commit", "--quiet", "--all", "-m", "git has no lock"]);
            assert_eq!(uwf_in(&home, &repo, &["thread", "merge", &thread]).json()["how"], "merge", "{what}");
        }
    }
}
