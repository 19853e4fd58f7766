//! Texts that want to be more than texts.

use std::fmt::Write;

use serde_json::json;
use uwf_testing::server::TestServer;
use uwf_testing::{TestHome, text};

use crate::browse;

/// What an agent might write to get out of its place on a page. Each would set `window.hit`, or leave an element.
const TEXTS: &[&str] = &[
    "<script>window.hit = 1</script>",
    "</script><script>window.hit = 1</script>",
    "</textarea></pre></code></details></main><script>window.hit = 1</script>",
    "<img id=injected src=x onerror='window.hit = 1'>",
    "<svg id=injected onload='window.hit = 1'><script>window.hit = 1</script></svg>",
    "<iframe id=injected srcdoc='<script>parent.hit = 1</script>'></iframe>",
    "<a href='javascript:window.hit = 1'>here</a> [here](javascript:window.hit=1) [here](JaVaScRiPt:window.hit=1)",
    "[here](data:text/html,<script>window.hit=1</script>) <javascript:window.hit=1> [x]: javascript:window.hit=1",
    "![picture](https://evil.example/p.png) ![picture](/logout) <img src=https://evil.example/p.png>",
    "<base href=https://evil.example/> <meta http-equiv=refresh content='0;url=https://evil.example/'>",
    "<style>body { background: url(https://evil.example/p.png) }</style> <link rel=stylesheet href=//evil.example/a.css>",
    "<form id=injected action=https://evil.example/><button>Log in</button></form>",
    "\" onmouseover=\"window.hit = 1\" x=\"' onfocus='window.hit = 1' autofocus x='",
    "<math><mtext><table><mglyph><style><img id=injected src=x onerror=window.hit=1>",
    "&lt;script&gt;window.hit = 1&lt;/script&gt; &#x3c;script&#x3e;",
    "\u{202e}<script>window.hit = 1</script>\u{0} {{constructor.constructor('window.hit = 1')()}} ${window.hit = 1}",
];

#[test]
fn text_never_becomes_markup() {
    let home = TestHome::new(uwf_testing::uwf_program());
    let all = TEXTS.join("\n\n");
    let output = json!({ "n": 1, "note": all, TEXTS[3]: TEXTS[0] });
    let answer = home.file("answer.txt", &format!("---\n{output}\n---\n{all}\n"));
    // The first attempt fails, and says so in the same way.
    let script = format!(
        "#!/bin/sh\ncat > /dev/null\n[ -e failed ] || {{ touch failed; cat '{0}' >&2; exit 3; }}\ncat '{0}'\n",
        answer.display()
    );
    home.worker("output: text", &script);
    let quoted = serde_json::to_string(&all.replace('\0', "")).unwrap();
    let mut workflow = uwf_testing::counting_workflow(2);
    for words in ["one role that counts", "Count.", "it was played often enough"] {
        assert!(workflow.contains(words), "{workflow}");
        workflow = workflow.replace(words, &quoted);
    }
    home.put("count-rounds", &workflow);
    let mut task = String::new();
    for text in TEXTS {
        writeln!(task, "{text}\n").unwrap();
    }
    let thread = home.start("count-rounds", &task.replace('\0', ""));
    assert_ne!(home.uwf(&["thread", "step", &thread]).code, Some(0), "the first attempt fails");
    let stuck = home.start("count-rounds", &task.replace('\0', ""));
    home.json(&["thread", "step", &thread]);
    std::fs::remove_file(home.work().join("failed")).unwrap();
    assert_ne!(home.uwf(&["thread", "step", &stuck]).code, Some(0));
    let server = TestServer::start(&home, &[]);
    let head = home.head(&thread).unwrap();
    let workflow = text(&home.json(&["thread", "show", &thread]), "workflow");
    let paths = [
        "/".to_owned(),
        "/?all=1".to_owned(),
        format!("/threads/{thread}"),
        format!("/threads/{stuck}"),
        format!("/threads/{thread}/steps/{head}"),
        format!("/compare/{thread}..{stuck}"),
        format!("/cas/{workflow}"),
        "/workflows/count-rounds".to_owned(),
        "/search?q=script".to_owned(),
    ];
    browse(&home, &server, "pages.shows_hostile_texts", json!({ "paths": paths }));
}
