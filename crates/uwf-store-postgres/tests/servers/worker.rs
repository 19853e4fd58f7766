//! A test that runs itself once more, as another process.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

/// Names the part that a child plays; nobody else has it.
const PART: &str = "UWF_TEST_PART";

/// Where the store of a child is.
const URL: &str = "UWF_TEST_URL";

/// What a child begins the line with that is meant for its parent.
const TOLD: &str = "told: ";

/// The part this process plays, and the URL of its store, if it is a child.
pub(crate) fn part() -> Option<(String, String)> {
    Some((std::env::var(PART).ok()?, std::env::var(URL).ok()?))
}

/// A child that runs `test` of this binary, without the variables that libpq knows.
pub(crate) fn child(test: &str, part: &str, url: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(PART, part).env(URL, url).stdout(Stdio::piped());
    for name in ["PGPASSWORD", "PGPASSFILE", "PGUSER", "PGSSLMODE", "PGSSLROOTCERT"] {
        command.env_remove(name);
    }
    command
}

/// Says something to the parent.
#[expect(clippy::print_stdout, reason = "that is where the parent listens")]
pub(crate) fn tell(text: impl std::fmt::Display) {
    println!("\n{TOLD}{text}");
}

/// The next thing that a child says.
pub(crate) fn told(child: &mut Child) -> String {
    let out = BufReader::new(child.stdout.as_mut().unwrap());
    let mut lines = out.lines().map(Result::unwrap);
    lines.find_map(|line| line.strip_prefix(TOLD).map(str::to_owned)).expect("a child that says something")
}

/// The last thing that a child says, which must end well.
pub(crate) fn outcome(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    text.lines().rev().find_map(|line| line.strip_prefix(TOLD)).unwrap_or_else(|| panic!("{text}")).to_owned()
}
