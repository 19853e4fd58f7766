//! `uwf serve`: the graph on the page of a thread.

use uwf_testing::server::TestServer;

use crate::fixtures::review::{reviewing_home, step};

/// The arrow from the reviewer back to the writer.
fn arrow(server: &TestServer, thread: &str) -> String {
    let page = server.page(&format!("/threads/{thread}")).body;
    let (before, after) =
        page.split_once("aria-label=\"reviewer to writer").unwrap_or_else(|| panic!("no arrow in {page}"));
    let begin = before.rfind("<a").expect("it is a link");
    format!("{}{}", &before[begin..], after.split("</a>").next().unwrap())
}

#[test]
fn an_arrow_says_what_its_condition_gave_last() {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write about cats");
    let server = TestServer::start(&home, &[]);
    step(&home, &thread, 1);
    let untried = arrow(&server, &thread);
    assert!(untried.contains("rejected: not good yet\nsteps[-1].output.approved = false</title>"), "{untried}");
    step(&home, &thread, 1);
    let tried = arrow(&server, &thread);
    assert!(tried.contains("approved = false\n\nAfter step 2 rejected gave true</title>"), "{tried}");
    assert!(tried.contains("; After step 2 rejected gave true\""), "in its name: {tried}");
    step(&home, &thread, 2);
    let ended = arrow(&server, &thread);
    assert!(ended.contains("After step 4 rejected gave false</title>") && !ended.contains("step 2"), "{ended}");
}
