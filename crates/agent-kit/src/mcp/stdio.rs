//! The server on stdin and stdout.

use std::io::{self, Read, Write};

use serde_json::Value;
use uwf_engine::error::{Error, Result};

use super::protocol::{McpServer, ToolSet};
use super::tools::StepTools;
use crate::context::AgentContext;
use crate::json_rpc::{INVALID_REQUEST, MessageLine, MessageLines, failure};

/// Most bytes of a message. Results of roles are far smaller; a longer message is rejected unread.
pub const MAX_MESSAGE_BYTES: usize = 16 << 20;

/// Bytes read at once.
const READ_BYTES: usize = 64 << 10;

/// Serves the tools of a step until the input ends or the output is closed.
///
/// # Errors
/// `Io` if input or output fails in another way.
pub fn serve(context: &AgentContext<'_>, input: &mut dyn Read, output: &mut dyn Write) -> Result<()> {
    serve_tools(StepTools::new(context), input, output)
}

/// Serves any tools in the way that [`serve`] serves the tools of a step.
pub fn serve_tools(tools: impl ToolSet, input: &mut dyn Read, output: &mut dyn Write) -> Result<()> {
    let mut server = McpServer::new(tools);
    let mut lines = MessageLines::new(MAX_MESSAGE_BYTES);
    let mut buffer = vec![0; READ_BYTES];
    loop {
        let count = match input.read(&mut buffer) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(failed("read a message", &error)),
        };
        let ended = count == 0;
        let mut found = lines.push(&buffer[..count]);
        found.extend(if ended { lines.finish() } else { None });
        for line in found {
            match write(output, reply(&mut server, line)) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                Err(error) => return Err(failed("write a reply", &error)),
                Ok(()) => {}
            }
        }
        if ended {
            return Ok(());
        }
    }
}

fn reply(server: &mut McpServer<impl ToolSet>, line: MessageLine) -> Option<Value> {
    match line {
        MessageLine::Whole(bytes) => server.handle(&bytes),
        MessageLine::TooLong(bytes) => {
            let message = format!("a message has at most {MAX_MESSAGE_BYTES} bytes, this one has {bytes}");
            Some(failure(&Value::Null, INVALID_REQUEST, &message))
        }
    }
}

fn write(output: &mut dyn Write, reply: Option<Value>) -> std::io::Result<()> {
    let Some(reply) = reply else { return Ok(()) };
    output.write_all(format!("{reply}\n").as_bytes())?;
    output.flush()
}

fn failed(action: &str, error: &std::io::Error) -> Error {
    Error::io(format!("the MCP server cannot {action}: {error}"))
}
