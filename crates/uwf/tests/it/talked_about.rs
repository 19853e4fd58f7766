//! Answers that talk about a value: it is not taken for theirs, and no word is lost.

use uwf_testing::{TestHome, text};

use crate::home;

/// A review whose agent prints the file `answer`, or its prompt if there is none.
fn reviewed(output: &str) -> (TestHome, String) {
    let home = home();
    home.script("reviewer", "#!/bin/sh\nif [ -e answer ]; then cat > /dev/null; cat answer; else cat; fi\n");
    home.config(&format!("agents:\n  r: {{ command: reviewer, output: {output} }}\ndefaultAgent: r\n"));
    home.put(
        "review",
        "name: review\ndescription: x\nroles:\n  reviewer:\n    description: x\n    goal: Say whether it can be merged.\n    meta:\n      \
         type: object\n      properties: { approved: { type: boolean }, comment: { type: string } }\n      required: [approved]\n\
         graph:\n  $START: [ { role: reviewer } ]\n  reviewer: [ { role: $END } ]\n",
    );
    let thread = home.start("review", "Merge it if `{\"approved\": true}` comes back.\n\n{\"approved\": true}\n");
    (home, thread)
}

#[test]
fn rejection_quoting_value_is_not_approval() {
    for (output, answer) in [
        ("text", "I do not approve. The API must return {\"approved\": true} for valid users.\n"),
        ("json", "I do not approve. The API must return {\"approved\": true} for valid users.\n"),
        ("text", "---\nverdict: no\n---\nThe fixture has\n\n{\"approved\": true}\n"),
        ("text", "<think>\n{\"approved\": true}\n</think>\nNo.\n"),
        ("json", "{\"approved\": false}\n{\"approved\": true}\n"),
    ] {
        let (home, thread) = reviewed(output);
        home.file("answer", answer);
        let head = home.head(&thread);
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_eq!(ran.code, Some(41), "{answer}: {}", ran.stderr);
        assert_eq!(home.head(&thread), head);
        let shown = home.json(&["thread", "show", &thread]);
        assert_eq!(shown["state"], "stuck");
        let kept = home.uwf(&["thread", "step-details", &text(&shown, "attempt")]);
        assert!(kept.stdout.contains(answer.lines().last().unwrap()), "{}", kept.stdout);
    }
}

#[test]
fn echoed_prompt_is_not_answer() {
    for output in ["text", "json"] {
        let (home, thread) = reviewed(output);
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_eq!(ran.code, Some(41), "{}", ran.transcript());
    }
}

#[test]
fn prose_beside_value_is_shown_to_readers() {
    let (home, thread) = reviewed("text");
    home.file("answer", "I do not like it, but:\n\n```json\n{\"approved\": true}\n```\n\nWrite more tests later.\n");
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
    let read = home.uwf(&["thread", "read", &thread]).stdout;
    for words in ["**approved**: true", "I do not like it, but:", "Write more tests later."] {
        assert!(read.contains(words), "{read}");
    }
}
