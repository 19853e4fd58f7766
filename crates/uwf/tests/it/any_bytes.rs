//! Real processes that read what models and agents write: the one that evaluates conditions, and the MCP server.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use uwf_core::moderator::{CompiledCondition, EvaluationRequest, ThreadHistory};
use uwf_core::thread::Step;
use uwf_engine::root::home::Home;
use uwf_engine::thread::evaluate::in_child;
use uwf_testing::FuzzTarget;

use crate::home;

/// Each input is a process, and some of them run into the limit of two seconds.
#[test]
fn condition_returns_value_or_error_within_limits() {
    let samples: &[&[u8]] = &[
        b"$map(steps, function($s, $i){ $s.output.n + $i }) ~> $sum()",
        b"$reduce([1..20], function($a, $i) { $a & $a }, 'x')",
        b"($f := function($x) { $x > 9 ? $x : $f($x + 1) }; $f(1))",
        b"$string(steps) ~> $replace(/o(u)t?/i, '$1') ~> $split(/[aeiou]+/)",
        b"steps^(>output.n){role: $join(agent)}.**",
    ];
    let words = &[
        "steps",
        "$map(",
        "function($x){",
        "/(a|a)*b/",
        "[1..99999]",
        ")",
        "}",
        "~>",
        "**",
        "^(",
        "|",
        "$f(",
        "&",
        ".",
        "9e9",
    ];
    FuzzTarget { name: "conditions in a child", samples, words, check: evaluated }.feed_changed(150);
}

fn evaluated(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if CompiledCondition::compile(text).is_err() {
        return;
    }
    let step = |n| Step::new(n, "counter", json!({ "n": n, "text": "out" }));
    let history = ThreadHistory { total: 3, steps: (1..4).map(step).collect(), ..ThreadHistory::default() };
    // The root is never looked at; only the program matters.
    let answer =
        in_child(&Home::open(Path::new("/"), uwf_testing::uwf_program()), &EvaluationRequest::new(text, &history));
    if let Err(told) = answer.expect("a child can be started") {
        assert!(!told.is_empty());
    }
}

/// A server gets all of it one after the other, on one connection, and answers a request behind each.
#[test]
fn mcp_server_survives_any_input() {
    let home = home();
    let thread = home.start_counting(1, "count");
    let mut server = home
        .command(&["agent", "mcp", &thread, "worker"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let samples: &[&[u8]] = &[
        b"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-03-26\"}}",
        b"{\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"submit\",\"arguments\":{\"n\":1}}}",
        b"{\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"context\",\"arguments\":{\"steps\":1}}}",
        b"[{\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"cas_get\",\"arguments\":{\"hash\":\"0000000000000\"}}}]",
    ];
    let words =
        &["null", "-1", "1e999", "{", "}", "[", "]", ",", "\"all\"", "\n", "\\ud800", "\"submit\"", "\"steps\"", "\0"];
    let inputs = FuzzTarget { name: "MCP server", samples, words, check: |_| () }.changed_inputs(400);
    let count = inputs.len();
    let mut stdin = server.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        for input in inputs {
            stdin.write_all(&input).unwrap();
            stdin.write_all(b"\n{\"id\":\"after\",\"method\":\"ping\"}\n").unwrap();
        }
    });
    let output = server.wait_with_output().unwrap();
    writer.join().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
    let text = String::from_utf8(output.stdout).unwrap();
    let replies: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let pongs = replies.iter().filter(|reply| reply["id"] == "after").count();
    assert_eq!(pongs, count);
    assert!(replies.len() > count * 3 / 2, "most of it is answered: {}", replies.len());
}
