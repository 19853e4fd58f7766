//! Only the crate uwf-platform knows which operating system it runs on, and only one file has unsafe code.

use std::fs;
use std::path::Path;

use uwf_testing::repository;

use crate::forgotten_files::{packages, rust_files};

/// The crate that knows.
const DOOR: &str = "crates/uwf-platform/";

/// Code that is for one system by its nature, or for tests.
const EXCEPTIONS: [(&str, &str); 3] = [
    ("crates/uwf-agents/src/sandbox", "each mechanism of a sandbox belongs to one system"),
    ("crates/uwf-agents/Cargo.toml", "Landlock and seccomp are crates for Linux alone"),
    ("crates/uwf-testing/", "it is no part of the product"),
];

/// The only file with unsafe code.
const UNSAFE: &str = "crates/uwf-platform/src/macos/system_calls.rs";

/// The lines of a file without comments, and without its own tests.
fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let code = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    code.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// Whether a line asks for the system, or reads what only Linux has.
fn knows_the_system(line: &str) -> bool {
    ["target_os", "target_vendor", "\"/proc", "\"/sys/"].iter().any(|sign| line.contains(sign))
}

/// The lines of the product that a check rejects, except in files with one of these beginnings.
fn rejected(is_rejected: impl Fn(&str) -> bool, except: &[&str]) -> Vec<String> {
    let root = repository();
    let mut found = Vec::new();
    for package in packages().iter().filter(|package| package.starts_with(root.join("crates"))) {
        let sources = rust_files(&package.join("src")).into_iter().chain([package.join("Cargo.toml")]);
        for file in sources {
            let name = file.strip_prefix(&root).unwrap().display().to_string();
            if except.iter().any(|except| name.starts_with(except)) {
                continue;
            }
            let text = fs::read_to_string(&file).unwrap();
            let lines = code_lines(&text).filter(|(_, line)| is_rejected(line));
            found.extend(lines.map(|(index, line)| format!("{name}:{}: {}", index + 1, line.trim())));
        }
    }
    found
}

#[test]
fn only_uwf_platform_knows_its_system() {
    let except: Vec<&str> = EXCEPTIONS.iter().map(|(place, _)| *place).chain([DOOR]).collect();
    let found = rejected(knows_the_system, &except);
    assert!(found.is_empty(), "ask `uwf_platform::host()` instead: {found:#?}");
    // Each exception is still one.
    for (place, why) in EXCEPTIONS {
        let others: Vec<&str> = except.iter().copied().filter(|other| *other != place).collect();
        let of_place = rejected(knows_the_system, &others);
        assert!(!of_place.is_empty(), "remove the exception of {place} ({why})");
    }
}

#[test]
fn unsafe_code_is_in_one_file() {
    let is_unsafe = |line: &str| line.contains("unsafe ") || line.contains("(unsafe_code");
    let found = rejected(is_unsafe, &[UNSAFE, "crates/uwf-testing/"]);
    assert!(found.is_empty(), "{found:#?}");
    assert!(Path::new(&repository().join(UNSAFE)).is_file());
}

#[test]
fn signs_of_a_system_are_found() {
    let text = "// target_os\nlet a = \"/proc/self\";\n    #[cfg(target_os = \"linux\")]\n#[cfg(test)]\nmod tests {\n\"/proc\"";
    let found: Vec<usize> = code_lines(text).filter(|(_, line)| knows_the_system(line)).map(|(line, _)| line).collect();
    assert_eq!(found, [1, 2]);
}
