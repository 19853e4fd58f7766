//! The root nodes of a storage root: heads of threads, and workflows with a name. They reference all other nodes it
//! needs.

use json_cas::NodeHash;

use crate::error::{Error, Result};
use crate::root::home::Home;
use crate::root::{history, registry};

/// Each node that is referenced from outside the nodes, with a description of the reference, and the errors of
/// unreadable sources.
pub fn all(home: &Home) -> (Vec<(NodeHash, String)>, Vec<Error>) {
    let found = [active(home), finished(home), workflows(home)];
    let mut roots = Vec::new();
    let mut unreadable = Vec::new();
    for found in found {
        match found {
            Ok(found) => roots.extend(found),
            Err(error) => unreadable.push(error),
        }
    }
    (roots, unreadable)
}

fn active(home: &Home) -> Result<Vec<(NodeHash, String)>> {
    let heads = home.heads().list()?;
    let what = |id: String| match id.as_str() {
        registry::SHARED => "the names of workflows".to_owned(),
        _ => format!("the head of thread {id}"),
    };
    Ok(heads.into_iter().map(|(id, head)| (head, what(id))).collect())
}

fn finished(home: &Home) -> Result<Vec<(NodeHash, String)>> {
    let mut roots = Vec::new();
    for line in history::all(home)? {
        roots.push((line.head, format!("the head of thread {}", line.thread)));
        roots.extend(line.end.map(|end| (end, format!("the end of thread {}", line.thread))));
    }
    Ok(roots)
}

fn workflows(home: &Home) -> Result<Vec<(NodeHash, String)>> {
    let mut roots = Vec::new();
    for (name, entry) in registry::read(home)? {
        roots.push((entry.hash, format!("the workflow `{name}`")));
        roots.extend(entry.history.iter().map(|past| (past.hash, format!("an earlier workflow `{name}`"))));
    }
    Ok(roots)
}
