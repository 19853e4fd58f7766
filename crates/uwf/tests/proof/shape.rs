//! What a root says, as far as it can be compared: how far each thread is, what names stand for, the configuration.

use std::collections::BTreeMap;

use json_cas::Hash;
use uwf_core::node::{Kind, StepNode};
use uwf_engine::home::Home;
use uwf_engine::{history, registry};

/// How far a thread is: two for each step, one for its end. More is later.
type Progress = usize;

/// Progress of a thread that was removed: nothing comes after it.
const REMOVED: Progress = usize::MAX;

/// What a root says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Every thread of index and history.
    pub(crate) threads: BTreeMap<String, Progress>,
    /// What each name stands for, and stood for.
    names: BTreeMap<String, Vec<Hash>>,
    config: Option<String>,
    env: Option<String>,
}

impl Shape {
    /// Reads a root.
    ///
    /// # Errors
    /// Whatever is not readable.
    pub(crate) fn read(home: &Home) -> Result<Shape, String> {
        let told = |error: &dyn std::fmt::Display| error.to_string();
        let mut threads = BTreeMap::new();
        for line in history::all(home).map_err(|error| told(&error))? {
            threads.insert(line.thread.to_string(), 2 * chain(home, line.head)?.len() + 1);
        }
        for (thread, head) in home.heads().list().map_err(|error| told(&error))? {
            threads.insert(thread, 2 * chain(home, head)?.len());
        }
        let problems = home.heads().journal_problems().map_err(|error| told(&error))?;
        if !problems.is_empty() {
            return Err(format!("the history has problems: {problems:?}"));
        }
        let names = registry::read(home).map_err(|error| told(&error))?;
        let names = names.into_iter().map(|(name, entry)| {
            let past = entry.history.into_iter().map(|past| past.hash);
            (name, std::iter::once(entry.hash).chain(past).collect())
        });
        home.config().map_err(|error| told(&error))?;
        let text = |path| std::fs::read_to_string(path).ok();
        Ok(Shape { threads, names: names.collect(), config: text(home.config_file()), env: text(home.env_file()) })
    }

    /// Whether this is what came before, what comes after, or a state the way leads through: each thread has come from
    /// the one some way to the other, everything else is as it was or as it will be.
    pub(crate) fn check_between(&self, before: &Shape, after: &Shape) -> Result<(), String> {
        for (thread, from) in &before.threads {
            let (now, to) = (self.progress(thread), after.progress(thread));
            if now < *from || now > to {
                return Err(format!("thread {thread} is at {now}, it was at {from} and shall come to {to}"));
            }
        }
        let (new, wanted) = (self.new_since(before), after.new_since(before));
        if new.len() > wanted.len() || new.iter().zip(&wanted).any(|(now, to)| now > to) {
            return Err(format!("new threads are at {new:?}, they shall come to {wanted:?}"));
        }
        let others = [
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
        before.threads.keys().all(|thread| self.progress(thread) == after.progress(thread))
            && self.new_since(before) == after.new_since(before)
            && (&self.names, &self.config, &self.env) == (&after.names, &after.config, &after.env)
    }

    fn progress(&self, thread: &str) -> Progress {
        self.threads.get(thread).copied().unwrap_or(REMOVED)
    }

    fn new_since(&self, before: &Shape) -> Vec<Progress> {
        let new = self.threads.iter().filter(|(thread, _)| !before.threads.contains_key(*thread));
        let mut new: Vec<Progress> = new.map(|(_, progress)| *progress).collect();
        new.sort_unstable();
        new
    }
}

/// The StepNodes from a head back to the start, newest first. Read from the nodes: a cache would be written by that.
pub(crate) fn chain(home: &Home, head: Hash) -> Result<Vec<Hash>, String> {
    let mut steps = Vec::new();
    let mut next = Some(head);
    while let Some(hash) = next {
        let node = home.store().get(hash).map_err(|error| error.to_string())?;
        if Kind::of(node.type_hash) != Some(Kind::StepNode) {
            break;
        }
        let step: StepNode = serde_json::from_value(node.payload).map_err(|error| error.to_string())?;
        steps.push(hash);
        next = step.prev;
    }
    Ok(steps)
}
