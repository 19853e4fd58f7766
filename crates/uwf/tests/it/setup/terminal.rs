//! Questions, asked and answered at a pseudo-terminal.

use serde_json::json;
use uwf_testing::TestHome;

use super::{KEY, file, ready, refusing};
use crate::fixtures::terminal;
use crate::fixtures::terminal::Session;
use crate::home;

/// Runs `uwf setup` at a terminal.
fn session(home: &TestHome, args: &[&str], dialog: &[(&str, &str)]) -> Session {
    let session = terminal::session(home, &[&["setup"], args].concat(), dialog);
    assert!(!session.shown.contains(KEY), "{}", session.shown);
    session
}

/// The dialog up to the key.
fn until_key(url: &str) -> Vec<(&'static str, String)> {
    vec![
        ("Which provider of models?", "custom\r".to_owned()),
        ("a name for it", "here\r".to_owned()),
        ("base URL", format!("{url}\r")),
    ]
}

fn with<'d>(begin: &'d [(&'static str, String)], more: &[(&'static str, &'d str)]) -> Vec<(&'static str, &'d str)> {
    begin.iter().map(|(question, answer)| (*question, answer.as_str())).chain(more.iter().copied()).collect()
}

mod with_tools {
    use super::*;

    #[test]
    fn a_person_is_asked_for_everything() {
        let home = home();
        home.script("codex", "#!/bin/sh\n");
        home.config("# mine\nmaxSteps: 7\n");
        let server = ready();
        let begin = until_key(&server.url());
        let key = format!("oops\u{15}{KEY}x\u{7f}\r");
        let dialog = with(
            &begin,
            &[
                ("(not shown)", &key),
                ("models of here, 3 in all", "small\r"),
                ("small-model-2", "2\r"),
                ("Which agent plays roles by default?", "\r"),
                ("May agents run commands, such as your tests?", "y\r"),
            ],
        );
        let session = session(&home, &[], &dialog);
        assert_eq!((session.code, session.echo), (Some(0), true), "{}", session.shown);
        assert!(session.shown.contains("it answered `ready`"), "{}", session.shown);
        assert_eq!(file(&home, ".env").unwrap(), format!("HERE_API_KEY={KEY}\n"));
        let config = file(&home, "config.yaml").unwrap().replace(&server.origin(), "SERVER");
        insta::assert_snapshot!(config, @r#"
    # mine
    maxSteps: 7
    providers:
      here:
        baseUrl: SERVER/v1
        apiKeyEnv: HERE_API_KEY
    models:
      small-model-2:
        provider: here
        name: small-model-2
    defaultModel: small-model-2
    agents:
      codex:
        command: codex
        args: [exec, --json, --skip-git-repo-check, --sandbox, workspace-write, "-"]
        output: text
        config: { trace: codex }
    defaultAgent: codex
    "#);
    }

    #[test]
    fn known_answers_are_offered_again() {
        let home = home();
        let server = ready();
        let url = server.url();
        home.config(&format!(
        "providers:\n  here: {{ baseUrl: '{url}', apiKeyEnv: MY_KEY }}\nmodels:\n  m: {{ provider: here, name: big-model }}\ndefaultModel: m\nagents:\n  mine: {{ command: sh }}\ndefaultAgent: mine\n"
    ));
        std::fs::write(home.root().join(".env"), format!("MY_KEY={KEY}\n")).unwrap();
        let before = (file(&home, "config.yaml"), file(&home, ".env"));
        let dialog = [
            ("Which provider of models?", "custom\r"),
            ("a name for it", "here\r"),
            ("base URL", "\r"),
            ("empty keeps the one in MY_KEY", "\r"),
            ("part of a name", "\r"),
            ("Which agent", "mine\r"),
        ];
        let session = session(&home, &[], &dialog);
        assert_eq!(session.code, Some(0), "{}", session.shown);
        assert!(session.shown.contains("nothing new"), "{}", session.shown);
        assert_eq!((file(&home, "config.yaml"), file(&home, ".env")), before);
    }

    #[test]
    fn interrupt_at_key_restores_terminal_and_saves_nothing() {
        let home = home();
        let server = ready();
        let begin = until_key(&server.url());
        for (answer, code) in [("sk-te\u{3}", 130), ("\u{4}", 130), ("<signal 15>", 143), ("<signal 2>", 143)] {
            let session = session(&home, &[], &with(&begin, &[("(not shown)", answer)]));
            assert_eq!((session.code, session.echo), (Some(code), true), "{answer:?}: {}", session.shown);
            assert_eq!((file(&home, "config.yaml"), file(&home, ".env")), (None, None));
        }
        assert_eq!(server.requests().len(), 0);
    }

    #[test]
    fn interrupt_at_other_questions_exits_immediately() {
        let home = home();
        let server = ready();
        let begin = until_key(&server.url());
        let key = format!("{KEY}\r");
        let after_key = with(&begin, &[("(not shown)", &key), ("part of a name", "\u{3}")]);
        for dialog in [&[("number or name", "\u{3}")][..], &after_key] {
            let session = session(&home, &[], dialog);
            assert_eq!((session.code, session.echo), (Some(-2), true), "{}", session.shown);
        }
        let session = session(&home, &[], &[("number or name", "\u{4}")]);
        assert_eq!(session.code, Some(130), "{}", session.shown);
        assert_eq!((file(&home, "config.yaml"), file(&home, ".env")), (None, None));
    }

    #[test]
    fn failed_check_asks_again_or_saves_on_request() {
        let home = home();
        home.script("codex", "#!/bin/sh\n");
        let server = refusing();
        let begin = until_key(&server.url());
        let key = format!("{KEY}\r");
        let once = [("(not shown)", key.as_str()), ("part of a name", "1\r"), ("Which agent", "none\r")];
        let no = with(&begin, &[&once[..], &[("save it anyway?", "n\r"), ("Which provider", "\u{4}")]].concat());
        let session_no = session(&home, &[], &no);
        assert_eq!(session_no.code, Some(130), "{}", session_no.shown);
        assert!(session_no.shown.contains("refuses access (401)"), "{}", session_no.shown);
        assert_eq!((file(&home, "config.yaml"), file(&home, ".env")), (None, None));
        let yes = with(&begin, &[&once[..], &[("save it anyway?", "y\r")]].concat());
        assert_eq!(session(&home, &[], &yes).code, Some(0));
        assert_eq!(file(&home, ".env").unwrap(), format!("HERE_API_KEY={KEY}\n"));
    }

    #[test]
    fn agents_alone_need_no_provider() {
        let home = home();
        home.script("codex", "#!/bin/sh\n");
        let session = session(
            &home,
            &[],
            &[("Which provider", "none\r"), ("Which agent", "codex\r"), ("May agents run commands", "\r")],
        );
        assert_eq!(session.code, Some(0), "{}", session.shown);
        for part in [
            "Yes: agents run your tests and builds. No: they only read and edit files.",
            "With no, codex then has no shell, with which it also reads and searches files.",
            "agents may not run commands",
            "`uwf setup --may-run-commands yes`",
        ] {
            assert!(session.shown.contains(part), "{part}: {}", session.shown);
        }
        let args = home.json(&["config", "get", "agents.codex.args"]).to_string();
        assert!(args.contains(r#""workspace-write","--config=features.shell_tool=false""#), "{args}");
        assert_eq!(home.json(&["config", "get", "defaultAgent", "--format", "json"]), json!("codex"));
        assert_eq!(
            home.json(&["config", "list"]).as_object().unwrap().keys().filter(|key| key.contains("model")).count(),
            0
        );
    }
}
