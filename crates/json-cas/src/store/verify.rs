//! Checks stored nodes.

use std::collections::{HashSet, VecDeque};

use super::Store;
use super::get::{Read, read_all};
use crate::error::StoreError;
use crate::hash::NodeHash;
use crate::node::Node;
use crate::objects::READ_AT_ONCE;

/// The result of a check.
#[derive(Debug, Clone, Eq, PartialEq, Default, serde::Serialize)]
pub struct VerifyReport {
    /// Number of nodes checked.
    pub checked: usize,
    /// Size of these nodes in the store, in bytes.
    pub bytes: u64,
    /// The problems, in the order found.
    pub problems: Vec<StoreProblem>,
    /// Nodes whose copy in a cache of this machine was wrong. The copies were removed, so the nodes are read from the store again.
    #[serde(rename = "removedCopies", skip_serializing_if = "Vec::is_empty")]
    pub removed_copies: Vec<NodeHash>,
}

/// One problem.
#[derive(Debug, Clone, Eq, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StoreProblem {
    /// The node; `None` if the problem is a file that is not a node.
    pub hash: Option<NodeHash>,
    /// Name of a file that is not a node.
    pub file: Option<String>,
    /// The kind of problem.
    pub kind: ProblemKind,
    /// The problem in words.
    pub reason: String,
    /// A node that references the faulty one, if it was found that way.
    pub referenced_by: Option<NodeHash>,
}

/// The kind of a problem.
#[derive(Debug, Copy, Clone, Eq, PartialEq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemKind {
    /// Something is stored under the hash, but it is not the node.
    Corrupt,
    /// A referenced node is missing.
    Missing,
    /// The payload does not fit its type.
    Invalid,
    /// A file among the nodes is not a node.
    Misnamed,
}

impl Store {
    /// Checks nodes: the bytes match the hash, the payload fits its type, and types and references exist. `None` checks the whole store;
    /// otherwise everything reachable from the roots is checked, including types.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the backend can't list its objects; everything else is in the report.
    pub fn verify(&self, roots: Option<&[NodeHash]>) -> Result<VerifyReport, StoreError> {
        self.verify_counting(roots, &mut |_| ())
    }

    /// Like [`Store::verify`], but calls `checked` after each node with the number of checked nodes, for a progress display.
    pub fn verify_counting(
        &self,
        roots: Option<&[NodeHash]>,
        checked: &mut dyn FnMut(usize),
    ) -> Result<VerifyReport, StoreError> {
        let mut check = StoreVerifier {
            store: self,
            report: VerifyReport::default(),
            queue: VecDeque::new(),
            seen: HashSet::new(),
        };
        match roots {
            Some(roots) => roots.iter().for_each(|root| check.enqueue(*root, None)),
            None => {
                let all = self.objects.list_readable()?;
                all.iter().for_each(|hash| check.enqueue(*hash, None));
            }
        }
        while !check.queue.is_empty() {
            let some = check.queue.len().min(READ_AT_ONCE);
            let batch: Vec<(NodeHash, Option<NodeHash>)> = check.queue.drain(..some).collect();
            let hashes: Vec<NodeHash> = batch.iter().map(|(hash, _)| *hash).collect();
            check.report.removed_copies.extend(self.objects.drop_garbled_copies(&hashes));
            // Bypass caches, because the check is about the stored bytes.
            let (all, one) =
                (|all: &[NodeHash]| self.objects.get_all_uncached(all), |one| self.objects.get_uncached(one));
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

struct StoreVerifier<'s> {
    store: &'s Store,
    report: VerifyReport,
    queue: VecDeque<(NodeHash, Option<NodeHash>)>,
    seen: HashSet<NodeHash>,
}

impl StoreVerifier<'_> {
    fn enqueue(&mut self, hash: NodeHash, parent: Option<NodeHash>) {
        if self.seen.insert(hash) {
            self.queue.push_back((hash, parent));
        }
    }

    fn problem(&mut self, hash: NodeHash, parent: Option<NodeHash>, kind: ProblemKind, reason: String) {
        self.report.problems.push(StoreProblem { hash: Some(hash), file: None, kind, reason, referenced_by: parent });
    }

    fn visit(&mut self, hash: NodeHash, parent: Option<NodeHash>, bytes: Read) -> Result<(), StoreError> {
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

    fn payload(&mut self, hash: NodeHash, parent: Option<NodeHash>, node: &Node) {
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
            self.report.problems.push(StoreProblem {
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
