//! `uwf hook test`

use serde_json::json;
use uwf_core::config::HookAction;
use uwf_engine::verbs::hook::{self, HookDelivery, HookPlan};

use super::{TestArgs, answer, configured, report, start_arguments};
use crate::commands::thread::start;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::input;
use crate::printer::{CommandResult, PrintableReport};
use crate::style;

/// Shows what a hook would do.
pub(super) fn run(context: &CommandContext, args: TestArgs) -> CommandResult {
    let TestArgs { name, payload, headers, delivery } = args;
    if let Some(why) = hook::fault_of_delivery(&delivery) {
        return Err(CommandError::usage(why));
    }
    let config = configured(context, &name)?;
    let text = if payload.as_os_str() == "-" { input::from_stdin()? } else { input::from_file(&payload)? };
    let payload = input::parse(&text, &payload.display().to_string())?;
    let delivery = HookDelivery { delivery, headers: headers.into_iter().collect(), payload };
    let plan = hook::plan(&context.home, &name, &config, &delivery)?;
    match (plan, &config.action) {
        (HookPlan::Start(planned), HookAction::Start(start)) => {
            let mut shown = report("would start", &name, &delivery.delivery);
            shown["workflow"] = json!(start.workflow);
            shown["thread"] = json!(planned.thread);
            shown["prompt"] = json!(planned.prompt);
            if let Some(input) = &planned.input {
                shown["input"] = input.clone();
            }
            shown["labels"] = json!(planned.labels);
            shown["run"] = json!(start.run);
            let text = format!(
                "would start a thread of {}\n{}\n{}",
                style::bold(&start.workflow),
                planned.prompt,
                planned.input.as_ref().map(|input| format!("input: {input}\n")).unwrap_or_default()
            );
            let (task, options, follows) = start_arguments(&name, start, planned);
            start::check_task(context, &start.workflow, task, options, follows)?;
            Ok(PrintableReport::value_with_text(shown, text))
        }
        (HookPlan::Answer(planned), _) => {
            let asked = answer::question(context, &planned)?;
            let mut shown = report("would answer", &name, &delivery.delivery);
            shown["thread"] = json!(asked.thread);
            shown["role"] = json!(asked.role);
            shown["output"] = planned.output.clone();
            let text = format!("would answer thread {}: {}\n", style::bold(asked.thread.as_str()), planned.output);
            Ok(PrintableReport::value_with_text(shown, text))
        }
        (HookPlan::Ignored | HookPlan::Start(_), _) => {
            let shown = report("ignored", &name, &delivery.delivery);
            Ok(PrintableReport::value_with_text(shown, "would be ignored: `when` is false\n"))
        }
    }
}
