//! Hooks that can't work on this machine: their secret is not set, or their workflow does not exist.

use std::path::Path;

use uwf_core::config::{HookAction, UwfConfig};
use uwf_core::document::{FileProblem, SourceDocument};
use uwf_engine::error::ErrorKind;
use uwf_engine::root::home::Home;
use uwf_engine::verbs::workflows::find_workflow::{self, PathTrust};
use uwf_server::is_hook_secret;

/// A warning for each secret that is not set or has the wrong form, and for each workflow that does not exist.
pub(super) fn problems(
    home: &Home,
    config: &UwfConfig,
    document: &SourceDocument,
    value_of: &dyn Fn(&str) -> Option<String>,
) -> Vec<FileProblem> {
    let mut problems = Vec::new();
    for (name, hook) in &config.hooks {
        let at = SourceDocument::below("/hooks", name);
        let variable = &hook.secret_env;
        let secret_at = SourceDocument::below(&at, "secretEnv");
        match value_of(variable) {
            None => {
                let message = format!("`{variable}` is set neither in the environment nor in .env");
                let hint = format!("add `{variable}=…` to .env of the storage root, and the same secret to the sender");
                problems.push(document.warning(&secret_at, "no-secret", message, Some(hint)));
            }
            Some(secret) if !is_hook_secret(hook.signature, &secret) => {
                let message = format!("`{variable}` is not a secret of the Standard Webhooks specification");
                let hint =
                    "such a secret is base64, usually after `whsec_`; otherwise use `signature: github`".to_owned();
                problems.push(document.warning(&secret_at, "bad-secret", message, Some(hint)));
            }
            Some(_) => {}
        }
        let HookAction::Start(start) = &hook.action else { continue };
        // A relative path depends on the directory of the server.
        let is_path = start.workflow.contains('/') && !Path::new(&start.workflow).is_absolute();
        let found = find_workflow::workflow(home, &start.workflow, Path::new("/"), PathTrust::Untrusted);
        if let Err(error) = found
            && error.kind == ErrorKind::NotFound
            && !is_path
        {
            let at = SourceDocument::below(&SourceDocument::below(&at, "start"), "workflow");
            problems.push(document.warning(&at, "unknown-workflow", error.message, error.hints.into_iter().next()));
        }
    }
    problems
}
