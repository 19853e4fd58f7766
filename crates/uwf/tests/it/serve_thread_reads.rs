//! `uwf serve`: the page of a thread is made from one look at it, as inotify of Linux shows.

use std::mem::MaybeUninit;
use std::path::Path;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;
use uwf_testing::TestHome;
use uwf_testing::server::TestServer;

use crate::fixtures::review::{reviewing_home, step};

/// Counts how often a file is opened meanwhile.
fn opens(file: &Path, meanwhile: impl FnOnce()) -> usize {
    let watch = inotify::init(CreateFlags::NONBLOCK).unwrap();
    // The kernel merges equal events that follow each other, so there is another one between two opens.
    inotify::add_watch(&watch, file, WatchFlags::OPEN | WatchFlags::CLOSE).unwrap();
    meanwhile();
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut events = Reader::new(watch, &mut buffer);
    let mut count = 0;
    loop {
        match events.next() {
            Ok(event) => count += usize::from(event.events().contains(ReadFlags::OPEN)),
            Err(Errno::AGAIN) => return count,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Asserts that pages, answers of the API and commands open the record of a thread once, in this state.
fn assert_one_look(home: &TestHome, server: &TestServer, thread: &str, state: &str) {
    assert_eq!(home.json(&["thread", "show", thread])["state"], state);
    let record = home.record_file(thread);
    let mut opened = Vec::new();
    opened.push(("page".to_owned(), opens(&record, || drop(server.page(&format!("/threads/{thread}"))))));
    for path in [format!("/api/threads/{thread}"), format!("/api/threads/{thread}/why")] {
        let count = opens(&record, || assert_eq!(server.get(&path).status, 200, "{path}"));
        opened.push((path, count));
    }
    for command in ["show", "why", "limit", "read"] {
        let count = opens(&record, || assert_eq!(home.uwf(&["thread", command, thread]).code, Some(0), "{command}"));
        opened.push((command.to_owned(), count));
    }
    opened.retain(|(_, count)| *count != 1);
    assert!(opened.is_empty(), "{state}: {opened:?}");
}

#[test]
fn page_of_thread_opens_its_record_once() {
    let home = reviewing_home();
    let server = TestServer::start(&home, &[]);
    let thread = home.start("review-text", "Write about cats");
    assert_one_look(&home, &server, &thread, "active");
    step(&home, &thread, 1);
    assert_one_look(&home, &server, &thread, "active");
    home.uwf(&["thread", "step", &thread, "--agent", "broken"]);
    assert_one_look(&home, &server, &thread, "stuck");
    home.json(&["thread", "limit", &thread, "--steps", "1"]);
    home.uwf(&["thread", "step", &thread]);
    assert_one_look(&home, &server, &thread, "limited");
    home.json(&["thread", "pause", &thread]);
    assert_one_look(&home, &server, &thread, "paused");
    home.json(&["thread", "kill", &thread]);
    assert_one_look(&home, &server, &thread, "killed");
}

#[test]
fn question_on_page_opens_record_once() {
    let home = reviewing_home();
    let server = TestServer::start(&home, &[]);
    let thread = home.start("review-text", "Write about dogs");
    home.uwf(&["thread", "step", &thread, "--agent", "uwf-human"]);
    assert_one_look(&home, &server, &thread, "waiting");
}
