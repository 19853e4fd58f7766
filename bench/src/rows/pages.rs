//! What a person waits for: pages of `uwf serve`, with many threads and of a long one.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Instant;

use super::cpu::TICK_MS;
use super::{BenchSetup, index};
use crate::error::{Error, Result};
use crate::long::LongStore;
use crate::measure::RoundTimes;
use crate::place::BenchRoot;
use crate::row::{FigureGroup, FigureRow};

/// The most the server should take for a page, milliseconds.
const PAGE_MS: f64 = 50.0;

/// The most the server should take for the doctor, which asks for each thread whether it has changed.
const DOCTOR_MS: f64 = 150.0;

/// What it takes to be let in.
const SECRET: &str = "secret-of-the-benchmark";

pub(super) fn measure(bench: &BenchSetup<'_>, place: &BenchRoot, long: &LongStore) -> Result<FigureGroup> {
    let many = index::stepped(bench, "pages", bench.sizes.active)?;
    let (count, steps, runs) = (bench.sizes.active, bench.sizes.long(), bench.sizes.runs);
    let server = PageServer::start(&many)?;
    let with_many = [
        ("the first page", "/"),
        ("all threads", "/?all=1"),
        ("a search for what no thread has", "/?q=nothing+has+this"),
        ("the page of a search", "/search?q=nothing+has+this"),
        ("workflows", "/workflows"),
        ("costs of a week", "/cost"),
    ];
    let mut rows = Vec::new();
    for (name, path) in with_many {
        let times = server.times(path, runs)?;
        rows.push(FigureRow::millis(format!("{name}, {count} threads"), &times).at_most(PAGE_MS));
    }
    let times = server.times("/doctor", runs)?;
    rows.push(FigureRow::millis(format!("the doctor, {count} threads"), &times).at_most(DOCTOR_MS));
    let server = PageServer::start(place)?;
    let (thread, step) = (&long.shown, long.middle());
    let of_long = [
        ("a thread", format!("/threads/{thread}")),
        ("the first steps of a thread", format!("/threads/{thread}?from=1")),
        ("a step in the middle", format!("/threads/{thread}/steps/{step}")),
        ("a comparison with its own middle", format!("/compare/{thread}..{step}")),
    ];
    for (name, path) in of_long {
        let times = server.times(&path, runs)?;
        rows.push(FigureRow::millis(format!("{name} of {steps} steps"), &times).at_most(PAGE_MS));
    }
    Ok(FigureGroup { title: "Pages".to_owned(), rows })
}

/// A server that is ended with the value.
pub(super) struct PageServer {
    process: Child,
    address: String,
}

impl PageServer {
    /// A server over a storage root.
    pub(super) fn start(place: &BenchRoot) -> Result<PageServer> {
        let mut command = place.uwf(&["serve", "--address", "127.0.0.1:0"]);
        command.env("WORKFLOW_DASHBOARD_SECRET", SECRET).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = command.spawn().map_err(Error::with_path("start", "uwf serve".as_ref()))?;
        let stderr = process.stderr.take().into_iter();
        let line = stderr.flat_map(|stderr| BufReader::new(stderr).lines().map_while(std::result::Result::ok));
        let address = line.filter_map(|line| Some(line.split_once("http://")?.1.split(';').next()?.to_owned())).next();
        let server = PageServer { process, address: address.unwrap_or_default() };
        if server.address.is_empty() { Err(server.failed("it did not say where it is")) } else { Ok(server) }
    }

    /// Milliseconds from asking for a page to its last byte, for each of these runs; one before them is not counted.
    pub(super) fn times(&self, path: &str, runs: usize) -> Result<RoundTimes> {
        let mut times = RoundTimes(Vec::with_capacity(runs));
        for run in 0..=runs {
            let begun = Instant::now();
            let answer = self.get(path).map_err(Error::with_path("ask", path.as_ref()))?;
            let took = begun.elapsed().as_secs_f64() * 1e3;
            if !answer.starts_with("HTTP/1.1 200") {
                return Err(self.failed(&format!("{path}: {}", answer.lines().next().unwrap_or_default())));
            }
            if run > 0 {
                times.0.push(took);
            }
        }
        Ok(times)
    }

    /// Processor time of the server so far, milliseconds.
    pub(super) fn processor_ms(&self) -> Result<f64> {
        let stat = self.about("stat")?;
        // The name of the program, in brackets, may hold blanks; user and system time are counted behind it.
        let times = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
        Ok(times.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() * TICK_MS)
    }

    /// The most memory the server had, bytes.
    pub(super) fn peak_bytes(&self) -> Result<f64> {
        let status = self.about("status")?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        peak.and_then(|kib| kib.parse::<f64>().ok()).map(|kib| kib * 1024.0).ok_or_else(|| self.failed("no VmHWM"))
    }

    fn about(&self, what: &str) -> Result<String> {
        let path = format!("/proc/{}/{what}", self.process.id());
        std::fs::read_to_string(&path).map_err(Error::with_path("read", path.as_ref()))
    }

    fn get(&self, path: &str) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(&self.address)?;
        let host = &self.address;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {SECRET}\r\naccept: text/html\r\nconnection: close\r\n\r\n"
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    fn failed(&self, why: &str) -> Error {
        Error::Command { command: "uwf serve".to_owned(), status: why.to_owned(), stderr: String::new() }
    }
}

impl Drop for PageServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
