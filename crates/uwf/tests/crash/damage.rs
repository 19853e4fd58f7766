//! One file is spoiled: that is noticed, named, kept to the threads it touches, and can be put right.

mod index;
mod local;
mod nodes;
mod places;

use std::fs;

use uwf_testing::{TestHome, counting_workflow};

use crate::campaign::Campaign;
use crate::disk::{Tree, tree_of, write_tree};
use crate::stage::{self, ROUNDS};

/// A storage root with two workflows, threads of both, and one that has ended.
pub(crate) struct Whole {
    tree: Tree,
    /// A thread after two steps.
    counting: String,
    /// A thread after one step, which shares no node with the others but types.
    adding: String,
    /// A thread that has ended.
    ended: String,
    _home: TestHome,
}

impl Whole {
    pub(crate) fn new() -> Whole {
        let home = stage::with_workflow("worker");
        let adding = counting_workflow(ROUNDS).replace("worker", "adder").replace("count-rounds", "add-rounds");
        home.put("add-rounds", &adding.replace("{ n:", "{ m:").replace("[n]", "[m]"));
        home.script("adder", "#!/bin/sh\ncat > /dev/null\necho '{\"m\": 1}'\n");
        let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
        let config = config.replace("agents:\n", "agents:\n  adder: { command: adder, output: json }\n");
        home.config(&(config + "agentOverrides: { add-rounds: { adder: adder } }\n"));
        let ended = stage::thread(&home, "ended", ROUNDS);
        let counting = stage::thread(&home, "count", 2);
        let adding = home.start("add-rounds", "add");
        home.json(&["thread", "step", &adding]);
        Whole { tree: tree_of(&home.root()), counting, adding, ended, _home: home }
    }

    /// A copy to be spoiled.
    pub(crate) fn copy(&self) -> TestHome {
        let home = stage::bare();
        home.script("adder", "#!/bin/sh\ncat > /dev/null\necho '{\"m\": 1}'\n");
        write_tree(&home.root(), &self.tree);
        home
    }
}

/// Runs the check on every case there is time for, and prints how to run a failing one again.
fn each<C: std::fmt::Debug>(
    mut campaign: Campaign,
    cases: Vec<C>,
    short: usize,
    mut check: impl FnMut(&C, &mut Campaign),
) {
    let found = cases.len();
    let chosen = campaign.sample(cases, short);
    eprintln!("{found} damages, {} tried", chosen.len());
    for case in chosen {
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(&case, &mut campaign)));
        if let Err(panic) = checked {
            eprintln!("{case:?}; again: {}", campaign.again());
            std::panic::resume_unwind(panic);
        }
    }
}
