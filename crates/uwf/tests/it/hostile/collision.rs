//! Two texts with one hash. XXH64 is no cryptographic hash: whoever wants a pair has one in milliseconds.

use std::fs;

use json_cas::NodeHash;
use serde_json::json;
use uwf_testing::{TestHome, text};

use super::answering;
use super::record::plant;

const PRIME_1: u64 = 0x9E37_79B1_85EB_CA87;

const PRIME_2: u64 = 0xC2B2_AE3D_27D4_EB4F;

/// Two texts of 101 letters that have one hash as the text of a content node.
///
/// The hash is taken over type, CBOR head and text. Its first lane mixes the words at 0, 32 and 64 one after the other; a
/// change of the second is undone by the third, since a round is invertible. The first word that gives letters is taken.
pub(crate) fn colliding_texts(content_type: NodeHash) -> [String; 2] {
    let first = "a".repeat(101);
    let mut input = content_type.to_ascii().to_vec();
    input.extend_from_slice(b"\xa1\x64text\x78\x65");
    let head = input.len();
    input.extend_from_slice(first.as_bytes());
    let word = |at: usize| u64::from_le_bytes(input[at..at + 8].try_into().unwrap());
    let round =
        |lane: u64, word: u64| lane.wrapping_add(word.wrapping_mul(PRIME_2)).rotate_left(31).wrapping_mul(PRIME_1);
    // The inverse of an odd number modulo 2^64, by Newton's method.
    let inverse = (0..6).fold(PRIME_2, |x, _| x.wrapping_mul(2u64.wrapping_sub(PRIME_2.wrapping_mul(x))));
    let before = round(PRIME_1.wrapping_add(PRIME_2), word(0));
    let wanted = round(before, word(32)).wrapping_add(word(64).wrapping_mul(PRIME_2));
    for number in 1u64.. {
        let letters: [u8; 8] = std::array::from_fn(|at| b'a' + (number / 26u64.pow(at as u32) % 26) as u8);
        let undo = wanted.wrapping_sub(round(before, u64::from_le_bytes(letters))).wrapping_mul(inverse).to_le_bytes();
        // A text as a model could write it, without anything JSON would have to escape.
        if undo.iter().all(|byte| (b' '..=b'~').contains(byte) && !matches!(byte, b'"' | b'\\')) {
            let mut second = first.clone().into_bytes();
            second[32 - head..40 - head].copy_from_slice(&letters);
            second[64 - head..72 - head].copy_from_slice(&undo);
            return [first, String::from_utf8(second).unwrap()];
        }
    }
    unreachable!("the loop has no end")
}

#[test]
fn colliding_content_is_rejected_keeping_first() {
    let (home, _) = answering("{ type: object }");
    let put = |words: &str| home.uwf(&["cas", "put-text", words]);
    let some = put("some text");
    assert_eq!(some.code, Some(0), "{some:?}");
    let node = home.json(&["cas", "get", &text(&some.json(), "hash")]);
    let [one, two] = colliding_texts(text(&node, "type").parse().unwrap());
    assert_ne!(one, two);
    let hash = text(&put(&one).json(), "hash");
    let file = home.root().join("cas").join(format!("{hash}.bin"));
    let bytes = fs::read(&file).unwrap();
    let refused = put(&two);
    assert_eq!(refused.code, Some(65), "{refused:?}");
    assert!(
        refused.stderr.contains(&format!("hash collision: another node is already stored as {hash}")),
        "{refused:?}"
    );
    assert_eq!(fs::read(&file).unwrap(), bytes);
    assert_eq!(home.json(&["cas", "get", &hash])["payload"], json!({"text": one}));
    assert_eq!(home.uwf(&["cas", "verify"]).code, Some(0));
}

/// Whoever knows what an agent will print can keep it from being stored, and no more: the step fails, nothing is taken
/// for what it is not, and the thread continues with another answer.
#[test]
fn colliding_answer_fails_only_its_step() {
    let (home, thread) = answering("{ type: object, properties: { n: { type: integer } }, required: [n] }");
    let some = home.json(&["cas", "put-text", "some text"]);
    let node = home.json(&["cas", "get", &text(&some, "hash")]);
    let [one, two] = colliding_texts(text(&node, "type").parse().unwrap());
    let first = text(&home.json(&["cas", "put-text", &one]), "hash");
    // What is stored of an agent that fails is all it printed: that is the text, and nothing else of the step fails.
    home.script("worker", "#!/bin/sh\ncat > /dev/null\ncat answer\n");
    home.file("answer", &two);
    let head = home.head(&thread);
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(41), "{ran:?}");
    assert_eq!(home.head(&thread), head);
    let attempt = text(&home.json(&["thread", "show", &thread]), "attempt");
    let raw = text(&home.json(&["cas", "get", &attempt])["payload"], "raw");
    let kept = text(&home.json(&["cas", "get", &raw])["payload"], "text");
    assert!(kept.ends_with(&format!("there was another text under its hash {first}]\n{two}")), "{kept}");
    assert_eq!(home.uwf(&["cas", "verify"]).code, Some(0));
    home.file("answer", "{\"n\": 1}");
    assert_eq!(home.json(&["thread", "step", &thread])["role"], "worker");
    assert_eq!(home.uwf(&["cas", "verify"]).code, Some(0));
}

/// A home whose agent counts how often it is paid and says the second of a colliding pair as its output, of which somebody
/// has stored the first. Also the hash of both.
fn kept_out(agent: &str) -> (TestHome, String, String) {
    let (home, _) = answering("{ type: object, properties: { text: { type: string } }, required: [text] }");
    let thread = home.start("work-once", "say");
    let start = home.head(&thread).unwrap();
    let workflow = text(&home.json(&["cas", "get", &start])["payload"], "workflow");
    let meta: NodeHash =
        text(&home.json(&["cas", "get", &workflow])["payload"]["roles"]["worker"], "meta").parse().unwrap();
    let [one, two] = colliding_texts(meta);
    let hash = plant(&home, meta, &json!({ "text": one }));
    home.file("answer", &json!({ "text": two }).to_string());
    home.script("worker", agent);
    (home, thread, hash.to_string())
}

/// An output that somebody has kept out of the store ends the attempt as stuck: the answer is kept, and nobody is paid for it
/// again, until the other node is out of the way.
#[test]
fn colliding_output_is_kept_without_paying_again() {
    let printing = "#!/bin/sh\ncat > /dev/null\necho x >> ledger\ncat answer\n";
    let submitting = "#!/bin/sh\ncat > /dev/null\necho x >> ledger\n\"$UWF_BIN\" agent submit \"$UWF_THREAD\" \"$UWF_ROLE\" --file answer\n";
    for (agent, output) in [(printing, "json"), (submitting, "step")] {
        let (home, thread, hash) = kept_out(agent);
        home.config(&format!("agents:\n  w: {{ command: worker, output: {output} }}\ndefaultAgent: w\n"));
        let head = home.head(&thread);
        let paid = || fs::read_to_string(home.work().join("ledger")).unwrap();
        for _ in 0..3 {
            let ran = home.uwf(&["thread", "step", &thread]);
            assert_eq!(ran.code, Some(65), "{ran:?}");
            assert!(ran.stderr.contains(&format!("another node is already stored as {hash}")), "{ran:?}");
            assert!(ran.stderr.contains("its answer is kept"), "{ran:?}");
            assert_eq!(home.json(&["thread", "show", &thread])["state"], "stuck");
            assert_eq!((home.head(&thread), paid().as_str()), (head.clone(), "x\n"));
        }
        let asked = home.uwf(&["thread", "step", &thread, "--agent", "w"]);
        assert_eq!((asked.code, paid().as_str()), (Some(65), "x\nx\n"), "who asks for the agent gets it");
        fs::remove_file(home.root().join(format!("cas/{hash}.bin"))).unwrap();
        let report = home.json(&["thread", "step", &thread]);
        assert_eq!((&report["adopted"], paid().as_str()), (&json!(true), "x\nx\n"));
        let said = home.json(&["thread", "eval", &thread, "steps[-1].output"]);
        assert_eq!(said.to_string(), fs::read_to_string(home.work().join("answer")).unwrap());
        assert_eq!(home.uwf(&["thread", "verify", &thread]).code, Some(0));
    }
}
