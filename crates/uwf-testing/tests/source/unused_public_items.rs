//! What a library makes public is named by somebody else: another crate, a test, a benchmark, an example, a fuzz target, or a
//! link in its documentation.
//!
//! That each `pub` can be reached from outside is what the lint `unreachable_pub` is for; here it is asked whether anybody
//! does. Names are compared as words, so a method `new` counts as used once anybody calls any `new`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::forgotten_files::{packages, rust_files};

/// Libraries that still have some. One that has none any more leaves the list.
#[rustfmt::skip]
const WITH_UNUSED: &[&str] = &[
];

/// The code of a file, its comments and own tests left out.
fn code(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    let text = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap();
    text.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .fold(String::new(), |code, line| code + line + "\n")
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|symbol: char| !symbol.is_alphanumeric() && symbol != '_').filter(|word| !word.is_empty())
}

/// Names that documentation links to: a limit that it names has to be public.
fn linked(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap();
    let links = text.split("[`").skip(1).filter_map(|rest| rest.split_once("`]"));
    links.map(|(name, _)| name.rsplit("::").next().unwrap_or(name).to_owned()).collect()
}

/// What a line declares for everybody: its kind and its name.
fn declared(line: &str) -> Option<(&str, &str)> {
    let mut words =
        words(line.trim_start().strip_prefix("pub ")?).skip_while(|word| matches!(*word, "async" | "unsafe"));
    let (kind, name) = (words.next()?, words.next()?);
    match kind {
        "const" if name == "fn" => Some(("fn", words.next()?)),
        "fn" | "struct" | "enum" | "trait" | "const" | "static" | "type" => Some((kind, name)),
        _ => None,
    }
}

/// The types that come along with what is public: in signatures, fields and variants. Whoever has the one can get at the
/// other without naming it.
fn come_along(code: &str) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    let mut rest = code;
    while let Some(at) = rest.find("pub ") {
        rest = &rest[at + 4..];
        let end = rest.find(if rest.starts_with("enum ") { "\n}" } else { "{\n" }).unwrap_or(rest.len());
        let end = if rest.starts_with("enum ") {
            end
        } else {
            end.min(rest.find(";\n").unwrap_or(end))
                .min(rest.find(",\n").map_or(end, |at| if rest[..at].contains('(') { end } else { at }))
        };
        // What is declared itself has its name behind its kind; a field begins with it.
        let is_field = rest[..end].split_whitespace().next().is_some_and(|word| word.ends_with(':'));
        names.extend(words(&rest[..end]).skip(if is_field { 1 } else { 2 }));
    }
    // A trait, what implements it, and its associated types.
    let is_of_trait = |line: &&str| line.starts_with("impl") && line.contains(" for ") || line.starts_with("    type ");
    for line in code.lines().filter(is_of_trait) {
        names.extend(words(line).skip(1));
    }
    names
}

#[test]
fn public_items_are_used_outside_their_library() {
    let all: BTreeMap<_, _> =
        packages().iter().flat_map(|package| rust_files(package)).map(|file| (file.clone(), code(&file))).collect();
    let words_of: BTreeMap<&Path, BTreeSet<&str>> =
        all.iter().map(|(file, code)| (file.as_path(), words(code).collect())).collect();
    let mut with_unused = Vec::new();
    let mut told = String::new();
    let mut seen = 0;
    for package in
        packages().iter().filter(|package| package.join("src/lib.rs").exists() && !package.ends_with("bench"))
    {
        let (own, others): (Vec<_>, Vec<_>) = all.iter().partition(|(file, _)| file.starts_with(package.join("src")));
        let linked: BTreeSet<String> = own.iter().flat_map(|(file, _)| linked(file)).collect();
        let is_used = |name: &str| {
            linked.contains(name) || others.iter().any(|(file, _)| words_of[file.as_path()].contains(name))
        };
        let along: BTreeSet<&str> = own.iter().flat_map(|(_, code)| come_along(code)).collect();
        let before = told.len();
        for (file, code) in &own {
            for (kind, name) in code.lines().filter_map(declared) {
                seen += 1;
                let is_type = matches!(kind, "struct" | "enum" | "trait" | "type");
                if !(is_used(name) || is_type && along.contains(name)) {
                    told += &format!("{}: {kind} {name}\n", file.strip_prefix(package).unwrap().display());
                }
            }
        }
        if told.len() > before {
            let name = package.file_name().unwrap().to_str().unwrap().to_owned();
            told.insert_str(before, &format!("{name}:\n"));
            with_unused.push(name);
        }
    }
    assert!(seen > 500, "{seen} public items were found");
    assert_eq!(with_unused, WITH_UNUSED, "public, but named by nobody else:\n{told}");
}
