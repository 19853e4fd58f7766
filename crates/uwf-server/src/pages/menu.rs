//! The menu of machines, in the bar of every page: of the gateway's own, and of those of its machines.

use maud::{Markup, html};

use crate::app::App;
use crate::place::Place;

/// The menu; nothing at a server that has to do with no gateway. Its links lead to the gateway, so they get no prefix.
pub(crate) fn menu(app: &App) -> Markup {
    let place = Place::current();
    let machines = match (&place, app.gateway()) {
        (Some(place), _) => place.machines.clone(),
        (None, Some(gateway)) => {
            gateway.menu().into_iter().map(|(name, is_connected)| (name.to_string(), is_connected)).collect()
        }
        (None, None) => return html! {},
    };
    let here = place.as_ref().and_then(|place| place.prefix.strip_prefix("/m/"));
    html! {
        details.machines {
            summary title="Machines" { (here.unwrap_or("gateway")) }
            ul {
                li { a href="/" aria-current=[here.is_none().then_some("true")] data-outside { "gateway" } }
                @for (name, is_connected) in &machines {
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
