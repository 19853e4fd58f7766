//! Whether model providers answer.

use std::time::Duration;

use uwf_core::config::{Config, Provider};
use uwf_engine::error::{Error, Result};
use uwf_engine::verbs::doctor::{Finding, Status};
use uwf_llm::{Client, Retry, Timeouts};

use super::Lookup;
use crate::model;

/// Time limits for a provider's answer.
const TIMEOUTS: Timeouts =
    Timeouts { connect: Duration::from_secs(2), idle: Duration::from_secs(5), total: Duration::from_secs(6) };

pub(super) fn finding(config: &Config, name: &str, provider: &Provider, lookup: Lookup<'_>) -> Finding {
    let check = format!("provider:{name}");
    let finding = ask(check.clone(), name, provider, lookup).unwrap_or_else(|error| Finding::of_error(&check, &error));
    // A problem with an unused provider stops nothing.
    match finding.status {
        Status::Fail if !super::used_providers(config).contains(name) => Finding { status: Status::Warn, ..finding },
        Status::Ok | Status::Warn | Status::Fail => finding,
    }
}

fn ask(check: String, name: &str, provider: &Provider, lookup: Lookup<'_>) -> Result<Finding> {
    let variable = provider.api_key_env.as_deref();
    let key = variable.and_then(lookup).filter(|key| !key.is_empty());
    if let (Some(variable), None) = (variable, &key) {
        let hint = format!("add `{variable}=…` to .env of the storage root, or run `uwf setup`");
        return Ok(
            Finding::fail(check, format!("`{variable}` is set neither in the environment nor in .env")).hint(hint)
        );
    }
    let url = &provider.base_url;
    let client = model::at_provider(name, provider, key.as_deref(), "").and_then(|endpoint| {
        Client::new(endpoint, TIMEOUTS, Retry::never()).map_err(|error| Error::config(error.to_string()))
    })?;
    Ok(match client.models() {
        Ok(models) => Finding::ok(check, format!("{url} answers, {} models", models.len())),
        // The provider is up, but has no list of models.
        Err(uwf_llm::Error::Status { code: 404 | 405, .. }) => {
            Finding::ok(check, format!("{url} answers, without a list of models"))
        }
        Err(error) => {
            let hint = error.hint();
            Finding { hint, ..Finding::fail(check, error.to_string()) }
        }
    })
}
