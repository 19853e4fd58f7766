//! The types of uwf's own nodes, which every store must have.

use std::time::Duration;

use durable_files::regular;
use uwf_core::node;

use crate::error::Result;
use crate::root::home::Home;

/// Ensures that the schemas of uwf's own nodes are in the store, even in a store that another implementation created.
pub fn ensure(home: &Home) -> Result<()> {
    home.make_root()?;
    // Check each one: after a power loss any of a batch may be missing, and a store may have lost one.
    for own in node::OWN_TYPES {
        if !home.store().has(own.hash)? {
            return repair(home);
        }
    }
    Ok(())
}

/// How long uwf trusts that a shared store has the types. It notices changes by other programs after that.
const BELIEVED: Duration = Duration::from_hours(24);

/// Like [`ensure`], before an attempt. Checks a shared store only once a day, because that needs a request per type.
/// `uwf store init` stored the types, and `gc` removes none on any machine, because they are among its roots.
pub(crate) fn ensure_for_step(home: &Home) -> Result<()> {
    let Some(seen) = home.seen_types_file() else { return ensure(home) };
    let all = node::OWN_TYPES.iter().map(|own| own.hash.to_string()).collect::<Vec<_>>().join("\n");
    let age = seen.metadata().and_then(|meta| meta.modified()).ok().and_then(|at| at.elapsed().ok());
    let is_young = age.is_some_and(|age| age < BELIEVED);
    if is_young && regular::read(&seen, regular::MAX_TEXT).is_ok_and(|bytes| bytes == all.as_bytes()) {
        return Ok(());
    }
    ensure(home)?;
    // If this fails, the next attempt asks the store again.
    let _ = seen.parent().map(std::fs::create_dir_all).transpose().and_then(|_| regular::write(&seen, all.as_bytes()));
    Ok(())
}

/// Stores uwf's own types regardless of what is stored under their hashes, which repairs damaged ones.
pub fn repair(home: &Home) -> Result<()> {
    let mut drafts = vec![json_cas::bootstrap::draft()];
    drafts.extend(node::schema_drafts());
    home.store().put_all(&drafts)?;
    Ok(())
}
