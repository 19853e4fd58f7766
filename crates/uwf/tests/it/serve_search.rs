//! `uwf serve`: finding things.

use uwf_testing::server::TestServer;
use uwf_testing::text;

use crate::fixtures::review::{hashes, reviewing_home, step};

#[test]
fn search_covers_tasks_names_roles_and_outputs() {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write about Zebras & <cats>");
    step(&home, &thread, 1);
    let head = &hashes(&home, &thread)[1];
    let server = TestServer::start(&home, &[]);
    let found = |text: &str| server.page(&format!("/search?q={text}")).body;
    let of_thread = format!("href=\"/threads/{thread}\"");
    assert!(found("zebras").contains(&of_thread));
    assert!(found("%3Ccats").contains(&of_thread), "the task is found as it was written");
    let by_workflow = found("review-text");
    assert!(by_workflow.contains("href=\"/workflows/review-text\"") && by_workflow.contains(&of_thread));
    assert!(found("writer").contains("/?workflow=review-text&amp;role=writer"));
    let output = found("fix+%2342");
    assert!(output.contains(&format!("href=\"/threads/{thread}/steps/{head}\"")), "{output}");
    assert!(output.contains("<mark>Fix</mark>") && output.contains("<mark>#42</mark>"), "{output}");
    for words in ["zebras+%2342", "active+review-text+writer"] {
        assert!(found(words).contains(&of_thread), "{words}: all words, wherever they are");
    }
    assert!(!found("zebras+giraffes").contains(&of_thread));
    let nothing = found("%3Cscript%3Ex");
    assert!(nothing.contains("No threads match") && !nothing.contains("<script>x"), "{nothing}");
    assert!(nothing.contains("Searched 1 of 1 thread."), "{nothing}");
}

#[test]
fn search_reads_older_outputs_and_texts() {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write");
    step(&home, &thread, 2);
    let first = &hashes(&home, &thread)[1];
    let server = TestServer::start(&home, &[]);
    let body = server.page("/search?q=fix").body;
    assert!(body.contains(&format!("href=\"/threads/{thread}/steps/{first}\"")), "{body}");
}

#[test]
fn search_continues_after_fifty_threads() {
    let home = reviewing_home();
    for number in 0..53 {
        home.start("review-text", &format!("Zebra {number}"));
    }
    let server = TestServer::start(&home, &[]);
    let rows = |page: &str| page.matches("<li class=\"row\"").count();
    let first = server.page("/search?q=zebra").body;
    assert_eq!(rows(&first), 50);
    let link = "<a class=\"button\" rel=\"next\" href=\"/search?q=zebra&amp;from=50\">Continue</a>";
    assert!(first.contains("Searched 50 of 53 threads.") && first.contains(link), "{first}");
    let rest = server.page("/search?q=zebra&from=50").body;
    assert_eq!(rows(&rest), 3, "{rest}");
    assert!(rest.contains("Searched threads 51 to 53 of 53.") && !rest.contains("Continue"), "{rest}");
}

#[test]
fn ids_and_hashes_lead_straight_there() {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write");
    step(&home, &thread, 1);
    let head = &hashes(&home, &thread)[1];
    let server = TestServer::start(&home, &[]);
    let leads_to = |text: &str| server.page(&format!("/search?q={text}")).header("location").map(str::to_owned);
    assert_eq!(leads_to(&thread), Some(format!("/threads/{thread}")));
    assert_eq!(leads_to(head), Some(format!("/cas/{head}")));
    let letters = text(&home.json(&["cas", "put-text", "text 217"]), "hash");
    assert_eq!(letters, "BCRSSRJEEWMXW", "a hash without a digit");
    assert_eq!(leads_to(&letters), Some(format!("/cas/{letters}")));
    assert_eq!(leads_to(""), None);
    assert_eq!(server.page("/search").status, 200);
}
