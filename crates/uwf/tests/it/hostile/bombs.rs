//! Little input that would be large work.

use std::net::TcpListener;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use uwf_testing::{FinishedRun, TestHome};

use super::{answering, workflow};
use crate::home;

/// Memory a command may take here: what it really takes is a tenth of it.
const MEMORY_KB: u64 = 1_500_000;

/// Long before the minutes it took, on a busy machine and in a debug build.
const SOON: Duration = Duration::from_mins(1);

/// Runs `uwf` with a limit on its memory.
fn limited(home: &TestHome, args: &[&str]) -> FinishedRun {
    let mut sh = Command::new("sh");
    home.prepare(&mut sh);
    sh.arg("-c").arg(format!("ulimit -v {MEMORY_KB}; exec \"$0\" \"$@\"")).arg(uwf_testing::uwf_program()).args(args);
    sh.output().unwrap().into()
}

fn refused(home: &TestHome, text: &str) -> String {
    let file = home.file("bomb.yaml", text);
    let ran = limited(home, &["workflow", "put", file.to_str().unwrap()]);
    assert_eq!(ran.code, Some(65), "{}", ran.stderr.chars().take(2000).collect::<String>());
    assert!(ran.stderr.len() < 100_000, "{} bytes of explanation", ran.stderr.len());
    ran.stderr
}

/// Each level names the one before ten times.
fn aliases(levels: usize) -> String {
    let mut yaml = "l0: &l0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..levels {
        let names = vec![format!("*l{}", level - 1); 10].join(", ");
        yaml.push_str(&format!("l{level}: &l{level} [{names}]\n"));
    }
    yaml
}

#[test]
fn yaml_that_grows_is_refused_in_little_memory() {
    let home = home();
    refused(&home, &aliases(12));
    refused(&home, &format!("name: x\nroles: {}1{}\n", "[".repeat(50_000), "]".repeat(50_000)));
    refused(&home, &format!("name: x\nroles: {}1{}\n", "{a: ".repeat(50_000), "}".repeat(50_000)));
    refused(&home, &"- ".repeat(100_000));
    refused(&home, &format!("name: \"{}\"\n", "x".repeat(20 << 20)));
    refused(&home, &"a: &a [*a]\n".repeat(50));
    let many: String = (0..200_000).map(|n| format!("k{n}: 1\n")).collect();
    refused(&home, &many);
    assert!(!home.root().join("cas").exists(), "nothing was stored");
}

#[test]
fn schemas_that_grow_are_refused_in_a_workflow() {
    let home = home();
    let mut defs: Vec<String> = (0..30)
        .map(|n| format!("d{n}: {{ allOf: [ {{ $ref: '#/$defs/d{m}' }}, {{ $ref: '#/$defs/d{m}' }} ] }}", m = n + 1))
        .collect();
    defs.push("d30: {}".to_owned());
    let told = refused(&home, &workflow(&format!("{{ $ref: '#/$defs/d0', $defs: {{ {} }} }}", defs.join(", "))));
    assert!(told.contains("amount to more than 4096"), "{told}");
    let told = refused(&home, &workflow("{ type: string, pattern: '((a{100}){100}){100}' }"));
    assert!(told.contains("takes more than 1 MiB"), "{told}");
    let told = refused(&home, &workflow("{ type: string, pattern: '^(?=(a+)+$)b' }"));
    assert!(told.contains("linear time"), "{told}");
    let patterns: String = (0..500).map(|n| format!("'^k{n}$': {{}}, ")).collect();
    let told = refused(&home, &workflow(&format!("{{ patternProperties: {{ {patterns} }} }}")));
    assert!(told.contains("more than 200"), "{told}");
}

/// `(a+)+$` against a long run of `a` and a `b` takes 2^n steps in an engine that backtracks.
#[test]
fn pattern_matching_time_is_linear() {
    let (home, thread) =
        answering("{ type: object, properties: { s: { type: string, pattern: '^(a+)+$' } }, required: [s] }");
    home.file("answer", &json!({"s": "a".repeat(50_000) + "b"}).to_string());
    let ran = limited(&home, &["thread", "step", &thread]);
    assert_eq!(ran.code, Some(41), "{}", ran.stderr);
}

/// Eight kinds of node that may contain each other, told apart by nothing.
fn all_to_all() -> String {
    let any: String = (0..8).map(|n| format!("{{ $ref: '#/$defs/k{n}' }}, ")).collect();
    let defs: String = (0..8)
        .map(|n| {
            format!(
                "k{n}: {{ type: object, properties: {{ a: {{ anyOf: [ {any} ] }}, b: {{ anyOf: [ {any} ] }} }} }}, "
            )
        })
        .collect();
    format!("{{ type: object, properties: {{ a: {{ anyOf: [ {any} ] }} }}, $defs: {{ {defs} }} }}")
}

/// Neither the agent process, which reads the answer, nor the keeper, which verifies it, is kept busy: 8^40 comparisons
/// without the limits, and messages that grow by the same factor.
#[test]
fn recursive_schema_is_validated_quickly() {
    let (home, thread) = answering(&all_to_all());
    let nested = |leaf: Value| (0..40).fold(leaf, |inner, _| json!({"a": inner}));
    home.file("answer", &nested(json!(1)).to_string());
    let ran = limited(&home, &["thread", "step", &thread]);
    assert_eq!(ran.code, Some(41), "{}", ran.stderr);
    assert!(ran.stderr.len() < 50_000, "{} bytes", ran.stderr.len());
    home.file("answer", &nested(json!({})).to_string());
    let ran = limited(&home, &["thread", "step", &thread]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

#[test]
fn a_schema_fetches_nothing() {
    let home = home();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    for reference in [
        format!("http://{address}/s.json"),
        "file:///etc/passwd".to_owned(),
        format!("//{address}/s"),
        "other.json".to_owned(),
    ] {
        let told = refused(&home, &workflow(&format!("{{ $ref: '{reference}' }}")));
        assert!(told.contains("is outside this schema"), "{told}");
        assert!(!told.contains("root:"), "{told}");
    }
    // Names of a schema, and of a dialect nobody has, are only names.
    refused(&home, &workflow(&format!("{{ $schema: 'http://{address}/dialect', type: object }}")));
    let file = home.file(
        "named.yaml",
        &workflow(&format!("{{ $id: 'http://{address}/me', type: object }}")).replace("work-once", "named"),
    );
    assert_eq!(home.uwf(&["workflow", "put", file.to_str().unwrap()]).code, Some(0));
    assert!(listener.accept().is_err(), "somebody connected");
}

/// See `./test --campaigns`.
mod campaigns {
    use super::*;

    /// The same written as alternatives. Keys are compared with each other in many places, so there is a limit on them.
    #[test]
    fn long_alternatives_and_key_lists_end_in_time() {
        let of_items = |items: String| {
            format!("{{ type: object, properties: {{ xs: {{ type: array, items: {{ {items} }} }} }}, required: [xs] }}")
        };
        let forms: Vec<String> = (0..10_000).map(|number| format!("{{const: v{number}}}")).collect();
        let (home, thread) = answering(&of_items(format!("anyOf: [{}]", forms.join(","))));
        home.file("answer", &format!("{{\"xs\": [{}]}}", vec!["\"other\""; 20_000].join(",")));
        let begun = Instant::now();
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_eq!(ran.code, Some(41), "{}", ran.stderr.chars().take(2000).collect::<String>());
        assert!(ran.stderr.len() < 200_000, "{} bytes of explanation", ran.stderr.len());
        assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());

        let keys: Vec<String> = (0..80_000).map(|number| format!("k{number}")).collect();
        let begun = Instant::now();
        let told = refused(&home, &workflow(&of_items(format!("type: object, required: [{}]", keys.join(",")))));
        assert!(told.contains("it lists more than 5000 keys"), "{told}");
        assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    }

    /// 100,000 allowed values, and an answer of 20,000 others: comparing each with each took minutes, and so did explaining.
    #[test]
    fn long_enums_are_validated_and_explained_in_time() {
        let allowed: Vec<String> = (0..100_000).map(|number| format!("v{number}")).collect();
        let answer = |first: usize| -> String {
            let values: Vec<String> = (first..first + 20_000).map(|number| format!("\"v{number}\"")).collect();
            format!("{{\"xs\": [{}]}}", values.join(","))
        };
        let meta = format!(
            "{{ type: object, properties: {{ xs: {{ type: array, items: {{ enum: [{}] }} }} }}, required: [xs] }}",
            allowed.join(",")
        );
        let (home, thread) = answering(&meta);
        home.file("answer", &answer(1_000_000));
        let begun = Instant::now();
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_eq!(ran.code, Some(41), "{}", ran.stderr.chars().take(2000).collect::<String>());
        assert!(
            ran.stderr.contains("expected \"v0\", \"v1\"") && ran.stderr.contains("or 99988 others"),
            "{}",
            ran.stderr.chars().take(2000).collect::<String>()
        );
        assert!(ran.stderr.len() < 100_000, "{} bytes of explanation", ran.stderr.len());
        assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
        // What is allowed is taken, wherever in the list it stands.
        home.file("answer", &answer(80_000));
        let begun = Instant::now();
        home.json(&["thread", "step", &thread]);
        assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    }
}
