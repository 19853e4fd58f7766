//! Forms for changes. Each form names the head it was drawn for, and the newest attempt where that matters. So a form that is sent twice,
//! or from an old page, changes nothing more.

use json_cas::NodeHash;
use maud::{Markup, html};
use serde_json::Value;
use uwf_core::thread::ThreadId;

use crate::api::actions;
use crate::api::and_run::RUN;
use crate::api::answer::{KEY, is_list_of_texts};
use crate::app::AppState;
use crate::failure::HttpFailure;
use crate::fields::RequestFields;

use super::parts;

/// Subject of a form.
#[derive(Clone, Copy)]
pub(crate) struct FormSubject<'t> {
    /// The thread.
    pub(crate) thread: &'t ThreadId,
    /// Its head.
    pub(crate) head: NodeHash,
    /// The newest attempt there, if there was one.
    pub(crate) attempt: Option<&'t str>,
    /// Page to show afterwards; `None` for the thread's page.
    pub(crate) back: Option<&'t str>,
}

impl FormSubject<'_> {
    /// Identifies what a form asks for. A page keeps what is typed in an element as long as its id stays, so a form for another question has
    /// another id.
    pub(crate) fn id(&self, prefix: &str) -> String {
        format!("{prefix}-{}-{}-{}", self.thread, self.head, self.attempt.unwrap_or("none"))
    }
}

/// A button for an action.
#[derive(Clone, Copy)]
pub(crate) struct ActionButton<'b> {
    /// The action, as in its path.
    pub(crate) action: &'b str,
    /// Text of the button.
    pub(crate) label: &'b str,
    /// Key that presses it; empty for none.
    pub(crate) key: &'b str,
    /// CSS class of the button.
    pub(crate) class: &'b str,
    /// Question to confirm first; empty for none.
    pub(crate) confirm: &'b str,
    /// Text of a second button without the run. Then the first one also runs the thread.
    pub(crate) without_run: Option<&'b str>,
    /// Message of the page after the action; empty for none.
    pub(crate) done: &'b str,
}

impl<'b> ActionButton<'b> {
    /// A plain button.
    pub(crate) fn new(action: &'b str, label: &'b str, key: &'b str) -> ActionButton<'b> {
        ActionButton { action, label, key, class: "", confirm: "", without_run: None, done: "" }
    }

    /// A button that also runs the thread, and one with the text `without_run` that does not.
    #[must_use]
    pub(crate) fn and_run(self, without_run: &'b str, done: &'b str) -> ActionButton<'b> {
        ActionButton { class: "primary", without_run: Some(without_run), done, ..self }
    }
}

/// A form around `fields`, with its button; empty on a server without changes.
pub(crate) fn form(app: &AppState, about: FormSubject<'_>, button: &ActionButton<'_>, fields: &Markup) -> Markup {
    let key = Some(button.key).filter(|key| !key.is_empty());
    let run = button.without_run.map(|_| RUN);
    let inside = html! {
        (fields)
        @let first = html! { button class=(button.class) data-key=[key] name=[run] value=[run.map(|_| "true")] { (button.label) } };
        @match button.without_run { Some(without) => span.submit { (first) button { (without) } }, None => (first) }
    };
    with_buttons(app, about, button, &inside)
}

/// A form around fields and buttons; empty on a server without changes.
pub(crate) fn with_buttons(
    app: &AppState,
    about: FormSubject<'_>,
    button: &ActionButton<'_>,
    inside: &Markup,
) -> Markup {
    if app.is_read_only() {
        return html! {};
    }
    let given = |text| Some(text).filter(|text: &&str| !text.is_empty());
    html! {
        form method="post" action={"/api/threads/" (about.thread) "/" (button.action)} data-confirm=[given(button.confirm)] data-done=[given(button.done)] {
            input type="hidden" name="expectedHead" value=(about.head);
            @if actions::names_attempt(button.action) {
                input type="hidden" name="expectedAttempt" value=(about.attempt.unwrap_or("none"));
            }
            @if let Some(back) = about.back { input type="hidden" name="back" value=(back); }
            (inside)
        }
    }
}

/// Fields that a person does not type.
pub(crate) const HIDDEN: [&str; 8] =
    ["expectedHead", "expectedAttempt", "back", "id", "step", "question", "workflow", RUN];

/// A field that a failure is about.
pub(crate) struct FieldFault {
    name: String,
    message: String,
}

impl FieldFault {
    /// The field whose name the failure has as code, or else whose value it has.
    pub(crate) fn find(failure: &HttpFailure, sent: &RequestFields) -> Option<FieldFault> {
        let message = &failure.message;
        let typed: Vec<(&str, &str)> = sent.all().filter(|(name, _)| !HIDDEN.contains(name)).collect();
        let short = |name: &str| name.split_once('.').map_or(name, |(_, rest)| rest).to_owned();
        let is_named = |name: &str| [name, &short(name)].iter().any(|name| message.contains(&format!("`{name}`")));
        let is_quoted = |value: &str| ["`", "\""].iter().any(|mark| message.contains(&format!("{mark}{value}{mark}")));
        let has_value =
            |value: &str| !value.trim().is_empty() && (is_quoted(value) || value.len() > 3 && message.contains(value));
        let named = typed.iter().find(|(name, _)| is_named(name));
        let found = named.or_else(|| typed.iter().find(|(_, value)| has_value(value)));
        found.map(|(name, _)| FieldFault { name: (*name).to_owned(), message: message.clone() })
    }

    /// The message below the field; empty if another field is at fault.
    pub(crate) fn below(fault: Option<&FieldFault>, name: &str) -> Markup {
        html! { @if let Some(fault) = fault.filter(|fault| fault.name == name) { p #fault .problem.small aria-live="polite" { (parts::message(&fault.message)) } } }
    }

    /// The value of `aria-invalid`, and the id of the message, for `aria-errormessage`.
    pub(crate) fn marks(fault: Option<&FieldFault>, name: &str) -> (Option<&'static str>, Option<&'static str>) {
        match fault.is_some_and(|fault| fault.name == name) {
            true => (Some("true"), Some("fault")),
            false => (None, None),
        }
    }
}

/// A button alone.
pub(crate) fn button(app: &AppState, about: FormSubject<'_>, button: &ActionButton<'_>) -> Markup {
    form(app, about, button, &html! {})
}

/// Number of optional keys that are shown at once; more of them are folded.
const OPTIONAL: usize = 2;

/// A form for what the thread needs: a reply to a question, or a field for each key of the output.
pub(crate) fn answer(app: &AppState, about: FormSubject<'_>, asked: &FormQuestion<'_>) -> Markup {
    let id = format!("answer-{}", about.thread);
    let fields = html! {
        @match asked.keys() {
            None if !asked.options.is_empty() => (reply_options(&id, asked.options)),
            None => {
                label for=(id) { @if asked.text.is_some() { "Your reply" } @else { "Your answer" } }
                textarea id=(id) name="text" required rows="3" data-key="a" {}
            }
            Some(keys) => {
                @let (required, optional): (Vec<_>, Vec<_>) = keys.into_iter().partition(|(.., is_required)| *is_required);
                @let (is_folded, has_required) = (optional.len() > OPTIONAL, !required.is_empty());
                @for (position, of) in required.into_iter().enumerate() { (key(&id, of, position == 0)) }
                @if is_folded {
                    details.optional {
                        summary { (optional.len()) " optional fields" }
                        div.fields { @for of in optional { (key(&id, of, false)) } }
                    }
                } @else {
                    @for (position, of) in optional.into_iter().enumerate() { (key(&id, of, position == 0 && !has_required)) }
                }
            }
        }
    };
    let button = ActionButton::new("answer", "Answer and run", "").and_run("Answer without running", "Answered");
    html! { div.answer #(about.id("asks")) { (form(app, about, &button, &fields)) } }
}

/// The options of a question as buttons, and a field for any other reply. The first value of `text` counts.
fn reply_options(id: &str, options: &[String]) -> Markup {
    html! {
        fieldset.field.choice {
            legend { "Your reply" }
            div.options {
                @for (position, option) in options.iter().enumerate() {
                    label { input type="radio" name="text" value=(option) data-key=[(position == 0).then_some("a")]; span { (option) } }
                }
            }
        }
        details.optional {
            summary { "Another reply" }
            textarea id=(id) name="text" rows="3" aria-label="Another reply" {}
        }
    }
}

/// A question to a person.
pub(crate) struct FormQuestion<'q> {
    /// The agent's question; `None` if the person plays the role.
    pub(crate) text: Option<&'q str>,
    /// Replies to choose from.
    pub(crate) options: &'q [String],
    /// Schema of the role's output.
    pub(crate) schema: &'q Value,
}

impl<'q> FormQuestion<'q> {
    /// The keys of the output: name, schema, and whether it is required. `None` if the answer is a single text.
    fn keys(&self) -> Option<Vec<(&'q str, &'q Value, bool)>> {
        if self.text.is_some() {
            return None;
        }
        let properties = self.schema.get("properties")?.as_object().filter(|keys| !keys.is_empty())?;
        let required: Vec<&str> = self
            .schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let mut keys: Vec<(&str, &Value, bool)> = properties
            .iter()
            .map(|(name, property)| (name.as_str(), property, required.contains(&name.as_str())))
            .collect();
        keys.sort_by_key(|(name, ..)| required.iter().position(|key| key == name).unwrap_or(usize::MAX));
        Some(keys)
    }
}

/// Most choices that are shown as buttons; more of them are a menu.
const BUTTONS: usize = 4;

/// Longest text that has a field of one line, in characters.
const WORD: u64 = 60;

/// A field for a key of the output; the first one gets the focus.
fn key(form: &str, (name, property, is_required): (&str, &Value, bool), is_first: bool) -> Markup {
    let (id, field) = (&format!("{form}-{name}"), format!("{KEY}{name}"));
    let key = is_first.then_some("a");
    let per_line = is_list_of_texts(property).then_some("One on each line.");
    let about: Vec<String> =
        property["description"].as_str().map(parts::sentence).into_iter().chain(per_line.map(str::to_owned)).collect();
    let about = Some(about.join(" ")).filter(|about| !about.is_empty());
    let described = about.as_ref().map(|_| format!("{id}-about"));
    let title = html! { (name) @if !is_required { span.quiet.small { " (optional)" } } };
    let help = html! { @if let Some(about) = &about { p.quiet.small id={(id) "-about"} { (about) } } };
    let choices = choices(property);
    if let Some(choices) = choices.as_ref().filter(|choices| choices.len() <= BUTTONS) {
        return html! {
            fieldset.field.choice aria-describedby=[&described] {
                legend { (title) }
                (help)
                div.options {
                    @for (position, (value, label)) in choices.iter().enumerate() {
                        label { input type="radio" name=(field) value=(value) required[is_required] data-key=[key.filter(|_| position == 0)]; span { (label) } }
                    }
                }
            }
        };
    }
    let is_number = matches!(property["type"].as_str(), Some("integer" | "number"));
    let is_word = property["maxLength"].as_u64().is_some_and(|most| most <= WORD) || property.get("format").is_some();
    html! {
        div.field {
            label for=(id) { (title) }
            (help)
            @if let Some(choices) = choices {
                select id=(id) name=(field) required[is_required] aria-describedby=[&described] data-key=[key] {
                    option value="" { "–" }
                    @for (value, label) in choices { option value=(value) { (label) } }
                }
            } @else if is_number {
                input id=(id) name=(field) type="number" step="any" required[is_required] aria-describedby=[&described] data-key=[key];
            } @else if is_word {
                input id=(id) name=(field) required[is_required] aria-describedby=[&described] data-key=[key];
            } @else {
                textarea id=(id) name=(field) rows="2" required[is_required] aria-describedby=[&described] data-key=[key] {}
            }
        }
    }
}

/// The values of a key with their labels; `None` if it takes any text or number.
fn choices(property: &Value) -> Option<Vec<(String, String)>> {
    let same = |value: String| (value.clone(), value);
    match (property.get("enum").and_then(Value::as_array), property["type"].as_str()) {
        (Some(values), _) => Some(values.iter().map(|value| same(text(value))).collect()),
        (None, Some("boolean")) => {
            Some([("true", "yes"), ("false", "no")].map(|(value, label)| (value.to_owned(), label.to_owned())).to_vec())
        }
        _ => None,
    }
}

/// A value as a person would type it.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
