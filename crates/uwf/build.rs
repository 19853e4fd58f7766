//! How the program is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    // A step starts uwf two or three times. At fixed addresses the loader has no 15,000 pointers to relocate, nor the
    // kernel the pages to copy that hold them: about a quarter of the time an empty process takes.
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg-bin=uwf=-no-pie");
    }
}
