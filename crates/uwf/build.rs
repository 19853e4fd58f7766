//! How the program is linked.

use std::process::Command;

/// What libgcc_s.so has of use to a Rust program.
const UNWINDER: &str = "libgcc_eh.a";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    if !(is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu")) {
        return;
    }
    // A step starts uwf two or three times. At fixed addresses the loader has no 15,000 pointers to relocate, nor the
    // kernel the pages to copy that hold them: about a quarter of the time an empty process takes.
    println!("cargo::rustc-link-arg-bin=uwf=-no-pie");
    // One library fewer to find, map and bind each time, where its static form is installed. Named here it comes before
    // the shared one in the linker's order, which is then left out because nothing needs it.
    if is_installed(UNWINDER) {
        println!("cargo::rustc-link-lib=dylib:+verbatim={UNWINDER}");
    }
}

/// Whether the C compiler that links the program finds an archive; it then names it by its path.
fn is_installed(archive: &str) -> bool {
    let found = Command::new("cc").arg(format!("-print-file-name={archive}")).output();
    found.is_ok_and(|found| found.status.success() && found.stdout.contains(&b'/'))
}
