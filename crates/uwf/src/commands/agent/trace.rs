//! The trace that is submitted with an answer.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use agent_kit::AgentAnswer;
use uwf_agents::trace::{MAX_TRACE_BYTES, ParsedTrace, TraceFormat};
use uwf_engine::error::AtPath;

use crate::error::CommandError;
use crate::printer::CommandPrinter;

/// Reads a trace; without `format` detects the format from the content. A trace in an unknown format is left out with a warning, because
/// the answer was paid for.
pub(super) fn read(
    printer: &CommandPrinter,
    path: &Path,
    format: Option<&str>,
) -> Result<Option<ParsedTrace>, CommandError> {
    let mut bytes = Vec::new();
    let file = File::open(path).path_context("open", path)?;
    file.take(MAX_TRACE_BYTES).read_to_end(&mut bytes).path_context("read", path)?;
    let text = String::from_utf8_lossy(&bytes);
    let shown = path.display();
    let Some(format) = format.and_then(TraceFormat::parse).or_else(|| TraceFormat::detect(&text)) else {
        printer.warn(&format!("the trace {shown} is in no known format and was left out"));
        return Ok(None);
    };
    let trace = format.read(&text);
    if trace.turns.is_empty() {
        printer.warn(&format!("the trace {shown} has no turns in the format of {}", format.as_str()));
    } else if let Some(gaps) = trace.gaps() {
        printer.warn(&format!("the trace {shown}: {gaps}"));
    }
    Ok(Some(trace))
}

/// Adds a trace to an answer. The answer's own session and duration take precedence.
pub(super) fn with(answer: AgentAnswer, trace: Option<ParsedTrace>) -> AgentAnswer {
    let Some(trace) = trace else { return answer };
    AgentAnswer {
        turns: trace.turns,
        tokens: trace.tokens,
        source: trace.source,
        session_id: answer.session_id.or(trace.session_id),
        model: trace.model,
        duration_ms: if answer.duration_ms == 0 { trace.duration_ms.unwrap_or(0) } else { answer.duration_ms },
        ..answer
    }
}
