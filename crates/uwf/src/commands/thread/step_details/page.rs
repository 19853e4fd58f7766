//! The details of a step as text for people: the output, the duration and the cost, then all messages, each once.

use std::time::Duration;

use serde_json::Value;
use uwf_core::money::dollars;
use uwf_core::node::{ASKED, NodeKind};
use uwf_core::number;
use uwf_core::text::one_line;

use crate::style;
use crate::table;

/// A node as text, with every referenced node in its place.
pub(super) fn page(node: &Value) -> String {
    let mut page = StepDetailsWriter::default();
    let title = |kind: NodeKind| node["type"] == kind.title();
    if title(NodeKind::StepNode) {
        page.step(node);
    } else if title(NodeKind::ReactSession) {
        page.title("detail", node, &[text(node, "role")]);
        page.stored(node);
        page.session(node);
    } else if title(NodeKind::Attempt) {
        page.title("attempt", node, &[text(node, "role")]);
        page.stored(node);
        page.attempt(node, 0);
    } else {
        page.text = yaml_tree::write::block(node);
    }
    page.text
}

#[derive(Default)]
struct StepDetailsWriter {
    text: String,
}

impl StepDetailsWriter {
    fn title(&mut self, what: &str, node: &Value, words: &[Option<&str>]) {
        let words: Vec<String> = words.iter().flatten().map(|word| one_line(word)).collect();
        self.text.push_str(&format!(
            "{} {}\n",
            style::bold(&words.join(" by ")),
            style::dim(&format!("({what} {})", hash(node)))
        ));
    }

    /// Adds a line with a value, if it is known.
    fn fact(&mut self, name: &str, value: Option<String>) {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            self.text.push_str(&format!("{:<9} {value}\n", format!("{name}:")));
        }
    }

    fn stored(&mut self, node: &Value) {
        self.fact("stored", node["timestamp"].as_u64().map(|time| format!("{} UTC", table::time(time))));
    }

    /// Adds a heading, at the margin or nested below another.
    fn heading(&mut self, depth: usize, words: &str) {
        self.text.push_str(&format!("\n{}{}\n", indent(depth), style::bold(words)));
    }

    /// Adds indented text.
    fn block(&mut self, depth: usize, text: &str) {
        for line in text.trim_end().trim_start_matches('\n').lines() {
            let line = format!("{}{}", indent(depth), line);
            self.text.push_str(line.trim_end());
            self.text.push('\n');
        }
    }

    /// Adds a referenced text, or says why it is missing.
    fn referred(&mut self, depth: usize, value: &Value) {
        match value {
            Value::String(text) if text.trim().is_empty() => self.block(depth, &style::dim("(empty)")),
            Value::String(text) => self.block(depth, text),
            other => match absent(other) {
                Some(why) => self.block(depth, &style::dim(&why)),
                None => self.block(depth, &yaml_tree::write::block(other)),
            },
        }
    }

    fn step(&mut self, step: &Value) {
        self.title("step", step, &[text(step, "role"), text(step, "agent")]);
        self.stored(step);
        let detail = &step["detail"];
        let is_session = detail["type"] == NodeKind::ReactSession.title();
        if is_session {
            self.facts(detail);
        }
        self.fact("before", text(step, "prev").map(str::to_owned));
        self.heading(0, "Output");
        self.referred(1, &step["output"]);
        if is_session {
            self.said(detail);
        } else if let Some(child) = detail.get("childThread") {
            self.heading(0, "Done by a child thread");
            self.block(1, &yaml_tree::write::block(child));
            self.block(1, text(detail, "hint").unwrap_or_default());
        } else {
            self.heading(0, "Detail");
            self.referred(1, detail);
        }
    }

    fn session(&mut self, session: &Value) {
        self.facts(session);
        self.said(session);
    }

    fn facts(&mut self, session: &Value) {
        self.fact("detail", text(session, "hash").map(str::to_owned));
        self.fact("took", session["durationMs"].as_u64().map(took));
        self.fact("tokens", sum(session));
        let by = text(session, "extractedBy").map(|by| format!("output by {by}"));
        let id = text(session, "sessionId").map(|id| format!("session {}", one_line(id)));
        let source = text(session, "source").map(|source| format!("trace from {}", one_line(source)));
        self.fact("source", Some(source.into_iter().chain(by).chain(id).collect::<Vec<_>>().join(", ")));
        self.fact("agent", agent(&session["agent"]));
    }

    /// Adds all messages of a session.
    fn said(&mut self, session: &Value) {
        if let Some(extras) = session.get("extras") {
            self.heading(0, "Beside the output");
            self.block(1, &yaml_tree::write::block(extras));
        }
        self.extraction(list(session, "extraction"));
        self.heading(0, "Answer");
        self.referred(1, &session["raw"]);
        self.turns(0, list(session, "turns"));
        for attempt in list(session, "attempts") {
            let error = attempt.get("error").filter(|error| !error.is_null());
            if error.is_some() || attempt.get("stderr").is_none() {
                let has_asked = error.and_then(Value::as_str).is_some_and(|error| error.starts_with(ASKED));
                let kind = if has_asked { "Attempt with a question," } else { "Failed attempt" };
                self.heading(0, &format!("{kind} {}", hash(attempt)));
                self.attempt(attempt, 1);
            } else {
                self.heading(0, "On stderr");
                self.referred(1, &attempt["stderr"]);
            }
        }
    }

    /// Adds how the output was extracted, if a way of extracting it failed or fixed something.
    fn extraction(&mut self, rungs: &[Value]) {
        let has_notes = |rung: &&Value| !list(rung, "errors").is_empty() || !list(rung, "fixes").is_empty();
        if !rungs.iter().any(|rung| has_notes(&rung)) {
            return;
        }
        self.heading(0, "How the output was found");
        for rung in rungs {
            let said = ["errors", "fixes"].into_iter().flat_map(|key| list(rung, key));
            let said: Vec<&str> = said.filter_map(Value::as_str).collect();
            let said = if said.is_empty() { "found".to_owned() } else { said.join("; ") };
            self.block(1, &format!("{}: {said}", text(rung, "rung").unwrap_or_default()));
        }
    }

    fn turns(&mut self, depth: usize, turns: &[Value]) {
        for (index, turn) in turns.iter().enumerate() {
            if let Some(why) = absent(turn) {
                self.heading(depth, &format!("Turn {}", index + 1));
                self.block(depth + 1, &style::dim(&why));
                continue;
            }
            let about: Vec<String> =
                turn["latencyMs"].as_u64().map(took).into_iter().chain(tokens(&turn["tokens"])).collect();
            let about = if about.is_empty() { String::new() } else { format!(" ({})", about.join(", ")) };
            self.heading(depth, &format!("Turn {} of {}{about}", index + 1, turns.len()));
            self.block(depth + 1, &style::dim("asked:"));
            self.input(depth + 2, list(turn, "input"));
            for call in list(turn, "toolCalls") {
                self.call(depth + 1, call);
            }
            self.block(depth + 1, &style::dim("answered:"));
            self.referred(depth + 2, &turn["output"]);
        }
    }

    /// Adds the input texts of a turn. Texts that were shown before are only counted.
    fn input(&mut self, depth: usize, texts: &[Value]) {
        let (above, new): (Vec<&Value>, Vec<&Value>) = texts.iter().partition(|text| text.get("toldAbove").is_some());
        if !above.is_empty() {
            self.block(depth, &style::dim(&format!("({} from above)", table::count(above.len(), "text"))));
        }
        for (index, text) in new.into_iter().enumerate() {
            if index > 0 {
                self.text.push('\n');
            }
            self.referred(depth, text);
        }
    }

    fn call(&mut self, depth: usize, call: &Value) {
        if let Some(why) = absent(call) {
            return self.block(depth, &style::dim(&why));
        }
        let time = call["durationMs"].as_u64().map(took).unwrap_or_default();
        let name = one_line(text(call, "name").unwrap_or_default());
        self.block(depth, &format!("{} {}", style::bold(&name), style::dim(&format!("({time})"))));
        self.referred(depth + 1, &call["arguments"]);
        self.block(depth, &style::dim("gave:"));
        self.referred(depth + 1, &call["result"]);
    }

    fn attempt(&mut self, attempt: &Value, depth: usize) {
        if let Some(why) = absent(attempt) {
            return self.block(depth, &style::dim(&why));
        }
        let by = agent(&attempt["agent"]).map(|agent| format!("by {agent}"));
        let code = attempt["exitCode"].as_i64().map(|code| format!("exit code {code}"));
        let about: Vec<String> = by.into_iter().chain(code).chain(sum(attempt)).collect();
        self.block(depth, &about.join(", "));
        if let Some(error) = text(attempt, "error") {
            self.block(depth, &style::red(error));
        }
        self.turns(depth, list(attempt, "turns"));
        for (key, words) in [("raw", "printed:"), ("stderr", "on stderr:")] {
            self.block(depth, &style::dim(words));
            self.referred(depth + 1, &attempt[key]);
        }
    }
}

fn indent(depth: usize) -> String {
    "  ".repeat(depth)
}

fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key)?.as_str()
}

fn hash(node: &Value) -> &str {
    text(node, "hash").unwrap_or_default()
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Why a node is not shown in its place.
fn absent(value: &Value) -> Option<String> {
    let hash = |key| text(value, key);
    if hash("toldAbove").is_some() {
        return Some("(as above)".to_owned());
    }
    if let Some(hash) = hash("leftOut") {
        return Some(format!("(left out: uwf thread step-details {hash})"));
    }
    let hash = hash("unreadable")?;
    Some(format!("({hash} is not readable: {})", text(value, "error").unwrap_or_default()))
}

fn took(milliseconds: u64) -> String {
    table::duration(Duration::from_millis(milliseconds))
}

/// An agent with its command.
fn agent(agent: &Value) -> Option<String> {
    let name = one_line(text(agent, "name")?);
    let args = list(agent, "args").iter().filter_map(Value::as_str);
    let words: Vec<&str> = text(agent, "command").into_iter().chain(args).collect();
    let command = shlex::try_join(words.iter().copied()).unwrap_or_else(|_| words.join(" "));
    let model = text(agent, "model").map(|model| format!(", model {}", one_line(model))).unwrap_or_default();
    let is_same = command.is_empty() || command == name;
    Some(if is_same { format!("{name}{model}") } else { format!("{name} ({}){model}", one_line(&command)) })
}

/// The tokens of a whole: the reported total, or else the sum of its turns.
fn sum(whole: &Value) -> Option<String> {
    if let Some(counted) = tokens(&whole["tokens"]) {
        return Some(counted);
    }
    let turns = list(whole, "turns");
    let counted: Vec<&Value> = turns.iter().map(|turn| &turn["tokens"]).filter(|tokens| tokens.is_object()).collect();
    let of = |key: &str| counted.iter().filter_map(|tokens| tokens[key].as_u64()).fold(0, number::sum);
    if counted.is_empty() {
        return None;
    }
    let least = if counted.len() < turns.len() { "at least " } else { "" };
    Some(format!("{least}{} in, {} out", of("input"), of("output")))
}

fn tokens(tokens: &Value) -> Option<String> {
    let counts = [("input", "in"), ("output", "out"), ("cached", "cached"), ("reasoning", "reasoning")];
    let counts = counts.into_iter().filter_map(|(key, word)| Some(format!("{} {word}", tokens.get(key)?.as_u64()?)));
    let cost = tokens.get("cost").and_then(Value::as_f64).map(dollars);
    let parts: Vec<String> = counts.chain(cost).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
