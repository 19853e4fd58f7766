//! `uwf thread show`: where one thread stands.

use insta::assert_snapshot;

use crate::fixtures::review::{reviewing_home, step};
use crate::transcript;

#[test]
fn active_thread_shows_head_and_last_role() {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write about cats.");
    assert_snapshot!(transcript(&home, &["thread", "show", &thread]), @r##"
    exit 0
    {"workflow":"#1","thread":"<id>","head":"#2","done":false,"state":"active","role":null,"task":"Write about cats.","steps":0,"startedAt":<ms>,"changedAt":<ms>,"digest":"<digest>","workspace":"<dir>/work"}
    "##);
    step(&home, &thread, 1);
    assert_snapshot!(transcript(&home, &["thread", "show", &thread, "--format", "text"]), @"
    exit 0
    thread:    <id>
    state:     active
    workflow:  review-text #1
    task:      Write about cats.
    head:      #2
    steps:     1
    last role: writer
    digest:    <digest>
    started:   <time>
    changed:   <time>
    workspace: <dir>/work
    ");
}

#[test]
fn stuck_thread_shows_failed_attempt_and_cause() {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write about cats.");
    assert_eq!(home.uwf(&["thread", "step", &thread, "--agent", "broken"]).code, Some(40));
    assert_snapshot!(transcript(&home, &["thread", "show", &thread, "--format", "text"]), @"
    exit 0
    thread:    <id>
    state:     stuck
    workflow:  review-text #1
    task:      Write about cats.
    head:      #2
    steps:     0
    at role:   writer
    agent:     broken
    why:       agent `broken` exited with 3; its last words: no licence for `claude`
    since:     <time>
    digest:    <digest>
    attempt:   #3
    started:   <time>
    changed:   <time>
    workspace: <dir>/work
    ");
}

#[test]
fn an_ended_thread_shows_how_it_ended() {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write about cats.");
    assert_eq!(home.json(&["run", &thread])["done"], true);
    assert_snapshot!(transcript(&home, &["thread", "show", &thread, "--format", "text"]), @"
    exit 0
    thread:    <id>
    state:     completed
    workflow:  review-text #1
    task:      Write about cats.
    head:      #2
    steps:     4
    last role: reviewer
    why:       end
    digest:    <digest>
    started:   <time>
    changed:   <time>
    end:       #3
    workspace: <dir>/work
    ");
}
