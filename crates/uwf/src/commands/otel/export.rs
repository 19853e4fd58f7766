//! `uwf otel export`

use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;
use serde_json::json;
use uwf_core::config::OtelConfig;
use uwf_core::thread::ThreadId;
use uwf_engine::error::ErrorKind;
use uwf_engine::verbs::otel::{self, OtelDestination, SpanExport};

use super::post::post;
use crate::complete;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::{CommandReport, CommandResult, PrintableReport};
use crate::style;
use crate::table::count;

/// Arguments of `uwf otel export`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf otel export 7Q2M
  uwf otel export @ --endpoint http://localhost:4318
  uwf otel export @ --print | jq '.resourceSpans[].scopeSpans[].spans[].name'

With `otel: {endpoint: …}` in config.yaml each step sends its own spans once it is over. This sends all spans of a
thread and its child threads again, with the same ids: use it if a collector was down, or for older threads. The span
of a thread itself is sent
once it has ended. Tasks, prompts, answers, and inputs and outputs of tools are left out unless `otel.content` is
true.")]
pub(crate) struct Args {
    /// A thread: its id, a unique start or end of the id, @ for the newest.
    #[arg(value_name = "THREAD", add = ArgValueCompleter::new(complete::threads))]
    thread: String,
    /// Print what would be sent, as OTLP in JSON; nothing is sent.
    #[arg(long)]
    print: bool,
    /// Send to this collector instead, without the headers of the configured one.
    #[arg(long, value_name = "URL", conflicts_with = "print")]
    endpoint: Option<String>,
    /// Include tasks, prompts, answers, and inputs and outputs of tools.
    #[arg(long)]
    content: bool,
}

impl Args {
    /// Whether spans are printed instead of sent.
    pub(super) fn prints(&self) -> bool {
        self.print
    }
}

/// The sent spans.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExportReport {
    thread: ThreadId,
    trace_id: String,
    spans: usize,
    /// The receiver's URL.
    endpoint: String,
    /// Whether the thread has ended, so that its own span was included.
    ended: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unreadable: Vec<String>,
}

impl CommandReport for ExportReport {
    fn text(&self) -> String {
        if self.spans == 0 {
            return "nothing was sent: no step of the thread is done, and no attempt has failed\n".to_owned();
        }
        let spans = style::bold(&count(self.spans, "span"));
        let mut text = format!("sent {spans} of trace {} to {}\n", self.trace_id, self.endpoint);
        if !self.ended {
            text.push_str("the thread continues: its own span follows when it has ended\n");
        }
        text.extend(self.unreadable.iter().map(|why| format!("{} {why}\n", style::yellow("missing:"))));
        text
    }
}

/// Sends or prints the spans of a thread.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let thread = context.thread(&args.thread)?;
    let configured = context.home.config()?.otel;
    let content = args.content || configured.as_ref().is_some_and(|otel| otel.content);
    if args.print {
        let exported = otel::export(&context.home, &thread, content)?;
        for why in &exported.unreadable {
            context.printer.warn(why);
        }
        let request = exported.whole();
        let pretty = format!("{request:#}\n");
        return Ok(PrintableReport::value_with_text(request, pretty));
    }
    let destination = destination(context, args, configured)?;
    let exported = otel::export(&context.home, &thread, content)?;
    let sent = sent(&exported, &destination);
    exported.requests().try_for_each(|request| post(&destination, &request)).map_err(|error| {
        // With several requests, some may have succeeded; sending these spans twice does no harm.
        error.knowing(json!({ "traceId": sent.trace_id }))
    })?;
    PrintableReport::new(&sent)
}

fn sent(exported: &SpanExport, destination: &OtelDestination) -> ExportReport {
    ExportReport {
        thread: exported.thread.clone(),
        trace_id: exported.trace_id.clone(),
        spans: exported.count(),
        endpoint: destination.url.clone(),
        ended: exported.has_ended,
        unreadable: exported.unreadable.clone(),
    }
}

fn destination(
    context: &CommandContext,
    args: &Args,
    configured: Option<OtelConfig>,
) -> Result<OtelDestination, CommandError> {
    let otel = match (&args.endpoint, configured) {
        (Some(endpoint), _) if !OtelConfig::is_address(endpoint) => {
            let error = CommandError::usage(format!("`{endpoint}` is not the address of a collector"));
            return Err(error.hint("write it as http://localhost:4318; `/v1/traces` is added"));
        }
        (Some(endpoint), _) => OtelConfig::for_endpoint(endpoint),
        (None, Some(otel)) => otel,
        (None, None) => {
            return Err(CommandError::new(ErrorKind::Config, "no collector is configured to send spans to")
                .hint("`uwf config set otel.endpoint http://localhost:4318`, then each step sends its spans")
                .hint("or once: --endpoint URL; --print shows what would be sent"));
        }
    };
    Ok(otel::destination(&context.home, &otel)?)
}
