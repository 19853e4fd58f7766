//! Forms for changes. Each form names the head it was drawn for, and the newest attempt where that matters. So a form that is sent twice,
//! or from an old page, changes nothing more.

use json_cas::NodeHash;
use maud::{Markup, html};
use serde_json::Value;
use uwf_core::thread::ThreadId;

use crate::api::actions;
use crate::api::answer::KEY;
use crate::app::AppState;

use super::markdown::markdown;

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

/// A button for an action.
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
}

impl<'b> ActionButton<'b> {
    /// A plain button.
    pub(crate) fn new(action: &'b str, label: &'b str, key: &'b str) -> ActionButton<'b> {
        ActionButton { action, label, key, class: "", confirm: "" }
    }
}

/// A form around `fields`; empty on a server without changes.
pub(crate) fn form(app: &AppState, about: FormSubject<'_>, button: &ActionButton<'_>, fields: &Markup) -> Markup {
    if app.is_read_only() {
        return html! {};
    }
    let key = Some(button.key).filter(|key| !key.is_empty());
    let confirm = Some(button.confirm).filter(|words| !words.is_empty());
    html! {
        form method="post" action={"/api/threads/" (about.thread) "/" (button.action)} data-confirm=[confirm] {
            input type="hidden" name="expectedHead" value=(about.head);
            @if actions::names_attempt(button.action) {
                input type="hidden" name="expectedAttempt" value=(about.attempt.unwrap_or("none"));
            }
            @if let Some(back) = about.back { input type="hidden" name="back" value=(back); }
            (fields)
            button class=(button.class) data-key=[key] { (button.label) }
        }
    }
}

/// A button alone.
pub(crate) fn button(app: &AppState, about: FormSubject<'_>, button: &ActionButton<'_>) -> Markup {
    form(app, about, button, &html! {})
}

/// A form for what the thread needs: a reply to a question, or a field for each key of the output.
pub(crate) fn answer(app: &AppState, about: FormSubject<'_>, asked: &FormQuestion<'_>) -> Markup {
    let id = format!("answer-{}", about.thread);
    let fields = html! {
        @if let Some(text) = asked.text { div.question { (markdown(text, 3)) } }
        @match asked.keys() {
            None => {
                label for=(id) { @if asked.text.is_some() { "Your reply" } @else { "Your answer" } }
                textarea id=(id) name="text" required rows="3" data-key="a" {}
            }
            Some(keys) => @for (position, of) in keys.into_iter().enumerate() { (key(&id, of, position == 0)) }
        }
    };
    let button = ActionButton { class: "primary", ..ActionButton::new("answer", "Answer", "") };
    html! { div.answer { (form(app, about, &button, &fields)) } }
}

/// A question to a person.
pub(crate) struct FormQuestion<'q> {
    /// The agent's question; `None` if the person plays the role.
    pub(crate) text: Option<&'q str>,
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

/// A field for a key of the output; the first one gets the focus.
fn key(form: &str, (name, property, is_required): (&str, &Value, bool), is_first: bool) -> Markup {
    let (id, field) = (&format!("{form}-{name}"), format!("{KEY}{name}"));
    let key = is_first.then_some("a");
    let described = property["description"].as_str().map(|_| format!("{id}-about"));
    let about = property["description"].as_str();
    let choices: Option<Vec<String>> = match (property.get("enum").and_then(Value::as_array), property["type"].as_str())
    {
        (Some(values), _) => Some(values.iter().map(text).collect()),
        (None, Some("boolean")) => Some(vec!["true".to_owned(), "false".to_owned()]),
        _ => None,
    };
    let is_short = matches!(property["type"].as_str(), Some("integer" | "number"));
    html! {
        div.field {
            label for=(id) { (name) @if !is_required { span.quiet.small { " (optional)" } } }
            @if let Some(about) = about { p.quiet.small id={(id) "-about"} { (about) } }
            @if let Some(choices) = choices {
                select id=(id) name=(field) required[is_required] aria-describedby=[&described] data-key=[key] {
                    option value="" { "–" }
                    @for choice in choices { option value=(choice) { (choice) } }
                }
            } @else if is_short {
                input id=(id) name=(field) type="number" step="any" required[is_required] aria-describedby=[&described] data-key=[key];
            } @else {
                textarea id=(id) name=(field) rows="2" required[is_required] aria-describedby=[&described] data-key=[key] {}
            }
        }
    }
}

/// A value as a person would type it.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
