//! What was spent, as cells of tables show it: what is not known is said, never shown as nothing.

use maud::{Markup, html};
use uwf_core::spending::Spent;

use super::parts;

/// Tokens read and written; "≥" where some were not counted.
pub(super) fn tokens(spent: &Spent) -> Markup {
    amount(parts::tokens(&spent.tokens), spent.tokens_unknown > 0)
}

/// Tokens of one kind.
pub(super) fn some_tokens(sum: Option<u64>, is_whole: bool) -> Markup {
    amount(sum.map(parts::count), !is_whole)
}

/// Money; "≥" where that of some runs is not known.
pub(super) fn money(spent: &Spent) -> Markup {
    amount(parts::money(spent), spent.cost_unknown > 0)
}

fn amount(known: Option<String>, lacks_some: bool) -> Markup {
    html! {
        @match (known, lacks_some) {
            (Some(amount), false) => (amount),
            (Some(amount), true) => span title="At least: some of it is not known" { "≥ " (amount) },
            (None, true) => span.quiet { "unknown" },
            (None, false) => "0",
        }
    }
}
