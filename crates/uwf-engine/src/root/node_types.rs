//! The types of uwf's own nodes, which every store has to have.

use uwf_core::node;

use crate::root::error::Result;
use crate::root::home::Home;

/// Makes sure that the schemas of our own nodes are in the store, also in one that another implementation began.
///
/// # Errors
/// Those of the store.
pub fn ensure(home: &Home) -> Result<()> {
    home.make_root()?;
    // Each is looked for: after a power loss any of a batch may be missing, and a store may have lost one.
    for own in node::OWN_TYPES {
        if !home.store().has(own.hash)? {
            return repair(home);
        }
    }
    Ok(())
}

/// Stores uwf's own types whatever is stored under their hashes: damaged ones are repaired by that.
///
/// # Errors
/// Those of the store.
pub fn repair(home: &Home) -> Result<()> {
    let mut drafts = vec![json_cas::bootstrap::draft()];
    drafts.extend(node::schema_drafts());
    home.store().put_all(&drafts)?;
    Ok(())
}
