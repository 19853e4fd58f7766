//! Pages in a real browser: `./test --browser` installs what they need and runs these tests. Each starts a real `uwf serve`
//! over a storage root of its own, and `browser.py` goes through a case with it.
#![expect(clippy::unwrap_used, reason = "a failing test may panic; helpers of tests are not seen as tests")]
#![expect(clippy::print_stderr, reason = "a test says what it measured")]

mod acting;
mod following;
mod gateways;
mod hostile;
mod hostile_machines;
mod keys;
mod layout;
mod looks;
mod scripts;
mod showcase;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use uwf_testing::server::TestServer;
use uwf_testing::{TestHome, repository};

/// A file of what `scripts/browser.sh` installed.
fn installed(path: &str) -> PathBuf {
    let dir = std::env::var_os("UWF_BROWSER").expect("UWF_BROWSER is set: run `./test --browser`");
    let file = PathBuf::from(dir).join(path);
    assert!(file.exists(), "{} was not installed", file.display());
    file
}

/// Goes through a case of `browser.py` with a browser that is logged in; `with` is what the case is about.
fn browse(home: &TestHome, server: &TestServer, case: &str, with: Value) {
    let uwf = home.command::<&str>(&[]);
    let variables: BTreeMap<String, String> = uwf
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value?.to_str()?.to_owned())))
        .collect();
    let screenshots = repository().join("target/screenshots");
    std::fs::create_dir_all(&screenshots).unwrap();
    let mut scenario = json!({
        "url": format!("http://{}", server.address),
        "secret": server.secret,
        "chromium": installed("chromium"),
        "screenshots": screenshots,
        "uwf": uwf_testing::uwf_program(),
        "env": variables,
        "cwd": home.work(),
        "root": home.root(),
    });
    let Value::Object(more) = with else { panic!("{with} is no object") };
    scenario.as_object_mut().unwrap().extend(more);
    let output = python(case, &scenario);
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{case}\n{}{}", said(&output.stdout), said(&output.stderr));
    eprint!("{}", said(&output.stdout));
}

fn python(case: &str, scenario: &Value) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/browser.py");
    let mut command = Command::new(installed("venv/bin/python"));
    // Nothing is written beside the scripts.
    command.arg("-B").arg(script).arg(case).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    process.stdin.take().unwrap().write_all(scenario.to_string().as_bytes()).unwrap();
    process.wait_with_output().unwrap()
}
