//! Answers to an agent's requests for permission.

use agent_kit::mcp::{CAS_GET, CONTEXT, SERVER_NAME, SUBMIT};
use agent_kit::{PERMISSION_NEEDED, shown_option};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uwf_core::text::ellipsize;

/// Characters shown of a request.
const MAX_SHOWN: usize = 300;

/// Beginning of the text below the request in a [`question`].
const HOW_TO_REPLY: &str = "Reply with the number or the name of an option.";

/// Kinds of options in the protocol, as a reply names them. Only the agent's request says which option has a kind.
pub const KINDS: [&str; 4] = ["allow once", "allow always", "reject once", "reject always"];

/// First words of the names of options that deny.
const REFUSALS: [&str; 7] = ["reject", "deny", "no", "not", "never", "cancel", "refuse"];

/// Kinds of calls in the protocol.
const CALL_KINDS: [&str; 10] =
    ["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"];

/// Replies that allow a request although no option has this name.
pub const ALLOWING: [&str; 6] = ["yes", "y", "allow", "ok", "approve", "approved"];

/// How requests for permission are answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PermissionPolicy {
    /// Yes, this once.
    #[default]
    Allow,
    /// Yes, except to commands.
    Edits,
    /// No.
    Deny,
    /// By a person: the step ends with a question, and the thread waits for the reply.
    Ask,
}

/// The answer to one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PermissionDecision {
    /// Pick the option with this id.
    Pick(String),
    /// None of the offered options matches the policy.
    NoneFits,
    /// A person must answer this.
    Ask(String),
}

/// Decides on the parameters of a `session/request_permission`. Tools of uwf's own server are always allowed.
pub fn decide(policy: PermissionPolicy, params: &Value) -> PermissionDecision {
    let policy = if is_own_tool(params) { PermissionPolicy::Allow } else { policy };
    let kinds = match policy {
        PermissionPolicy::Allow => ["allow_once", "allow_always"],
        PermissionPolicy::Edits if runs_nothing(params) => ["allow_once", "allow_always"],
        PermissionPolicy::Edits | PermissionPolicy::Deny => ["reject_once", "reject_always"],
        PermissionPolicy::Ask => return PermissionDecision::Ask(what(params)),
    };
    kinds.iter().find_map(|kind| option(params, kind)).map_or(PermissionDecision::NoneFits, PermissionDecision::Pick)
}

impl PermissionDecision {
    /// The result of the request. If no option matches, the request is cancelled, which neither grants nor denies it.
    pub fn outcome(&self) -> Value {
        match self {
            PermissionDecision::Pick(option) => json!({ "outcome": { "outcome": "selected", "optionId": option } }),
            PermissionDecision::NoneFits | PermissionDecision::Ask(_) => {
                json!({ "outcome": { "outcome": "cancelled" } })
            }
        }
    }
}

/// The question to a person about a request, with the options that the agent offers.
pub(super) fn question(params: &Value) -> String {
    let options: Vec<String> =
        names(params).into_iter().enumerate().map(|(at, name)| format!("{}. {name}", at + 1)).collect();
    format!(
        "{PERMISSION_NEEDED}{}\n\n{HOW_TO_REPLY} `yes`, `y`, `ok` and `allow` allow it, once if possible. Any other \
         reply denies the request, and the agent gets your text:\n\n{}",
        what(params),
        options.join("\n")
    )
}

/// A question without its options and without the way to name them, for messages that have a button for each option. Other questions than
/// for permission stay whole.
#[must_use]
pub fn request_without_options(question: &str) -> &str {
    question.split_once(&format!("\n\n{HOW_TO_REPLY}")).map_or(question, |(request, _)| request)
}

/// The names of the options that the agent offers.
pub(super) fn names(params: &Value) -> Vec<&str> {
    options(params).iter().filter_map(|option| option.get("name")?.as_str()).map(str::trim).collect()
}

/// The request in a [`question`]; `None` for any other question.
pub(super) fn request_in_question<'q>(agent: &str, question: &'q str) -> Option<&'q str> {
    let request = question.strip_prefix(PERMISSION_NEEDED);
    // The earlier form, which threads that wait may have.
    request.or_else(|| question.strip_prefix(&format!("{agent} asks for permission: ")))?.lines().next()
}

/// A reply, or the name of an option, as they are compared.
#[must_use]
pub fn normal(text: &str) -> String {
    text.trim().trim_end_matches(['.', '!']).replace('_', " ").to_lowercase()
}

/// The position of the option that a reply names, by its name or by its number from 1. A long name is cut where it is shown.
pub fn named_option<S: AsRef<str>>(names: &[S], reply: &str) -> Option<usize> {
    let wanted = normal(reply);
    let is_wanted = |name: &S| [name.as_ref(), &shown_option(name.as_ref())].iter().any(|name| normal(name) == wanted);
    let numbered = || wanted.parse::<usize>().ok()?.checked_sub(1).filter(|at| *at < names.len());
    names.iter().position(is_wanted).or_else(numbered)
}

/// The decision by a person's reply to the [`question`]: the option that it names, by its number, name or kind. Any other reply denies.
pub(super) fn decide_by_reply(params: &Value, reply: &str) -> PermissionDecision {
    let wanted = normal(reply);
    let text = |option: &Value, key: &str| option.get(key).and_then(Value::as_str).map(normal);
    // The numbers are positions among the options that have names, as the question lists them.
    let mut listed = options(params).iter().filter(|option| option.get("name").is_some_and(Value::is_string));
    let by_name = named_option(&names(params), reply).and_then(|at| listed.nth(at));
    let by_kind = || options(params).iter().find(|option| text(option, "kind").as_ref() == Some(&wanted));
    let named = by_name.or_else(by_kind);
    let named = named.and_then(|option| option.get("optionId")?.as_str());
    match named {
        Some(option) => PermissionDecision::Pick(option.to_owned()),
        None if ALLOWING.contains(&wanted.as_str()) => decide(PermissionPolicy::Allow, params),
        None => decide(PermissionPolicy::Deny, params),
    }
}

/// Whether a reply to a [`question`] denies its request, for a request that the agent does not repeat: only a repeated one says of which
/// kind an option is, so an option counts as a denial by its name.
pub(super) fn is_denial(question: &str, reply: &str) -> bool {
    let listed = question.split_once(HOW_TO_REPLY).map_or("", |(_, below)| below);
    let names: Vec<&str> = listed
        .lines()
        .filter_map(|line| line.split_once(". ").filter(|(number, _)| number.parse::<usize>().is_ok()))
        .map(|(_, name)| name)
        .collect();
    let wanted = normal(reply);
    match named_option(&names, reply) {
        Some(at) => {
            let name = normal(names[at]);
            let first = name.split(|symbol: char| !symbol.is_alphanumeric()).next().unwrap_or_default();
            REFUSALS.contains(&first)
        }
        None => !ALLOWING.contains(&wanted.as_str()) && !KINDS[..2].contains(&wanted.as_str()),
    }
}

/// The title of the call in a request that [`what`] has put into one line.
pub(super) fn title(request: &str) -> &str {
    let ends = CALL_KINDS.iter().filter_map(|kind| request.find(&format!(" ({kind})")));
    &request[..ends.min().unwrap_or(request.len())]
}

/// Whether a decision also holds for later requests: an option of the kind `allow_always` or `reject_always`.
pub(super) fn is_lasting(decision: &PermissionDecision, params: &Value) -> bool {
    let PermissionDecision::Pick(picked) = decision else { return false };
    ["allow_always", "reject_always"].iter().any(|kind| option(params, kind).as_ref() == Some(picked))
}

/// Whether a decision denies the request. A cancelled request counts, because its call is not made.
pub(super) fn denies(decision: &PermissionDecision, params: &Value) -> bool {
    match decision {
        PermissionDecision::NoneFits | PermissionDecision::Ask(_) => true,
        PermissionDecision::Pick(picked) => {
            ["reject_once", "reject_always"].iter().any(|kind| option(params, kind).as_ref() == Some(picked))
        }
    }
}

/// The request in one line.
pub fn what(params: &Value) -> String {
    let call = params.get("toolCall").unwrap_or(&Value::Null);
    let title = call.get("title").and_then(Value::as_str).unwrap_or("something it does not name");
    let kind = call.get("kind").and_then(Value::as_str).map(|kind| format!(" ({kind})")).unwrap_or_default();
    let input = match call.get("rawInput") {
        None | Some(Value::Null) => String::new(),
        Some(input) => format!(": {input}"),
    };
    let line = format!("{title}{kind}{input}").replace(['\n', '\r'], " ");
    ellipsize(&line, MAX_SHOWN).into_owned()
}

fn options(params: &Value) -> &[Value] {
    params.get("options").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn option(params: &Value, kind: &str) -> Option<String> {
    let fitting = options(params).iter().find(|option| option.get("kind").and_then(Value::as_str) == Some(kind))?;
    Some(fitting.get("optionId")?.as_str()?.to_owned())
}

/// Whether the request is of a kind that runs no command. A request of an unknown kind may run one.
fn runs_nothing(params: &Value) -> bool {
    let kind = params.pointer("/toolCall/kind").and_then(Value::as_str);
    kind.is_some_and(|kind| ["read", "edit", "delete", "move", "search", "think", "fetch"].contains(&kind))
}

/// Whether the request concerns a tool of our own server, under any name that agents give such tools. The model can write into the title
/// and the input, so neither is trusted for a call of a kind that acts on the machine.
fn is_own_tool(params: &Value) -> bool {
    let Some(call) = params.get("toolCall") else { return false };
    let text = |pointer: &str| call.pointer(pointer).and_then(Value::as_str);
    if !matches!(text("/kind"), None | Some("other")) {
        return false;
    }
    let is_codex = text("/rawInput/request/_meta/codex_approval_kind") == Some("mcp_tool_call")
        && text("/title") == Some("Approve MCP tool call")
        && text("/rawInput/server_name") == Some(SERVER_NAME);
    is_codex || [text("/_meta/claudeCode/toolName"), text("/title")].into_iter().flatten().any(is_own_name)
}

fn is_own_name(name: &str) -> bool {
    [SUBMIT, CONTEXT, CAS_GET].iter().any(|tool| {
        let forms = [
            format!("mcp__{SERVER_NAME}__{tool}"),
            format!("mcp_{SERVER_NAME}_{tool}"),
            format!("{SERVER_NAME}_{tool}"),
            format!("{SERVER_NAME}.{tool}"),
            format!("{SERVER_NAME}/{tool}"),
            format!("{tool} ({SERVER_NAME} MCP Server)"),
        ];
        forms.iter().any(|form| form == name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn denial_is_seen_without_the_request() {
        let option = |name: &str, kind: &str| json!({ "optionId": kind, "name": name, "kind": kind });
        let params = json!({
            "toolCall": { "title": "rm -rf (old) target", "kind": "execute", "rawInput": { "command": "rm (edit)" } },
            "options": [option("Always Allow", "allow_always"), option("Not now", "reject_once"), option("No, stop", "reject_always")],
        });
        let question = question(&params);
        for (reply, is_denied) in [
            ("1", false),
            ("always allow", false),
            ("yes", false),
            ("allow once", false),
            ("2", true),
            ("3", true),
            ("No, stop", true),
            ("always", true),
            ("Use git clean.", true),
            ("There was no reply within 4s.", true),
        ] {
            assert_eq!(is_denial(&question, reply), is_denied, "{reply}");
        }
        assert_eq!(title(request_in_question("a", &question).unwrap()), "rm -rf (old) target");
        assert_eq!(title("something it does not name"), "something it does not name");
    }

    #[test]
    fn reply_is_number_name_or_denial() {
        let option =
            |kind: &str| json!({ "optionId": format!("o-{kind}"), "name": kind.replace('_', " "), "kind": kind });
        let params = json!({ "options": [option("allow_always"), option("allow_once"), option("reject_once")] });
        let picks = |reply: &str| match decide_by_reply(&params, reply) {
            PermissionDecision::Pick(picked) => picked,
            other => panic!("{other:?}"),
        };
        for (reply, kind) in [
            ("1", "allow_always"),
            (" 2. ", "allow_once"),
            ("3", "reject_once"),
            ("Allow Always", "allow_always"),
            ("ok", "allow_once"),
            ("Yes.", "allow_once"),
            ("4", "reject_once"),
            ("0", "reject_once"),
            ("reject_once", "reject_once"),
            ("use git clean", "reject_once"),
        ] {
            assert_eq!(picks(reply), format!("o-{kind}"), "{reply}");
        }
        let long = format!("Always allow {}", "git ".repeat(50));
        let params = json!({ "options": [
            { "optionId": "one", "name": "Once", "kind": "allow_once" },
            { "optionId": "long", "name": long, "kind": "allow_always" },
        ] });
        assert_eq!(decide_by_reply(&params, &shown_option(&long)), PermissionDecision::Pick("long".to_owned()));
        let params = json!({ "options": [option("allow_always"), option("allow_once"), option("reject_once")] });
        assert!(question(&params).ends_with(":\n\n1. allow always\n2. allow once\n3. reject once"));
    }
}
