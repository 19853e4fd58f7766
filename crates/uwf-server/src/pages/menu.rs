//! The menu of machines, in the bar of every page of the gateway and its machines.

use maud::{Markup, html};

use crate::app::AppState;
use crate::machines::name::MachineName;
use crate::place::PageLocation;

/// The menu; empty on a server without a gateway. Its links go to the gateway, so they don't get a machine's prefix.
pub(crate) fn menu(app: &AppState) -> Markup {
    let Some(gateway) = app.gateway() else { return html! {} };
    let place = PageLocation::current();
    let here = place.machine();
    html! {
        details.menu.machines {
            summary title="Machines" { (here.map_or("gateway", MachineName::as_str)) }
            ul {
                li { a href="/" aria-current=[here.is_none().then_some("true")] data-outside { "gateway" } }
                @for (name, is_connected) in &gateway.menu() {
                    li {
                        a href={"/m/" (name) "/"} aria-current=[(here == Some(name)).then_some("true")] data-outside { (name) }
                        @if !is_connected { span.quiet { " not connected" } }
                    }
                }
                li { a href="/machines" data-outside { "All machines" } }
            }
        }
    }
}
