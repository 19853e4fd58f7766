//! Refuses names that slow readers down: of types, functions and tests.
//!
//! A reader who meets a type in a signature, or finds it by search, must know what it is. So its name is declared once
//! in the workspace and has two words or more, unless it is a word of the glossary.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use uwf_testing::repository;

use crate::forgotten_files::{packages, rust_files};

/// Names that several modules may use for a type of their own, because each module is known by them.
const OF_EVERY_MODULE: [&str; 6] = ["Args", "Command", "Error", "Result", "Err", "Ok"];

/// Verbs in the past and question words. They name a type after its place in one sentence. Other participles end in `ed`.
const PARTICIPLES: [&str; 53] = [
    "Before",
    "Begun",
    "Below",
    "Both",
    "Brought",
    "By",
    "Done",
    "Drawn",
    "Elsewhere",
    "Found",
    "From",
    "Given",
    "Gone",
    "Got",
    "Held",
    "How",
    "Instead",
    "Kept",
    "Known",
    "Left",
    "Loose",
    "Lost",
    "Made",
    "Met",
    "Now",
    "On",
    "Over",
    "Own",
    "Past",
    "Ran",
    "Said",
    "Seen",
    "Sent",
    "Shown",
    "Silent",
    "Spent",
    "Split",
    "Stray",
    "Swept",
    "Taken",
    "Then",
    "There",
    "Told",
    "Unsound",
    "What",
    "Which",
    "Who",
    "Whole",
    "Why",
    "Within",
    "Written",
    "Wrong",
    "Sure",
];

/// Words that end in `ed` and are things.
const THINGS_IN_ED: [&str; 4] = ["Bed", "Feed", "Seed", "Speed"];

/// The type of a storage root. The glossary has the word that people use.
const ROOT: &str = "Home";

/// Names of functions that say nothing of what they do.
const EMPTY_FUNCTIONS: [&str; 8] = ["of", "tell", "tells", "told", "look", "looks", "at", "say"];

/// Words with which the name of a test begins that has no subject.
const WITHOUT_SUBJECT: [&str; 2] = ["what_", "who_"];

/// Most words in the name of a test.
const MOST_WORDS: usize = 8;

/// Most words in the glossary.
const MOST_GLOSSARY_ROWS: usize = 25;

/// The names that a file declares.
#[derive(Default)]
struct Declarations {
    types: Vec<String>,
    functions: Vec<String>,
    tests: Vec<String>,
}

impl Declarations {
    /// The names that a file declares.
    fn of_file(file: &Path) -> Declarations {
        let mut declared = Declarations::default();
        declared.collect(fs::read_to_string(file).unwrap().parse().unwrap(), false);
        declared
    }

    /// Collects the names outside tests, and those of tests.
    fn collect(&mut self, tokens: TokenStream, mut is_test: bool) {
        let in_tests = is_test;
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Punct(punct) if punct.as_char() == '#' => {
                    if let Some(TokenTree::Group(attribute)) = tokens.peek()
                        && attribute.delimiter() == Delimiter::Bracket
                    {
                        let text = attribute.stream().to_string().replace(' ', "");
                        is_test |= text == "cfg(test)" || text == "test" || text.ends_with("::test");
                        tokens.next();
                    }
                }
                TokenTree::Ident(keyword) => {
                    let keyword = keyword.to_string();
                    let Some(TokenTree::Ident(name)) = tokens.peek() else { continue };
                    let name = name.to_string();
                    match keyword.as_str() {
                        "fn" if is_test && !in_tests => self.tests.push(name),
                        "fn" if !is_test => self.functions.push(name),
                        "struct" | "enum" | "trait" | "union" if !is_test => self.types.push(name),
                        "type" if !is_test => self.types.push(format!("type {name}")),
                        _ => {}
                    }
                }
                TokenTree::Group(group) => {
                    let is_body = group.delimiter() == Delimiter::Brace;
                    if is_body && is_test && !in_tests {
                        // Of a module of tests or of a test.
                        let mut inside = Declarations::default();
                        inside.collect(group.stream(), false);
                        self.tests.extend(inside.tests);
                    } else {
                        self.collect(group.stream(), in_tests);
                    }
                    is_test = is_test && !is_body;
                }
                TokenTree::Punct(punct) if punct.as_char() == ';' => is_test = in_tests,
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }
}

/// Whether a type is named by a participle or a question word.
fn is_participle(name: &str) -> bool {
    let is_word = name.chars().skip(1).all(char::is_lowercase);
    is_word && (PARTICIPLES.contains(&name) || name.ends_with("ed") && !THINGS_IN_ED.contains(&name))
}

/// Whether the name of a test hides its subject or its behaviour.
fn is_vague(test: &str) -> bool {
    WITHOUT_SUBJECT.iter().any(|beginning| test.starts_with(beginning)) || test.split('_').any(|word| word == "told")
}

/// The rows of the glossary in ARCHITECTURE.md.
fn glossary_rows(text: &str) -> impl Iterator<Item = &str> {
    let (_, words) = text.split_once("\n## Words\n").expect("a glossary");
    words.lines().skip_while(|line| !line.starts_with("|---")).skip(1).take_while(|line| line.starts_with('|'))
}

/// The words of the glossary.
fn glossary() -> BTreeSet<String> {
    let text = fs::read_to_string(repository().join("ARCHITECTURE.md")).unwrap();
    let cells = glossary_rows(&text).filter_map(|row| row.split('|').nth(1));
    cells.flat_map(|cell| cell.split([',', ' ', '`'])).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Names that slow readers down, each with its file, by kind.
fn poor_names() -> BTreeMap<&'static str, Vec<String>> {
    let (mut types, mut functions, mut tests) = (Vec::new(), Vec::new(), Vec::new());
    for package in packages() {
        for file in rust_files(&package.join("src")) {
            let declared = Declarations::of_file(&file);
            let located = |name: String| (name, file.clone());
            types.extend(declared.types.into_iter().map(located));
            functions.extend(declared.functions.into_iter().map(located));
            tests.extend(declared.tests.into_iter().map(located));
        }
        for file in rust_files(&package.join("tests")) {
            tests.extend(Declarations::of_file(&file).tests.into_iter().map(|name| (name, file.clone())));
        }
    }
    // Associated types have the names of their traits.
    types.retain(|(name, _)| !name.starts_with("type ") && !OF_EVERY_MODULE.contains(&name.as_str()));
    let mut declared: BTreeMap<String, usize> = BTreeMap::new();
    for (name, _) in &types {
        *declared.entry(name.clone()).or_default() += 1;
    }
    let glossary = glossary();
    let is_one_word = |name: &str| {
        name.chars().skip(1).all(char::is_lowercase) && !glossary.contains(&name.to_lowercase()) && name != ROOT
    };
    let poor = |names: &[(String, PathBuf)], is_poor: &dyn Fn(&str) -> bool| {
        let poor = names.iter().filter(|(name, _)| is_poor(name));
        poor.map(|(name, file)| format!("{name} in {}", file.display())).collect::<Vec<_>>()
    };
    BTreeMap::from([
        ("declared again", poor(&types, &|name| declared[name] > 1)),
        ("named by a participle", poor(&types, &is_participle)),
        ("named by one word that is not in the glossary", poor(&types, &is_one_word)),
        ("functions with an empty name", poor(&functions, &|name| EMPTY_FUNCTIONS.contains(&name))),
        ("tests with a long name", poor(&tests, &|name| name.split('_').count() > MOST_WORDS)),
        ("tests without subject or behaviour", poor(&tests, &is_vague)),
    ])
}

#[test]
fn names_say_what_they_are() {
    let mut poor = poor_names();
    poor.retain(|_, names| !names.is_empty());
    assert!(poor.is_empty(), "name types after things and functions after what they do: {poor:#?}");
}

#[test]
fn glossary_is_short() {
    let text = fs::read_to_string(repository().join("ARCHITECTURE.md")).unwrap();
    let rows = glossary_rows(&text).count();
    assert!((20..=MOST_GLOSSARY_ROWS).contains(&rows), "the glossary has {rows} words, at most {MOST_GLOSSARY_ROWS}");
}

#[test]
fn declarations_are_found() {
    let mut all = Declarations::default();
    let code = "struct A; enum Told { X } impl A { fn of() {} } #[cfg(test)] mod tests { struct B; #[test] fn it_works() {} } fn f() {}";
    all.collect(code.parse().unwrap(), false);
    assert_eq!(
        (all.types, all.functions, all.tests),
        (vec!["A".to_owned(), "Told".to_owned()], vec!["of".to_owned(), "f".to_owned()], vec!["it_works".to_owned()],)
    );
    assert!(is_participle("Told") && is_participle("Asked") && !is_participle("Feed") && !is_participle("AskedOnce"));
    assert!(is_vague("what_is_written_is_read") && is_vague("damage_is_told") && !is_vague("whole_run_ends"));
    assert!(glossary().contains("thread"));
}
