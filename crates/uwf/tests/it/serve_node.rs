//! `uwf serve`: nodes by their hash.

use uwf_testing::server::TestServer;
use uwf_testing::text;

use crate::fixtures::review::{damage, hashes, reviewing_home, step};

#[test]
fn node_page_is_cached_as_immutable() {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write about <b>cats</b>");
    step(&home, &thread, 1);
    let [start, first] = hashes(&home, &thread).try_into().unwrap();
    let server = TestServer::start(&home, &[]);
    let page = server.page(&format!("/cas/{first}"));
    assert_eq!(page.status, 200);
    assert_eq!(page.header("cache-control"), Some("private, immutable, max-age=31536000"));
    assert!(page.body.contains("StepNode") && page.body.contains(&format!("href=\"/cas/{start}\"")), "{}", page.body);
    let page = server.page(&format!("/cas/{start}"));
    assert!(page.body.contains("Write about &lt;b&gt;cats&lt;/b&gt;"), "{}", page.body);

    // A beginning of a hash leads to the whole; what it means may change.
    let beginning = server.page(&format!("/cas/{}", &first[..9]));
    assert_eq!((beginning.status, beginning.header("location")), (303, Some(&*format!("/cas/{first}"))));
    let json = server.get(&format!("/cas/{first}"));
    assert_eq!(json.body, home.uwf(&["cas", "get", &first, "--format", "json"]).stdout.trim_end());
    assert_eq!(json.header("vary"), Some("accept"));
}

#[test]
fn raw_content_is_downloaded_not_displayed() {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write");
    step(&home, &thread, 1);
    let raw = text(&home.json(&["cas", "get", &text(&home.last_step(&thread)["detail"], "hash")])["payload"], "raw");
    let server = TestServer::start(&home, &[]);
    let answer = server.page(&format!("/cas/{raw}/raw"));
    assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(answer.header("content-disposition"), Some(&*format!("attachment; filename=\"{raw}.txt\"")));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    assert!(answer.body.starts_with("---\ntitle: 'Fix #42'\n"), "{}", answer.body);
    let node = server.page(&format!("/cas/{}/raw", hashes(&home, &thread)[1]));
    assert!(node.body.contains("\"role\": \"writer\""), "{}", node.body);
}

#[test]
fn referrers_are_searched_on_request() {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write");
    step(&home, &thread, 1);
    let [start, first] = hashes(&home, &thread).try_into().unwrap();
    let server = TestServer::start(&home, &[]);
    let unasked = server.page(&format!("/cas/{start}")).body;
    assert!(!unasked.contains(&first) && unasked.contains("?referrers=1"), "{unasked}");
    let page = server.page(&format!("/cas/{start}?referrers=1"));
    assert_ne!(page.header("cache-control"), Some("private, immutable, max-age=31536000"));
    assert!(page.body.contains(&format!("href=\"/cas/{first}\"")), "{}", page.body);
    let head = server.page(&format!("/cas/{first}?referrers=1")).body;
    assert!(head.contains(&format!("href=\"/threads/{thread}\"")) && head.contains("Searched all"), "{head}");
}

#[test]
fn damaged_node_is_reported_as_error() {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write");
    let [start] = hashes(&home, &thread).try_into().unwrap();
    damage(&home, &start);
    let server = TestServer::start(&home, &[]);
    let page = server.page(&format!("/cas/{start}"));
    assert!(page.status >= 400 && page.body.contains(&start), "{} {}", page.status, page.body);
}
