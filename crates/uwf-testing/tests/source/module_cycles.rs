//! The modules of a crate depend on each other in one direction.
//!
//! At each level of the tree of modules, a reference from anything inside A to anything inside B counts as A → B. That a
//! module names its own children, or children what their parent's file defines, does not count.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use uwf_testing::repository;

use crate::forgotten_files::packages;
use crate::modules::Modules;

/// Which siblings one refers to, each with the first place that does.
type Siblings = BTreeMap<String, BTreeMap<String, String>>;

/// The references between siblings, by the path of their parent.
fn levels(modules: &Modules) -> BTreeMap<String, Siblings> {
    let mut levels: BTreeMap<String, Siblings> = BTreeMap::new();
    for module in modules.0.iter().filter(|module| !module.is_test) {
        for reference in &module.references {
            for target in modules.reached(module, &reference.segments) {
                let shared = module.path.iter().zip(&target.path).take_while(|(one, other)| one == other).count();
                let (Some(from), Some(to)) = (module.path.get(shared), target.path.get(shared)) else { continue };
                let parent = module.path[..shared].join("::");
                let place = format!("{}:{}", module.file.display(), reference.line);
                let edges = levels.entry(parent).or_default().entry(from.clone()).or_default();
                edges.entry(to.clone()).or_insert(place);
            }
        }
    }
    levels
}

/// The shortest way from a sibling back to itself.
fn way_back(siblings: &Siblings, start: &str) -> Option<Vec<String>> {
    let mut ways = VecDeque::from([vec![start.to_owned()]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        for next in siblings.get(way.last()?).into_iter().flat_map(BTreeMap::keys) {
            let longer = [&way[..], std::slice::from_ref(next)].concat();
            if next == start {
                return Some(longer);
            }
            if seen.insert(next.clone()) {
                ways.push_back(longer);
            }
        }
    }
    None
}

/// The cycles of a crate as text, each with the lines that make it.
fn cycles(root: &Path) -> String {
    let mut text = String::new();
    for (parent, siblings) in levels(&Modules::read(root)) {
        let mut told = BTreeSet::new();
        for start in siblings.keys() {
            let Some(way) = way_back(&siblings, start).filter(|way| told.is_disjoint(&way.iter().cloned().collect()))
            else {
                continue;
            };
            writeln!(text, "in `crate::{parent}`: {}", way.join(" → ")).unwrap();
            for pair in way.windows(2) {
                let place = &siblings[&pair[0]][&pair[1]];
                writeln!(text, "    {} → {}: {}", pair[0], pair[1], with_its_line(place)).unwrap();
            }
            told.extend(way);
        }
    }
    text
}

fn with_its_line(place: &str) -> String {
    let (file, line) = place.rsplit_once(':').unwrap();
    let text = fs::read_to_string(file).unwrap();
    let line: usize = line.parse().unwrap();
    let text = text.lines().nth(line - 1).unwrap_or_default().trim().to_owned();
    let file = Path::new(file).strip_prefix(repository()).map_or(file, |path| path.to_str().unwrap());
    format!("{file}:{line}: {text}")
}

#[test]
fn no_crate_has_a_cycle_of_modules() {
    let mut found = String::new();
    let mut with_cycles = Vec::new();
    for package in packages() {
        let roots = ["lib.rs", "main.rs"].map(|file| package.join("src").join(file));
        let cycles: String = roots.iter().filter(|root| root.exists()).map(|root| cycles(root)).collect();
        let name = package.file_name().unwrap().to_str().unwrap().to_owned();
        if !cycles.is_empty() {
            writeln!(found, "{name}:\n{cycles}").unwrap();
            with_cycles.push(name);
        }
    }
    assert!(with_cycles.is_empty(), "{with_cycles:?}:\n{found}");
}

#[test]
fn cycle_is_reported_with_its_lines() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let file = dir.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    };
    write("lib.rs", "mod a;\nmod b;\nmod c;\npub use a::deep::Deep;\nfn own() { a::deep::f() }\n");
    // To `b`, through an import of the root that is renamed, in the arguments of a macro.
    write("a.rs", "pub mod deep;\nfn f() {\n    println!(\"{}\", crate::c::B2);\n}\n");
    write("a/deep.rs", "pub struct Deep;\n#[cfg(test)]\nmod tests {\n    use crate::c::f;\n}\n");
    write("b/mod.rs", "pub struct B;\npub(crate) fn f(_: crate::Deep) { super::own() }\n");
    write("c.rs", "use super::{\n    b::{self, B as B2},\n};\n");
    let found = cycles(&dir.path().join("lib.rs")).replace(&*dir.path().to_string_lossy(), "");
    assert_eq!(
        found,
        "in `crate::`: a → b → a\n\
         \x20   a → b: /a.rs:3: println!(\"{}\", crate::c::B2);\n\
         \x20   b → a: /b/mod.rs:2: pub(crate) fn f(_: crate::Deep) { super::own() }\n"
    );
    write("b/mod.rs", "pub struct B;\npub(crate) fn f() { super::own() }\n");
    assert_eq!(cycles(&dir.path().join("lib.rs")), "");
}
