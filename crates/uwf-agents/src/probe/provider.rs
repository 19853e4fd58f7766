//! Whether model providers answer.

use std::time::Duration;

use uwf_core::config::{ModelProvider, UwfConfig};
use uwf_engine::error::{Error, Result};
use uwf_engine::verbs::doctor::{DoctorFinding, DoctorStatus};
use uwf_llm::{LlmClient, LlmTimeouts, RetryLimits};

use super::Lookup;
use crate::model;

/// Time limits for a provider's answer.
const TIMEOUTS: LlmTimeouts =
    LlmTimeouts { connect: Duration::from_secs(2), idle: Duration::from_secs(5), total: Duration::from_secs(6) };

pub(super) fn finding(config: &UwfConfig, name: &str, provider: &ModelProvider, lookup: Lookup<'_>) -> DoctorFinding {
    let check = format!("provider:{name}");
    let finding =
        ask(check.clone(), name, provider, lookup).unwrap_or_else(|error| DoctorFinding::of_error(&check, &error));
    // A problem with an unused provider stops nothing.
    match finding.status {
        DoctorStatus::Fail if !super::used_providers(config).contains(name) => {
            DoctorFinding { status: DoctorStatus::Warn, ..finding }
        }
        DoctorStatus::Ok | DoctorStatus::Warn | DoctorStatus::Fail => finding,
    }
}

fn ask(check: String, name: &str, provider: &ModelProvider, lookup: Lookup<'_>) -> Result<DoctorFinding> {
    let variable = provider.api_key_env.as_deref();
    let key = variable.and_then(lookup).filter(|key| !key.is_empty());
    if let (Some(variable), None) = (variable, &key) {
        let hint = format!("add `{variable}=…` to .env of the storage root, or run `uwf setup`");
        return Ok(DoctorFinding::fail(check, format!("`{variable}` is set neither in the environment nor in .env"))
            .hint(hint));
    }
    let url = &provider.base_url;
    let client = model::at_provider(name, provider, key.as_deref(), "").and_then(|endpoint| {
        LlmClient::new(endpoint, TIMEOUTS, RetryLimits::never()).map_err(|error| Error::config(error.to_string()))
    })?;
    Ok(match client.models() {
        Ok(models) => DoctorFinding::ok(check, format!("{url} answers, {} models", models.len())),
        // The provider is up, but has no list of models.
        Err(uwf_llm::Error::Status { code: 404 | 405, .. }) => {
            DoctorFinding::ok(check, format!("{url} answers, without a list of models"))
        }
        Err(error) => {
            let hint = error.hint();
            DoctorFinding { hint, ..DoctorFinding::fail(check, error.to_string()) }
        }
    })
}
