//! The inputs of a workflow: a table on its page, and fields of the form that starts a thread.

use maud::{Markup, html};
use serde_json::Value;
use uwf_core::input::InputField;

use crate::api::start::INPUT_OF;
use crate::fields::RequestFields;
use crate::pages::forms::FieldFault;

/// The table.
pub(super) fn table(inputs: &[InputField]) -> Markup {
    html! {
        table.keys {
            caption.hidden { "Inputs of the workflow" }
            thead { tr { th scope="col" { "Name" } th scope="col" { "Type" } th scope="col" { "Value" } th scope="col" { "Meaning" } } }
            tbody {
                @for input in inputs {
                    tr {
                        th scope="row" { code { (input.name) } }
                        td data-label="Type" { (kind(input)) }
                        td data-label="Value" {
                            @match (&input.default, input.required) {
                                (Some(default), _) => { "default " code { (in_words(default)) } },
                                (None, true) => "required",
                                (None, false) => "",
                            }
                        }
                        td data-label="Meaning" { (input.description.as_deref().unwrap_or_default()) }
                    }
                }
            }
        }
    }
}

fn kind(input: &InputField) -> String {
    match &input.values {
        Some(values) => values.iter().map(in_words).collect::<Vec<_>>().join(", "),
        None if input.types.is_empty() => "any".to_owned(),
        None => input.types.join(" or "),
    }
}

/// A value as `--set` reads it.
pub(crate) fn in_words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The fields of the form. A field that is left empty keeps the default.
pub(crate) fn fields(inputs: &[InputField], typed: &RequestFields, fault: Option<&FieldFault>) -> Markup {
    html! {
        @if !inputs.is_empty() {
            fieldset {
                legend { "Input" }
                @for input in inputs { (field(input, typed, fault)) }
            }
        }
    }
}

fn field(input: &InputField, typed: &RequestFields, fault: Option<&FieldFault>) -> Markup {
    let name = format!("{INPUT_OF}{}", input.name);
    let hint = format!("{name}-hint");
    let description = input.description.as_deref().filter(|text| !text.trim().is_empty());
    let described_by = description.map(|_| hint.as_str());
    let is = |kind: &str| input.types == [kind];
    let given = typed.text(&name);
    let is_needed = input.required && input.default.is_none();
    let default = input.default.as_ref().map(in_words);
    let (is_invalid, message) = FieldFault::marks(fault, &name);
    html! {
        div.field {
            @if is("boolean") && input.values.is_none() {
                label {
                    input type="checkbox" name=(name) value="true" aria-describedby=[described_by]
                        checked[given.or(default.as_deref()) == Some("true")];
                    " " (input.name)
                }
                // Sent in any case; a checked box comes first and wins.
                input type="hidden" name=(name) value="false";
            } @else {
                label for=(name) { (input.name) }
                @if let Some(values) = &input.values {
                    select id=(name) name=(name) required[is_needed] aria-describedby=[described_by] aria-invalid=[is_invalid] aria-errormessage=[message] {
                        option value="" { @if let Some(default) = &default { "Default: " (default) } }
                        @for value in values.iter().map(in_words) {
                            option value=(value) selected[given == Some(&value)] { (value) }
                        }
                    }
                } @else if is("string") || is("integer") || is("number") {
                    input id=(name) name=(name) inputmode=(keys(input)) autocomplete="off" required[is_needed]
                        value=(given.unwrap_or_default()) placeholder=[default.as_deref()] aria-describedby=[described_by] aria-invalid=[is_invalid] aria-errormessage=[message];
                } @else {
                    textarea.mono id=(name) name=(name) rows="3" spellcheck="false" required[is_needed]
                        placeholder=[default.as_deref().or(Some("JSON or YAML"))] aria-describedby=[described_by]
                        aria-invalid=[is_invalid] aria-errormessage=[message] {
                        // A browser drops a line break that comes first.
                        "\n" (given.unwrap_or_default())
                    }
                }
            }
            (FieldFault::below(fault, &name))
            @if let Some(description) = description { p.quiet.small id=(hint) { (description) } }
        }
    }
}

/// The keys that a phone shows for a value.
fn keys(input: &InputField) -> &'static str {
    match input.types.first().map(String::as_str) {
        Some("integer") => "numeric",
        Some("number") => "decimal",
        _ => "text",
    }
}
