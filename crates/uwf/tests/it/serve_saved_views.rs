//! `uwf serve`: saved views, the list of threads to compare, and the form that forks a thread.

use uwf_testing::server::{TestServer, TestServerResponse};
use uwf_testing::{TestHome, text};

use crate::home;

fn labelled() -> (TestHome, TestServer, String) {
    let home = home();
    home.worker("output: json", "#!/bin/sh\ncat > /dev/null\necho '{\"n\": 1}'\n");
    home.start_counting(2, "count to two");
    let web = ["thread", "start", "count-rounds", "-p", "count the web", "--label", "team=web"];
    let web = text(&home.json(&web), "thread");
    let server = TestServer::start(&home, &[]);
    (home, server, web)
}

/// Sends the form of a view, or requests a page, as a browser with this cookie.
fn browse(server: &TestServer, method: &str, path: &str, cookie: &str, body: &str) -> TestServerResponse {
    let headers = [
        ("cookie", &*format!("{}; {cookie}", server.cookie())),
        ("origin", &*format!("http://{}", server.address)),
        ("accept", "text/html"),
        ("content-type", "application/x-www-form-urlencoded"),
    ];
    server.send(method, path, &headers, body)
}

/// The cookie that an answer sets, without its attributes.
fn cookie_of(answer: &TestServerResponse) -> String {
    answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned()
}

#[test]
fn saved_view_is_one_click_away() {
    let (_home, server, _) = labelled();
    let query = "%3Fall%3D1%26label%3Dteam%253Dweb";
    let saved = browse(&server, "POST", "/views", "x=1", &format!("name=The+web+%26+more&query={query}"));
    assert_eq!((saved.status, saved.header("location")), (303, Some("/?label=team%3Dweb&all=1")));
    let cookie = cookie_of(&saved);
    let inbox = browse(&server, "GET", "/", &cookie, "").body;
    let link = "href=\"/?label=team%3Dweb&amp;all=1\">The web &amp; more</a>";
    assert!(inbox.contains(link), "{inbox}");
    let list = browse(&server, "GET", "/?label=team%3Dweb&all=1&limit=5", &cookie, "").body;
    assert!(list.contains("aria-current=\"page\">The web &amp; more</a>"), "{list}");
    assert!(list.contains("Remove the view The web &amp; more"), "{list}");
    assert!(browse(&server, "GET", "/?all=1", &cookie, "").body.contains("Save as a view"));
    let body = format!("remove=The+web+%26+more&query={query}");
    let removed = browse(&server, "POST", "/views", &cookie, &body);
    assert_eq!((removed.status, cookie_of(&removed).as_str()), (303, "uwf-views="));
}

#[test]
fn odd_views_are_refused() {
    let (home, server, _) = labelled();
    let long = "n".repeat(41);
    for body in
        ["name=&query=%3Fall%3D1", "name=x&query=", "name=x&query=%2Fevil", &format!("name={long}&query=%3Fall%3D1")]
    {
        assert_eq!(browse(&server, "POST", "/views", "x=1", body).status, 400, "{body}");
    }
    let full = format!("uwf-views={}", "v=%3Fq%3Dx&".repeat(350));
    let refused = browse(&server, "POST", "/views", &full, "name=x&query=%3Fall%3D1");
    assert!(refused.status == 400 && refused.body.contains("cannot keep more views"), "{refused:?}");
    // A cookie that something else wrote leads to no other server.
    let page = browse(&server, "GET", "/", "uwf-views=bad=%2Fevil.example&good=%3Fall%3D1", "").body;
    assert!(page.contains(">good</a>") && !page.contains("evil.example"), "{page}");
    drop(server);
    let server = TestServer::start(&home, &["--read-only"]);
    assert_eq!(browse(&server, "POST", "/views", "x=1", "name=x&query=%3Fall%3D1").status, 303, "it changes no thread");
}

#[test]
fn compare_offers_newest_threads() {
    let (home, server, web) = labelled();
    let page = server.page("/compare").body;
    assert!(page.contains(&format!("<option value=\"{web}\">count-rounds active: count the web</option>")), "{page}");
    assert!(page.contains(&format!("href=\"/compare?a={web}\"")), "one to begin with: {page}");
    let other = home.start("count-rounds", "count more");
    let page = server.page(&format!("/compare?a={other}")).body;
    assert!(page.contains(&format!("href=\"/compare/{other}..{web}\"")), "others to compare with: {page}");
    assert!(!page.contains(&format!("..{other}\"")), "not with itself: {page}");
}

#[test]
fn fork_form_offers_agents_and_input() {
    let (home, server, _) = labelled();
    home.put(
        "greet",
        "name: greet\ninput:\n  type: object\n  properties: { name: { type: string }, loud: { type: boolean } }\n  required: [name]\n\
         roles:\n  worker: { goal: Greet. }\ngraph:\n  $START: [ { role: worker } ]\n  worker: [ { role: $END } ]\n",
    );
    let start = ["thread", "start", "greet", "-p", "Say hello", "--set", "name=Ada", "--set", "loud=true"];
    let thread = text(&home.json(&start), "thread");
    let page = server.page(&format!("/threads/{thread}")).body;
    for part in ["name=\"agent.worker\"", "name=\"input.name\"", "value=\"Ada\"", "<option value=\"w\">w</option>"] {
        assert!(page.contains(part), "no {part} in {page}");
    }
    let head = text(&home.json(&["thread", "show", &thread]), "head");
    let again = format!(
        "expectedHead={head}&prompt=Say%0D%0Ahello&input.name=Bob&input.loud=false&agent.worker=w&id=01K0000000000000000000FRKD"
    );
    assert_eq!(browse(&server, "POST", &format!("/api/threads/{thread}/fork"), "x=1", &again).status, 303);
    let fork = home.json(&["thread", "show", "01K0000000000000000000FRKD"]);
    assert_eq!(fork["input"], serde_json::json!({ "name": "Bob", "loud": false }));
    assert_eq!(fork["task"], "Say\nhello", "a form sends CR LF");
}

#[test]
fn pull_requests_are_linked() {
    let home = home();
    let url = "https://github.com/o/r/pull/12";
    home.put(
        "open-request",
        "name: open-request\nroles:\n  worker:\n    goal: Open it.\n    meta: { type: object, properties: { request: { type: string } }, required: [request] }\n\
         graph:\n  $START: [ { role: worker } ]\n  worker: [ { role: $END } ]\n",
    );
    home.worker("output: json", &format!("#!/bin/sh\ncat > /dev/null\necho '{{\"request\": \"{url}\"}}'\n"));
    let thread = text(&home.json(&["run", "open-request", "-p", "go"]), "thread");
    let server = TestServer::start(&home, &[]);
    let page = server.page(&format!("/threads/{thread}")).body;
    assert!(page.contains(&format!("<a href=\"{url}\" rel=\"noopener noreferrer\">o/r#12</a>")), "{page}");
    assert!(page.contains(&format!("<a href=\"{url}\" rel=\"noopener noreferrer\">{url}</a>")), "{page}");
}

#[test]
fn mistyped_workflow_keeps_the_filter() {
    let home = home();
    let server = TestServer::start(&home, &[]);
    let page = server.page("/?all=1&workflow=nope&q=moons");
    assert_eq!(page.status, 200, "{}", page.body);
    for part in ["No workflow is called nope.", "<option value=\"nope\" selected>", "name=\"q\" value=\"moons\""] {
        assert!(page.body.contains(part), "{part}: {}", page.body);
    }
    assert_eq!(server.get("/api/threads?workflow=nope").status, 404);
}
