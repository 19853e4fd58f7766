//! The types of uwf's own nodes, which every store must have.

use std::time::Duration;

use durable_files::regular;
use uwf_core::node;

use crate::error::Result;
use crate::root::home::Home;

/// Makes sure that the schemas of our own nodes are in the store, also in one that another implementation began.
///
/// # Errors
/// Errors of the store.
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

/// How long it is believed that a shared store has the types: what others than uwf do to it is noticed after that.
const BELIEVED: Duration = Duration::from_hours(24);

/// The same before an attempt. A shared store is asked once a day only, and that is a request for each type: `uwf store init` put
/// them, and `gc` removes none on any machine, as they are among its roots.
///
/// # Errors
/// Errors of the store.
pub(crate) fn ensure_for_step(home: &Home) -> Result<()> {
    let Some(seen) = home.seen_types_file() else { return ensure(home) };
    let all = node::OWN_TYPES.iter().map(|own| own.hash.to_string()).collect::<Vec<_>>().join("\n");
    let age = seen.metadata().and_then(|meta| meta.modified()).ok().and_then(|at| at.elapsed().ok());
    let is_young = age.is_some_and(|age| age < BELIEVED);
    if is_young && regular::read(&seen, regular::MAX_TEXT).is_ok_and(|bytes| bytes == all.as_bytes()) {
        return Ok(());
    }
    ensure(home)?;
    // Not written, it is asked again.
    let _ = seen.parent().map(std::fs::create_dir_all).transpose().and_then(|_| regular::write(&seen, all.as_bytes()));
    Ok(())
}

/// Stores uwf's own types whatever is stored under their hashes: damaged ones are repaired by that.
///
/// # Errors
/// Errors of the store.
pub fn repair(home: &Home) -> Result<()> {
    let mut drafts = vec![json_cas::bootstrap::draft()];
    drafts.extend(node::schema_drafts());
    home.store().put_all(&drafts)?;
    Ok(())
}
