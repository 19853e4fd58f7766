//! `agents.<alias>.config` as an agent reads it: typed, with errors that name the key.

use std::time::Duration;

use agent_kit::{Context, Error, Kind, Result};
use serde_json::{Map, Value};
use uwf_core::config::parse_duration;
use uwf_engine::attempts::Opened;

/// What a role is being played with: the record of the attempt this process is part of.
///
/// # Errors
/// `Usage` outside an attempt: by hand nobody has said which model and which workspace.
pub(crate) fn opened<'c>(context: &'c Context<'_>) -> Result<&'c Opened> {
    context.attempt().map(|attempt| &attempt.opened).ok_or_else(|| {
        Error::new(Kind::Usage, "this agent is run by `uwf thread step`, never by hand")
            .hint("`uwf thread step ID --agent ALIAS` runs a step with a certain agent")
    })
}

/// Settings of one agent.
#[derive(Debug, Clone, Copy)]
pub struct Settings<'a> {
    agent: &'a str,
    config: &'a Map<String, Value>,
}

impl<'a> Settings<'a> {
    /// Those of an agent, by the name it has in the configuration.
    pub fn new(agent: &'a str, config: &'a Map<String, Value>) -> Settings<'a> {
        Settings { agent, config }
    }

    /// Those of the agent of an attempt.
    pub fn of(opened: &'a Opened) -> Settings<'a> {
        Settings::new(&opened.agent.name, &opened.agent.config)
    }

    /// A text.
    ///
    /// # Errors
    /// `Config` when it is something else.
    pub fn text(&self, key: &str) -> Result<Option<&'a str>> {
        self.read(key, "a text", Value::as_str)
    }

    /// A whole number from 1 up to `most`.
    ///
    /// # Errors
    /// `Config` when it is something else.
    pub fn count(&self, key: &str, most: u32) -> Result<Option<u32>> {
        self.read(key, &format!("a whole number from 1 to {most}"), |value| {
            u32::try_from(value.as_u64()?).ok().filter(|count| (1..=most).contains(count))
        })
    }

    /// A number that is not negative.
    ///
    /// # Errors
    /// `Config` when it is something else.
    pub fn number(&self, key: &str) -> Result<Option<f64>> {
        self.read(key, "a number, 0 or more", |value| value.as_f64().filter(|number| *number >= 0.0))
    }

    /// A switch.
    ///
    /// # Errors
    /// `Config` when it is something else.
    pub fn flag(&self, key: &str) -> Result<Option<bool>> {
        self.read(key, "true or false", Value::as_bool)
    }

    /// A time, as everywhere in the configuration: seconds, or `500ms`, `90s`, `15m`, `2h`; more than none.
    ///
    /// # Errors
    /// `Config` when it is something else.
    pub fn duration(&self, key: &str) -> Result<Option<Duration>> {
        self.read(key, "a duration such as 90, 500ms or 15m", |value| {
            let read = match value {
                Value::String(text) => parse_duration(text),
                other => Duration::try_from_secs_f64(other.as_f64()?).ok(),
            };
            read.filter(|duration| !duration.is_zero())
        })
    }

    /// The complaint about a key that has a value of the right type which cannot be used.
    pub fn refuse(&self, key: &str, why: &str) -> Error {
        Error::new(Kind::Config, format!("`config.{key}` of agent `{}`: {why}", self.agent))
            .hint("`uwf agent describe NAME` tells the settings an agent has")
    }

    fn read<T>(&self, key: &str, wanted: &str, read: impl FnOnce(&'a Value) -> Option<T>) -> Result<Option<T>> {
        match self.config.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match read(value) {
                Some(read) => Ok(Some(read)),
                None => Err(self.refuse(key, &format!("it is {value}, {wanted} is expected"))),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_typed_and_complaints_name_the_key() {
        let config = json!({ "a": "90s", "b": 0.5, "c": 0, "d": null, "e": "x", "f": 12 });
        let config = config.as_object().unwrap();
        let settings = Settings::new("coder", config);
        assert_eq!(settings.duration("a").unwrap(), Some(Duration::from_secs(90)));
        assert_eq!(settings.duration("b").unwrap(), Some(Duration::from_millis(500)));
        assert_eq!(settings.duration("d").unwrap(), None);
        assert_eq!(settings.count("f", 20).unwrap(), Some(12));
        let told = |error: Error| error.message;
        assert_eq!(
            settings.count("f", 10).map_err(told).unwrap_err(),
            "`config.f` of agent `coder`: it is 12, a whole number from 1 to 10 is expected"
        );
        assert!(settings.duration("c").is_err() && settings.duration("e").is_err());
    }
}
