//! The first pages of machines, for the first page of their gateway.
//!
//! The machine draws its rows, with their forms. The gateway cleans each row as it cleans a machine's page, writes the name of the machine
//! beside it, and leads its links and forms to that machine.

use super::asking;
use crate::app::AppState;
use crate::drawn::{DrawnInbox, InboxRow};
use crate::filter::ThreadListQuery;
use crate::machines::MachineGateway;
use crate::machines::name::MachineName;
use crate::untrusted_html;

/// Path of a machine's first page for its gateway.
pub(crate) const PATH: &str = "/api/gateway/inbox";

/// Most threads that a machine can count.
const MOST_THREADS: usize = 1_000_000_000;

/// Most rows of a section that a gateway takes from one machine.
const MOST_ROWS: usize = 100;

/// The query of a request to a machine. A page of older threads is one of that machine's own.
pub(super) fn query(query: &ThreadListQuery, since: u64) -> String {
    let rest = query.with("after", "");
    format!("{rest}{}since={since}", if rest == "?" { "" } else { "&" })
}

/// The first page of a machine; `None` if it is not connected or sends something else.
pub(super) async fn of_machine(
    app: &AppState,
    gateway: &MachineGateway,
    name: &MachineName,
    path: &str,
) -> Option<DrawnInbox> {
    let mut inbox: DrawnInbox = asking::data(gateway, name, path).await?;
    // Sums of counts must stay numbers, whatever a machine sends.
    let capped = |count: &mut usize| *count = (*count).min(MOST_THREADS);
    inbox.counts.values_mut().for_each(capped);
    inbox.sums().into_iter().for_each(capped);
    for rows in [&mut inbox.needs, &mut inbox.running, &mut inbox.ready, &mut inbox.done] {
        rows.truncate(MOST_ROWS);
        rows.retain_mut(|row| clean(app, name, row));
    }
    Some(inbox)
}

/// Cleans a row. `false` if it does not name a thread.
fn clean(app: &AppState, name: &MachineName, row: &mut InboxRow) -> bool {
    for html in [&mut row.line, &mut row.actions] {
        *html = untrusted_html::part_of_machine(app, name, html);
    }
    row.is_of_thread()
}
