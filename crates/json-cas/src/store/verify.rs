//! Checking what is stored.

use std::collections::{HashSet, VecDeque};

use super::Store;
use super::get::{Read, read_all};
use crate::error::StoreError;
use crate::hash::Hash;
use crate::node::Node;
use crate::objects::READ_AT_ONCE;

/// What a check found.
#[derive(Debug, Clone, Eq, PartialEq, Default, serde::Serialize)]
pub struct VerifyReport {
    /// Nodes looked at.
    pub checked: usize,
    /// Their size in the store, in bytes.
    pub bytes: u64,
    /// What is wrong, in the order found.
    pub problems: Vec<Problem>,
    /// Nodes of which a cache of this machine had something else. That was removed, so they are read from the store again.
    #[serde(rename = "removedCopies", skip_serializing_if = "Vec::is_empty")]
    pub removed_copies: Vec<Hash>,
}

/// One thing that is wrong.
#[derive(Debug, Clone, Eq, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// The node; `None` if a file that is not a node is to blame.
    pub hash: Option<Hash>,
    /// Name of a file that is not a node.
    pub file: Option<String>,
    /// What kind of wrong it is.
    pub kind: ProblemKind,
    /// What exactly, in words.
    pub reason: String,
    /// A node that refers to the one that is wrong, when that is how it was found.
    pub referenced_by: Option<Hash>,
}

/// What kind of wrong something is.
#[derive(Debug, Copy, Clone, Eq, PartialEq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemKind {
    /// Something is stored under the hash, but not the node.
    Corrupt,
    /// A node that is referred to is not there.
    Missing,
    /// The payload does not fit its type.
    Invalid,
    /// A file among the nodes is not one.
    Misnamed,
}

impl Store {
    /// Checks nodes: that the bytes are those of the hash, that the payload fits its type, that
    /// types and references exist. `None` checks the whole store, else everything reachable from
    /// the roots, types included.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the backend cannot list its objects; everything else is in the report.
    pub fn verify(&self, roots: Option<&[Hash]>) -> Result<VerifyReport, StoreError> {
        self.verify_counting(roots, &mut |_| ())
    }

    /// [`Store::verify`], which calls `checked` after each node with how many were looked at, for a progress display.
    ///
    /// # Errors
    /// As [`Store::verify`].
    pub fn verify_counting(
        &self,
        roots: Option<&[Hash]>,
        checked: &mut dyn FnMut(usize),
    ) -> Result<VerifyReport, StoreError> {
        let mut check =
            Check { store: self, report: VerifyReport::default(), queue: VecDeque::new(), seen: HashSet::new() };
        match roots {
            Some(roots) => roots.iter().for_each(|root| check.enqueue(*root, None)),
            None => {
                let all = self.objects.list_readable()?;
                all.iter().for_each(|hash| check.enqueue(*hash, None));
            }
        }
        while !check.queue.is_empty() {
            let some = check.queue.len().min(READ_AT_ONCE);
            let batch: Vec<(Hash, Option<Hash>)> = check.queue.drain(..some).collect();
            let hashes: Vec<Hash> = batch.iter().map(|(hash, _)| *hash).collect();
            check.report.removed_copies.extend(self.objects.drop_garbled_copies(&hashes));
            // Through no cache: what is checked is what is stored.
            let (all, one) = (|all: &[Hash]| self.objects.get_all_uncached(all), |one| self.objects.get_uncached(one));
            for ((hash, parent), bytes) in batch.into_iter().zip(read_all(&hashes, all, one)?) {
                check.visit(hash, parent, bytes)?;
                checked(check.report.checked);
            }
        }
        if roots.is_none() {
            check.add_strays()?;
        }
        Ok(check.report)
    }
}

struct Check<'s> {
    store: &'s Store,
    report: VerifyReport,
    queue: VecDeque<(Hash, Option<Hash>)>,
    seen: HashSet<Hash>,
}

impl Check<'_> {
    fn enqueue(&mut self, hash: Hash, parent: Option<Hash>) {
        if self.seen.insert(hash) {
            self.queue.push_back((hash, parent));
        }
    }

    fn problem(&mut self, hash: Hash, parent: Option<Hash>, kind: ProblemKind, reason: String) {
        self.report.problems.push(Problem { hash: Some(hash), file: None, kind, reason, referenced_by: parent });
    }

    fn visit(&mut self, hash: Hash, parent: Option<Hash>, bytes: Read) -> Result<(), StoreError> {
        let bytes = match bytes {
            Ok(Some(bytes)) => bytes,
            Ok(None) => {
                let reason = "it does not exist".to_owned();
                self.problem(hash, parent, ProblemKind::Missing, reason);
                return Ok(());
            }
            // One unreadable file is a finding, not the end of the check.
            Err(StoreError::Io { source, .. }) => {
                let reason = format!("cannot read it: {source}");
                self.problem(hash, parent, ProblemKind::Corrupt, reason);
                return Ok(());
            }
            Err(StoreError::Corrupt { reason, .. }) => {
                self.problem(hash, parent, ProblemKind::Corrupt, reason);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        self.report.checked += 1;
        self.report.bytes += bytes.len() as u64;
        match Node::decode(hash, &bytes) {
            Ok((node, _)) => {
                if !self.store.is_stand_in(node.type_hash)? {
                    self.enqueue(node.type_hash, Some(hash));
                }
                self.payload(hash, parent, &node);
            }
            Err(unfit) => self.problem(hash, parent, ProblemKind::Corrupt, unfit.to_string()),
        }
        Ok(())
    }

    fn payload(&mut self, hash: Hash, parent: Option<Hash>, node: &Node) {
        let schema = match self.store.schema(node.type_hash) {
            Ok(schema) => schema,
            // Reported when the type itself is visited.
            Err(StoreError::UnknownType { .. } | StoreError::Corrupt { .. } | StoreError::Io { .. }) => return,
            Err(error) => {
                self.problem(hash, parent, ProblemKind::Invalid, error.to_string());
                return;
            }
        };
        if !schema.is_valid(&node.payload) {
            let violations = schema.violations(&node.payload);
            let reasons: Vec<String> = violations.iter().map(ToString::to_string).collect();
            self.problem(hash, parent, ProblemKind::Invalid, reasons.join("; "));
        }
        for child in schema.refs(&node.payload) {
            self.enqueue(child, Some(hash));
        }
    }

    fn add_strays(&mut self) -> Result<(), StoreError> {
        for stray in self.store.objects.strays()? {
            self.report.problems.push(Problem {
                hash: None,
                file: Some(stray.name),
                kind: ProblemKind::Misnamed,
                reason: stray.reason,
                referenced_by: None,
            });
        }
        Ok(())
    }
}
