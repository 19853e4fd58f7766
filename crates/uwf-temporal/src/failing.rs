//! Failing workflow tasks. They block a thread until a newer worker runs or the workflow ends, so the worker's log and the commands for
//! threads report them.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use temporalio_client::errors::WorkflowInteractionError;
use temporalio_client::grpc::WorkflowService;
use temporalio_client::tonic::Request;
use temporalio_client::{Client, NamespacedClient, WorkflowExecutionDescription};
use temporalio_common::protos::coresdk::workflow_activation::WorkflowActivation;
use temporalio_common::protos::coresdk::workflow_activation::remove_from_cache::EvictionReason;
use temporalio_common::protos::coresdk::workflow_activation::workflow_activation_job::Variant;
use temporalio_common::protos::coresdk::workflow_completion::WorkflowActivationCompletion;
use temporalio_common::protos::coresdk::workflow_completion::workflow_activation_completion::Status;
use temporalio_common::protos::temporal::api::common::v1::WorkflowExecution;
use temporalio_common::protos::temporal::api::history::v1::history_event::Attributes;
use temporalio_common::protos::temporal::api::workflowservice::v1::GetWorkflowExecutionHistoryReverseRequest;
use temporalio_sdk::interceptors::WorkerInterceptor;

/// Number of newest events in which a workflow's failure is searched. Only signals come after it.
const NEWEST_EVENTS: i32 = 200;

/// Attempt from which a workflow task that times out counts as failing. A killed worker explains only one such attempt.
const OUT_OF_TIME: i32 = 4;

/// Longest reason that is shown, in characters.
const LONGEST_REASON: usize = 300;

/// Logs each workflow task that fails in a worker.
pub(crate) struct FailureLog {
    say: Arc<dyn Fn(&str) + Send + Sync>,
    /// Ids of the workflows in the worker's memory, by run.
    workflows: Mutex<HashMap<String, String>>,
}

impl FailureLog {
    /// A log that prints each line with `say`.
    pub(crate) fn new(say: Arc<dyn Fn(&str) + Send + Sync>) -> FailureLog {
        FailureLog { say, workflows: Mutex::default() }
    }

    /// Logs failures of the SDK, and stores the ids of workflows for later messages.
    fn note_activation(&self, activation: &WorkflowActivation) {
        let run = &activation.run_id;
        for job in &activation.jobs {
            match &job.variant {
                Some(Variant::InitializeWorkflow(begun)) => {
                    self.workflows.lock().insert(run.clone(), begun.workflow_id.clone());
                }
                Some(Variant::RemoveFromCache(removed)) => {
                    if matches!(removed.reason(), EvictionReason::Nondeterminism | EvictionReason::Fatal) {
                        self.log(run, &removed.message);
                    }
                    self.workflows.lock().remove(run);
                }
                _ => {}
            }
        }
    }

    /// Logs failures of the workflow's code and of its input.
    fn note_completion(&self, completion: &WorkflowActivationCompletion) {
        if let Some(Status::Failed(failed)) = &completion.status {
            let message = failed.failure.as_ref().map_or("no reason", |failure| failure.message.as_str());
            self.log(&completion.run_id, message);
        }
    }

    fn log(&self, run: &str, reason: &str) {
        let workflow = self.workflows.lock().get(run).cloned().unwrap_or_else(|| format!("run {run}"));
        (self.say)(&format!("workflow {workflow}: its workflow task fails: {}; Temporal retries it", one_line(reason)));
    }
}

#[async_trait(?Send)]
impl WorkerInterceptor for FailureLog {
    async fn on_workflow_activation(&self, activation: &WorkflowActivation) -> anyhow::Result<()> {
        self.note_activation(activation);
        Ok(())
    }

    async fn on_workflow_activation_completion(&self, completion: &WorkflowActivationCompletion) {
        self.note_completion(completion);
    }
}

/// Returns the reason why the workflow task of a workflow fails. `None` if the task does not fail.
///
/// # Errors
/// Temporal does not answer.
pub(crate) async fn failure(
    client: &Client,
    described: &WorkflowExecutionDescription,
) -> Result<Option<String>, WorkflowInteractionError> {
    let attempt = described.raw().pending_workflow_task.as_ref().map_or(0, |task| task.attempt);
    if attempt < 2 {
        return Ok(None);
    }
    let execution = WorkflowExecution { workflow_id: described.id().to_owned(), run_id: described.run_id().to_owned() };
    let asked = GetWorkflowExecutionHistoryReverseRequest {
        namespace: client.namespace(),
        execution: Some(execution),
        maximum_page_size: NEWEST_EVENTS,
        ..Default::default()
    };
    let answer = client.clone().get_workflow_execution_history_reverse(Request::new(asked)).await;
    let history = answer.map_err(WorkflowInteractionError::Rpc)?.into_inner().history.unwrap_or_default();
    let outcome = history.events.into_iter().find_map(|event| outcome(event.attributes?));
    Ok(match outcome {
        Some(WorkflowTaskOutcome::Failed(reason)) => Some(reason),
        Some(WorkflowTaskOutcome::OutOfTime) if attempt >= OUT_OF_TIME => {
            Some("workers take it but do not finish it".to_owned())
        }
        Some(WorkflowTaskOutcome::OutOfTime | WorkflowTaskOutcome::Completed) | None => None,
    })
}

/// How a workflow task ended.
enum WorkflowTaskOutcome {
    Completed,
    Failed(String),
    OutOfTime,
}

/// Reads a workflow task's event; `None` for other events.
fn outcome(event: Attributes) -> Option<WorkflowTaskOutcome> {
    match event {
        Attributes::WorkflowTaskCompletedEventAttributes(_) => Some(WorkflowTaskOutcome::Completed),
        Attributes::WorkflowTaskTimedOutEventAttributes(_) => Some(WorkflowTaskOutcome::OutOfTime),
        Attributes::WorkflowTaskFailedEventAttributes(failed) => {
            let reason = failed.failure.as_ref().map(|failure| one_line(&failure.message));
            let cause = || failed.cause().as_str_name().to_owned();
            Some(WorkflowTaskOutcome::Failed(reason.filter(|reason| !reason.is_empty()).unwrap_or_else(cause)))
        }
        _ => None,
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(LONGEST_REASON).collect()
}
