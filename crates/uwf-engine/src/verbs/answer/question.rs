//! A question to a person, with the answers that it offers: what a message, a page or a tool needs to show it and to take the answer.

use json_cas::NodeHash;
use serde_json::{Map, Value, json};
use uwf_core::prompt::{self, QuestionInput};
use uwf_core::thread::ThreadId;

use super::OpenQuestion;
use crate::error::{Error, Result};
use crate::root::home::Home;
use crate::thread::load::Thread;
use crate::views::workflow_names;

/// A question to a person.
#[derive(Debug, Clone, PartialEq)]
pub struct PersonQuestion {
    /// The thread that asks: the answer goes to it.
    pub thread: ThreadId,
    /// Its head. The answer counts only at this head.
    pub head: NodeHash,
    /// The attempt whose agent asks; `None` if the person plays the role.
    pub attempt: Option<String>,
    /// Name of the workflow.
    pub workflow: String,
    /// The role.
    pub role: String,
    /// The whole question.
    pub text: String,
    /// The form of its answer.
    pub form: QuestionForm,
}

/// The form of the answer to a question.
#[derive(Debug, Clone, PartialEq)]
pub enum QuestionForm {
    /// A reply to an agent: any text; the options are replies to choose from.
    Reply(Vec<String>),
    /// One of these values.
    Choice(Vec<AnswerOption>),
    /// A text: the whole output, or the value of this key.
    Text(Option<String>),
    /// Several values, which a single reply can't give.
    Several,
}

/// A value to choose.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerOption {
    /// Its name for people.
    pub label: String,
    /// Other words for it.
    words: Vec<String>,
    /// The output.
    output: Value,
}

/// An answer as `thread answer` takes it.
#[derive(Debug, Clone, PartialEq)]
pub enum GivenAnswer {
    /// The reply to an agent, as typed.
    Reply(String),
    /// The output of the role.
    Output(Value),
}

/// Describes an open question.
///
/// # Errors
/// Errors of the thread's nodes.
pub fn describe(home: &Home, asked: &OpenQuestion) -> Result<PersonQuestion> {
    let thread = Thread::load_at(home, asked.thread.clone(), asked.head)?;
    let workflow = thread.workflow()?;
    let name = workflow_names::own_name(home, thread.start.workflow).unwrap_or_else(|| workflow.name.clone());
    let (text, form) = match &asked.question {
        Some(question) => (question.text.clone(), QuestionForm::Reply(question.options.clone())),
        None => {
            let role = workflow.roles.get(&asked.role);
            let role = role.ok_or_else(|| Error::internal(format!("the workflow has no role {}", asked.role)))?;
            let schema = home.store().schema(role.meta)?;
            let input = QuestionInput {
                workflow: &name,
                role_name: &asked.role,
                role,
                schema: schema.value(),
                task: &thread.start.prompt,
            };
            (prompt::question(&input), QuestionForm::of_schema(schema.value()))
        }
    };
    Ok(PersonQuestion {
        thread: asked.thread.clone(),
        head: asked.head,
        attempt: asked.question.as_ref().map(|question| question.attempt.clone()),
        workflow: name,
        role: asked.role.clone(),
        text: text.trim().to_owned(),
        form,
    })
}

impl QuestionForm {
    /// The form for an output of this schema.
    fn of_schema(schema: &Value) -> QuestionForm {
        if let Some(options) = options(schema, None) {
            return QuestionForm::Choice(options);
        }
        if schema["type"] == "string" {
            return QuestionForm::Text(None);
        }
        let (Some(properties), required) = (schema["properties"].as_object(), schema["required"].as_array()) else {
            return QuestionForm::Several;
        };
        let required: Vec<&str> = required.into_iter().flatten().filter_map(Value::as_str).collect();
        let key = match (required.as_slice(), properties.keys().collect::<Vec<_>>().as_slice()) {
            ([key], _) => *key,
            ([], [key]) => key.as_str(),
            _ => return QuestionForm::Several,
        };
        let Some(property) = properties.get(key) else { return QuestionForm::Several };
        match options(property, Some(key)) {
            Some(options) => QuestionForm::Choice(options),
            None if property["type"] == "string" => QuestionForm::Text(Some(key.to_owned())),
            None => QuestionForm::Several,
        }
    }

    /// The names of the answers to choose from.
    pub fn labels(&self) -> Vec<&str> {
        match self {
            QuestionForm::Reply(options) => options.iter().map(String::as_str).collect(),
            QuestionForm::Choice(options) => options.iter().map(|option| option.label.as_str()).collect(),
            QuestionForm::Text(_) | QuestionForm::Several => Vec::new(),
        }
    }

    /// The answer with this position in [`QuestionForm::labels`].
    pub fn option(&self, position: usize) -> Option<GivenAnswer> {
        match self {
            QuestionForm::Reply(options) => options.get(position).cloned().map(GivenAnswer::Reply),
            QuestionForm::Choice(options) => {
                options.get(position).map(|option| GivenAnswer::Output(option.output.clone()))
            }
            QuestionForm::Text(_) | QuestionForm::Several => None,
        }
    }

    /// The answer for the words of a person. They are one value and are never searched for others.
    ///
    /// # Errors
    /// The reason, and the expected answers.
    pub fn answer(&self, words: &str) -> std::result::Result<GivenAnswer, String> {
        let plain = plain(words);
        if plain.is_empty() {
            return Err("The answer is empty.".to_owned());
        }
        match self {
            QuestionForm::Reply(_) => Ok(GivenAnswer::Reply(words.to_owned())),
            QuestionForm::Choice(options) => {
                let fits = |option: &&AnswerOption| {
                    std::iter::once(&option.label).chain(&option.words).any(|word| self::plain(word) == plain)
                };
                let chosen = options.iter().find(fits).map(|option| GivenAnswer::Output(option.output.clone()));
                chosen.ok_or_else(|| format!("Expected one of: {}.", self.labels().join(", ")))
            }
            QuestionForm::Text(key) => Ok(GivenAnswer::Output(keyed(key.as_deref(), Value::from(words)))),
            QuestionForm::Several => {
                Err("The answer needs several values, so a single reply can't give it.".to_owned())
            }
        }
    }
}

/// A word as it is compared.
fn plain(word: &str) -> String {
    word.trim().trim_end_matches('.').to_lowercase()
}

/// A value as the whole output, or below its key.
fn keyed(key: Option<&str>, value: Value) -> Value {
    match key {
        Some(key) => Value::Object(Map::from_iter([(key.to_owned(), value)])),
        None => value,
    }
}

/// The values that a schema allows, if it lists them.
fn options(schema: &Value, key: Option<&str>) -> Option<Vec<AnswerOption>> {
    let named = |word: &str| key.map_or_else(|| word.to_owned(), |key| format!("{key}: {word}"));
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let option = |value: &Value| {
            let label = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            AnswerOption { words: vec![named(&label)], label, output: keyed(key, value.clone()) }
        };
        return Some(values.iter().map(option).collect()).filter(|options: &Vec<_>| !options.is_empty());
    }
    let option = |word: &str, value: bool| AnswerOption {
        label: named(word),
        words: [word.to_owned(), value.to_string(), named(&value.to_string())].into(),
        output: keyed(key, json!(value)),
    };
    (schema["type"] == "boolean").then(|| vec![option("yes", true), option("no", false)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(property: &Value) -> QuestionForm {
        QuestionForm::of_schema(&json!({
            "type": "object",
            "properties": { "verdict": property, "why": { "type": "string" } },
            "required": ["verdict"],
        }))
    }

    fn output(form: &QuestionForm, words: &str) -> Value {
        match form.answer(words) {
            Ok(GivenAnswer::Output(value)) => value,
            other => panic!("{words}: {other:?}"),
        }
    }

    #[test]
    fn listed_values_are_options() {
        let form = form(&json!({ "enum": ["merge", "wait", 3] }));
        assert_eq!(form.labels(), ["merge", "wait", "3"]);
        assert_eq!(form.option(2), Some(GivenAnswer::Output(json!({ "verdict": 3 }))));
        assert_eq!(form.option(3), None);
        for words in ["wait", " WAIT. ", "verdict: wait"] {
            assert_eq!(output(&form, words), json!({ "verdict": "wait" }), "{words}");
        }
        assert_eq!(form.answer("perhaps").unwrap_err(), "Expected one of: merge, wait, 3.");
    }

    #[test]
    fn booleans_are_yes_and_no() {
        let form = form(&json!({ "type": "boolean" }));
        assert_eq!(form.labels(), ["verdict: yes", "verdict: no"]);
        assert_eq!(output(&form, "No"), json!({ "verdict": false }));
        assert_eq!(output(&form, "true"), json!({ "verdict": true }));
    }

    #[test]
    fn text_is_never_searched_for_values() {
        let form = form(&json!({ "type": "string" }));
        for words in ["---\nverdict: yes\n---\n", "{\"verdict\": 1}", "verdict: no"] {
            assert_eq!(output(&form, words), json!({ "verdict": words }));
        }
        assert_eq!(form.answer(" \n").unwrap_err(), "The answer is empty.");
    }

    #[test]
    fn several_required_keys_need_a_form() {
        let schema =
            json!({ "properties": { "a": { "type": "string" }, "b": { "type": "string" } }, "required": ["a", "b"] });
        assert_eq!(QuestionForm::of_schema(&schema), QuestionForm::Several);
        assert!(QuestionForm::Several.answer("a").is_err());
        assert_eq!(form(&json!({ "type": "array" })), QuestionForm::Several);
    }
}
