//! How the program is linked.

use std::path::Path;
use std::process::Command;

/// What libgcc_s.so has of use to a Rust program.
const UNWINDER: &str = "libgcc_eh.a";

/// What `bench/hot_functions.py` found.
const HOT_FUNCTIONS: &str = "hot-functions.ld";

/// Variable that keeps the program from being linked statically, whatever its value.
const DYNAMIC: &str = "UWF_LINK_DYNAMICALLY";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={DYNAMIC}");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    if !(is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu")) {
        return;
    }
    // A step starts uwf two or three times. At fixed addresses the loader has no 15,000 pointers to relocate, nor the
    // kernel the pages to copy that hold them: about a quarter of the time an empty process takes.
    println!("cargo::rustc-link-arg-bin=uwf=-no-pie");
    // Without a loader nothing is searched for, mapped and bound each time: another two fifths. What is not a release
    // keeps it, so that libraries can be put before its own: those of clocks and memory checkers.
    let is_for_here = is("HOST", &std::env::var("TARGET").unwrap_or_default());
    let is_release = is("PROFILE", "release") && is_for_here;
    if is_release && !is_linker_chosen() {
        link_side_by_side();
    }
    if is_release && std::env::var_os(DYNAMIC).is_none() && ["libc.a", "libm.a", UNWINDER].into_iter().all(is_installed)
    {
        link_statically();
    }
}

/// Has the functions that a step runs linked next to each other: a sixth fewer page faults in a step.
fn link_side_by_side() {
    println!("cargo::rerun-if-changed={HOT_FUNCTIONS}");
    let dir = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    for arg in ["-T", &format!("{dir}/{HOT_FUNCTIONS}")] {
        println!("cargo::rustc-link-arg-bin=uwf=-Xlinker");
        println!("cargo::rustc-link-arg-bin=uwf={arg}");
    }
}

/// Whether somebody links with another linker than the compiler does by itself: mold and gold don't read such scripts.
fn is_linker_chosen() -> bool {
    let flags = std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    std::env::var_os("RUSTC_LINKER").is_some() || flags.contains("fuse-ld") || flags.contains("linker=")
}

/// Has the libraries of C linked into the program. The compiler names them to the linker as shared ones, since that is how
/// it sees this target; here the linker finds scripts under these names, which lead it to the archives.
fn link_statically() {
    let dir = std::env::var("OUT_DIR").expect("cargo sets it");
    let scripts = [
        ("libgcc_s.so", format!("INPUT(-l:{UNWINDER})")),
        ("libc.so", format!("GROUP(-l:libc.a -l:{UNWINDER} -l:libgcc.a)")),
        ("libm.so", "INPUT(-l:libm.a)".to_owned()),
    ];
    for (name, script) in scripts {
        std::fs::write(Path::new(&dir).join(name), script).expect("OUT_DIR is there to be written to");
    }
    println!("cargo::rustc-link-arg-bin=uwf=-L{dir}");
    println!("cargo::rustc-link-arg-bin=uwf=-static");
    // The standard library asks for it weakly, which takes nothing out of an archive; without it each process that works in
    // a directory of its own is begun by a fork, which copies the tables of our memory, and not by posix_spawn.
    println!("cargo::rustc-link-arg-bin=uwf=-Wl,--undefined=posix_spawn_file_actions_addchdir_np");
    // An index of what a panic would unwind, but here it ends the process: 170 KB.
    println!("cargo::rustc-link-arg-bin=uwf=-Wl,--no-eh-frame-hdr");
}

/// Whether the C compiler that links the program finds an archive; it then names it by its path.
fn is_installed(archive: &str) -> bool {
    let found = Command::new("cc").arg(format!("-print-file-name={archive}")).output();
    found.is_ok_and(|found| found.status.success() && found.stdout.contains(&b'/'))
}
