//! A scripted model provider for tests in other languages: `scripted-llm SCRIPT.json [REQUESTS.jsonl]`.
//!
//! Prints its base URL on one line and exits when its stdin closes. It then writes the requests to the second file, one JSON object per
//! line.

use std::io::{Read, Write};
use std::process::ExitCode;

use serde_json::json;
use uwf_testing::llm_server::{LlmScript, LlmServer, LlmServerRequest};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            let _ = writeln!(std::io::stderr(), "scripted-llm: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("usage: scripted-llm SCRIPT.json [REQUESTS.jsonl]")?;
    let text = std::fs::read_to_string(&path).map_err(|error| format!("cannot read {path}: {error}"))?;
    let script = LlmScript::from_json(&text).map_err(|problem| format!("{path}: {problem}"))?;
    let server = LlmServer::start(script);
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{}", server.url()).and_then(|()| stdout.flush()).map_err(|error| error.to_string())?;
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    if let Some(path) = args.next() {
        let lines: String = server.requests().iter().map(line).collect();
        std::fs::write(&path, lines).map_err(|error| format!("cannot write {path}: {error}"))?;
    }
    Ok(())
}

fn line(request: &LlmServerRequest) -> String {
    let headers: serde_json::Map<_, _> =
        request.headers.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    format!("{}\n", json!({ "method": request.method, "path": request.path, "headers": headers, "body": request.body }))
}
