//! What a root says, as far as it can be compared: how each thread stands, what names stand for, the configuration.

use std::collections::{BTreeMap, BTreeSet};

use json_cas::{HeadsError, NodeHash};
use uwf_core::node::{EndStatus, NodeKind, StepNode};
use uwf_engine::attempt::recorded;
use uwf_engine::attempt::settings::ThreadSettings;
use uwf_engine::root::home::Home;
use uwf_engine::root::marks::{self, ThreadMark};
use uwf_engine::root::{history, registry};

/// How a thread stands, by what does not differ from run to run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Standing {
    /// Its task and its workflow.
    start: NodeHash,
    /// Its steps, oldest first.
    steps: Vec<Made>,
    has_ended: bool,
    was_killed: bool,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Made {
    role: String,
    agent: String,
    /// Scenarios have outputs that say at which place they belong.
    output: NodeHash,
}

impl Standing {
    fn read(home: &Home, head: NodeHash, end: Option<EndStatus>) -> Result<Standing, String> {
        let steps = steps(home, head)?;
        let start = steps.last().map_or(head, |(_, step)| step.start);
        let made = |(_, step): (NodeHash, StepNode)| Made { role: step.role, agent: step.agent, output: step.output };
        let was_killed = end == Some(EndStatus::Killed);
        Ok(Standing { start, steps: steps.into_iter().rev().map(made).collect(), has_ended: end.is_some(), was_killed })
    }

    /// Whether a thread that stands so can come to stand like `to`.
    fn leads_to(&self, to: &Standing) -> bool {
        self.start == to.start && to.steps.starts_with(&self.steps) && (!self.has_ended || self == to)
    }
}

/// What a root says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Every thread of index and history.
    pub(crate) threads: BTreeMap<String, Standing>,
    /// The index, when it is not readable: then the threads are those of the history.
    pub(crate) damaged: Option<Vec<u8>>,
    paused: BTreeSet<String>,
    /// How far each thread may go that was told so.
    limits: BTreeMap<String, String>,
    /// What a person replied to the question of a thread's newest attempt.
    replies: BTreeMap<String, NodeHash>,
    /// What each name stands for, and stood for.
    names: BTreeMap<String, Vec<NodeHash>>,
    config: Option<String>,
    env: Option<String>,
}

impl Shape {
    /// Reads a root.
    ///
    /// # Errors
    /// Whatever is not readable, but for the index.
    pub(crate) fn read(home: &Home) -> Result<Shape, String> {
        let told = |error: &dyn std::fmt::Display| error.to_string();
        let mut threads = BTreeMap::new();
        for line in history::all(home).map_err(|error| told(&error))? {
            threads.insert(line.thread.to_string(), Standing::read(home, line.head, Some(line.status))?);
        }
        let (heads, damaged) = match home.heads().list() {
            Ok(heads) => (heads, None),
            Err(HeadsError::Unreadable { path, .. }) => {
                (Vec::new(), Some(std::fs::read(path).map_err(|error| told(&error))?))
            }
            Err(error) => return Err(told(&error)),
        };
        for (thread, head) in heads {
            threads.insert(thread, Standing::read(home, head, None)?);
        }
        let problems = home.journal().records().map_err(|error| told(&error))?.problems;
        if !problems.is_empty() {
            return Err(format!("the history has problems: {problems:?}"));
        }
        let limits = threads.keys().filter_map(|thread| {
            let settings = ThreadSettings::load(home, &thread.parse().ok()?).ok().flatten()?;
            (!settings.limits.is_empty()).then(|| (thread.clone(), format!("{:?}", settings.limits)))
        });
        let limits = limits.collect();
        let replies = threads.keys().filter_map(|thread| {
            let last = recorded::read(home, &thread.parse().ok()?).ok().flatten()?;
            last.replied.map(|replied| (thread.clone(), replied.reply))
        });
        let replies = replies.collect();
        let names = registry::read(home).map_err(|error| told(&error))?;
        let names = names.into_iter().map(|(name, entry)| {
            let past = entry.history.into_iter().map(|past| past.hash);
            (name, std::iter::once(entry.hash).chain(past).collect())
        });
        home.config().map_err(|error| told(&error))?;
        let marks = marks::all(home).map_err(|error| told(&error))?.into_iter();
        let paused = marks.filter(|(_, marks)| marks.contains(&ThreadMark::Paused)).map(|(thread, _)| thread).collect();
        let text = |path| std::fs::read_to_string(path).ok();
        let (config, env) = (text(home.config_file()), text(home.env_file()));
        Ok(Shape { threads, damaged, paused, limits, replies, names: names.collect(), config, env })
    }

    /// Whether this is what came before, what comes after, or a state the way leads through: each thread has come from
    /// the one some way to the other, everything else is as it was or as it will be.
    pub(crate) fn check_between(&self, before: &Shape, after: &Shape) -> Result<(), String> {
        for (thread, from) in &before.threads {
            let (now, to) = (self.threads.get(thread), after.threads.get(thread));
            let is_between = match (now, to) {
                (Some(now), Some(to)) => from.leads_to(now) && now.leads_to(to),
                // Before it is removed it ends.
                (Some(now), None) => from.leads_to(now),
                (None, to) => to.is_none(),
            };
            if !is_between {
                return Err(format!("thread {thread} is {now:?}, it was {from:?} and shall come to {to:?}"));
            }
        }
        let (new, wanted) = (self.standings_since(before), after.standings_since(before));
        let mut left = wanted.clone();
        let has_place = |now: &&Standing| {
            let place = left.iter().position(|to| now.leads_to(to));
            place.map(|place| left.remove(place)).is_some()
        };
        // Some of the threads may not have begun yet.
        if !new.iter().all(has_place) {
            return Err(format!("new threads are {new:?}, they shall come to {wanted:?}"));
        }
        // An index is made anew with all its threads at once.
        if before.damaged.is_some() && self.damaged.is_none() && new != wanted {
            return Err(format!("the new index has {new:?}, it shall have {wanted:?}"));
        }
        let others = [
            ("threads.yaml", self.damaged == before.damaged || self.damaged == after.damaged),
            ("the paused", self.paused == before.paused || self.paused == after.paused),
            ("limits", self.limits == before.limits || self.limits == after.limits),
            ("replies", self.replies == before.replies || self.replies == after.replies),
            ("names", self.names == before.names || self.names == after.names),
            ("config.yaml", self.config == before.config || self.config == after.config),
            (".env", self.env == before.env || self.env == after.env),
        ];
        match others.iter().find(|(_, is_fine)| !is_fine) {
            Some((what, _)) => Err(format!("{what} are neither old nor new: {self:?}")),
            None => Ok(()),
        }
    }

    /// Whether this is `after`, whatever the threads that are new since `before` are called.
    pub(crate) fn is(&self, after: &Shape, before: &Shape) -> bool {
        let known = |shape: &Shape| Shape {
            threads: shape
                .threads
                .clone()
                .into_iter()
                .filter(|(thread, _)| before.threads.contains_key(thread))
                .collect(),
            ..shape.clone()
        };
        known(self) == known(after) && self.standings_since(before) == after.standings_since(before)
    }

    /// Whether a thread has continued since.
    pub(crate) fn leads_from(&self, before: &Shape) -> bool {
        before.threads.iter().any(|(thread, from)| self.threads.get(thread).is_some_and(|now| now != from))
    }

    /// Threads that are not in `before`.
    pub(crate) fn new_since(&self, before: &Shape) -> Vec<&str> {
        self.threads.keys().filter(|thread| !before.threads.contains_key(*thread)).map(String::as_str).collect()
    }

    fn standings_since(&self, before: &Shape) -> Vec<&Standing> {
        let mut new: Vec<&Standing> = self.new_since(before).into_iter().map(|thread| &self.threads[thread]).collect();
        new.sort_unstable();
        new
    }
}

/// The steps from a head back to the start, newest first. Read from the nodes: a cache would be written by that.
pub(crate) fn steps(home: &Home, head: NodeHash) -> Result<Vec<(NodeHash, StepNode)>, String> {
    let mut steps = Vec::new();
    let mut next = Some(head);
    while let Some(hash) = next {
        let node = home.store().get(hash).map_err(|error| error.to_string())?;
        if NodeKind::from_type_hash(node.type_hash) != Some(NodeKind::StepNode) {
            break;
        }
        let step: StepNode = serde_json::from_value(node.payload).map_err(|error| error.to_string())?;
        next = step.prev;
        steps.push((hash, step));
    }
    Ok(steps)
}
