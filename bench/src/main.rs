//! The command: takes every figure, prints a table, writes JSON.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use uwf_bench::programs::ProgramPaths;
use uwf_bench::sizes::BenchSizes;
use uwf_bench::{Error, Result, machine, report, rows};

/// Measures uwf: whole processes, durable writes on, compared with a fixed floor and with git.
#[derive(Debug, Parser)]
#[command(after_help = "Leave the machine alone meanwhile; a full run takes about a minute and 2 GB of disk.")]
struct Args {
    /// Timed runs of each case.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..))]
    runs: u16,
    /// Tiny sizes, one run: shows that everything works, the figures mean nothing.
    #[arg(long)]
    quick: bool,
    /// Where the figures go as JSON [default: results.json beside this crate's manifest; with --quick nowhere].
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Directory for the stores; its file system is the one that is measured [default: the build directory].
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Measure this `uwf` instead of building one as it is released.
    #[arg(long, value_name = "PROGRAM")]
    uwf: Option<PathBuf>,
    /// Measure the starts of this `uwf`, too: one from `cargo install`.
    #[arg(long, value_name = "PROGRAM")]
    installed: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody may be reading; the exit code still tells.
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<()> {
    let sizes = if args.quick { BenchSizes::quick() } else { BenchSizes::full(usize::from(args.runs)) };
    let programs = ProgramPaths::find(args.uwf.as_deref())?.with_installed(args.installed.as_deref())?;
    let parent = args.dir.clone().unwrap_or_else(|| programs.build_dir().to_owned());
    let dir = tempfile::TempDir::with_prefix_in("uwf-bench-", &parent)
        .map_err(Error::with_path("create a directory in", &parent))?;
    let machine = machine::facts(dir.path(), &sizes, args.quick);
    let rows = rows::all(&programs, &sizes, dir.path(), &mut |doing| {
        let _ = writeln!(std::io::stderr(), "{doing}…");
    })?;
    let table = report::table(&machine, &rows);
    std::io::stdout().write_all(table.as_bytes()).map_err(Error::with_path("write to", Path::new("stdout")))?;
    match json_file(args) {
        Some(file) => std::fs::write(&file, report::json(&machine, &rows)).map_err(Error::with_path("write", &file)),
        None => Ok(()),
    }
}

fn json_file(args: &Args) -> Option<PathBuf> {
    let beside_manifest = || std::env::var_os("CARGO_MANIFEST_DIR").map(|dir| PathBuf::from(dir).join("results.json"));
    args.json.clone().or_else(|| if args.quick { None } else { beside_manifest() })
}
