//! Searches on machines, for the search of their gateway.

use super::asking;
use crate::app::AppState;
use crate::drawn::DrawnSearch;
use crate::machines::MachineGateway;
use crate::machines::name::MachineName;
use crate::untrusted_html;
use crate::url::encoded;

/// Path of a machine's search for its gateway.
pub(crate) const PATH: &str = "/api/gateway/search";

/// Path and query of a search.
pub(super) fn path(text: &str, is_long: bool) -> String {
    format!("{PATH}?q={}{}", encoded(text), if is_long { "&more=1" } else { "" })
}

/// The results of a search on a machine, cleaned; `None` if it is not connected or sends something else.
pub(super) async fn on_machine(
    app: &AppState,
    gateway: &MachineGateway,
    name: &MachineName,
    path: &str,
) -> Option<DrawnSearch> {
    let found: DrawnSearch = asking::data(gateway, name, path).await?;
    let straight_to = found.straight_to.as_deref().and_then(untrusted_html::own_path);
    Some(DrawnSearch { straight_to, html: untrusted_html::part_of_machine(app, name, &found.html) })
}
