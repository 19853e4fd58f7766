//! Asks a person for required values of a workflow's input.

use uwf_core::input::{self, InputField, InputRequest};
use uwf_engine::verbs::start::{self, OpenInput};

use crate::ask::{InterruptibleWait, TerminalAsker};
use crate::context::CommandContext;
use crate::error::CommandError;

/// Times a value is asked for.
const TRIES: usize = 5;

/// Adds the missing values to the given ones. If the given ones have other problems, asks for none: the start reports all problems.
///
/// # Errors
/// `Interrupted` if the person types none; `NotFound` for an unknown workflow.
pub(super) fn complete(context: &CommandContext, workflow: &str, given: &mut InputRequest) -> Result<(), CommandError> {
    let Some(OpenInput { schema, fields }) = start::open_input(&context.home, workflow, given, &context.cwd)? else {
        return Ok(());
    };
    let asker = TerminalAsker::new(context.printer);
    let _ends = InterruptibleWait::begin()?;
    for field in &fields {
        given.set.push(typed(&asker, &schema, field)?);
    }
    Ok(())
}

/// The assignment for a typed value.
fn typed(asker: &TerminalAsker, schema: &json_cas::CompiledSchema, field: &InputField) -> Result<String, CommandError> {
    let name = &field.name;
    let described = field.in_words();
    let question = if described.is_empty() { name.clone() } else { format!("{name} ({described})") };
    for _ in 0..TRIES {
        let assignment = format!("{name}={}", asker.line(&question, None)?);
        match input::fault_of_assignment(schema, &assignment) {
            None => return Ok(assignment),
            Some(fault) => asker.print_line(&fault),
        }
    }
    Err(CommandError::usage(format!("no valid value for `{name}` after {TRIES} tries; nothing was started"))
        .hint(format!("give it as an option: --set {name}=…")))
}
