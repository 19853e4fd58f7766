//! What commands ask of a shared store in a bucket, by the number of threads: the tables of `docs/scale.md`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use uwf_bench::programs::ProgramPaths;
use uwf_bench::requests::{self, table};
use uwf_bench::{Error, Result};

/// Counts what `uwf` asks of a bucket, with real processes against a bucket in memory.
#[derive(Debug, Parser)]
#[command(after_help = "Counts do not depend on the machine; the times do. 10,000 threads take some minutes.")]
struct Args {
    /// Numbers of threads in the store; two at least, as what is computed follows from the two largest.
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [100_usize, 1_000, 10_000])]
    threads: Vec<usize>,
    /// Use this `uwf`, which must be built with the feature s3, instead of building one.
    #[arg(long, value_name = "PROGRAM")]
    uwf: Option<PathBuf>,
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
    let programs = args.uwf.as_deref().map_or_else(ProgramPaths::with_stores, |uwf| ProgramPaths::find(Some(uwf)))?;
    let mut all = Vec::new();
    for threads in &args.threads {
        let _ = writeln!(std::io::stderr(), "{threads} threads…");
        let dir = tempfile::TempDir::with_prefix("uwf-requests-")
            .map_err(Error::with_path("create a directory in", &std::env::temp_dir()))?;
        all.push(requests::measure(&programs, dir.path(), *threads)?);
    }
    let text = format!("Counted:\n\n{}\nComputed:\n\n{}", table::counted(&all), table::computed(&all));
    std::io::stdout().write_all(text.as_bytes()).map_err(Error::with_path("write to", Path::new("stdout")))
}
