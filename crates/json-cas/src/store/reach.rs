//! What is reachable, and in which order what is not can be removed.

use std::collections::{HashMap, HashSet};

use super::Store;
use super::layers::Layers;
use crate::error::StoreError;
use crate::hash::Hash;
use crate::node::Node;
use crate::objects::READ_AT_ONCE;

/// What it means when a node that is to be reached, or one below it, is not there.
#[derive(Debug, Copy, Clone, Eq, PartialEq)]
pub enum Missing {
    /// That it is not known what else is reachable.
    Fails,
    /// Nothing: there is nothing to reach.
    IsFine,
}

/// Everything reachable from some nodes, types included. It grows with each root that is added, and reads each node once.
#[derive(Debug)]
pub struct Reached<'s> {
    store: &'s Store,
    nodes: HashSet<Hash>,
}

/// Why following a root ended early.
#[derive(Debug)]
pub struct Stopped {
    /// The root.
    pub root: Hash,
    /// What is wrong with it, or with something below it.
    pub source: StoreError,
}

/// A node that is to be read.
struct Open {
    hash: Hash,
    /// A node that refers to it.
    parent: Option<Hash>,
    /// The root by which it was reached.
    root: Hash,
}

impl Store {
    /// Nothing reached yet.
    pub fn reach(&self) -> Reached<'_> {
        Reached { store: self, nodes: HashSet::new() }
    }

    /// These nodes in the order in which they can be removed: each in a layer after those of them that refer to it or have it as
    /// their type, so that none at any time lacks what it refers to. One that cannot be read refers to nothing.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the backend fails.
    pub fn layers(&self, nodes: &[Hash]) -> Result<Layers, StoreError> {
        let mut referrers: HashMap<Hash, usize> = nodes.iter().map(|hash| (*hash, 0)).collect();
        let mut references = HashMap::with_capacity(nodes.len());
        for batch in nodes.chunks(READ_AT_ONCE) {
            for (hash, node) in batch.iter().zip(self.try_get_all(batch)?) {
                let mut below = self.leads_to(node)?;
                below.retain(|to| to != hash && referrers.contains_key(to));
                for to in &below {
                    *referrers.entry(*to).or_default() += 1;
                }
                references.insert(*hash, below);
            }
        }
        let mut layers = Vec::new();
        let mut layer: Vec<Hash> = nodes.iter().copied().filter(|hash| referrers[hash] == 0).collect();
        while !layer.is_empty() {
            let mut next = Vec::new();
            for to in layer.iter().filter_map(|hash| references.remove(hash)).flatten() {
                let left = referrers.entry(to).or_default();
                *left -= 1;
                if *left == 0 {
                    next.push(to);
                }
            }
            layers.push(std::mem::replace(&mut layer, next));
        }
        Ok(Layers(layers))
    }

    /// Type and references of a node, each once, as far as they can be read.
    fn leads_to(&self, node: Result<Option<Node>, StoreError>) -> Result<Vec<Hash>, StoreError> {
        let node = match node {
            Err(error) if error.is_of_the_moment() => return Err(error),
            Err(_) | Ok(None) => return Ok(Vec::new()),
            Ok(Some(node)) => node,
        };
        let mut below = match self.refs(&node) {
            Err(error) if error.is_of_the_moment() => return Err(error),
            Err(_) => Vec::new(),
            Ok(refs) => refs,
        };
        if !below.contains(&node.type_hash) {
            below.push(node.type_hash);
        }
        Ok(below)
    }
}

impl Reached<'_> {
    /// Adds everything reachable from a root; gives what was not reached before.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] for the root and [`StoreError::Dangling`] for what is below it, unless that `is_fine`;
    /// [`StoreError::UnknownType`] likewise. [`StoreError::Corrupt`] and [`StoreError::Io`] always: what a node refers to that cannot
    /// be read is not known.
    pub fn add(&mut self, root: Hash, missing: Missing) -> Result<Vec<Hash>, StoreError> {
        let mut new = Vec::new();
        self.follow(&[root], missing, &mut |hash, _| new.push(hash)).map_err(|stopped| stopped.source)?;
        Ok(new)
    }

    /// Adds everything reachable from these roots, reading many nodes at once. `progress` is told after each node how many were
    /// reached.
    ///
    /// # Errors
    /// Those of [`Reached::add`], with the root that leads there.
    pub fn add_all(
        &mut self,
        roots: &[Hash],
        missing: Missing,
        progress: &mut dyn FnMut(usize),
    ) -> Result<(), Stopped> {
        self.follow(roots, missing, &mut |_, reached| progress(reached))
    }

    /// Reads the nodes that are open, the newest ones first: so those that are open stay few, whatever there is to reach. `new` is told
    /// of each node that is there, and how many were reached by then.
    fn follow(&mut self, roots: &[Hash], missing: Missing, new: &mut dyn FnMut(Hash, usize)) -> Result<(), Stopped> {
        let is_new = |root: &&Hash| self.nodes.insert(**root);
        let first = roots.iter().filter(is_new).map(|root| Open { hash: *root, parent: None, root: *root });
        let mut open: Vec<Open> = first.collect();
        open.reverse();
        while !open.is_empty() {
            let mut batch = open.split_off(open.len().saturating_sub(READ_AT_ONCE));
            batch.reverse();
            let hashes: Vec<Hash> = batch.iter().map(|open| open.hash).collect();
            let stopped = |root: Hash| move |source: StoreError| Stopped { root, source };
            let read = self.store.try_get_all(&hashes).map_err(stopped(batch[0].root))?;
            for (Open { hash, parent, root }, node) in batch.into_iter().zip(read) {
                let Some(node) = node.map_err(stopped(root))? else {
                    match (missing, parent) {
                        (Missing::IsFine, _) => continue,
                        (Missing::Fails, Some(parent)) => {
                            return Err(stopped(root)(StoreError::Dangling { hash, parent }));
                        }
                        (Missing::Fails, None) => return Err(stopped(root)(StoreError::NotFound { hash })),
                    }
                };
                new(hash, self.nodes.len());
                for to in self.below(&node, missing).map_err(stopped(root))? {
                    if self.nodes.insert(to) {
                        open.push(Open { hash: to, parent: Some(hash), root });
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether a node was reached.
    pub fn has(&self, hash: Hash) -> bool {
        self.nodes.contains(&hash)
    }

    /// How many nodes were reached, those that are missing included.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether nothing was reached.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    fn below(&self, node: &Node, missing: Missing) -> Result<Vec<Hash>, StoreError> {
        let mut below = match self.store.refs(node) {
            // Then nobody can tell what is a reference.
            Err(StoreError::UnknownType { .. } | StoreError::NotASchema { .. }) if missing == Missing::IsFine => {
                Vec::new()
            }
            refs => refs?,
        };
        if !self.store.is_stand_in(node.type_hash)? {
            below.push(node.type_hash);
        }
        Ok(below)
    }
}
