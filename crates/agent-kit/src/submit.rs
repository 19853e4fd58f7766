//! Stores an answer as a step: extraction, then output, detail and `StepNode` in one durable batch, then the record. After that, a crash
//! can't lose the step.

use durable_files::regular;
use json_cas::{NodeDraft, NodeHash};
use serde_json::{Value, json};
use uwf_core::activity;
use uwf_core::agent_name::AgentName;
use uwf_core::config::ExtractRungs;
use uwf_core::extract::ExtractionFailure;
use uwf_core::node::{self, ExtractedBy, ReactSession, ResumedSession, TokenCounts, TypedPayload};
use uwf_core::prompt::AnswerForm;
use uwf_core::spending;
use uwf_core::text::{ellipsize, one_line};
use uwf_core::thread::QuestionReply;
use uwf_engine::attempt::agent_process;
use uwf_engine::attempt::agents::HUMAN;
use uwf_engine::attempt::recorded::{self, AttemptOutputFiles, RecordedAttempt};
use uwf_engine::attempt::redactor::SecretRedactor;
use uwf_engine::attempt::turns::NodeBatch;
use uwf_engine::error::{AtPath, Error, ErrorKind, Result};
use uwf_engine::thread::digest;

use crate::answer::AgentAnswer;
use crate::context::AgentContext;
use crate::failure_notice;
use crate::ladder::{ExtractionLadder, LadderDescent, LadderResult};
use crate::question;
use crate::recorder::TurnRecorder;
use crate::submitted_value;

/// Bytes kept of a successful agent's stderr: its beginning and its end. Some programs repeat there everything they do, and the turns
/// already contain that.
const STDERR_CAP: u64 = 64 << 10;

/// Characters shown of what an agent said before it ended without a text.
const SHOWN_BEFORE_END: usize = 300;

/// Name of an agent that submits outside any attempt without a name.
pub(crate) const UNNAMED_AGENT: &str = "external";

/// Extracts the role's output from an answer and stores the step. Returns the `StepNode`; the head is not moved.
///
/// # Errors
/// `NotExtractable` with all problems of the answer, or errors of the store.
pub fn submit(
    context: &AgentContext<'_>,
    answer: AgentAnswer,
    form: AnswerForm,
    ladder: ExtractionLadder<'_, '_>,
) -> Result<NodeHash> {
    let redactor = context.redactor()?;
    let mut answer = answer;
    let extracted = extract(context, &mut answer, form, ladder, &redactor)?;
    // A value from the text can be extracted again; a submitted value, or one from feedback, must be saved itself.
    let is_given = answer.value.is_some() || extracted.by == ExtractedBy::Feedback;
    let value = is_given.then(|| extracted.value.clone());
    let stored = match store(context, &answer, extracted.clone(), &redactor) {
        // Retry with the reserved space.
        Err(error) if error.kind == ErrorKind::Io && released(context)? => {
            store(context, &answer, extracted, &redactor)
        }
        stored => stored,
    };
    stored.map_err(|error| {
        // The disk is full, the store is unreachable, or one of the nodes was replaced by another one.
        if !error.kind.may_keep_later() || keep_answered(context, &redactor.text(&answer.raw), value.as_ref()) {
            return error;
        }
        error.hint("the answer could not be saved: the next step runs the agent again, and pays again")
    })
}

/// Saves an answer, using the reserved space if the disk is full.
fn keep_in_room(context: &AgentContext<'_>, raw: &str) -> Result<()> {
    match keep(context, raw) {
        Err(error) if error.kind == ErrorKind::Io && released(context)? => keep(context, raw),
        kept => kept,
    }
}

/// Frees the space reserved for the answer. Returns whether there is an attempt with reserved space.
fn released(context: &AgentContext<'_>) -> Result<bool> {
    if context.attempt().is_none() {
        return Ok(false);
    }
    context.output_files()?.release();
    Ok(true)
}

/// Returns the output of the first rung of the ladder. Stores nothing, and calls neither the agent nor a model.
///
/// # Errors
/// `NotExtractable` with all problems of the answer.
pub fn output_of(
    context: &AgentContext<'_>,
    answer: &AgentAnswer,
    form: AnswerForm,
    rungs: &ExtractRungs,
) -> Result<NodeHash> {
    let mut climb = LadderDescent::for_context(context, form);
    let (found, _) =
        climb.first(answer, rungs).map_err(|failure| not_extractable(context, &climb.rungs, &failure, &answer.raw))?;
    output_draft(context, &found.value, &context.redactor()?).map(|draft| draft.hash())
}

/// Saves an answer that could not be stored, for the next step. Returns whether it was saved completely: the disk may be full.
fn keep_answered(context: &AgentContext<'_>, raw: &str, value: Option<&Value>) -> bool {
    // A person still has the answer, and is asked for it again.
    let is_agents = |attempt: &&RecordedAttempt| !attempt.opened.agent.is_built_in(HUMAN);
    let Some(attempt) = context.attempt().filter(is_agents) else { return true };
    let thread = context.thread();
    // A value from the tool is already saved.
    let is_kept = value
        .is_none_or(|value| submitted_value::keep(context, value).is_ok() || submitted_value::is_kept(context, value));
    // The text is useful, but if there is a value, the next step does not need the text.
    is_kept
        && (keep(context, raw).is_ok() || value.is_some())
        && recorded::answered(thread.home(), &thread.id, &attempt.opened.attempt, None).is_ok()
}

/// Like [`submit`], for a role that a child thread played. `detail` is the last step of that thread, which shows how the output was
/// obtained. From the answer, only the output is stored.
pub fn submit_child(
    context: &AgentContext<'_>,
    answer: AgentAnswer,
    form: AnswerForm,
    ladder: ExtractionLadder<'_, '_>,
    detail: NodeHash,
) -> Result<NodeHash> {
    let redactor = context.redactor()?;
    let mut answer = answer;
    let extracted = extract(context, &mut answer, form, ladder, &redactor)?;
    let mut batch = NodeBatch::default();
    let output = self::output(&mut batch, context, &extracted, &redactor)?;
    finish(context, batch, output, detail, &redactor)
}

fn extract(
    context: &AgentContext<'_>,
    answer: &mut AgentAnswer,
    form: AnswerForm,
    ladder: ExtractionLadder<'_, '_>,
    redactor: &SecretRedactor,
) -> Result<LadderResult> {
    if let Some(notice) = failure_notice::find_failure(answer) {
        return Err(failed(context, answer, notice, redactor)?);
    }
    let prompt = || context.prompt(form, context.prompt_budget()).map(|prompt| prompt.text()).unwrap_or_default();
    let mut climb = LadderDescent::for_context(context, form).to(&prompt);
    let read = climb.first(answer, &ladder.rungs);
    if let Some(asks) = question::asked(context, answer, form, &prompt, read.as_ref().map(|(found, _)| found)) {
        keep_in_room(context, &redactor.text(&answer.raw))?;
        TurnRecorder::unless_recorded(context, answer)?;
        return Err(asks);
    }
    if let Some(notice) = failure_notice::of_unread(answer).filter(|_| read.is_err()) {
        return Err(failed(context, answer, notice, redactor)?);
    }
    let (found, by) = read.or_else(|failure| {
        // Save the answer before the next call: if this process dies meanwhile, the answer is not lost.
        keep_in_room(context, &redactor.text(&answer.raw))?;
        let recorder = TurnRecorder::unless_recorded(context, answer)?;
        let said_before = said_before_end(answer).map(|said| redactor.text(said));
        let known = answer.turns.len();
        let has_cost = answer.tokens.as_ref().is_some_and(|tokens| tokens.cost.is_some());
        let rungs = ladder.rungs;
        climb.lower(answer, failure, ladder).map_err(|failure| {
            let recorded = match recorder {
                Some(recorder) => Ok((recorder, known)),
                // An agent that records its own turns lacks only those of the extraction model.
                None => TurnRecorder::resume(context).map(|recorder| (recorder, answer.turns.len() - climb.read_turns)),
            };
            if let Ok((mut recorder, known)) = recorded {
                answer.turns[known..].iter().for_each(|turn| recorder.turn(turn));
                // A sum with the extraction model's unknown cost must not replace the agent's known cost.
                recorder.total(answer.tokens.as_ref().filter(|tokens| tokens.cost.is_some() || !has_cost));
            }
            let error = not_extractable(context, &climb.rungs, &failure, &answer.raw);
            // An agent may have recorded what happened since as its text.
            if let Some(said) = said_before.filter(|said| keep_in_room(context, said).is_ok()) {
                let shown = ellipsize(&one_line(said.trim()), SHOWN_BEFORE_END).into_owned();
                let message = format!("{}. Before that it said: {shown}", error.message);
                return Error { message, ..error }.offers_last_text(context.thread().id.as_str());
            }
            match failure.is_final || climb.lacks_nodes(answer, &rungs) {
                true => error.needs_another_run(context.thread().id.as_str()),
                false => error,
            }
        })
    })?;
    Ok(LadderResult { value: found.value, extras: found.extras, by, rungs: climb.rungs })
}

/// Saves an answer that consists of a failure, and returns the failure.
fn failed(context: &AgentContext<'_>, answer: &AgentAnswer, notice: &str, redactor: &SecretRedactor) -> Result<Error> {
    keep_in_room(context, &redactor.text(&answer.raw))?;
    TurnRecorder::unless_recorded(context, answer)?;
    Ok(failure_notice::failed(&agent(context).name, notice, answer))
}

/// Saves an answer without valid output for the record of the failed attempt. A command's output is already saved, and outside an attempt
/// the caller still has the answer.
pub fn keep(context: &AgentContext<'_>, raw: &str) -> Result<()> {
    let Some(attempt) = context.attempt().filter(|attempt| !attempt.opened.is_wrapped()) else {
        return Ok(());
    };
    let thread = context.thread();
    let file = AttemptOutputFiles::paths_of_attempt(thread.home(), &thread.id, &attempt.opened.attempt).raw;
    regular::write(&file, raw.as_bytes()).path_context("write", &file)
}

fn not_extractable(
    context: &AgentContext<'_>,
    rungs: &[node::RungResult],
    failure: &ExtractionFailure,
    raw: &str,
) -> Error {
    let role = context.role_name();
    let why = match rungs {
        [] | [_] => failure.errors.join("; "),
        several => each(several),
    };
    let said = short_answer(raw, &why).map(|said| format!("; the answer reads: {said}")).unwrap_or_default();
    Error::not_extractable(format!("the answer has no valid output for role `{role}`: {why}{said}"))
}

/// The last text of an agent whose final message is empty, for example because it ended with a tool call.
fn said_before_end(answer: &AgentAnswer) -> Option<&str> {
    let is_empty = answer.raw.trim().is_empty() && answer.value.is_none();
    let mut texts = answer.turns.iter().rev().map(|turn| turn.output.as_str()).filter(|text| !text.trim().is_empty());
    texts.next().filter(|_| is_empty)
}

/// A short answer in words, such as a refusal, which explains best why the output is missing. `None` if `why` quotes it already.
fn short_answer(raw: &str, why: &str) -> Option<String> {
    /// Longest answer that is quoted, in characters.
    const MOST: usize = 200;
    let said = one_line(raw.trim());
    let is_word =
        said.contains(char::is_alphabetic) && !said.contains([' ', ':', '{', '[', '<']) && !why.contains(&said);
    ((has_prose(raw) || is_word) && said.chars().count() <= MOST).then_some(said)
}

/// Whether a text has two words in a row. A key with a value of one word, which the errors name already, is not prose.
fn has_prose(text: &str) -> bool {
    let is_word = |word: &str| word.contains(char::is_alphabetic) && !word.ends_with(':');
    text.lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.windows(2).any(|pair| is_word(pair[0]) && pair[1].contains(char::is_alphabetic) && !pair[1].contains(':'))
    })
}

/// The errors of each rung. An answer that never becomes a step has no other record of them.
fn each(rungs: &[node::RungResult]) -> String {
    let mut before: Option<&node::RungResult> = None;
    let reasons = rungs.iter().map(|rung| {
        let is_same = before.replace(rung).is_some_and(|before| before.errors == rung.errors);
        let errors = if is_same { "the same".to_owned() } else { rung.errors.join("; ") };
        format!("[{}] {errors}", rung.rung)
    });
    reasons.collect::<Vec<_>>().join("; ")
}

/// The agent's questions at this step with the replies. They are part of what was said.
fn exchanges(context: &AgentContext<'_>, redactor: &SecretRedactor) -> Result<Vec<Value>> {
    let replies = context.replies()?.into_iter().map(|QuestionReply { question, reply, by }| {
        let by = by.map(|by| redactor.text(&by));
        json!(QuestionReply { question: redactor.text(&question), reply: redactor.text(&reply), by })
    });
    Ok(replies.collect())
}

fn store(
    context: &AgentContext<'_>,
    answer: &AgentAnswer,
    extracted: LadderResult,
    redactor: &SecretRedactor,
) -> Result<NodeHash> {
    let mut batch = NodeBatch::default();
    let raw = batch.content(redactor.text(&answer.raw));
    let agent_hash =
        batch.add(redactor.draft(spending::with_reported_model(agent(context), answer.model.as_deref()).draft()));
    let output = self::output(&mut batch, context, &extracted, redactor)?;
    let turns = answer.turns.iter().map(|turn| batch.turn(turn, redactor)).collect();
    let mut attempts = context.attempt().map(|attempt| attempt.opened.earlier.clone()).unwrap_or_default();
    attempts
        .extend(context.attempt().and_then(|attempt| said(context, &mut batch, attempt, (agent_hash, raw), redactor)));
    let denied = denied_calls(answer, redactor);
    let mut extras = extracted.extras;
    if !denied.is_empty() {
        extras.insert(node::DENIED_CALLS.to_owned(), denied.into());
    }
    if let Some(by) = &answer.by {
        extras.insert(node::ANSWERED_BY.to_owned(), redactor.text(by).into());
    }
    let exchanges = exchanges(context, redactor)?;
    if !exchanges.is_empty() {
        extras.insert(node::EXCHANGES.to_owned(), exchanges.into());
    }
    let session = ReactSession {
        agent: agent_hash,
        role: context.role_name().to_owned(),
        turns,
        raw,
        attempts,
        total_tokens: answer.tokens.as_ref().and_then(TokenCounts::total),
        tokens: answer.tokens.clone(),
        duration_ms: answer.duration_ms,
        source: answer.source.clone(),
        extracted_by: extracted.by,
        session_id: answer.session_id.clone(),
        extras: (!extras.is_empty()).then_some(extras),
        extraction: extracted.rungs,
    };
    let detail = if answer.is_resumed { ResumedSession { session, resumed: true }.draft() } else { session.draft() };
    let detail = batch.add(redactor.draft(detail));
    finish(context, batch, output, detail, redactor)
}

/// The tool calls that were denied, each once. A shortened secret would not be recognized, so they are redacted here.
fn denied_calls(answer: &AgentAnswer, redactor: &SecretRedactor) -> Vec<String> {
    let calls = answer.turns.iter().flat_map(|turn| &turn.tool_calls).filter(|call| activity::is_denied(&call.result));
    activity::denied_calls(calls.map(|call| (call.name.clone(), redactor.text(&call.arguments))))
}

/// The stderr of a successful attempt, as an attempt node without an error; `None` if it is empty.
fn said(
    context: &AgentContext<'_>,
    batch: &mut NodeBatch,
    attempt: &RecordedAttempt,
    (agent, raw): (NodeHash, NodeHash),
    redactor: &SecretRedactor,
) -> Option<NodeHash> {
    let opened = &attempt.opened;
    let files = AttemptOutputFiles::paths_of_attempt(context.thread().home(), &opened.thread, &opened.attempt);
    // Don't lose the answer because stderr can't be read.
    let said = agent_process::read_capped(&files.err, opened.output_cap.min(STDERR_CAP)).unwrap_or_default();
    if said.trim().is_empty() {
        return None;
    }
    let exit_code = (opened.is_wrapped() && opened.agent.exit_codes.is_empty()).then_some(0);
    let stderr = batch.content(redactor.text(&said));
    let role = context.role_name().to_owned();
    Some(batch.add(node::AttemptNode { role, agent, raw, stderr, exit_code, error: None }.draft()))
}

/// Stores the batch with the `StepNode` that links it to the thread, and records the result.
fn finish(
    context: &AgentContext<'_>,
    mut batch: NodeBatch,
    output: NodeHash,
    detail: NodeHash,
    redactor: &SecretRedactor,
) -> Result<NodeHash> {
    let names = AgentName::from(&agent(context));
    let node = context.step_node(output, detail, &redactor.text(&names.agent));
    let step = batch.add(node.draft());
    let home = context.thread().home();
    // Nothing references the step until the record does, so `uwf gc` must wait.
    let _hold = home.hold_nodes()?;
    home.store().put_all(&batch.drafts)?;
    if let Some(attempt) = context.attempt() {
        let opened = &attempt.opened;
        let digest = opened.digest.map(|before| digest::of_step(home.store(), before, step, &node)).transpose()?;
        recorded::finished(home, &opened.thread, &opened.attempt, step, digest)?;
    }
    Ok(step)
}

fn agent(context: &AgentContext<'_>) -> node::AgentNode {
    context.attempt().map_or_else(unnamed, |attempt| attempt.opened.agent.payload())
}

fn unnamed() -> node::AgentNode {
    node::AgentNode {
        name: UNNAMED_AGENT.to_owned(),
        command: String::new(),
        args: Vec::new(),
        config: serde_json::Map::new(),
        version: None,
        model: None,
    }
}

/// Adds the role's output to the batch.
fn output(
    batch: &mut NodeBatch,
    context: &AgentContext<'_>,
    extracted: &LadderResult,
    redactor: &SecretRedactor,
) -> Result<NodeHash> {
    output_draft(context, &extracted.value, redactor).map(|draft| batch.add(draft))
}

fn output_draft(context: &AgentContext<'_>, value: &Value, redactor: &SecretRedactor) -> Result<NodeDraft> {
    NodeDraft::new(context.role().meta, redactor.value(value))
        .map_err(|error| Error::not_extractable(format!("the output cannot be stored: {error}")))
}
