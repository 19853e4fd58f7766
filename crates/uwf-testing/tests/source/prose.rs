//! Counts habits of writing that slow readers down, per 10,000 words, in everything people and models read.
//!
//! `prose-ceilings.txt` has the most there may be of each habit in each group of texts. A ceiling only falls:
//! `UWF_LOWER_CEILINGS=1 cargo nextest run -p uwf-testing prose` lowers those that are too high.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use uwf_testing::repository;

use crate::forgotten_files::{packages, rust_files};

/// A habit, and the words by which it is recognized. `^` stands for the beginning of a sentence, `$` for its end.
const HABITS: [(&str, &[&str]); 8] = [
    ("nobody", &["nobody", "somebody", "anybody", "everybody", "whoever"]),
    ("what-first", &["^ of", "^ what", "^ that", "^ whoever", "^ whose"]),
    ("that-of", &["that of", "those of", "the one that", "the ones that", "it all", "of which", "that which"]),
    (
        "go-on",
        &[
            "go on",
            "goes on",
            "going on",
            "gone on",
            "went on",
            "anew",
            "tell",
            "tells",
            "told",
            "is at it",
            "leads to",
            "lead to",
            "led to",
            "stands still",
            "stand still",
        ],
    ),
    ("is-no", &["is no", "are no", "was no", "is none", "are none", "no more", "has to", "have to", "so long as"]),
    ("of-it", &["of it"]),
    ("nothing", &["nothing is", "nothing was", "nothing comes", "neither", "nor", "makes one", "names it"]),
    ("too", &["too $"]),
];

/// The habit of sentences with more than [`LONGEST`] words.
const LONG: &str = "long";

/// Most words of a sentence.
const LONGEST: usize = 25;

/// Fewest words of a literal that counts as something the program says.
const SENTENCE: usize = 4;

/// Texts that are read by the same people.
type Groups = BTreeMap<&'static str, Vec<String>>;

fn groups() -> Groups {
    let root = repository();
    let mut groups = Groups::new();
    groups.insert("help", vec![fs::read_to_string(root.join("docs/reference.md")).unwrap()]);
    groups.insert("readme", vec![document(&root.join("README.md"))]);
    groups.insert("guide", documents(&root.join("docs/guide")));
    groups.insert("reference", documents(&root.join("docs/reference")));
    let mut internals = documents(&root.join("docs/internals"));
    internals.extend(["ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"].map(|name| document(&root.join(name))));
    groups.insert("internals", internals);
    for file in packages().iter().flat_map(|package| rust_files(&package.join("src"))) {
        let text = fs::read_to_string(&file).unwrap();
        groups.entry("comments").or_default().push(comments(&text));
        let mut literals = Vec::new();
        collect_literals(text.parse().unwrap(), &mut literals);
        let said = literals.into_iter().filter(|literal| words(literal).count() >= SENTENCE).map(|said| quiet(&said));
        groups.entry(group_of(&file)).or_default().extend(said);
    }
    groups
}

/// The group of what the code of a file says.
fn group_of(file: &Path) -> &'static str {
    let path = file.to_string_lossy();
    if path.contains("uwf-core/src/prompt") || path.ends_with("agent-kit/src/mcp.rs") {
        "prompts"
    } else if path.contains("uwf-server/src/pages") {
        "pages"
    } else {
        "messages"
    }
}

fn documents(dir: &Path) -> Vec<String> {
    let files = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|file| file.extension().is_some_and(|ending| ending == "md")).map(|file| document(&file)).collect()
}

/// A document without its code.
fn document(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    let mut prose = String::new();
    let mut in_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            prose.push_str(line);
        }
        prose.push('\n');
    }
    quiet(&prose)
}

/// A text in which each piece of code, and each target of a link, is one neutral word.
fn quiet(text: &str) -> String {
    let spans = text.split('`').enumerate().map(|(index, part)| if index % 2 == 0 { part } else { "x" });
    let text: String = spans.collect();
    let mut parts = text.split("](");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(part.split_once(')').map_or(part, |(_, rest)| rest));
    }
    out
}

/// All comments of a file, doc comments included, a paragraph for each run of lines.
fn comments(text: &str) -> String {
    let mut out = String::new();
    let mut was_comment = false;
    for line in text.lines().map(str::trim_start) {
        let is_comment = line.starts_with("//");
        if is_comment {
            out.push_str(line.trim_start_matches('/').trim_start_matches('!'));
        }
        if is_comment || was_comment {
            out.push('\n');
        }
        was_comment = is_comment;
    }
    quiet(&out)
}

/// Texts of literals outside tests and attributes, and in attributes `error`, which are messages.
fn collect_literals(tokens: TokenStream, found: &mut Vec<String>) {
    let mut tokens = tokens.into_iter().peekable();
    let mut skips_next_block = false;
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                // Of a module, such as `//!`.
                tokens.next_if(|token| matches!(token, TokenTree::Punct(mark) if mark.as_char() == '!'));
                let Some(TokenTree::Group(attribute)) = tokens.peek() else { continue };
                if attribute.delimiter() == Delimiter::Bracket {
                    let text = attribute.stream().to_string();
                    skips_next_block |= text == "cfg (test)" || text == "cfg(test)" || text == "test";
                    if text.starts_with("error") {
                        collect_literals(attribute.stream(), found);
                    }
                    tokens.next();
                }
            }
            TokenTree::Group(group) => {
                if std::mem::take(&mut skips_next_block) && group.delimiter() == Delimiter::Brace {
                    continue;
                }
                collect_literals(group.stream(), found);
            }
            TokenTree::Punct(punct) if punct.as_char() == ';' => skips_next_block = false,
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                if let Some(inner) = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
                    found.push(inner.replace("\\n", "\n").replace("\\\"", "\""));
                }
            }
            _ => {}
        }
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphabetic() || c == '\'')).filter(|word| !word.is_empty())
}

/// The words of a text with `^` and `$` around each sentence, each followed by a blank.
fn marked(text: &str) -> (usize, String) {
    let mut count = 0;
    let mut out = String::from(" ");
    let paragraphs = text.split("\n\n").flat_map(|paragraph| paragraph.split(['.', '!', '?', ';', ':', '|', '*', '#']));
    for sentence in paragraphs {
        let mut any = false;
        for word in words(sentence) {
            if !std::mem::replace(&mut any, true) {
                out.push_str("^ ");
            }
            count += 1;
            let _ = write!(out, "{} ", word.to_lowercase());
        }
        if any {
            out.push_str("$ ");
        }
    }
    (count, out)
}

/// How often a habit occurs in 10,000 words, to one decimal.
fn rates() -> BTreeMap<(String, String), f64> {
    let mut rates = BTreeMap::new();
    for (group, texts) in groups() {
        let (count, text) = marked(&texts.join("\n\n"));
        assert!(count > 500, "{group} has {count} words");
        for (habit, patterns) in HABITS {
            let found: usize = patterns.iter().map(|pattern| text.matches(&format!(" {pattern} ")).count()).sum();
            rates.insert((group.to_owned(), habit.to_owned()), per_words(found, count));
        }
        rates.insert((group.to_owned(), LONG.to_owned()), per_words(long_sentences(&text), count));
    }
    rates
}

fn per_words(found: usize, count: usize) -> f64 {
    (found as f64 * 100_000.0 / count as f64).round() / 10.0
}

fn long_sentences(marked: &str) -> usize {
    marked
        .split('^')
        .filter(|sentence| sentence.split_whitespace().filter(|word| *word != "$").count() > LONGEST)
        .count()
}

fn ceilings_file() -> PathBuf {
    repository().join("crates/uwf-testing/tests/source/prose-ceilings.txt")
}

fn ceilings() -> BTreeMap<(String, String), f64> {
    let text = fs::read_to_string(ceilings_file()).unwrap();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| match line.split_whitespace().collect::<Vec<_>>().as_slice() {
            [group, habit, most] => (((*group).to_owned(), (*habit).to_owned()), most.parse().unwrap()),
            _ => panic!("not a group, a habit and a number: {line}"),
        })
        .collect()
}

#[test]
fn no_habit_exceeds_its_ceiling() {
    let (rates, ceilings) = (rates(), ceilings());
    if std::env::var_os("UWF_LOWER_CEILINGS").is_some() {
        let mut text =
            String::from("# Group, habit, and how often it may occur in 10,000 words. Ceilings only fall.\n");
        for ((group, habit), rate) in &rates {
            let most = ceilings.get(&(group.clone(), habit.clone())).map_or(*rate, |most| most.min(*rate));
            let _ = writeln!(text, "{group} {habit} {most:.1}");
        }
        fs::write(ceilings_file(), text).unwrap();
        return;
    }
    let keys: Vec<_> = rates.keys().collect();
    assert_eq!(keys, ceilings.keys().collect::<Vec<_>>(), "prose-ceilings.txt has another group or habit");
    let above: Vec<String> = rates
        .iter()
        .filter(|(key, rate)| **rate > ceilings[*key])
        .map(|((group, habit), rate)| {
            format!(
                "{group}: `{habit}` {rate} times in 10,000 words, at most {}",
                ceilings[&(group.clone(), habit.clone())]
            )
        })
        .collect();
    assert!(above.is_empty(), "write as jj and uv do, with the actor first and plain verbs: {above:#?}");
}

#[test]
fn habits_are_recognized() {
    let rate = |text: &str| {
        let (_, text) = marked(&quiet(text));
        let found = |patterns: &[&str]| patterns.iter().any(|pattern| text.contains(&format!(" {pattern} ")));
        HABITS.iter().filter(|(_, patterns)| found(patterns)).map(|(habit, _)| *habit).collect::<Vec<_>>()
    };
    assert_eq!(rate("It works. What is known counts, too."), ["what-first", "too"]);
    assert_eq!(rate("Nobody tells those of `that of` it."), ["nobody", "that-of", "go-on"]);
    assert_eq!(rate("Neither is known."), ["nothing"]);
    assert_eq!(rate("Show the thread. It is not too late."), [""; 0]);
    let sentence = |words: usize| marked(&"word ".repeat(words)).1;
    assert_eq!([25, 26].map(|words| long_sentences(&sentence(words))), [0, 1]);
}
