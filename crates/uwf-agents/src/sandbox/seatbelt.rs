//! A sandbox by `sandbox-exec` of macOS: a profile in its language. A later rule outweighs those before it.

use std::fmt::Write;
use std::path::Path;

use uwf_core::config::NetworkPolicy;

use super::view::SandboxView;
use super::{PathAccess, SandboxRules};

/// The program, which is part of macOS.
const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// Rules of every profile: the program reaches only its own processes.
const BEGINNING: &str = r"(version 1)
(allow default)
(deny signal process-info*)
(allow signal process-info* (target same-sandbox))
(deny file-write*)
";

/// Devices that a program needs.
const DEVICES: &str = r#"(allow file-read* file-write-data (literal "/dev/null") (literal "/dev/zero") (literal "/dev/random") (literal "/dev/urandom"))
"#;

/// The command line up to the program.
pub(super) fn words(rules: &SandboxRules<'_>) -> Result<Vec<String>, String> {
    let profile = profile(rules.view, rules.temporary, rules.network)?;
    Ok(vec![PROGRAM.to_owned(), "-p".to_owned(), profile])
}

/// The profile of a sandbox.
fn profile(view: &SandboxView, temporary: &Path, network: &NetworkPolicy) -> Result<String, String> {
    let mut profile = BEGINNING.to_owned();
    for (path, access) in view.entries() {
        let rule = match access {
            PathAccess::Hidden => "deny file-read* file-write*",
            PathAccess::Read | PathAccess::PreferablyRead => "allow file-read*) (deny file-write*",
            PathAccess::Write => "allow file-read* file-write*",
        };
        for part in rule.split(") (") {
            add(&mut profile, part, path);
        }
        // Programs look at the directories above a file.
        if access == PathAccess::Hidden {
            add(&mut profile, "allow file-read-metadata", path);
        }
    }
    profile.push_str(DEVICES);
    add(&mut profile, "allow file-read* file-write*", temporary);
    match network {
        NetworkPolicy::Open => {}
        NetworkPolicy::None => profile.push_str("(deny network*)\n"),
        NetworkPolicy::Hosts(_) => return Err("it cannot limit the network to hosts yet".to_owned()),
    }
    Ok(profile)
}

/// Adds a rule for a path. The system's own directories are below `/private`, and known by both names.
fn add(profile: &mut String, rule: &str, path: &Path) {
    let name = path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
    let has_other = ["/tmp", "/var", "/etc"].iter().any(|dir| path.starts_with(dir));
    let other = if has_other { format!(" (subpath \"/private{name}\")") } else { String::new() };
    // A text grows without an error.
    let _ = writeln!(profile, "({rule} (subpath \"{name}\"){other})");
}

#[cfg(test)]
mod tests {
    use super::*;
    use uwf_core::config::HostPattern;

    fn view() -> SandboxView {
        SandboxView::from_entries([
            ("/", PathAccess::Read),
            ("/tmp", PathAccess::Hidden),
            ("/Users/ann/.ssh", PathAccess::Hidden),
            ("/Users/ann/work", PathAccess::Write),
            ("/Users/ann/work/.git", PathAccess::Read),
            ("/Users/ann/a \"b\"", PathAccess::Hidden),
        ])
    }

    #[test]
    fn profile_repeats_view_from_outside_in() {
        let profile = profile(&view(), Path::new("/private/tmp/uwf"), &NetworkPolicy::None).unwrap();
        insta::assert_snapshot!(profile, @r#"
        (version 1)
        (allow default)
        (deny signal process-info*)
        (allow signal process-info* (target same-sandbox))
        (deny file-write*)
        (allow file-read* (subpath "/"))
        (deny file-write* (subpath "/"))
        (deny file-read* file-write* (subpath "/Users/ann/.ssh"))
        (allow file-read-metadata (subpath "/Users/ann/.ssh"))
        (deny file-read* file-write* (subpath "/Users/ann/a \"b\""))
        (allow file-read-metadata (subpath "/Users/ann/a \"b\""))
        (allow file-read* file-write* (subpath "/Users/ann/work"))
        (allow file-read* (subpath "/Users/ann/work/.git"))
        (deny file-write* (subpath "/Users/ann/work/.git"))
        (deny file-read* file-write* (subpath "/tmp") (subpath "/private/tmp"))
        (allow file-read-metadata (subpath "/tmp") (subpath "/private/tmp"))
        (allow file-read* file-write-data (literal "/dev/null") (literal "/dev/zero") (literal "/dev/random") (literal "/dev/urandom"))
        (allow file-read* file-write* (subpath "/private/tmp/uwf"))
        (deny network*)
        "#);
    }

    #[test]
    fn hosts_are_refused() {
        let hosts = NetworkPolicy::Hosts(vec![HostPattern::parse("a.org").unwrap()]);
        assert!(profile(&view(), Path::new("/private/tmp/uwf"), &hosts).is_err());
        assert!(!profile(&view(), Path::new("/private/tmp/uwf"), &NetworkPolicy::Open).unwrap().contains("network"));
    }
}
