//! The scripts themselves.

use std::process::Command;

use uwf_testing::repository;

use crate::installed;

#[test]
fn the_scripts_have_right_types() {
    let mut command = Command::new(installed("npm/node_modules/.bin/tsc"));
    command.args(["--checkJs", "--allowJs", "--strict", "--noEmit", "--noUnusedLocals", "--noUnusedParameters"]);
    command.args(["--target", "es2022", "--module", "es2022", "--moduleResolution", "bundler"]);
    command.args(["--lib", "es2022,dom,dom.iterable", "crates/uwf-server/assets/app.js"]);
    let output = command.current_dir(repository()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
