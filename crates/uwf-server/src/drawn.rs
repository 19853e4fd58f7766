//! Parts of pages as they are drawn: here, or on a machine of the gateway.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use json_cas::NodeHash;
use maud::{Markup, PreEscaped, html};
use serde::{Deserialize, Serialize};
use uwf_core::thread::ThreadId;
use uwf_engine::thread::state::ThreadState;
use uwf_engine::views::list::ThreadRow;

use crate::machines::name::MachineName;

/// The first page, as HTML and as JSON. A machine sends it to its gateway, which cleans its rows.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DrawnInbox {
    /// Number of threads that the list of each state shows.
    pub(crate) counts: BTreeMap<String, usize>,
    /// Number of threads that the list of all states shows.
    pub(crate) all_count: usize,
    /// Whether the page shows the result of a query; then all threads are in `needs`.
    pub(crate) is_filtered: bool,
    /// Whether more threads match the query.
    pub(crate) has_more: bool,
    pub(crate) needs: Vec<InboxRow>,
    pub(crate) running: Vec<InboxRow>,
    pub(crate) ready: Vec<InboxRow>,
    pub(crate) done: Vec<InboxRow>,
    /// Numbers of threads in the sections, including those that are not shown.
    pub(crate) needs_count: usize,
    pub(crate) running_count: usize,
    pub(crate) ready_count: usize,
    pub(crate) done_count: usize,
    /// The labels of these threads.
    #[serde(skip)]
    pub(crate) labels: BTreeSet<String>,
    /// The agents of this server, for a retry of several threads.
    #[serde(skip)]
    pub(crate) agents: Vec<String>,
    /// Machines with more threads that match the query.
    #[serde(skip)]
    pub(crate) with_more: Vec<MachineName>,
    /// Machines that did not answer. Their threads are as last known, or missing.
    #[serde(skip)]
    pub(crate) silent_machines: Vec<MachineName>,
}

/// The first page of a machine.
#[derive(Debug)]
pub(crate) struct MachineInbox {
    pub(crate) machine: MachineName,
    /// Its page; `None` if it is not known.
    pub(crate) inbox: Option<DrawnInbox>,
    /// Whether it is the page of now. Otherwise the machine did not answer, and this is its last page.
    pub(crate) is_current: bool,
}

/// A thread.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InboxRow {
    pub(crate) thread: String,
    head: String,
    changed_at: Option<u64>,
    /// Whether the limit that it has reached ends by itself. It is below those that need a person.
    #[serde(default)]
    is_limit_ending: bool,
    /// HTML of its line.
    pub(crate) line: String,
    /// HTML of its actions; empty if it has none.
    #[serde(default)]
    pub(crate) actions: String,
    /// The machine that drew it; `None` for this one.
    #[serde(skip)]
    pub(crate) machine: Option<MachineName>,
    /// Whether that machine did not answer.
    #[serde(skip)]
    is_old: bool,
}

impl InboxRow {
    /// The row of a thread of this server.
    pub(crate) fn new(row: &ThreadRow, line: Markup, actions: Markup) -> InboxRow {
        InboxRow {
            thread: row.thread.to_string(),
            head: row.head.to_string(),
            changed_at: row.changed_at,
            is_limit_ending: row.is_limit_ending(),
            line: line.0,
            actions: actions.0,
            machine: None,
            is_old: false,
        }
    }

    /// Whether it names a thread and its head. A row of a machine may have any texts.
    pub(crate) fn is_of_thread(&self) -> bool {
        self.thread.parse::<ThreadId>().is_ok() && self.head.parse::<NodeHash>().is_ok()
    }

    /// The row in a list.
    pub(crate) fn draw(&self) -> Markup {
        let InboxRow { thread, head, line, actions, machine, is_old, .. } = self;
        // A machine that does not answer takes no action.
        let actions = if *is_old { "" } else { actions };
        let class = format!(
            "row{}{}",
            if actions.is_empty() { "" } else { " acts" },
            if machine.is_some() { " far" } else { "" }
        );
        let inside = html! {
            // A script shows it.
            input.select type="checkbox" hidden aria-label={ "Select thread " (thread) };
            (PreEscaped(line)) (PreEscaped(actions))
        };
        html! {
            @match machine {
                None => li #{"t-" (thread)} class=(class) data-row=(thread) data-head=(head) tabindex="-1" { (inside) },
                Some(machine) => li #{ (machine) "-" (thread) } class=(class) data-row=(thread) data-head=(head) data-prefix=(machine.prefix()) tabindex="-1" {
                    span.badge.machine.away[*is_old] title=[is_old.then_some("not connected")] { (machine) @if *is_old { span.hidden { " not connected" } } }
                    (inside)
                },
            }
        }
    }
}

impl DrawnInbox {
    /// Adds the rows and counts of machines.
    #[must_use]
    pub(crate) fn with_machines(mut self, machines: Vec<MachineInbox>) -> DrawnInbox {
        for MachineInbox { machine, inbox, is_current } in machines {
            if !is_current {
                self.silent_machines.push(machine.clone());
            }
            let Some(mut inbox) = inbox else { continue };
            inbox.complete_sums();
            for (state, count) in std::mem::take(&mut inbox.counts) {
                *self.counts.entry(state).or_default() += count;
            }
            for (own, far) in self.sums().into_iter().zip(inbox.sums()) {
                *own += *far;
            }
            self.with_more.extend(inbox.has_more.then(|| machine.clone()));
            for (own, far) in [
                (&mut self.needs, inbox.needs),
                (&mut self.running, inbox.running),
                (&mut self.ready, inbox.ready),
                (&mut self.done, inbox.done),
            ] {
                own.extend(far.into_iter().map(|row| InboxRow {
                    machine: Some(machine.clone()),
                    is_old: !is_current,
                    ..row
                }));
                own.sort_by_key(|row| (row.is_limit_ending, Reverse(row.changed_at)));
            }
        }
        self
    }

    /// The numbers that are sums over machines, without the numbers of states.
    pub(crate) fn sums(&mut self) -> [&mut usize; 5] {
        let DrawnInbox { all_count, needs_count, running_count, ready_count, done_count, .. } = self;
        [all_count, needs_count, running_count, ready_count, done_count]
    }

    /// Sets the numbers that an older machine does not send.
    fn complete_sums(&mut self) {
        if self.all_count == 0 {
            self.all_count = self.counts.values().sum();
        }
        let rows = [&self.needs, &self.running, &self.ready, &self.done].map(Vec::len);
        let sums = [&mut self.needs_count, &mut self.running_count, &mut self.ready_count, &mut self.done_count];
        sums.into_iter().zip(rows).for_each(|(sum, rows)| *sum = rows.max(*sum));
    }

    /// Whether there are no threads.
    pub(crate) fn is_empty(&self) -> bool {
        [&self.needs, &self.running, &self.ready, &self.done].iter().all(|rows| rows.is_empty())
    }

    /// Number of threads in these states.
    pub(crate) fn count_of(&self, states: &[ThreadState]) -> usize {
        states.iter().filter_map(|state| self.counts.get(state.name())).sum()
    }

    /// The machines whose threads are missing.
    pub(crate) fn silent(&self) -> Markup {
        html! {
            @if !self.silent_machines.is_empty() {
                p #silent .quiet {
                    "Offline or slow: "
                    @for (position, machine) in self.silent_machines.iter().enumerate() {
                        @if position > 0 { ", " }
                        a href={ (machine.prefix()) "/" } { (machine) }
                    }
                    ". Their threads are shown as last seen, and left out of lists. " a href="/machines" { "Machines" }
                }
            }
        }
    }
}

/// The results of a search, drawn. A machine sends it to its gateway, which cleans it.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DrawnSearch {
    /// Page to redirect to.
    pub(crate) straight_to: Option<String>,
    /// HTML of the results.
    pub(crate) html: String,
}
