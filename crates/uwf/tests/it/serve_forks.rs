//! `uwf serve`: the forks of a thread on its page.

use uwf_testing::server::TestServer;
use uwf_testing::{TestHome, text};

use crate::fixtures::review::{hashes, reviewing_home, step};

/// What the page of a thread says of its forks.
fn forks(server: &TestServer, thread: &str) -> String {
    let page = server.page(&format!("/threads/{thread}")).body;
    let Some((_, rest)) = page.split_once("<details id=\"forks\"") else { return String::new() };
    rest.split_once("</details>").map(|(forks, _)| forks.to_owned()).expect("an end")
}

fn fork(home: &TestHome, at: &str) -> String {
    text(&home.json(&["thread", "fork", at]), "thread")
}

/// The item of a thread, with those of its forks.
fn item<'f>(forks: &'f str, thread: &str) -> &'f str {
    let from = forks.find(&format!("<li id=\"fork-{thread}\">")).unwrap_or_else(|| panic!("no {thread} in {forks}"));
    &forks[from..]
}

/// What stands of a thread itself.
fn line<'f>(forks: &'f str, thread: &str) -> &'f str {
    item(forks, thread).split_once("<li").unwrap().1.split("<ul>").next().unwrap().split("</li>").next().unwrap()
}

#[test]
fn forks_are_shown_as_tree_with_fork_points() {
    let home = reviewing_home();
    let oldest = home.start("review-text", "Write about cats");
    step(&home, &oldest, 3);
    let child = fork(&home, &hashes(&home, &oldest)[1]);
    step(&home, &child, 1);
    let grandchild = fork(&home, &child);
    let second = fork(&home, &hashes(&home, &oldest)[2]);
    home.uwf(&["thread", "kill", &second]);
    let stranger = home.start("review-text", "Write about cats");
    let server = TestServer::start(&home, &[]);
    for of in [&oldest, &child, &grandchild, &second] {
        let forks = forks(&server, of);
        assert_eq!(forks.matches("<li").count(), 4, "{forks}");
        assert!(!forks.contains(&stranger), "it shares the task alone: {forks}");
        assert_eq!(forks.matches("this thread").count(), 1, "{forks}");
        assert!(line(&forks, of).contains("this thread"), "{forks}");
        assert!(!line(&forks, &oldest).contains("forked after"), "{forks}");
        assert!(line(&forks, &child).contains("forked after step 1"), "{forks}");
        assert!(line(&forks, &grandchild).contains("forked after step 2"), "{forks}");
        assert!(line(&forks, &second).contains("forked after step 2"), "{forks}");
        assert!(line(&forks, &second).contains("data-state=\"killed\""), "{forks}");
        // Within the item of the child, before that one ends.
        let inside = item(&forks, &child).split("</ul>").next().unwrap();
        assert!(
            inside.contains(&format!("fork-{grandchild}")) && !inside.contains(&format!("fork-{second}")),
            "{forks}"
        );
    }
    let of_child = forks(&server, &child);
    assert!(line(&of_child, &oldest).contains(&format!("href=\"/threads/{oldest}\"")), "{of_child}");
    assert!(line(&of_child, &oldest).contains(&format!("href=\"/compare/{child}..{oldest}\"")), "{of_child}");
    assert_eq!(forks(&server, &stranger), "");
}
