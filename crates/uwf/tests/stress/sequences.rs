//! Long sequences of commands, crashes among them, against a model: after each the reports say what the model says. A
//! sequence that fails is made shorter until nothing can be left out.

use std::cell::Cell;
use std::fs;
use std::process::Stdio;
use std::time::Duration;

use json_cas::NodeHash;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};
use rustix::process::Signal;
use serde_json::{Value, json};
use uwf_testing::{FinishedRun, TestHome, text};

use crate::campaign::{Campaign, size};
use crate::ledger::{self, Ledger, Records};
use crate::model::{Action, DONE, Model, NAMES, Next, ROUNDS, Standing, Thread, Victim};
use crate::processes::Part;
use crate::stage::{Stage, chain};

/// Milliseconds an agent works, so that crashes meet it at work.
const WORK_MS: u32 = 15;

/// Latest moment of a crash, in milliseconds since the command was given: a step takes about as long.
const LATEST_CRASH: u64 = 150;

/// How often all sequences are played at most until something was killed.
const MAX_ROUNDS: u8 = 10;

/// Tries to make a failing sequence shorter; each plays a whole one.
const SHRINKS: u32 = 200;

#[test]
fn reports_equal_the_model() {
    let campaign = Campaign::new("sequences");
    let (cases, length) = size((8, 14), (60, 40));
    let config = Config { cases, max_shrink_iters: SHRINKS, failure_persistence: None, ..Config::default() };
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&campaign.seed.to_le_bytes());
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(config, random);
    let (commands, done) = (Cell::new(0), Cell::new(Done::default()));
    let mut play_all = || {
        runner.run(&prop::collection::vec(action(), 1..=length), |actions| {
            commands.set(commands.get() + actions.len());
            done.set(done.get().and(play(&actions)));
            Ok(())
        })
    };
    // Crashes can all come too late on a fast machine; then others are tried.
    let mut rounds = 1;
    let mut played = play_all();
    while played.is_ok() && done.get().killed == 0 && rounds < MAX_ROUNDS {
        rounds += 1;
        played = play_all();
    }
    let (commands, Done { steps, killed, crashes }) = (commands.get(), done.get());
    let sequences = u32::from(rounds) * cases;
    campaign.tell(format!(
        "{sequences} sequences, {commands} commands, {steps} steps, {killed} processes killed in {crashes} crashes"
    ));
    match played {
        Ok(()) => {}
        Err(TestError::Fail(why, actions)) => panic!("{why}\nafter {actions:#?}"),
        Err(TestError::Abort(why)) => panic!("{why}"),
    }
    assert!(steps > 0, "no thread got on");
    assert!(killed > 0, "nothing was killed");
}

/// What sequences came to.
#[derive(Debug, Clone, Copy, Default)]
struct Done {
    steps: usize,
    killed: usize,
    /// Crashes that met a process.
    crashes: usize,
}

impl Done {
    fn and(self, other: Done) -> Done {
        Done {
            steps: self.steps + other.steps,
            killed: self.killed + other.killed,
            crashes: self.crashes + other.crashes,
        }
    }
}

fn action() -> impl Strategy<Value = Action> {
    let (name, thread) = (0..NAMES.len(), 0..100usize);
    let victim = prop::sample::select(vec![Victim::Window, Victim::Keeper, Victim::Agent, Victim::Everything]);
    prop_oneof![
        2 => (name.clone(), 0..ROUNDS.len()).prop_map(|(name, version)| Action::Put { name, version }),
        1 => name.clone().prop_map(|name| Action::Rollback { name }),
        1 => name.clone().prop_map(|name| Action::RemoveName { name }),
        4 => name.prop_map(|name| Action::Start { name }),
        8 => thread.clone().prop_map(|thread| Action::Step { thread }),
        5 => thread.clone().prop_map(|thread| Action::Answer { thread }),
        2 => thread.clone().prop_map(|thread| Action::Fork { thread }),
        1 => thread.clone().prop_map(|thread| Action::Kill { thread }),
        1 => thread.clone().prop_map(|thread| Action::Remove { thread }),
        5 => (thread, victim, 0..LATEST_CRASH)
            .prop_map(|(thread, victim, after_ms)| Action::Crash { thread, victim, after_ms }),
    ]
}

/// A root and what it should hold.
struct Play {
    stage: Stage,
    model: Model,
    /// Hashes of the versions of each name, learned when they are put.
    hashes: [[Option<NodeHash>; ROUNDS.len()]; 2],
    done: Done,
}

fn play(actions: &[Action]) -> Done {
    let home = TestHome::new(uwf_testing::uwf_program());
    home.script("worker", &ledger::worker(WORK_MS));
    home.config(
        "agents:\n  worker: { command: worker, output: json }\n  person: { command: uwf-human }\ndefaultAgent: worker\n\
         agentOverrides:\n  take-part: { person: person }\n  take-place: { person: person }\nkillGrace: 1\n",
    );
    let hashes = [[None; ROUNDS.len()]; 2];
    let mut play = Play { stage: Stage { home }, model: Model::default(), hashes, done: Done::default() };
    let begins = [Action::Put { name: 0, version: 1 }, Action::Start { name: 0 }];
    for action in begins.iter().chain(actions) {
        play.perform(action);
        play.compare_lists();
    }
    (0..play.model.threads.len()).for_each(|thread| play.compare(thread));
    play.check_payments();
    Done { steps: play.model.threads.iter().map(Thread::steps).sum(), ..play.done }
}

impl Play {
    fn perform(&mut self, action: &Action) {
        match action {
            Action::Put { .. } | Action::Rollback { .. } | Action::RemoveName { .. } => self.rename(action),
            Action::Start { name } => self.start(*name, action),
            Action::Step { thread }
            | Action::Answer { thread }
            | Action::Fork { thread }
            | Action::Kill { thread }
            | Action::Remove { thread }
            | Action::Crash { thread, .. } => {
                let thread = thread % self.model.threads.len();
                self.about_thread(action, thread);
                self.compare(thread);
            }
        }
    }

    /// Gives a command, whose exit code must be that of the model.
    fn give(&self, action: &Action, thread: Option<&Thread>, args: &[&str]) -> FinishedRun {
        let ran = self.stage.home.uwf(args);
        assert_eq!(ran.code, self.model.exit_of(action, thread), "{action:?} of {thread:?}: {ran:?}");
        ran
    }

    fn rename(&mut self, action: &Action) {
        let ran = match action {
            Action::Put { name, version } => {
                let dir = self.stage.home.work().join(version.to_string());
                fs::create_dir_all(&dir).unwrap();
                let file = dir.join(format!("{}.yaml", NAMES[*name]));
                fs::write(&file, workflow(NAMES[*name], ROUNDS[*version])).unwrap();
                let ran = self.give(action, None, &["workflow", "put", file.to_str().unwrap()]);
                self.hashes[*name][*version] = Some(text(&ran.json(), "hash").parse().unwrap());
                ran
            }
            Action::Rollback { name } => self.give(action, None, &["workflow", "rollback", NAMES[*name]]),
            Action::RemoveName { name } => self.give(action, None, &["workflow", "rm", NAMES[*name]]),
            _ => unreachable!("not about a name"),
        };
        if ran.code == Some(DONE) {
            self.model.renames(action);
        }
    }

    fn start(&mut self, name: usize, action: &Action) {
        let ran = self.give(action, None, &["thread", "start", NAMES[name], "-p", "take part"]);
        let Some(version) = self.model.names[name].versions.first() else { return };
        let id = text(&ran.json(), "thread");
        self.model.threads.push(Thread {
            workflow: self.hashes[name][*version].unwrap(),
            rounds: ROUNDS[*version],
            nodes: vec![self.stage.heads()[&id]],
            standing: Standing::Active,
            id,
        });
    }

    fn about_thread(&mut self, action: &Action, index: usize) {
        let mut thread = self.model.threads[index].clone();
        let (id, next) = (thread.id.clone(), thread.next());
        let ran = match action {
            Action::Step { .. } => self.give(action, Some(&thread), &["thread", "step", &id]),
            Action::Answer { .. } => {
                self.give(action, Some(&thread), &["thread", "answer", &id, "--data", r#"{"said": "yes"}"#])
            }
            Action::Fork { .. } => self.give(action, Some(&thread), &["thread", "fork", &id]),
            Action::Kill { .. } => self.give(action, Some(&thread), &["thread", "kill", &id]),
            Action::Remove { .. } => self.give(action, Some(&thread), &["thread", "rm", &id]),
            Action::Crash { victim, after_ms, .. } => return self.crash(index, *victim, *after_ms),
            _ => unreachable!("not about a thread"),
        };
        match (action, ran.code) {
            (Action::Step { .. } | Action::Answer { .. }, Some(DONE)) => {
                let report = ran.json();
                match next {
                    Next::End => thread.standing = Standing::Completed,
                    Next::Worker | Next::Person => thread.moves_to(text(&report, "head").parse().unwrap()),
                }
                assert_eq!(report["done"], json!(thread.standing == Standing::Completed), "{report}");
            }
            (Action::Step { .. }, Some(_)) if thread.standing.is_active() => thread.standing = Standing::Waiting,
            (Action::Fork { .. }, Some(DONE)) => {
                let id = text(&ran.json(), "thread");
                self.model.threads.push(Thread { id, standing: Standing::Active, ..thread.clone() });
            }
            (Action::Kill { .. }, Some(DONE)) => thread.standing = Standing::Killed,
            (Action::Remove { .. }, Some(DONE)) => thread.standing = Standing::Removed,
            _ => {}
        }
        self.model.threads[index] = thread;
    }

    /// A step of which something is killed. What comes of it is seen, and must be one of few things.
    fn crash(&mut self, index: usize, victim: Victim, after_ms: u64) {
        let thread = &mut self.model.threads[index];
        let mut command = self.stage.home.command(&["thread", "step", &thread.id]);
        let mut window = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(after_ms));
        let mut met = self.stage.processes();
        met.retain(|process| match victim {
            Victim::Window => process.part == Part::Window,
            Victim::Keeper => process.part == Part::Keeper,
            Victim::Agent => matches!(process.part, Part::Agent | Part::Program),
            Victim::Everything => true,
        });
        met.iter().for_each(|process| process.signal(Signal::KILL));
        self.done = self.done.and(Done { steps: 0, killed: met.len(), crashes: usize::from(!met.is_empty()) });
        window.wait().unwrap();
        if !thread.standing.is_active() {
            return;
        }
        // Agents whose keeper is dead are met by the next command, if they are still there; here their end is waited for.
        self.stage.settle();
        let shown = self.stage.home.json(&["thread", "show", &thread.id]);
        let (head, state): (NodeHash, _) = (text(&shown, "head").parse().unwrap(), text(&shown, "state"));
        if head != thread.head() {
            assert_eq!(thread.next(), Next::Worker, "{shown}");
            thread.nodes.push(head);
        }
        let possible = match thread.next() {
            // The last step and the end are two changes.
            Next::End => vec![Standing::Active, Standing::Stuck, Standing::Completed],
            Next::Worker => vec![Standing::Active, Standing::Stuck],
            Next::Person => vec![Standing::Active, Standing::Stuck, Standing::Waiting],
        };
        let seen = possible.into_iter().find(|standing| standing.name() == state);
        thread.standing = seen.unwrap_or_else(|| panic!("{thread:?} is shown as {shown}"));
    }

    /// Names and threads as they are listed.
    fn compare_lists(&self) {
        let home = &self.stage.home;
        let mut listed: Vec<(String, String, String, String)> = home
            .json(&["thread", "list", "--all"])
            .as_array()
            .unwrap()
            .iter()
            .map(|row| (text(row, "thread"), text(row, "workflow"), text(row, "head"), text(row, "state")))
            .collect();
        let threads = self.model.threads.iter().filter(|thread| thread.standing != Standing::Removed);
        let mut wanted: Vec<_> = threads
            .map(|thread| {
                let Thread { id, workflow, standing, .. } = thread;
                (id.clone(), workflow.to_string(), thread.head().to_string(), standing.name().to_owned())
            })
            .collect();
        listed.sort();
        wanted.sort();
        assert_eq!(listed, wanted);
        for (name, known) in self.model.names.iter().enumerate() {
            let wanted: Vec<Value> =
                known.versions.iter().map(|version| json!(self.hashes[name][*version].unwrap())).collect();
            let told = home.uwf(&["workflow", "history", NAMES[name]]);
            let told: Vec<Value> = match told.code {
                Some(DONE) => told.json().as_array().unwrap().iter().map(|version| version["hash"].clone()).collect(),
                _ => Vec::new(),
            };
            assert_eq!(told, wanted, "versions of {}", NAMES[name]);
        }
    }

    /// A thread as it is shown, and its steps.
    fn compare(&self, thread: usize) {
        let thread = &self.model.threads[thread];
        let [show, steps] = ["show", "steps"].map(|command| self.stage.home.uwf(&["thread", command, &thread.id]));
        if thread.standing == Standing::Removed {
            assert_eq!((show.code, steps.code), (Some(69), Some(69)));
            return;
        }
        let (show, steps) = (show.json(), steps.json());
        let told = json!([show["head"], show["workflow"], show["steps"], show["state"], show["done"], show["role"]]);
        let done = !thread.standing.is_active();
        let role = thread.roles().last();
        assert_eq!(
            told,
            json!([thread.head(), thread.workflow, thread.steps(), thread.standing.name(), done, role]),
            "{thread:?}"
        );
        let steps = steps["steps"].as_array().unwrap();
        let told: Vec<Value> = steps.iter().map(|step| json!([step["hash"], step["role"]])).collect();
        let roles = std::iter::once(None).chain(thread.roles().map(Some));
        let wanted: Vec<Value> = thread.nodes.iter().zip(roles).map(|(node, role)| json!([node, role])).collect();
        assert_eq!(told, wanted, "{thread:?}");
    }

    /// Nobody was paid twice for what was finished, and the store is whole.
    fn check_payments(&self) {
        let threads = self.model.threads.iter().filter(|thread| thread.standing != Standing::Removed);
        let heads = threads.map(|thread| (thread.id.clone(), thread.head())).collect();
        let mut records = Records::default();
        self.model.threads.iter().for_each(|thread| records.look(&self.stage, &thread.id));
        let home = self.stage.engine();
        let wrong = ledger::check(&home, &heads, &Ledger::of(&self.stage), &records);
        assert!(wrong.is_empty(), "{wrong}");
        for thread in &self.model.threads {
            let links: Vec<NodeHash> = chain(&home, thread.head()).into_iter().map(|link| link.step).collect();
            assert_eq!(links, thread.nodes[1..], "no node goes with a thread");
        }
        self.stage.check_store();
    }
}

/// A worker and a person take turns until there are so many steps.
fn workflow(name: &str, rounds: usize) -> String {
    format!(
        "name: {name}\ndescription: a worker and a person take turns\nroles:\n  worker:\n    description: works\n    goal: Work.\n    \
         meta: {{ type: object, properties: {{ attempt: {{ type: string }} }}, required: [attempt] }}\n  person:\n    \
         description: has a say\n    goal: Say something.\n    meta: {{ type: object, properties: {{ said: {{ type: string }} \
         }}, required: [said] }}\nconditions:\n  enough:\n    description: there were enough turns\n    expression: \
         \"$count(steps) >= {rounds}\"\ngraph:\n  $START: [ {{ role: worker }} ]\n  worker:\n    - {{ role: $END, condition: \
         enough }}\n    - {{ role: person }}\n  person:\n    - {{ role: $END, condition: enough }}\n    - {{ role: worker }}\n"
    )
}
