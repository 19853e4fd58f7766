//! Input of an enemy: workflow files of strangers, what models write, names that are paths, contents chosen to collide.
//! `docs/internals/security.md` says which promise each test shows.

mod bombs;
pub(crate) mod collision;
mod names;
mod paths;
mod places;
pub(crate) mod record;
mod repositories;
mod secrets;
mod terminal;
mod waiting_git;

use uwf_testing::TestHome;

use crate::home;

/// A home whose default agent `w` prints what the file `answer` holds, as JSON, and a thread of this role schema.
fn answering(meta: &str) -> (TestHome, String) {
    let home = home();
    home.worker("output: json", "#!/bin/sh\ncat > /dev/null\ncat answer\n");
    home.put("work-once", &workflow(meta));
    let thread = home.start("work-once", "work");
    (home, thread)
}

/// A workflow of one role with this schema, in YAML flow.
fn workflow(meta: &str) -> String {
    format!(
        "name: work-once\nroles:\n  worker:\n    goal: Work.\n    meta: {meta}\ngraph: {{ $START: [ {{ role: worker }} ], worker: [ {{ role: worker }} ] }}\n"
    )
}
