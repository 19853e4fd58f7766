//! Links development builds without position independence. The tests start the program tens of thousands of times, and relocating
//! it takes half of each start.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    if is("PROFILE", "debug") && is("CARGO_CFG_TARGET_OS", "linux") {
        println!("cargo::rustc-link-arg-bin=uwf=-no-pie");
    }
}
