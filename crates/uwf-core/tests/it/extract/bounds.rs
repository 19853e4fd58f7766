//! Any text is read, in linear time and without panic.

use super::*;

/// Bytes of a hostile text. `./test --campaigns` reads longer ones.
const SHORT: usize = 1 << 14;

#[test]
fn hostile_texts_are_read() {
    read_hostile_texts(SHORT);
}

#[test]
fn hostile_mentions_are_read() {
    read_hostile_mentions(SHORT);
}

/// Texts so long that the time limit of the test runner ends a reader that is quadratic.
mod campaigns {
    use super::*;

    const LONG: usize = 1 << 17;

    #[test]
    fn hostile_texts_are_read_in_linear_time() {
        read_hostile_texts(LONG);
    }

    #[test]
    fn hostile_mentions_are_read_in_linear_time() {
        read_hostile_mentions(LONG);
    }

    /// uwf reads every output that it may keep.
    #[test]
    fn largest_storable_output_is_read() {
        let text = "x".repeat(20 << 20);
        let raw = format!("{{\"status\": \"done\", \"plan\": \"{text}\"}}");
        let schema = CompiledSchema::compile(&task_schema()).unwrap();
        let Extraction::Found(found) = json_rung(&raw, &schema) else { panic!("it is not read") };
        assert_eq!(found.value["plan"], json!(text));
    }
}

/// Reads texts built to make a reader look again and again.
fn read_hostile_texts(long: usize) {
    for unit in [
        "---\n",
        "---\nstatus: done\n",
        "{\"status\":",
        "```\n",
        "status: done\n\n",
        "{",
        "[",
        "\u{1b}]",
        "- ",
        "status: x #",
        "\"",
        "é: ",
        "  - status:\n",
        "{/*\n",
        "{\"a\n",
        "x =\n```json\n{\"a\": /*\n```\n",
        "o_k: 1\no-k: 1\n",
        "```x\n</think>\n",
        "```x\n</think>\n```y\n",
        "{\n\"status\": 1\n",
        "HTTP/1.1 200\n{\"status\": \"done\"}\n",
    ] {
        let raw = unit.repeat(long / unit.len());
        read(&raw, &task_schema());
        json_rung(&raw, &CompiledSchema::compile(&task_schema()).expect("the schema compiles"));
    }
}

/// Text beside a value that is searched for mentions of its keys.
fn read_hostile_mentions(long: usize) {
    let schema = json!({ "type": "object", "properties": { "ok": { "type": "boolean" } }, "required": ["ok"] });
    for unit in [
        "ok: true, ",
        "~~ok: no~~ ",
        "<!-- ok: no --> ",
        "x.ok: no ",
        "ok: true|",
        "| ok ",
        "|ok|x|\n",
        "ok:   ",
        "ok : \"",
    ] {
        let text = unit.repeat(long / unit.len());
        // A line of struck out text is cut into parts, so its mentions may count.
        let may_fail = unit.starts_with('~');
        let extraction = read(&format!("```json\n{{\"ok\": true}}\n```\n\n{text}\n"), &schema);
        assert!(may_fail || matches!(extraction, Extraction::Found(_)), "{unit}: {extraction:?}");
    }
    // Each row is compared with the first one.
    let rows = format!("|{}|\n{}", "x".repeat(long), "|a|\n".repeat(long / 4));
    read(&format!("```json\n{{\"ok\": true}}\n```\n\n{rows}"), &schema);
}

fn fragments() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "---\n",
        "...\n",
        "```",
        "```yaml\n",
        "status",
        "plan",
        "files",
        "phases",
        "owner",
        ": ",
        ":",
        "=",
        "- ",
        "\n",
        "\n\n",
        "  ",
        "\t",
        "#",
        " # c",
        "{",
        "}",
        "[",
        "]",
        ",",
        "\"",
        "'",
        "|",
        ">",
        "&a",
        "*a",
        "!t",
        "@",
        "`",
        "%",
        "<text>",
        "null",
        "~",
        "1.10",
        "yes",
        "é",
        "\u{feff}",
        "\u{1b}[0m",
        "\r",
        "\u{85}",
        "\u{2028}",
        "?",
        "\\",
        "done",
        "**",
    ]);
    prop::collection::vec(pieces, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(raw in any::<String>()) {
        read(&raw, &task_schema());
        json_rung(&raw, &CompiledSchema::compile(&task_schema()).unwrap());
    }

    #[test]
    fn arbitrary_marks_never_panic_and_yield_valid_values(raw in fragments()) {
        let schema = CompiledSchema::compile(&task_schema()).unwrap();
        for extraction in [frontmatter(&raw, &schema), json_rung(&raw, &schema)] {
            match extraction {
                Extraction::Found(found) => prop_assert!(schema.is_valid(&found.value)),
                Extraction::Failed(failure) => prop_assert!(!failure.errors.is_empty()),
            }
        }
    }

    #[test]
    fn a_text_in_one_line_is_read_back(text in "[ -~äß→]{1,60}") {
        let text = text.trim();
        prop_assume!(!text.is_empty() && !text.starts_with(['"', '\'', '|', '>', '#', '~', '<']) && text != "null");
        let raw = format!("---\nplan: {text}\nstatus: done\n---\nbody\n");
        prop_assert_eq!(&found(&raw).value["plan"], &json!(text));
    }
}
