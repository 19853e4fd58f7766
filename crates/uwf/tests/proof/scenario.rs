//! The commands that change something, each with the root it is run on.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use json_cas::NodeHash;
use serde_json::json;
use uwf_testing::llm_server::{LlmScript, LlmServer, ScriptedAnswer};
use uwf_testing::{TestHome, text};

use crate::shape::Shape;
use crate::stage::Stage;
use crate::strace::Target;

/// Roles of the scenarios' workflow, one after the other. Each has an output of its own, so that none can take the place of
/// another.
const ROLES: [&str; 3] = ["first", "second", "third"];

/// Steps the workflow of the scenarios has.
pub(crate) const ROUNDS: usize = ROLES.len();

/// How long an agent may take to come to work.
const BEGIN: Duration = Duration::from_secs(20);

/// What agents of groups do before they answer.
const BEFORE: &str = "before.sh";

/// Cases of the scenarios that cost much, in a sample.
const FEW: usize = 2;

/// A file that lets agents continue that wait for it.
const GO: &str = "go";

/// A command, and the root it is run on.
pub(crate) struct Scenario {
    /// What it is called in the figures.
    pub(crate) name: &'static str,
    /// Processes it consists of, each with the exit codes the command may fail with when that one is hit.
    pub(crate) targets: &'static [(Target, &'static [i32])],
    /// Cases in a sample.
    pub(crate) sample: usize,
    /// Builds the root; gives the arguments of the command.
    build: fn(&TestHome) -> Vec<String>,
    /// Whether it is done only once nodes have files, or none, as it leaves them.
    moves_nodes: bool,
    /// Whether it is one change: then a command that fails for what it reads has changed nothing.
    pub(crate) is_one_change: bool,
    /// Whether the command meets a step of its thread with its agent at work.
    pub(crate) is_live: bool,
    /// Whether it changes what is checked out in the working directory.
    merges: bool,
    /// A command that is given before the next one.
    pub(crate) between: Option<fn(&Play) -> Vec<String>>,
    /// The command that continues where this one was ended: most often the same.
    pub(crate) next: fn(&Play, &Shape) -> Vec<String>,
}

/// A scenario whose root stands, with what the command does when nothing goes wrong.
pub(crate) struct Play {
    pub(crate) scenario: &'static Scenario,
    pub(crate) stage: Stage,
    pub(crate) args: Vec<String>,
    pub(crate) before: Shape,
    pub(crate) after: Shape,
    /// The node it reports. The same at every run where the shape does not tell whether it is there.
    stores: Option<NodeHash>,
    /// Nodes that it removes.
    removes: Vec<NodeHash>,
    /// Nodes that were there before and stay.
    keeps: Vec<NodeHash>,
    /// Nodes that have files afterwards, where that counts.
    files: Option<BTreeSet<String>>,
    /// The expected working tree afterwards, where it matters.
    checkout: Option<String>,
}

/// A test for each scenario, which runs a campaign on it.
macro_rules! campaigns {
    ($campaign:ident) => {
        campaigns! { $campaign:
            workflow_put_first: PUT_FIRST,
            workflow_put: PUT,
            workflow_rm: WORKFLOW_RM,
            workflow_rollback: ROLLBACK,
            thread_start: START,
            thread_start_worktree: START_WORKTREE,
            thread_step_json: STEP_JSON,
            thread_step_text: STEP_TEXT,
            thread_step_submit: SUBMITTED,
            thread_step_named: NAMED,
            thread_step_last: LAST_STEP,
            thread_step_worktree: STEP_WORKTREE,
            thread_step_pushed: STEP_PUSHED,
            run: RUN,
            run_new: RUN_NEW,
            thread_fork: FORK,
            thread_fork_worktree: FORK_WORKTREE,
            thread_merge_fast_forward: MERGE_FAST_FORWARD,
            thread_merge_commit: MERGE_COMMIT,
            thread_merge_squash: MERGE_SQUASH,
            thread_merge_another: MERGE_ANOTHER,
            thread_kill: KILL,
            thread_kill_at_work: KILL_AT_WORK,
            thread_limit: LIMIT,
            thread_pause: PAUSE,
            thread_resume: RESUME,
            thread_rm: RM,
            thread_rm_older: RM_OLDER,
            thread_rm_worktree: RM_WORKTREE,
            thread_answer: ANSWER,
            thread_answer_last: ANSWER_LAST,
            thread_answer_reply: REPLY,
            thread_step_child: CHILD,
            thread_step_child_last: CHILD_LAST,
            thread_step_group: GROUP,
            thread_step_group_last: GROUP_LAST,
            thread_step_reextract: REEXTRACT,
            thread_step_unread: UNREAD,
            thread_step_supervised: SUPERVISED,
            thread_step_summary: SUMMARY,
            cas_put: CAS_PUT,
            cas_put_of_a_type: CAS_PUT_TYPED,
            gc: GC,
            cas_rm: CAS_RM,
            pack: PACK,
            pack_undo: PACK_UNDO,
            gc_packed: GC_PACKED,
            cas_rm_packed: CAS_RM_PACKED,
            cas_put_packed: CAS_PUT_PACKED,
            thread_fork_packed: FORK_PACKED,
            config_set: CONFIG_SET,
            recover: RECOVER,
            setup: SETUP,
        }
    };
    ($campaign:ident: $($name:ident: $scenario:ident,)+) => {
        $(#[test] fn $name() { $campaign(&crate::scenario::$scenario); })+
    };
}
pub(crate) use campaigns;

/// The same for scenarios whose roots and commands cost much.
macro_rules! costly_campaigns {
    ($campaign:ident) => {
        crate::scenario::campaigns! { $campaign:
            thread_step_group_answered: GROUP_ANSWERED,
            thread_step_group_limited: GROUP_LIMITED,
            thread_step_group_nested: GROUP_NESTED,
        }
    };
}
pub(crate) use costly_campaigns;

impl Scenario {
    /// Builds the root and looks at what the command does when nothing goes wrong.
    pub(crate) fn play(&'static self) -> Play {
        let home = TestHome::new(uwf_testing::uwf_program());
        home.config("agents: {}\nkillGrace: 1\n");
        let args = (self.build)(&home);
        let stage = Stage::of(home);
        let before = Shape::read(&stage.engine()).unwrap();
        let (stores, removes) = (None, Vec::new());
        let keeps = stage.engine().store().objects().list(None).unwrap();
        let (after, files, checkout) = (before.clone(), None, None);
        let mut play = Play { scenario: self, stage, args, after, before, stores, removes, keeps, files, checkout };
        play.begin();
        let report = play.stage.home().json(&play.args);
        if let Some(between) = self.between {
            play.stage.home().json(&between(&play));
        }
        let left = play.stage.engine().store().objects().list(None).unwrap();
        play.removes = play.keeps.extract_if(.., |hash| left.binary_search(hash).is_err()).collect();
        play.after = Shape::read(&play.stage.engine()).unwrap();
        play.files = self.moves_nodes.then(|| play.node_files());
        play.checkout = self.merges.then(|| play.stage.checkout());
        play.stores = report["hash"].as_str().map(|hash| hash.parse().unwrap());
        play
    }

    /// Exit codes the command may fail with when this process of it is hit.
    pub(crate) fn fails_with(&self, target: Target) -> &'static [i32] {
        self.targets.iter().find(|(known, _)| *known == target).map_or(&[], |(_, codes)| codes)
    }
}

impl Play {
    /// Puts everything back to how it was before the command.
    pub(crate) fn reset(&self) {
        self.stage.reset();
        self.begin();
    }

    /// Whether the command, or one after it, came to its end.
    pub(crate) fn is_done(&self, shape: &Shape) -> bool {
        let is_stored = |hash| self.stage.engine().store().get(hash).is_ok();
        let is_there = |hash: &NodeHash| self.stage.engine().store().has(*hash).unwrap();
        shape.is(&self.after, &self.before)
            && self.stores.is_none_or(is_stored)
            && !self.removes.iter().any(is_there)
            && self.files.as_ref().is_none_or(|files| *files == self.node_files())
            && self.checkout.as_ref().is_none_or(|checkout| *checkout == self.stage.checkout())
    }

    /// The working tree, where it matters, and the expected one.
    pub(crate) fn checkouts(&self) -> Option<(String, String)> {
        self.checkout.clone().map(|checkout| (self.stage.checkout(), checkout))
    }

    fn node_files(&self) -> BTreeSet<String> {
        let entries = fs::read_dir(self.stage.home().root().join("cas")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(".bin")).collect()
    }

    /// A node that was to stay and is gone.
    pub(crate) fn lost(&self) -> Option<NodeHash> {
        let home = self.stage.engine();
        self.keeps.iter().copied().find(|hash| !home.store().has(*hash).unwrap())
    }

    /// Lets agents end that wait.
    pub(crate) fn let_go(&self) {
        self.stage.home().file(GO, "");
    }

    /// Brings an agent to work, where one is to be met.
    fn begin(&self) {
        if !self.scenario.is_live {
            return;
        }
        let mut command = self.stage.home().command(&["thread", "step", self.args.last().unwrap()]);
        let mut window = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // However it ends: nobody else takes note of it.
        std::thread::spawn(move || window.wait());
        let deadline = Instant::now() + BEGIN;
        while self.stage.ledger() == self.stage.ledger_before() {
            assert!(Instant::now() < deadline, "no agent comes to work");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Files: the only failure of a command that starts nothing.
const FILES: &[i32] = &[74];

/// A keeper is killed by nobody, but one that cannot reply has died as far as its window knows (70). What it cannot start is an
/// agent that failed (40), or one that is no program (78).
const KEEPER: &[i32] = &[40, 70, 74, 78];

const ALONE: &[(Target, &[i32])] = &[(Target::Command, FILES)];

const STEP: &[(Target, &[i32])] =
    &[(Target::Window, FILES), (Target::Keeper, KEEPER), (Target::Agent, &[40, 74, 78]), (Target::Everything, KEEPER)];

/// The group itself and its branches, or all processes at once.
const COSTLY_STEP: &[(Target, &[i32])] = &[(Target::Agent, &[40, 74, 78]), (Target::Everything, KEEPER)];

const SUBMIT: &[(Target, &[i32])] =
    &[(Target::Window, FILES), (Target::Keeper, KEEPER), (Target::Submit, &[40, 74]), (Target::Everything, KEEPER)];

/// Git is killed or fails as well as what waits for it.
const MERGE: &[(Target, &[i32])] = &[(Target::Command, FILES), (Target::Git, FILES), (Target::GitWithCommand, FILES)];

/// What most scenarios have in common.
const PLAIN: Scenario = Scenario {
    name: "",
    targets: ALONE,
    sample: 3,
    build: |_| Vec::new(),
    moves_nodes: false,
    is_one_change: true,
    is_live: false,
    merges: false,
    between: None,
    next: |play, _| play.args.clone(),
};

pub(crate) const PUT_FIRST: Scenario = Scenario {
    name: "workflow put, nothing there",
    build: |home| {
        fs::remove_file(home.root().join("config.yaml")).unwrap();
        fs::remove_dir(home.root()).unwrap();
        // A stage has a root to put back.
        fs::create_dir(home.root()).unwrap();
        put(home, ROUNDS)
    },
    ..PLAIN
};

pub(crate) const PUT: Scenario = Scenario {
    name: "workflow put",
    build: |home| {
        home.uwf(&put(home, 1));
        put(home, ROUNDS)
    },
    ..PLAIN
};

pub(crate) const WORKFLOW_RM: Scenario = Scenario {
    name: "workflow rm",
    build: |home| {
        home.uwf(&put(home, ROUNDS));
        args(&["workflow", "rm", "count-rounds"])
    },
    ..PLAIN
};

pub(crate) const ROLLBACK: Scenario = Scenario {
    name: "workflow rollback",
    build: |home| {
        home.uwf(&put(home, 1));
        home.uwf(&put(home, ROUNDS));
        args(&["workflow", "rollback", "count-rounds"])
    },
    ..PLAIN
};

pub(crate) const START: Scenario = Scenario {
    name: "thread start",
    build: |home| {
        home.uwf(&put(home, ROUNDS));
        args(&["thread", "start", "count-rounds", "-p", "count"])
    },
    ..PLAIN
};

/// Git is a process of its own: what is hit is the command that waits for it.
pub(crate) const START_WORKTREE: Scenario = Scenario {
    name: "thread start --worktree",
    build: |home| {
        home.uwf(&put(home, ROUNDS));
        repository(home);
        args(&["thread", "start", "count-rounds", "-p", "count", "--worktree"])
    },
    ..PLAIN
};

pub(crate) const STEP_JSON: Scenario = Scenario {
    name: "thread step, output: json",
    targets: STEP,
    build: |home| {
        let thread = counting(home, "json", 1);
        args(&["thread", "step", &thread])
    },
    ..PLAIN
};

pub(crate) const STEP_TEXT: Scenario = Scenario {
    name: "thread step, output: text",
    targets: STEP,
    build: |home| {
        let thread = counting(home, "text", 0);
        args(&["thread", "step", &thread])
    },
    ..PLAIN
};

pub(crate) const SUBMITTED: Scenario = Scenario {
    name: "thread step, output: step by agent submit",
    targets: SUBMIT,
    build: |home| {
        let thread = counting(home, "step", 1);
        args(&["thread", "step", &thread])
    },
    ..PLAIN
};

pub(crate) const NAMED: Scenario = Scenario {
    name: "thread step, output: step by an agent that only names its node",
    targets: SUBMIT,
    build: |home| {
        let thread = counting(home, "named", 1);
        args(&["thread", "step", &thread])
    },
    ..PLAIN
};

pub(crate) const LAST_STEP: Scenario = Scenario {
    name: "thread step, the last",
    targets: STEP,
    build: |home| {
        let thread = counting(home, "json", ROUNDS - 1);
        args(&["thread", "step", &thread])
    },
    ..PLAIN
};

pub(crate) const STEP_WORKTREE: Scenario = Scenario {
    name: "thread step, in a worktree",
    targets: STEP,
    build: |home| {
        let thread = in_worktree(home, 1);
        args(&["thread", "step", &thread])
    },
    ..PLAIN
};

pub(crate) const STEP_PUSHED: Scenario = Scenario {
    name: "thread step, in a worktree that is pushed",
    targets: STEP,
    build: |home| {
        let thread = in_worktree(home, 1);
        let remote = home.work().join("remote.git");
        let mut command = Command::new("git");
        home.prepare(&mut command);
        let made = command.args(["init", "--quiet", "--bare"]).arg(&remote).output().expect("git is installed");
        assert!(made.status.success(), "{made:?}");
        home.uwf(&["config", "set", "worktree", &format!("{{remote: {}}}", remote.display())]);
        args(&["thread", "step", &thread])
    },
    ..PLAIN
};

pub(crate) const FORK_WORKTREE: Scenario = Scenario {
    name: "thread fork, with its files",
    build: |home| {
        let thread = in_worktree(home, 2);
        args(&["thread", "fork", &thread])
    },
    ..PLAIN
};

pub(crate) const MERGE_FAST_FORWARD: Scenario = Scenario {
    name: "thread merge, by a fast-forward",
    targets: MERGE,
    build: |home| merging(home, &[], "--ff-only"),
    merges: true,
    ..PLAIN
};

pub(crate) const MERGE_COMMIT: Scenario = Scenario {
    name: "thread merge, by a merge commit",
    targets: MERGE,
    build: |home| merging(home, &["own"], "--no-ff"),
    merges: true,
    ..PLAIN
};

pub(crate) const MERGE_SQUASH: Scenario = Scenario {
    name: "thread merge --squash",
    targets: MERGE,
    build: |home| merging(home, &["own"], "--squash"),
    merges: true,
    ..PLAIN
};

/// The next merge into the checkout merges another thread.
pub(crate) const MERGE_ANOTHER: Scenario = Scenario {
    name: "thread merge, then that of another thread",
    targets: MERGE,
    build: |home| {
        let args = merging(home, &["own"], "--no-ff");
        let started = home.json(&["thread", "start", "count-rounds", "-p", "another", "--worktree"]);
        let worktree = home.root().join("worktrees").join(text(&started, "thread"));
        fs::write(worktree.join("another.txt"), "of another thread\n").unwrap();
        args
    },
    merges: true,
    between: Some(|play| {
        let is_other = |thread: &&String| !play.args.contains(thread);
        let other = play.before.threads.keys().find(is_other).expect("there are two threads");
        args(&["thread", "merge", other, "--no-ff"])
    }),
    ..PLAIN
};

pub(crate) const RM_WORKTREE: Scenario = Scenario {
    name: "thread rm, with its worktree",
    build: |home| {
        let thread = in_worktree(home, ROUNDS);
        home.start("count-rounds", "another");
        args(&["thread", "rm", &thread, "--discard"])
    },
    is_one_change: false,
    ..PLAIN
};

pub(crate) const RUN: Scenario = Scenario {
    name: "run",
    targets: STEP,
    build: |home| {
        let thread = counting(home, "json", 1);
        args(&["run", &thread])
    },
    ..PLAIN
};

pub(crate) const RUN_NEW: Scenario = Scenario {
    name: "run, a new thread",
    targets: STEP,
    build: |home| {
        home.uwf(&counter(home, "json"));
        args(&["run", "count-rounds", "-p", "count"])
    },
    next: |play, shape| match shape.new_since(&play.before).first() {
        Some(thread) => args(&["run", thread]),
        None => play.args.clone(),
    },
    ..PLAIN
};

pub(crate) const FORK: Scenario = Scenario {
    name: "thread fork",
    build: |home| {
        let thread = counting(home, "json", 2);
        args(&["thread", "fork", &thread])
    },
    ..PLAIN
};

pub(crate) const KILL: Scenario = Scenario {
    name: "thread kill",
    build: |home| {
        let thread = counting(home, "json", 1);
        args(&["thread", "kill", &thread])
    },
    is_one_change: false,
    ..PLAIN
};

pub(crate) const KILL_AT_WORK: Scenario = Scenario {
    name: "thread kill, its agent at work",
    build: |home| {
        home.file(GO, "");
        let thread = counting(home, "slow", 1);
        fs::remove_file(home.work().join(GO)).unwrap();
        args(&["thread", "kill", &thread])
    },
    is_live: true,
    is_one_change: false,
    ..PLAIN
};

/// Of a thread that has reached the limit it had.
pub(crate) const LIMIT: Scenario = Scenario {
    name: "thread limit",
    build: |home| {
        let thread = counting(home, "json", 1);
        home.json(&["thread", "limit", &thread, "--steps", "1"]);
        home.uwf(&["thread", "step", &thread]);
        args(&["thread", "limit", &thread, "--steps", "40", "--cost", "2.5"])
    },
    ..PLAIN
};

pub(crate) const PAUSE: Scenario = Scenario {
    name: "thread pause",
    build: |home| {
        let thread = counting(home, "json", 1);
        args(&["thread", "pause", &thread])
    },
    ..PLAIN
};

pub(crate) const RESUME: Scenario = Scenario {
    name: "thread resume",
    build: |home| {
        let thread = counting(home, "json", 1);
        home.json(&["thread", "pause", &thread]);
        args(&["thread", "resume", &thread])
    },
    ..PLAIN
};

pub(crate) const RM: Scenario = Scenario {
    name: "thread rm",
    build: |home| {
        let thread = counting(home, "json", ROUNDS);
        home.start("count-rounds", "another");
        args(&["thread", "rm", &thread])
    },
    is_one_change: false,
    ..PLAIN
};

pub(crate) const RM_OLDER: Scenario = Scenario {
    name: "thread rm --older-than",
    build: |home| {
        counting(home, "json", ROUNDS);
        let killed = home.start("count-rounds", "killed");
        home.json(&["thread", "kill", &killed]);
        home.start("count-rounds", "another");
        args(&["thread", "rm", "--older-than", "0s"])
    },
    is_one_change: false,
    ..PLAIN
};

pub(crate) const ANSWER: Scenario = Scenario {
    name: "thread answer",
    build: |home| {
        home.config("agents:\n  person: { command: uwf-human }\ndefaultAgent: person\n");
        home.uwf(&put(home, ROUNDS));
        let thread = home.start("count-rounds", "count");
        assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
        args(&["thread", "answer", &thread, "--data", r#"{"n": 1}"#])
    },
    ..PLAIN
};

pub(crate) const ANSWER_LAST: Scenario = Scenario {
    name: "thread answer, the last",
    build: |home| {
        let thread = counting(home, "json", ROUNDS - 1);
        home.config("agents:\n  person: { command: uwf-human }\ndefaultAgent: person\n");
        assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
        args(&["thread", "answer", &thread, "--data", r#"{"n": 3}"#])
    },
    // Whether the answer or the end is what is missing, a step continues from there.
    next: |play, shape| match shape.leads_from(&play.before) {
        false => play.args.clone(),
        true => args(&["thread", "step", &play.args[2]]),
    },
    ..PLAIN
};

pub(crate) const REPLY: Scenario = Scenario {
    name: "thread answer, the reply to a question",
    build: |home| {
        let thread = counting(home, "json", 1);
        home.script(
            "asking",
            "#!/bin/sh\ncat > /dev/null\necho '{\"status\": \"needs_input\", \"question\": \"Which one?\"}'\n",
        );
        home.config("agents:\n  asking: { command: asking, output: json }\ndefaultAgent: asking\nkillGrace: 1\n");
        assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
        args(&["thread", "answer", &thread, "-m", "The second."])
    },
    ..PLAIN
};

pub(crate) const CHILD: Scenario = Scenario {
    name: "thread step, a role played by a child thread",
    targets: STEP,
    build: |home| {
        let thread = with_child(home, 1);
        args(&["thread", "step", &thread])
    },
    ..PLAIN
};

pub(crate) const CHILD_LAST: Scenario = Scenario {
    name: "thread step, the child thread has ended",
    targets: STEP,
    build: |home| {
        let thread = with_child(home, 1);
        home.config(&child_config("command: gone"));
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_ne!(ran.code, Some(0), "{ran:?}");
        home.config(&child_config("command: counter"));
        let threads = home.json(&["thread", "list"]);
        let child = threads.as_array().unwrap().iter().map(|row| text(row, "thread")).find(|id| *id != thread);
        assert_eq!(home.json(&["thread", "step", &child.unwrap()])["done"], true);
        args(&["thread", "step", &thread])
    },
    ..PLAIN
};

pub(crate) const GROUP: Scenario = Scenario {
    name: "thread step, two roles at once",
    targets: STEP,
    build: |home| {
        let thread = with_group(home);
        args(&["thread", "step", &thread])
    },
    // The number of a keeper's calls differs from run to run, and one case for it may not be reached.
    sample: 8,
    ..PLAIN
};

pub(crate) const GROUP_LAST: Scenario = Scenario {
    name: "thread step, the branches of the group have ended",
    targets: STEP,
    build: |home| {
        let thread = with_group(home);
        home.config("agents:\n  counter: { command: gone, output: json }\ndefaultAgent: counter\nkillGrace: 1\n");
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_ne!(ran.code, Some(0), "{ran:?}");
        home.config("agents:\n  counter: { command: counter, output: json }\ndefaultAgent: counter\nkillGrace: 1\n");
        let threads = home.json(&["thread", "list"]);
        for branch in threads.as_array().unwrap().iter().map(|row| text(row, "thread")).filter(|id| *id != thread) {
            // The group itself has no steps.
            let code = home.uwf(&["thread", "step", &branch]).code;
            assert!(matches!(code, Some(0 | 64)), "{code:?}");
        }
        args(&["thread", "step", &thread])
    },
    ..PLAIN
};

/// One branch waited for a person, who has answered, beside one that failed.
pub(crate) const GROUP_ANSWERED: Scenario = Scenario {
    name: "thread step, a branch has waited beside one that failed",
    targets: COSTLY_STEP,
    sample: FEW,
    build: |home| {
        let thread = with_group(home);
        home.file(BEFORE, "exit 9");
        let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
        let person = "  person: { command: uwf-human }\ndefaultAgent: counter\nagentOverrides: { count-at-once: { left: person } }\n";
        home.config(&config.replace("defaultAgent: counter\n", person));
        assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
        home.json(&["thread", "answer", &thread, "--branch", "left", "--data", r#"{"n": 2}"#]);
        home.file(BEFORE, "");
        args(&["thread", "step", &thread])
    },
    ..PLAIN
};

/// The thread reached a limit, which a person has raised, while three branches were at work.
pub(crate) const GROUP_LIMITED: Scenario = Scenario {
    name: "thread step, a limit was reached with three at work",
    targets: COSTLY_STEP,
    sample: FEW,
    build: |home| {
        let thread = with_wide_group(home, 4, 3);
        // The three begin before one of them ends.
        let wait = "i=0; while [ $(ls begun-* | wc -l) -lt 3 ] && [ $i -lt 400 ]; do sleep 0.05; i=$((i + 1)); done";
        home.file(BEFORE, &format!("touch begun-$n; {wait}; sleep 4.5"));
        // A busy machine begins three branches in this time.
        home.json(&["thread", "limit", &thread, "--time", "+4s"]);
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_eq!(ran.code, Some(30), "{ran:?}");
        assert_eq!(
            fs::read_dir(home.work())
                .unwrap()
                .flatten()
                .filter(|file| file.file_name().to_string_lossy().starts_with("begun-"))
                .count(),
            3
        );
        home.file(BEFORE, "");
        home.json(&["thread", "limit", &thread, "--time", "+1h"]);
        args(&["thread", "step", &thread])
    },
    ..PLAIN
};

/// Groups in groups, on a machine that lets one agent work at a time.
pub(crate) const GROUP_NESTED: Scenario = Scenario {
    name: "thread step, groups in groups under a limit of 1",
    targets: COSTLY_STEP,
    sample: FEW,
    build: |home| {
        let thread = with_roles(home, "  both: { play: [inner] }\n  inner: { play: [left, right] }\n");
        let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
        home.config(&format!("{config}parallel: 1\n"));
        args(&["thread", "step", &thread])
    },
    ..PLAIN
};

/// A group of the most branches; only the last of them has not ended.
pub(crate) const GROUP_WIDE: Scenario = Scenario {
    name: "thread step, 64 branches",
    targets: COSTLY_STEP,
    sample: 1,
    build: |home| {
        let thread = with_wide_group(home, 64, 16);
        home.file(BEFORE, "test $n != 64 || exit 9");
        assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
        home.file(BEFORE, "");
        args(&["thread", "step", &thread])
    },
    ..PLAIN
};

/// The answer that is read again was no use by the rungs there were then.
pub(crate) const REEXTRACT: Scenario = Scenario {
    name: "thread step --reextract",
    targets: STEP,
    build: |home| {
        let thread = counting(home, "text", 1);
        let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
        home.config(&format!("{config}extract: {{ frontmatter: false, llm: 0 }}\n"));
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_eq!(ran.code, Some(41), "{ran:?}");
        home.config(&config);
        args(&["thread", "step", &thread, "--reextract"])
    },
    // What was read and linked is not read again.
    next: |play, shape| match shape.leads_from(&play.before) {
        false => play.args.clone(),
        true => args(&["thread", "step", &play.args[2]]),
    },
    ..PLAIN
};

/// The value its agent submitted could not be stored.
pub(crate) const UNREAD: Scenario = Scenario {
    name: "thread step, an answer that is read again",
    targets: STEP,
    build: |home| {
        let thread = counting(home, "step", 1);
        let step = home.command(&["thread", "step", &thread]);
        let mut full = Command::new("strace");
        home.prepare(&mut full);
        full.args(["-f", "-qq", "-o", "/dev/null", "-e", "inject=renameat2:error=ENOSPC"]);
        let ran = full.arg(step.get_program()).args(step.get_args()).output().expect("strace is installed");
        assert_eq!(ran.status.code(), Some(74), "{ran:?}");
        args(&["thread", "step", &thread])
    },
    ..PLAIN
};

/// A supervisor that lets the thread continue: whatever becomes of it, the step counts.
pub(crate) const SUPERVISED: Scenario = Scenario {
    name: "thread step, looked at by a supervisor",
    targets: STEP,
    build: |home| {
        let thread = counting(home, "json", 1);
        advised(home, "modelOverrides: { supervisor: m }\nsupervisorInterval: 1\n");
        args(&["thread", "step", &thread])
    },
    ..PLAIN
};

pub(crate) const SUMMARY: Scenario = Scenario {
    name: "thread step, the last, with a summary",
    targets: STEP,
    build: |home| {
        let thread = counting(home, "json", ROUNDS - 1);
        advised(home, "modelOverrides: { summary: m }\n");
        args(&["thread", "step", &thread])
    },
    ..PLAIN
};

pub(crate) const CAS_PUT: Scenario =
    Scenario { name: "cas put", build: |_| args(&["cas", "put", "content", r#"{"text": "kept"}"#]), ..PLAIN };

pub(crate) const CAS_PUT_TYPED: Scenario = Scenario {
    name: "cas put, of a type of one's own",
    build: |home| {
        let schema =
            r#"{"title": "review", "type": "object", "properties": {"of": {"type": "string", "format": "cas_ref"}}}"#;
        let of_type = text(&home.json(&["cas", "schema", "put", schema]), "hash");
        let reviewed = text(&home.json(&["cas", "put-text", "reviewed"]), "hash");
        args(&["cas", "put", &of_type, &format!(r#"{{"of": "{reviewed}"}}"#)])
    },
    ..PLAIN
};

pub(crate) const GC: Scenario = Scenario {
    name: "gc",
    build: |home| {
        let gone = counting(home, "json", ROUNDS);
        home.json(&["thread", "rm", &gone]);
        let workflow = home.file("count-once.yaml", &workflow(&ROLES[..1]).replace("count-rounds", "count-once"));
        home.json(&["workflow", "put", workflow.to_str().unwrap()]);
        home.json(&["workflow", "rm", "count-once"]);
        for task in ["one", "another"] {
            let thread = home.start("count-rounds", task);
            home.json(&["thread", "step", &thread]);
        }
        home.json(&["cas", "put-text", "nobody needs this"]);
        args(&["gc", "--grace", "0s"])
    },
    is_one_change: false,
    ..PLAIN
};

pub(crate) const CAS_RM: Scenario = Scenario {
    name: "cas rm",
    build: |home| {
        counting(home, "json", 1);
        let text = text(&home.json(&["cas", "put-text", "nobody needs this"]), "hash");
        args(&["cas", "rm", &text])
    },
    ..PLAIN
};

/// Of three threads that have ended one is packed, and the pack becomes part of the new one.
pub(crate) const PACK: Scenario = Scenario {
    name: "pack",
    build: |home| {
        counting(home, "json", ROUNDS);
        home.json(&["pack"]);
        for task in ["one", "another"] {
            let thread = home.start("count-rounds", task);
            home.json(&["run", &thread]);
        }
        let open = home.start("count-rounds", "a fourth");
        home.json(&["thread", "step", &open]);
        args(&["pack"])
    },
    moves_nodes: true,
    is_one_change: false,
    ..PLAIN
};

pub(crate) const PACK_UNDO: Scenario = Scenario {
    name: "pack --undo",
    build: |home| {
        counting(home, "json", ROUNDS);
        home.json(&["pack"]);
        home.start("count-rounds", "another");
        args(&["pack", "--undo"])
    },
    moves_nodes: true,
    is_one_change: false,
    ..PLAIN
};

/// Nodes in a pack and nodes in files go, and the pack is written anew.
pub(crate) const GC_PACKED: Scenario = Scenario {
    name: "gc, of packs",
    build: |home| {
        let gone = counting(home, "json", ROUNDS);
        let kept = home.start("count-rounds", "one");
        home.json(&["run", &kept]);
        home.json(&["pack"]);
        home.json(&["thread", "rm", &gone]);
        home.json(&["cas", "put-text", "nobody needs this"]);
        args(&["gc", "--grace", "0s"])
    },
    is_one_change: false,
    ..PLAIN
};

pub(crate) const CAS_RM_PACKED: Scenario = Scenario {
    name: "cas rm, of a node in a pack",
    build: |home| {
        let gone = counting(home, "json", ROUNDS);
        home.json(&["pack"]);
        let history = fs::read_to_string(home.root().join("history.jsonl")).unwrap();
        home.json(&["thread", "rm", &gone]);
        let line: serde_json::Value = serde_json::from_str(history.trim()).unwrap();
        args(&["cas", "rm", &text(&line, "end")])
    },
    ..PLAIN
};

/// Of a node in a pack a put changes only that it is young.
pub(crate) const CAS_PUT_PACKED: Scenario = Scenario {
    name: "cas put, of a node in a pack",
    build: |home| {
        counting(home, "json", ROUNDS);
        home.json(&["pack"]);
        args(&["cas", "put-text", "count"])
    },
    ..PLAIN
};

pub(crate) const FORK_PACKED: Scenario = Scenario {
    name: "thread fork, of a thread in a pack",
    build: |home| {
        let thread = counting(home, "json", ROUNDS);
        home.json(&["pack"]);
        args(&["thread", "fork", &thread])
    },
    ..PLAIN
};

pub(crate) const CONFIG_SET: Scenario =
    Scenario { name: "config set", build: |_| args(&["config", "set", "killGrace", "2"]), ..PLAIN };

pub(crate) const RECOVER: Scenario = Scenario {
    name: "recover",
    build: |home| {
        counting(home, "json", 2);
        home.start("count-rounds", "another");
        fs::write(home.root().join("threads.yaml"), "damaged\n").unwrap();
        args(&["recover"])
    },
    ..PLAIN
};

pub(crate) const SETUP: Scenario = Scenario {
    name: "setup",
    build: |home| {
        fs::write(home.root().join(".env"), "OTHER=1\n").unwrap();
        let model = ["--provider", "here", "--base-url", "http://127.0.0.1:9/v1", "--model", "none"];
        let key = ["--api-key", "sk-made-up-0123456789", "--agent", "react", "--no-check"];
        args(&[&["setup"], &model[..], &key[..]].concat())
    },
    is_one_change: false,
    ..PLAIN
};

/// Makes the working directory a git repository with one commit.
fn repository(home: &TestHome) {
    let person = ["-c", "user.name=A Person", "-c", "user.email=a@example.org"];
    for git in [&["init", "--quiet"][..], &["add", "-A"], &["commit", "--quiet", "-m", "first"]] {
        let mut command = Command::new("git");
        home.prepare(&mut command);
        let ran = command.args(person).args(git).output().expect("git is installed");
        assert!(ran.status.success(), "{ran:?}");
    }
}

/// A thread whose worktree has new, changed and deleted files, to be merged into a checkout with uncommitted changes of a person, who
/// has committed such files meanwhile.
fn merging(home: &TestHome, own: &[&str], manner: &str) -> Vec<String> {
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        home.prepare(&mut command);
        assert!(command.args(args).output().expect("git is installed").status.success(), "{args:?}");
    };
    git(&["config", "--global", "user.name", "A Person"]);
    git(&["config", "--global", "user.email", "a@example.org"]);
    for name in ["changed.txt", "deleted.txt", "edited.txt"] {
        home.file(name, "one\ntwo\nthree\n");
    }
    home.file(".gitignore", "ledger\n");
    let thread = in_worktree(home, 1);
    let worktree = home.root().join("worktrees").join(&thread);
    fs::create_dir(worktree.join("new")).unwrap();
    fs::write(worktree.join("new/page.txt"), "a page\n").unwrap();
    fs::write(worktree.join("changed.txt"), "one\n2\nthree\n").unwrap();
    fs::remove_file(worktree.join("deleted.txt")).unwrap();
    for name in own {
        home.file(name, "of a person\n");
        git(&["add", name]);
        git(&["commit", "--quiet", "-m", name]);
    }
    home.file("edited.txt", "one\ntwo\nthree, by a person\n");
    home.file("unknown.txt", "of a person\n");
    args(&["thread", "merge", &thread, manner])
}

/// Puts the workflow, with so many roles.
fn put(home: &TestHome, rounds: usize) -> Vec<String> {
    fs::create_dir_all(home.work().join(rounds.to_string())).unwrap();
    let file = home.file(&format!("{rounds}/count-rounds.yaml"), &workflow(&ROLES[..rounds]));
    args(&["workflow", "put", file.to_str().unwrap()])
}

/// A workflow that plays each role once.
fn workflow(roles: &[&str]) -> String {
    let mut text = "name: count-rounds\ndescription: roles that count\nroles:\n".to_owned();
    for role in roles {
        text += &format!(
            "  {role}:\n    description: counts\n    goal: Count.\n    \
             meta: {{ type: object, properties: {{ n: {{ type: integer }} }}, required: [n] }}\n"
        );
    }
    text += &format!(
        "conditions:\n  enough: {{ description: all did, expression: \"$count(steps) >= {}\" }}\n",
        roles.len()
    );
    text += &format!("graph:\n  $START: [ {{ role: {} }} ]\n", roles[0]);
    for (number, role) in roles.iter().enumerate() {
        let next = roles.get(number + 1).unwrap_or(&roles[0]);
        text += &format!("  {role}: [ {{ role: $END, condition: enough }}, {{ role: {next} }} ]\n");
    }
    text
}

/// Installs an agent that notes each attempt it is paid for and answers with the number of its role. Gives the command that
/// puts the workflow.
fn counter(home: &TestHome, output: &str) -> Vec<String> {
    let answer = match output {
        "step" => r#"exec "$UWF_BIN" agent submit "$1" "$2" --data "{\"n\": $n}""#,
        // Outside any attempt nothing is recorded.
        "named" => r#"exec env -u UWF_ATTEMPT "$UWF_BIN" agent submit "$1" "$2" --data "{\"n\": $n}""#,
        "text" => r"cat > /dev/null; printf -- '---\nn: %s\n---\nCounted.\n' $n",
        "slow" => r#"cat > /dev/null; while [ ! -e go ]; do sleep 0.02; done; echo "{\"n\": $n}""#,
        _ => r#"cat > /dev/null; echo "{\"n\": $n}""#,
    };
    let number = r#"case "$UWF_ROLE" in first) n=1 ;; second) n=2 ;; third) n=3 ;; esac"#;
    home.script("counter", &format!("#!/bin/sh\necho \"$UWF_ATTEMPT\" >> \"$HOME/work/ledger\"\n{number}\n{answer}\n"));
    let output = match output {
        "named" => "step",
        "slow" => "json",
        other => other,
    };
    home.config(&format!(
        "agents:\n  counter: {{ command: counter, output: {output} }}\ndefaultAgent: counter\nkillGrace: 1\n"
    ));
    put(home, ROUNDS)
}

/// A thread with so many steps.
fn counting(home: &TestHome, output: &str, steps: usize) -> String {
    home.uwf(&counter(home, output));
    let thread = home.start("count-rounds", "count");
    for _ in 0..steps {
        home.json(&["thread", "step", &thread]);
    }
    thread
}

/// A thread with so many steps that works in a worktree.
fn in_worktree(home: &TestHome, steps: usize) -> String {
    home.uwf(&counter(home, "json"));
    repository(home);
    let thread = text(&home.json(&["thread", "start", "count-rounds", "-p", "count", "--worktree"]), "thread");
    for _ in 0..steps {
        home.json(&["thread", "step", &thread]);
    }
    thread
}

/// A thread with so many steps, whose next role is played by a thread of another workflow.
fn with_child(home: &TestHome, steps: usize) -> String {
    let thread = counting(home, "json", steps);
    let once = "name: count-once\ndescription: one role that counts\nroles:\n  second:\n    description: counts\n    goal: Count.\n    \
         meta: { type: object, properties: { n: { type: integer } }, required: [n] }\n\
         graph: { $START: [ { role: second } ], second: [ { role: $END } ] }\n";
    let file = home.file("count-once.yaml", once);
    home.json(&["workflow", "put", file.to_str().unwrap()]);
    home.config(&child_config("command: counter"));
    thread
}

/// A thread with one step, whose next role plays two others at once.
fn with_group(home: &TestHome) -> String {
    with_roles(home, "  both: { play: [left, right] }\n")
}

/// A thread with one step, whose next role plays so many branches, at most `max` at once.
fn with_wide_group(home: &TestHome, count: usize, max: usize) -> String {
    with_roles(home, &format!("  both: {{ play: item, each: \"[1..{count}]\", max: {max} }}\n"))
}

/// A thread with one step, and these groups; its next role is the group `both`.
fn with_roles(home: &TestHome, groups: &str) -> String {
    home.uwf(&counter(home, "json"));
    let number =
        r#"case "$UWF_ROLE" in first) n=1 ;; left) n=2 ;; right) n=3 ;; third) n=4 ;; item) n=$UWF_ITEM ;; esac"#;
    home.script(
        "counter",
        &format!("#!/bin/sh\necho \"$UWF_ATTEMPT\" >> \"$HOME/work/ledger\"\n{number}\n. ./before.sh\ncat > /dev/null; echo \"{{\\\"n\\\": $n}}\"\n"),
    );
    home.file(BEFORE, "");
    let role = |name: &str| {
        format!(
            "  {name}: {{ goal: Count., meta: {{ type: object, properties: {{ n: {{ type: integer }} }}, required: [n] }} }}\n"
        )
    };
    let played = ["left", "right", "item"].into_iter().filter(|role| groups.contains(role));
    let roles: String = ["first", "third"].into_iter().chain(played).map(role).collect();
    let file = home.file(
        "count-at-once.yaml",
        &format!(
            "name: count-at-once\ndescription: counts at once\nroles:\n{roles}{groups}graph:\n  \
             $START: [ {{ role: first }} ]\n  first: [ {{ role: both }} ]\n  both: [ {{ role: third }} ]\n  third: [ {{ role: $END }} ]\n"
        ),
    );
    home.json(&["workflow", "put", file.to_str().unwrap()]);
    let thread = home.start("count-at-once", "count");
    home.json(&["thread", "step", &thread]);
    thread
}

/// The role `second` is played by a child thread, whose agent is this one.
fn child_config(counter: &str) -> String {
    format!(
        "agents:\n  counter: {{ command: counter, output: json }}\n  inner: {{ {counter}, output: json }}\n  child: {{ command: uwf-workflow, config: {{ workflow: count-once }} }}\n\
         defaultAgent: counter\nagentOverrides: {{ count-rounds: {{ second: child }}, count-once: {{ second: inner }} }}\nkillGrace: 1\n"
    )
}

/// A model for advice, which always gives the same.
fn advised(home: &TestHome, config: &str) {
    let server = advisor();
    let agents = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    home.config(&format!(
        "providers:\n  p: {{ baseUrl: \"{}\" }}\nmodels:\n  m: {{ provider: p, name: scripted-model }}\n{agents}{config}",
        server.url()
    ));
}

/// The scripted provider of every scenario in this process. It says what can be read as a verdict and as a summary.
fn advisor() -> &'static LlmServer {
    static SERVER: OnceLock<LlmServer> = OnceLock::new();
    SERVER.get_or_init(|| {
        LlmServer::start(LlmScript::deciding(|request| match request.body.get("tools") {
            Some(_) => ScriptedAnswer::call("verdict", json!({ "verdict": "continue", "reason": "it counts" })),
            None => ScriptedAnswer::text("It counted."),
        }))
    })
}

fn args(args: &[&str]) -> Vec<String> {
    args.iter().map(ToString::to_string).collect()
}
