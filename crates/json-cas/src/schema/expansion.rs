//! How large a schema is once its references are written out.
//!
//! 28 `$defs`, each naming the next twice, are 2 KB of text and 2^28 schemas.

use std::collections::HashSet;

use serde_json::Value;

use super::check::SchemaProblem;
use super::document::{Document, Place};
use super::keywords::subschemas;

/// References that a schema may have when all of them are written out, a reference back to
/// something being written out counting as one. Hand-written schemas have dozens.
pub const MAX_EXPANDED_REFS: usize = 4096;

/// Longest chain of references into references.
pub const MAX_REF_DEPTH: usize = 64;

/// What is wrong with the size of a schema, if anything.
pub(super) fn problem(document: &Document<'_>) -> Option<SchemaProblem> {
    let mut expansion = Expansion {
        document,
        open: HashSet::new(),
        refs: 0,
    };
    let message = match expansion.schema(document.root()) {
        Ok(()) => return None,
        Err(Limit::Refs) => {
            format!("its references amount to more than {MAX_EXPANDED_REFS} when written out")
        }
        Err(Limit::Depth) => {
            format!("its references lead through more than {MAX_REF_DEPTH} others")
        }
    };
    Some(SchemaProblem::error("", message))
}

enum Limit {
    Refs,
    Depth,
}

struct Expansion<'d, 's> {
    document: &'d Document<'s>,
    /// Targets being written out.
    open: HashSet<usize>,
    refs: usize,
}

impl<'s> Expansion<'_, 's> {
    fn schema(&mut self, place: Place<'s>) -> Result<(), Limit> {
        for target in self.document.targets(place) {
            self.refs += 1;
            if self.refs > MAX_EXPANDED_REFS {
                return Err(Limit::Refs);
            }
            if self.open.len() >= MAX_REF_DEPTH {
                return Err(Limit::Depth);
            }
            if self.open.insert(target.id()) {
                self.schema(target)?;
                self.open.remove(&target.id());
            }
        }
        for (keyword, value) in place.schema.as_object().into_iter().flatten() {
            if is_definitions(keyword) {
                continue;
            }
            for schema in below(keyword, value) {
                self.schema(place.enter(schema))?;
            }
        }
        Ok(())
    }
}

/// Definitions count where they are named.
fn is_definitions(keyword: &str) -> bool {
    matches!(keyword, "$defs" | "definitions")
}

fn below<'s>(keyword: &str, value: &'s Value) -> impl Iterator<Item = &'s Value> {
    subschemas(keyword, value, "").into_iter().map(|(_, schema)| schema)
}
