//! The names in a node of a store that several machines use. A head points to the node.

use std::path::{Path, PathBuf};

use json_cas::{Head, NodeHash, NoteWriteCondition, SwapOutcome};
use serde_json::json;
use uwf_core::node::{ContentNode, TypedPayload};

use super::text::{self, RegistryLayout, unreadable};
use super::{MissingRegistry, Registry, SHARED, busy};
use crate::error::{Error, Result};
use crate::root::home::Home;
use crate::root::node_types;

/// The note with the last position of that head, in case the head is lost.
const TRACE: &str = "names";

/// How often a change is retried after other machines were quicker.
const TRIES: usize = 20;

/// The names, and the head that points to them.
///
/// # Errors
/// `Data` when the node is not readable, and errors of the store.
pub(super) fn read(home: &Home) -> Result<(Registry, Option<Head>)> {
    let Some(head) = home.heads().read(SHARED)? else { return Ok((Registry::new(), None)) };
    let payload = home.store().get(head.hash)?.payload;
    let place = PathBuf::from(format!("node {}", head.hash));
    let text =
        payload.get("text").and_then(|text| text.as_str()).ok_or_else(|| unreadable(&place, "it has no text"))?;
    Ok((text::parse(&place, text, RegistryLayout::AtTop)?, Some(head)))
}

/// Changes the names and moves their head. Calls `change` again if another machine was quicker.
///
/// # Errors
/// `Busy` when others were quicker each time, the error of `change`, and errors of the store.
pub(super) fn update<T, E: From<Error>>(
    home: &Home,
    mut change: impl FnMut(&mut Registry) -> Result<T, E>,
) -> Result<T, E> {
    let _hold = home.hold_nodes()?;
    for _ in 0..TRIES {
        let (before, head) = read(home)?;
        let mut registry = before.clone();
        let result = change(&mut registry)?;
        if registry == before {
            return Ok(result);
        }
        node_types::ensure(home)?;
        let content = ContentNode { text: text::write(&registry) };
        let hash = home.store().put(&content.draft()).map_err(Error::from)?;
        let swapped = match &head {
            Some(head) => home.heads().swap(SHARED, &head.version, hash),
            None => home.heads().create(SHARED, hash),
        };
        match swapped.map_err(Error::from)? {
            SwapOutcome::Done => {
                leave_trace(home, hash);
                return Ok(result);
            }
            SwapOutcome::Moved(_) => {}
        }
    }
    Err(busy(Path::new(SHARED)).into())
}

/// Notes the position of the names' head, which has no other trace. If two machines move it at the same time, the
/// slower one may write last; so this checks again until both agree. The names are set even if this fails.
fn leave_trace(home: &Home, head: NodeHash) {
    let mut at = head;
    for _ in 0..TRIES {
        let written = home.notes().write_note(TRACE, NoteWriteCondition::Anything, &json!({ "head": at }));
        match home.heads().read(SHARED) {
            Ok(Some(now)) if written.is_ok() && now.hash != at => at = now.hash,
            _ => return,
        }
    }
}

/// The last position of the names' head in a shared store, from its note; `None` without a note.
pub(crate) fn traced(home: &Home) -> Result<Option<NodeHash>> {
    let note = home.notes().note(TRACE)?;
    Ok(note.and_then(|note| note.value.get("head")?.as_str()?.parse().ok()))
}

/// The store, if the head of the names is gone from it.
pub(super) fn gone(home: &Home) -> Result<Option<MissingRegistry>> {
    // Keep this order: the first note is written after the first head.
    let is_gone = traced(home)?.is_some() && home.heads().read(SHARED)?.is_none();
    Ok(is_gone.then(|| MissingRegistry::Head(home.place())))
}
