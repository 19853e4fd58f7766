//! Generated answers of which is known, by construction, which values stand alone. A value that is only talked about is never read,
//! whatever stands around it.

use super::*;

/// A part of a generated answer.
#[derive(Debug, Clone)]
struct Piece {
    kind: Kind,
    text: String,
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    /// A sentence that says what the writer thinks of the change.
    Says(bool),
    /// A text that says nothing of it.
    Prose,
    /// A text that shows values which do not stand alone, and the verdicts that it mentions with them.
    Shows(Vec<bool>),
    /// Thoughts between their tags.
    Thinks,
    /// A closing tag that nothing opened: everything before it was thought.
    EndsThoughts,
    /// A value that stands alone.
    Stands(Value),
    /// A value that stands alone in a header.
    Header(Value),
}

fn schema() -> CompiledSchema {
    let schema = json!({
        "type": "object",
        "properties": { "approved": { "type": "boolean" }, "comment": { "type": "string" } },
        "required": ["approved"],
    });
    CompiledSchema::compile(&schema).expect("a valid schema")
}

fn value() -> impl Strategy<Value = Value> {
    let comments = [
        "fine",
        "it's \"quoted\"",
        "returns {\"approved\": true} always",
        "a\n```json\n{\"approved\": false}\n```\nb",
        "a\n---\napproved: true\n---\nb",
        "> no\n- {\"approved\": false}",
        "</think> ends it, <think> begins it",
        "née: # \\d",
        "",
    ];
    (any::<bool>(), prop::option::of(prop::sample::select(comments.to_vec()))).prop_map(|(approved, comment)| {
        match comment {
            Some(comment) => json!({ "approved": approved, "comment": comment }),
            None => json!({ "approved": approved }),
        }
    })
}

/// The value in one line, with blanks as models write them.
fn line(value: &Value) -> String {
    let comment = value.get("comment").map(|comment| format!(", \"comment\": {comment}")).unwrap_or_default();
    format!("{{\"approved\": {}{comment}}}", value["approved"])
}

/// The value as lines with keys.
fn keys(value: &Value) -> String {
    let comment = value.get("comment").map(|comment| format!("\ncomment: {comment}")).unwrap_or_default();
    format!("approved: {}{comment}", value["approved"])
}

fn indented(text: &str, by: &str) -> String {
    text.lines().map(|line| format!("{by}{line}\n")).collect::<String>().trim_end().to_owned()
}

/// The ways in which a value stands alone.
fn standing(value: &Value, way: usize) -> String {
    let line = line(value);
    match way {
        0 => format!("```json\n{line}\n```"),
        1 => format!("```json\n{value:#}\n```"),
        2 => format!("```\n{value}\n```"),
        3 => format!("```yaml\n{}\n```", keys(value)),
        4 => format!("~~~json\n{value:#}\n~~~"),
        5 => format!("````json\n{line}\n````"),
        6 => line,
        7 => format!("{value:#}"),
        8 => keys(value),
        _ => format!("---\n{}\n---", keys(value)),
    }
}

/// Ways of [`standing`]; the last one is a header.
const STANDING: usize = 10;

/// The ways in which a value is only talked about.
fn shown(value: &Value, way: usize) -> String {
    let (keys, line) = (keys(value), line(value));
    match way {
        0 => format!("The API returns {line} for valid users."),
        1 => format!("The bot always writes `{line}`, whatever it reads."),
        2 => format!("{line} is what the fixture has."),
        3 => format!("It calls\nreview.submit({line})\nfor each file."),
        4 => format!("- it returns {line}\n- it has no tests"),
        5 => format!("1. {line}\n2. {}", json!({ "approved": null })),
        6 => format!("* it returns\n{line}\n* sometimes"),
        7 => format!("- The fixture:\n\n  ```json\n  {line}\n  ```\n\n- It is old."),
        8 => format!("- The settings:\n{}", indented(&keys, "  ")),
        9 => format!("> {line}"),
        10 => indented(&format!("```json\n{value:#}\n```"), "> "),
        11 => indented(&format!("---\n{keys}\n---"), "> "),
        12 => format!("> He wrote:\n{line}"),
        13 => format!("```diff\n-{}\n+{line}\n```", json!({ "approved": null })),
        14 => format!("```diff\n {line}\n```"),
        15 => format!("--- a/f.json\n+++ b/f.json\n@@ -1 +1 @@\n+{line}"),
        16 => format!("`````markdown\nAnswer with\n```json\n{line}\n```\n`````"),
        17 => format!("~~~~\nAnswer with\n```json\n{line}\n```\n~~~~"),
        18 => format!("```python\nprint(1)\n{line}\n```"),
        19 => format!("```console\n$ curl localhost\n{line}\n```"),
        20 => format!("The file has\n\n{}", indented(&format!("{value:#}"), "    ")),
        21 => format!("The file has\n\n{}", indented(&keys, "    ")),
        22 => format!("| case | output |\n|---|---|\n| guest | {line} |"),
        23 => format!("<!-- {line} -->"),
        24 => format!("It logs\n{}\nfor each user.", keys.lines().next().unwrap_or_default()),
        25 => "The form is\n\n```yaml\napproved: <true or false>\ncomment: <text>\n```".to_owned(),
        26 => "The form is\n\n{\"approved\": true, \"comment\": \"<text>\"}".to_owned(),
        27 => format!("12:00:01 INFO response={line}"),
        _ => once_misread(value, way - 28),
    }
}

/// Ways of [`shown`].
const SHOWN: usize = 40;

/// The ways that say nothing about the answer: diffs, code in other languages, documents, comments, and the form.
const SILENT: [usize; 10] = [13, 14, 15, 16, 18, 19, 23, 25, 26, 28];

/// The verdicts that a way mentions. Some comments have one of their own.
fn mentioned(value: &Value, way: usize) -> Vec<bool> {
    let in_comment = |yes: bool| {
        let comment = value["comment"].as_str().unwrap_or_default().replace('"', "");
        comment.contains(&format!("approved: {yes}")).then_some(yes)
    };
    match way {
        _ if SILENT.contains(&way) => Vec::new(),
        24 => value["approved"].as_bool().into_iter().collect(),
        39 => vec![true],
        _ => value["approved"].as_bool().into_iter().chain([true, false].into_iter().filter_map(in_comment)).collect(),
    }
}

/// More of those ways, in which it was read once.
fn once_misread(value: &Value, way: usize) -> String {
    let (keys, line) = (keys(value), line(value));
    match way {
        0 => format!("````markdown\n```json\n{line}\n```\n````"),
        1 => format!("~~~\n```yaml\n{keys}\n```\n~~~"),
        2 => format!("~~~~\nAnswer with\n---\n{keys}\n---\n~~~~"),
        3 => format!("```yaml\nrules:\n{}\n```", indented(&keys, "  ")),
        4 => format!("```\nscanning src\n{keys}\n```"),
        5 => format!("The API must return\n{line}\nfor valid users."),
        6 => format!("{value:#}\nis what the API returns."),
        7 => format!("```json\n{line}\n```\nis what the API returns."),
        8 => format!("The test calls\nreview.submit(\n{value:#}\n)\nand no more."),
        9 => format!("> Ada says that it returns\nsomething like\n{line}"),
        10 => format!("- it returns\n  this object:\n{line}\n- it has no tests"),
        _ => "The server said\n\n```\nresponse:\n{\"approved\": true}\n```".to_owned(),
    }
}

/// The ways in which a value is thought. The closing tag of the comments would end the thoughts, so they are left out.
fn thoughts(value: &Value, way: usize) -> String {
    let value = json!({ "approved": value["approved"] });
    let tag = ["think", "thinking", "reasoning", "analysis"][way % 4];
    match way / 4 {
        0 => format!("<{tag}>\nMaybe\n\n{value}\n</{tag}>"),
        1 => format!("<{tag}>\n---\napproved: {}\n---\n</{tag}>", value["approved"]),
        _ => format!("<{tag}>Or\n```json\n{value}\nno.\n</{tag}>"),
    }
}

fn sentence(approved: bool, way: usize) -> &'static str {
    match approved {
        true => {
            ["I approve this.", "LGTM, please merge.", "I have read all of it. Approved.", "My verdict is yes."][way]
        }
        false => {
            ["I do not approve this.", "Not approved: it needs tests.", "I reject it.", "My verdict is no; see below."]
                [way]
        }
    }
}

fn prose(way: usize) -> &'static str {
    [
        "# Review",
        "I read the diff twice.",
        "Files:\n\n- a.rs\n- b.rs",
        "```rust\nfn main() {}\n```",
        "```json\n{\"user\": 7, \"name\": \"ada\"}\n```",
        "> The build was slow.",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "The verdict:",
    ][way]
}

/// A part that is no value which stands alone.
fn beside() -> impl Strategy<Value = Piece> {
    let piece = |kind: Kind, text: String| Piece { kind, text };
    prop_oneof![
        2 => (any::<bool>(), 0..4_usize).prop_map(move |(approved, way)| piece(Kind::Says(approved), sentence(approved, way).to_owned())),
        2 => (0..8_usize).prop_map(move |way| piece(Kind::Prose, prose(way).to_owned())),
        5 => (value(), 0..SHOWN).prop_map(move |(value, way)| piece(Kind::Shows(mentioned(&value, way)), shown(&value, way))),
        1 => (value(), 0..12_usize).prop_map(move |(value, way)| piece(Kind::Thinks, thoughts(&value, way))),
    ]
}

fn alone() -> impl Strategy<Value = Piece> {
    (value(), 0..STANDING).prop_map(|(value, way)| {
        let text = standing(&value, way);
        let kind = if way == STANDING - 1 { Kind::Header(value) } else { Kind::Stands(value) };
        Piece { kind, text }
    })
}

fn ends_thoughts() -> impl Strategy<Value = Piece> {
    let tags = prop::sample::select(vec!["think", "thinking"]);
    tags.prop_map(|tag| Piece { kind: Kind::EndsThoughts, text: format!("So that is it.\n</{tag}>") })
}

/// Parts with up to three values that stand alone, of which two may be the same.
fn pieces() -> impl Strategy<Value = Vec<Piece>> {
    let beside = prop::collection::vec(beside(), 0..6);
    let alone = prop::collection::vec(alone(), 0..3);
    let again = prop::option::weighted(0.3, 0..STANDING);
    let ends = prop::option::weighted(0.15, ends_thoughts());
    let parts = (beside, alone, again, ends).prop_map(|(beside, mut alone, again, ends)| {
        if let (Some(way), Some(Kind::Stands(value) | Kind::Header(value))) =
            (again, alone.first().map(|first| first.kind.clone()))
        {
            let text = standing(&value, way);
            let kind = if way == STANDING - 1 { Kind::Header(value) } else { Kind::Stands(value) };
            alone.push(Piece { kind, text });
        }
        beside.into_iter().chain(alone).chain(ends).collect::<Vec<_>>()
    });
    parts.prop_shuffle().prop_map(apart)
}

/// The parts with a sentence behind each paragraph of keys. Without it, much of what follows is taken for a part of the keys today: objects,
/// lists, quotations, more keys (see the causes with "keys" in `known-faults.yaml`).
fn apart(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut parts: Vec<Piece> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let is_keys = piece.text.starts_with("approved: ");
        parts.push(piece);
        if is_keys {
            parts.push(Piece { kind: Kind::Prose, text: "That was it.".to_owned() });
        }
    }
    parts
}

/// The parts that are said, and not only thought.
fn said(pieces: &[Piece]) -> Vec<&Piece> {
    let from = pieces.iter().rposition(|piece| piece.kind == Kind::EndsThoughts).map_or(0, |at| at + 1);
    pieces[from..].iter().filter(|piece| piece.kind != Kind::Thinks).collect()
}

/// The value that the answer has by the rules. If a sentence or a mention says the opposite, there is none. Below a header, only sentences
/// count.
fn right(pieces: &[Piece]) -> Option<Value> {
    let said = said(pieces);
    if let Some(Piece { kind: Kind::Header(value), .. }) = said.first() {
        let is_opposite = |piece: &&Piece| matches!(piece.kind, Kind::Says(yes) if json!(yes) != value["approved"]);
        return (!said.iter().any(is_opposite)).then(|| value.clone());
    }
    let mut values = said.iter().filter_map(|piece| match &piece.kind {
        Kind::Stands(value) | Kind::Header(value) => Some(value),
        _ => None,
    });
    let first = values.next()?;
    let is_approved = first["approved"] == json!(true);
    let is_opposite = |piece: &&Piece| match &piece.kind {
        Kind::Says(approved) => *approved != is_approved,
        Kind::Shows(mentioned) => mentioned.contains(&!is_approved),
        _ => false,
    };
    let is_contradicted = said.iter().any(is_opposite);
    (!is_contradicted && values.all(|value| value == first)).then(|| first.clone())
}

/// Whether a value stands alone below a header and differs from it. Such an answer may be refused; whether it is depends on the places
/// of the two.
fn is_in_doubt(pieces: &[Piece]) -> bool {
    let said = said(pieces);
    let Some(Piece { kind: Kind::Header(header), .. }) = said.first() else { return false };
    let differs = |piece: &&Piece| match &piece.kind {
        Kind::Stands(Value::Object(value)) | Kind::Header(Value::Object(value)) => {
            value.iter().any(|(key, value)| header.get(key).is_some_and(|other| other != value))
        }
        _ => false,
    };
    said[1..].iter().any(differs)
}

/// The verdicts of the text, in sentences and in values that stand alone.
fn verdicts(pieces: &[Piece]) -> Vec<bool> {
    let verdict = |piece: &&Piece| match &piece.kind {
        Kind::Says(approved) => Some(*approved),
        Kind::Stands(value) | Kind::Header(value) => value["approved"].as_bool(),
        _ => None,
    };
    said(pieces).iter().filter_map(verdict).collect()
}

/// Symbols that terminals and editors add to a text.
fn dressed(text: &str, way: usize) -> String {
    match way {
        0 => text.to_owned(),
        1 => format!("{text}\n"),
        2 => text.replace('\n', "\r\n"),
        3 => format!("\u{feff}{text}"),
        _ => format!("\u{1b}[1m{}\u{1b}[0m", text.replace('\n', "\u{1b}[0m\n\u{1b}[2m")),
    }
}

fn read_in_both_forms(text: &str) -> [Option<ExtractedAnswer>; 2] {
    [frontmatter(text, &schema()), json_rung(text, &schema())].map(|extraction| match extraction {
        Extraction::Found(found) => Some(found),
        Extraction::Failed(_) => None,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Parts with blank lines between them: which values stand alone is certain.
    #[test]
    fn the_one_value_that_stands_alone_is_read(pieces in pieces(), dress in 0..5_usize) {
        let text = pieces.iter().map(|piece| piece.text.as_str()).collect::<Vec<_>>().join("\n\n");
        let right = right(&pieces);
        for found in read_in_both_forms(&dressed(&text, dress)) {
            if found.is_none() && is_in_doubt(&pieces) {
                continue;
            }
            prop_assert_eq!(found.as_ref().map(|found| &found.value), right.as_ref(), "{}", &text);
            let Some(found) = found else { continue };
            prop_assert!(verdicts(&pieces).contains(&(found.value["approved"] == json!(true))), "{}", &text);
            for piece in said(&pieces) {
                if matches!(piece.kind, Kind::Says(_) | Kind::Prose | Kind::Shows(_)) {
                    prop_assert!(found.body.contains(piece.text.trim()), "{} is lost of {}", &piece.text, &text);
                }
            }
        }
    }

    /// Parts with or without blank lines between them: a value that stands alone may be taken for a part of the text above it, but
    /// never one of the others for the answer.
    #[test]
    fn no_value_that_is_talked_about_is_read(
        pieces in pieces(),
        gaps in prop::collection::vec(any::<bool>(), 12),
        cut in prop::option::weighted(0.2, (value(), 0..4_usize)),
    ) {
        let mut text = String::new();
        for (piece, gap) in pieces.iter().zip(gaps.iter().cycle()) {
            text.push_str(&piece.text);
            text.push_str(if *gap { "\n\n" } else { "\n" });
        }
        if let Some((value, way)) = cut {
            let tag = ["think", "thinking", "reasoning", "analysis"][way];
            text.push_str(&format!("<{tag}>\nOn second thought\n\n{value}\n\nor"));
        }
        let said = said(&pieces);
        let stands = |found: &Value| {
            said.iter().any(|piece| matches!(&piece.kind, Kind::Stands(value) | Kind::Header(value) if value == found))
        };
        let [by_text, by_json] = read_in_both_forms(&text);
        prop_assert_eq!(by_text.as_ref().map(|found| &found.value), by_json.as_ref().map(|found| &found.value), "{}", &text);
        if let Some(found) = by_text {
            prop_assert!(stands(&found.value), "{} is read of\n{}", found.value, &text);
            prop_assert!(verdicts(&pieces).contains(&(found.value["approved"] == json!(true))), "{}", &text);
        }
    }
}

/// Marks and words in any order. Comments before a value and single quotation marks are left out: of these the forms differ today (see
/// `known-faults.yaml`).
fn mix() -> impl Strategy<Value = String> {
    let parts = [
        "---\n",
        "```\n",
        "```json\n",
        "```yaml\n",
        "approved",
        "comment",
        "\"approved\"",
        "\"comment\"",
        ": ",
        ":",
        "- ",
        "\n",
        "\n\n",
        "  ",
        "\t",
        "# ",
        "// ",
        "{",
        "}",
        "[",
        "]",
        ",",
        "\"",
        "|",
        "> ",
        "`",
        "true",
        "false",
        "null",
        "None",
        "\"x\"",
        "words here",
        "{\"approved\": true}",
        "{\"approved\": false}\n",
        "approved: true\n",
        "comment: x\n",
        "<think>\n",
        "</think>\n",
        "\\d",
        "\r\n",
        ";",
    ];
    prop::collection::vec(prop::sample::select(parts.to_vec()), 0..14).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn both_forms_read_the_same_value(text in mix()) {
        let [by_text, by_json] = read_in_both_forms(&text);
        prop_assert_eq!(by_text.map(|found| found.value), by_json.map(|found| found.value), "{}", text);
    }
}
