//! Reading an agent's `config`.

use std::path::PathBuf;
use std::time::Duration;

use agent_kit::{Error, Kind, Result};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use uwf_core::config::parse_duration;
use uwf_engine::agents::AgentSpec;
use uwf_engine::home::Home;

/// The settings an agent understands, from its `config`.
///
/// # Errors
/// `Config` when a key is not one of its settings, or a value makes no sense.
pub(crate) fn read<S: DeserializeOwned>(spec: &AgentSpec) -> Result<S> {
    S::deserialize(Value::Object(spec.config.clone())).map_err(|error| {
        Error::new(Kind::Config, format!("the `config` of agent `{}`: {error}", spec.name)).hint(format!(
            "`uwf agent describe {}` lists the settings it understands",
            spec.built_in().unwrap_or(&spec.name)
        ))
    })
}

/// What the agent's model is called: the name behind an alias of `models`, else the word itself, which the agent's own
/// program may know.
///
/// # Errors
/// `Config` when `config.yaml` cannot be read.
pub(crate) fn model(home: &Home, spec: &AgentSpec) -> Result<Option<String>> {
    let Some(alias) = &spec.model else { return Ok(None) };
    let config = home.config()?;
    Ok(Some(config.models.get(alias).map_or_else(|| alias.clone(), |model| model.name.clone())))
}

/// A directory of the settings: `~/` is the user's home, anything else is relative to the storage root.
pub(crate) fn directory(home: &Home, written: &str) -> PathBuf {
    match (written.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(user)) => user.join(rest),
        _ => home.root().join(written),
    }
}

/// A time limit as people write it: seconds as a number, or `90s`, `15m`, `2h`; 0 is no limit.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TimeLimit(pub(crate) Option<Duration>);

impl<'de> Deserialize<'de> for TimeLimit {
    fn deserialize<D: serde::Deserializer<'de>>(source: D) -> std::result::Result<TimeLimit, D::Error> {
        let written = match Value::deserialize(source)? {
            Value::String(text) => text,
            other => other.to_string(),
        };
        let limit = parse_duration(&written).ok_or_else(|| {
            serde::de::Error::custom(format!(
                "`{written}` is not a duration; write seconds as a number, or 90s, 15m, 2h"
            ))
        })?;
        Ok(TimeLimit(Some(limit).filter(|limit| !limit.is_zero())))
    }
}
