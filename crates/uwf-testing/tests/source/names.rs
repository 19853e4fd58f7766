//! Counts names that slow readers down: types, functions and tests.
//!
//! `name-ceilings.txt` has the most there may be of each kind. A ceiling only falls:
//! `UWF_LOWER_CEILINGS=1 cargo nextest run -p uwf-testing names` lowers those that are too high.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

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

/// Names of functions that say nothing of what they do.
const EMPTY_FUNCTIONS: [&str; 8] = ["of", "tell", "tells", "told", "look", "looks", "at", "say"];

/// Most words in the name of a test.
const MOST_WORDS: usize = 8;

/// The names that a file declares.
#[derive(Default)]
struct Declarations {
    types: Vec<String>,
    functions: Vec<String>,
    tests: Vec<String>,
}

impl Declarations {
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

/// The words of the glossary.
fn glossary() -> BTreeSet<String> {
    let text = fs::read_to_string(repository().join("ARCHITECTURE.md")).unwrap();
    let (_, words) = text.split_once("\n## Words\n").expect("a glossary");
    let rows =
        words.lines().skip_while(|line| !line.starts_with("|---")).skip(1).take_while(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    cells.flat_map(|cell| cell.split([',', ' ', '`'])).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// The number of names of each kind.
fn counts() -> BTreeMap<&'static str, usize> {
    let mut all = Declarations::default();
    for package in packages() {
        for file in rust_files(&package.join("src")) {
            all.collect(fs::read_to_string(&file).unwrap().parse().unwrap(), false);
        }
        for file in rust_files(&package.join("tests")) {
            let mut of_tests = Declarations::default();
            of_tests.collect(fs::read_to_string(&file).unwrap().parse().unwrap(), false);
            all.tests.extend(of_tests.tests);
        }
    }
    // Associated types have the names of their traits.
    let types: Vec<&str> = all.types.iter().filter(|name| !name.starts_with("type ")).map(String::as_str).collect();
    let mut declared: BTreeMap<&str, usize> = BTreeMap::new();
    for name in &types {
        *declared.entry(name).or_default() += 1;
    }
    let glossary = glossary();
    let is_one_word = |name: &str| {
        name.chars().skip(1).all(char::is_lowercase)
            && !OF_EVERY_MODULE.contains(&name)
            && !glossary.contains(&name.to_lowercase())
    };
    let twice = declared.iter().filter(|(name, count)| **count > 1 && !OF_EVERY_MODULE.contains(name));
    BTreeMap::from([
        ("types-declared-again", twice.map(|(_, count)| count - 1).sum()),
        ("types-named-by-a-participle", types.iter().filter(|name| is_participle(name)).count()),
        ("types-named-by-one-word", types.iter().filter(|name| is_one_word(name)).count()),
        (
            "functions-with-an-empty-name",
            all.functions.iter().filter(|name| EMPTY_FUNCTIONS.contains(&name.as_str())).count(),
        ),
        ("tests-with-a-long-name", all.tests.iter().filter(|name| name.split('_').count() > MOST_WORDS).count()),
    ])
}

fn ceilings_file() -> PathBuf {
    repository().join("crates/uwf-testing/tests/source/name-ceilings.txt")
}

#[test]
fn no_kind_of_name_exceeds_its_ceiling() {
    let text = fs::read_to_string(ceilings_file()).unwrap_or_default();
    let lines = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(' '));
    let ceilings: BTreeMap<&str, usize> = lines.map(|(kind, most)| (kind, most.parse().unwrap())).collect();
    let counts = counts();
    if std::env::var_os("UWF_LOWER_CEILINGS").is_some() {
        let mut text = String::from("# Kind of name, and how often it may occur. Ceilings only fall.\n");
        for (kind, count) in &counts {
            let most = ceilings.get(kind).map_or(*count, |most| *most.min(count));
            let _ = writeln!(text, "{kind} {most}");
        }
        fs::write(ceilings_file(), text).unwrap();
        return;
    }
    let above: Vec<_> =
        counts.iter().filter(|(kind, count)| ceilings.get(*kind).is_none_or(|most| *count > most)).collect();
    assert!(
        above.is_empty(),
        "name types after things and functions after what they do: {above:?}, at most {ceilings:?}"
    );
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
    assert!(glossary().contains("thread") && glossary().len() > 20);
}
