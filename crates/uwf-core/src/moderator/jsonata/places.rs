//! The meaning of values in an expression, and of the names that it binds.

use std::collections::{BTreeMap, BTreeSet};

use jsonata_core::ast::{AstNode, BinaryOp};

use super::walk;

/// The meaning of a value in the thread's context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ContextPlace {
    Root,
    Start,
    /// The thread's input, or the value at this path in it.
    Input(Vec<String>),
    /// One or more steps.
    Steps(StepRoles),
    /// The role of a step.
    RoleName,
    /// An output, or the value at this path in it.
    Output(StepRoles, Vec<String>),
    /// The usage of the thread.
    Usage,
    /// The usage of all roles.
    UsageOfRoles,
    /// The usage of one role.
    UsageOfRole,
    Elsewhere,
}

/// The role of some steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StepRoles {
    /// The role that ran last.
    Current,
    Role(String),
    Unknown,
}

/// The meaning of variables and parameters, as far as it is certain.
#[derive(Default)]
pub(super) struct BoundPlaces {
    /// Variables with a single `:=` and no parameter of their name, so each use has the same value or none.
    certain: BTreeSet<String>,
    variables: BTreeMap<String, ContextPlace>,
    /// Names with a `:=`.
    assigned: BTreeSet<String>,
    /// Parameters of the functions around the current node, innermost last.
    parameters: Vec<(String, ContextPlace)>,
}

impl BoundPlaces {
    /// Looks for all names that an expression binds.
    pub(super) fn new(tree: &AstNode) -> BoundPlaces {
        let mut assignments: BTreeMap<String, usize> = BTreeMap::new();
        let mut parameters: BTreeSet<String> = BTreeSet::new();
        walk::each(tree, &mut |node| match node {
            AstNode::Binary { op: BinaryOp::ColonEqual, lhs, .. } => {
                if let AstNode::Variable(name) = &**lhs {
                    *assignments.entry(name.clone()).or_default() += 1;
                }
            }
            AstNode::Lambda { params, .. } => parameters.extend(params.iter().cloned()),
            _ => {}
        });
        let assigned = assignments.keys().cloned().collect();
        let is_certain = |(name, count): &(String, usize)| *count == 1 && !parameters.contains(name);
        let certain = assignments.into_iter().filter(is_certain).map(|(name, _)| name).collect();
        BoundPlaces { certain, assigned, ..BoundPlaces::default() }
    }

    /// Binds a variable.
    pub(super) fn bind(&mut self, name: &str, place: ContextPlace) {
        if self.certain.contains(name) {
            self.variables.insert(name.to_owned(), place);
        }
    }

    /// Binds the parameters of a function while its body is visited; those without a place mean anything. Returns the depth for
    /// [`BoundPlaces::leave`].
    pub(super) fn enter(&mut self, names: &[String], places: Vec<ContextPlace>) -> usize {
        let depth = self.parameters.len();
        let rest = std::iter::repeat(ContextPlace::Elsewhere);
        let named = names.iter().cloned().zip(places.into_iter().chain(rest));
        self.parameters.extend(named);
        depth
    }

    /// Forgets the parameters of the functions below `depth`.
    pub(super) fn leave(&mut self, depth: usize) {
        self.parameters.truncate(depth);
    }

    /// The meaning of a bound name; [`ContextPlace::Elsewhere`] if it is not certain.
    pub(super) fn place_of(&self, name: &str) -> ContextPlace {
        let parameter = self.parameters.iter().rev().find(|(parameter, _)| parameter == name).map(|(_, place)| place);
        let place = parameter.filter(|_| !self.assigned.contains(name)).or_else(|| self.variables.get(name));
        place.cloned().unwrap_or(ContextPlace::Elsewhere)
    }
}
