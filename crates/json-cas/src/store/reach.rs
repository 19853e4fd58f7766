//! What is reachable, and in which order what is not can be removed.

use std::collections::{HashMap, HashSet};

use super::Store;
use crate::error::StoreError;
use crate::hash::Hash;
use crate::node::Node;

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

impl Store {
    /// Nothing reached yet.
    pub fn reach(&self) -> Reached<'_> {
        Reached { store: self, nodes: HashSet::new() }
    }

    /// These nodes, each before those of them that it refers to or that are its type: whoever removes them in this order leaves
    /// none at any time that lacks what it refers to. One that cannot be read refers to nothing.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the backend fails.
    pub fn referrers_first(&self, nodes: &[Hash]) -> Result<Vec<Hash>, StoreError> {
        let mut referrers: HashMap<Hash, usize> = nodes.iter().map(|hash| (*hash, 0)).collect();
        let mut references = HashMap::with_capacity(nodes.len());
        for hash in nodes {
            let mut below = self.leads_to(*hash)?;
            below.retain(|to| to != hash && referrers.contains_key(to));
            for to in &below {
                *referrers.entry(*to).or_default() += 1;
            }
            references.insert(*hash, below);
        }
        let mut order: Vec<Hash> = nodes.iter().copied().filter(|hash| referrers[hash] == 0).collect();
        let mut next = 0;
        while let Some(hash) = order.get(next).copied() {
            next += 1;
            for to in references.remove(&hash).unwrap_or_default() {
                let left = referrers.entry(to).or_default();
                *left -= 1;
                if *left == 0 {
                    order.push(to);
                }
            }
        }
        Ok(order)
    }

    /// Type and references of a node, each once, as far as they can be read.
    fn leads_to(&self, hash: Hash) -> Result<Vec<Hash>, StoreError> {
        let node = match self.try_get(hash) {
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
        let mut open = Vec::new();
        let mut new = Vec::new();
        if self.nodes.insert(root) {
            open.push((root, None));
        }
        while let Some((hash, parent)) = open.pop() {
            let Some(node) = self.store.try_get(hash)? else {
                match (missing, parent) {
                    (Missing::IsFine, _) => continue,
                    (Missing::Fails, Some(parent)) => return Err(StoreError::Dangling { hash, parent }),
                    (Missing::Fails, None) => return Err(StoreError::NotFound { hash }),
                }
            };
            new.push(hash);
            for to in self.below(&node, missing)? {
                if self.nodes.insert(to) {
                    open.push((to, Some(hash)));
                }
            }
        }
        Ok(new)
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
