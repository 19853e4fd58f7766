//! Selects the answer to a request.

use serde_json::Value;

use super::{LlmServerRequest, ScriptedAnswer};

type Decide = Box<dyn FnMut(&LlmServerRequest) -> ScriptedAnswer + Send>;

enum LlmScriptSource {
    List(Vec<Option<ScriptedAnswer>>),
    Closure(Decide),
}

/// The answers of a server.
pub struct LlmScript {
    source: LlmScriptSource,
    refuses: Vec<String>,
    models: Vec<String>,
    given: usize,
}

impl LlmScript {
    /// Answers in order. An answer with a condition ([`ScriptedAnswer::only_if`]) waits for a matching request. When all are used, requests get status
    /// 418, which no client retries.
    pub fn new(answers: impl IntoIterator<Item = ScriptedAnswer>) -> LlmScript {
        LlmScript::from_source(LlmScriptSource::List(answers.into_iter().map(Some).collect()))
    }

    /// Answers by a function of the request.
    pub fn deciding(decide: impl FnMut(&LlmServerRequest) -> ScriptedAnswer + Send + 'static) -> LlmScript {
        LlmScript::from_source(LlmScriptSource::Closure(Box::new(decide)))
    }

    fn from_source(source: LlmScriptSource) -> LlmScript {
        LlmScript { source, refuses: Vec::new(), models: vec!["scripted-model".to_owned()], given: 0 }
    }

    /// Rejects every request with this feature, with status 400 and without using up an answer: `tools`, `tool_choice` (a forced one),
    /// `json_schema`, `json_object`, or any other field of the body.
    #[must_use]
    pub fn refusing(mut self, feature: &str) -> LlmScript {
        self.refuses.push(feature.to_owned());
        self
    }

    /// Names in the list of models. The default is `scripted-model`.
    #[must_use]
    pub fn with_models<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> LlmScript {
        self.models = names.into_iter().map(Into::into).collect();
        self
    }

    pub(crate) fn models(&self) -> &[String] {
        &self.models
    }

    /// The answer to a request, and its number from 1.
    pub(crate) fn next(&mut self, request: &LlmServerRequest) -> (usize, ScriptedAnswer) {
        self.given += 1;
        if let Some(feature) = self.refuses.iter().find(|feature| uses(&request.body, feature)) {
            return (self.given, ScriptedAnswer::status(400, &format!("`{feature}` is not supported by this model")));
        }
        let say = match &mut self.source {
            LlmScriptSource::Closure(decide) => decide(request),
            LlmScriptSource::List(answers) => from_list(answers, request),
        };
        (self.given, say)
    }
}

impl<I: IntoIterator<Item = ScriptedAnswer>> From<I> for LlmScript {
    fn from(answers: I) -> LlmScript {
        LlmScript::new(answers)
    }
}

fn from_list(answers: &mut [Option<ScriptedAnswer>], request: &LlmServerRequest) -> ScriptedAnswer {
    let meant = |say: &ScriptedAnswer| say.only_if.as_ref().is_none_or(|text| request.text.contains(text));
    let Some(slot) = answers.iter_mut().find(|slot| slot.as_ref().is_some_and(meant)) else {
        return ScriptedAnswer::status(418, "the script has no answer left for this request");
    };
    match slot {
        Some(say) if say.repeats => say.clone(),
        // The slot was found above, so it has an answer; an empty text would show a bug.
        slot => slot.take().unwrap_or_else(|| ScriptedAnswer::text("")),
    }
}

fn uses(body: &Value, feature: &str) -> bool {
    match feature {
        "json_schema" => {
            body.pointer("/response_format/type").is_some_and(|kind| kind == "json_schema")
                || body.get("output_config").is_some()
        }
        "json_object" => body.pointer("/response_format/type").is_some_and(|kind| kind == "json_object"),
        "tool_choice" => body
            .get("tool_choice")
            .is_some_and(|choice| choice != "auto" && choice.get("type").is_none_or(|kind| kind != "auto")),
        field => body.get(field).is_some(),
    }
}
