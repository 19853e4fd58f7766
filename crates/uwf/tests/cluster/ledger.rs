//! The runs that the agents themselves recorded as paid for. Each of their lines is on disk before they continue.

use std::path::{Path, PathBuf};

use json_cas::NodeHash;

/// An agent that plays all roles of `develop`. First it prints the beginning of its answer: its attempt. So one that is killed has a
/// partial answer, and a step says who was paid for it. Then it notes that it was paid, with the time since the machine was started,
/// which no clock changes, and works.
pub(crate) const AGENT: &str = r#"#!/bin/sh
prompt=$(cat)
record=$UNCAGED_WORKFLOW_STORAGE_ROOT/threads/$UWF_THREAD.jsonl
head=$(grep '"event":"opened"' "$record" | grep "$UWF_ATTEMPT" | sed -n 's/.*"expectedHead":"\([^"]*\)".*/\1/p' | tail -n 1)
note() {
    read -r now _ < /proc/uptime
    printf '%s\n' "$1 $now $UWF_MACHINE $UWF_ATTEMPT $UWF_THREAD $UWF_ROLE $head" > "$HOME/line.$UWF_ATTEMPT"
    dd if="$HOME/line.$UWF_ATTEMPT" of="$LEDGER" oflag=append conv=notrunc,fsync status=none
}
# What a prompt says, by a pattern.
said() { printf '%s' "$prompt" | grep -q "$1"; }

printf '{"attempt": "%s", ' "$UWF_ATTEMPT"
note paid || exit 1
number=$(printf '%s' "$UWF_ATTEMPT" | cksum | cut -d ' ' -f 1)
sleep "$((AGENT_SECONDS + number % AGENT_SPREAD))"
case $UWF_ROLE in
planner)
    phases=$(printf '%s' "$prompt" | sed -n 's/.*Build \([0-9]\) phases.*/\1/p' | head -n 1)
    plan=
    for phase in $(seq "$phases"); do
        plan="$plan${plan:+, }{\"id\": \"phase-$phase\", \"title\": \"Phase $phase\", \"doneWhen\": \"it is built\"}"
    done
    echo "\"status\": \"planned\", \"phases\": [$plan]}"
    ;;
coder)
    phase=1
    while said "built phase-$phase\b"; do phase=$((phase + 1)); done
    echo "\"phase\": \"phase-$phase\", \"status\": \"done\", \"summary\": \"built phase-$phase\"}"
    ;;
reviewer)
    if said 'Review twice' && ! said 'look again'; then
        echo '"status": "changes", "changes": ["look again"]}'
    else
        echo '"status": "approved", "changes": []}'
    fi
    ;;
tester) echo '"status": "passed", "failures": []}' ;;
committer) echo '"commit": "0123456789abcdef", "message": "all of it"}' ;;
esac
note answered
"#;

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// An agent was paid, and begins to work.
    Paid,
    /// It has printed its whole answer.
    Answered,
}

/// A line of the ledger.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) event: Event,
    /// Seconds since the machine was started.
    pub(crate) at: f64,
    pub(crate) machine: String,
    pub(crate) attempt: String,
    pub(crate) thread: String,
    /// The head that its step is to follow.
    pub(crate) head: NodeHash,
}

impl Entry {
    /// A last line that its writer was killed over is none.
    fn parse(line: &str) -> Option<Entry> {
        let words: Vec<&str> = line.split(' ').collect();
        let [event, at, machine, attempt, thread, _role, head] = words[..] else { return None };
        let event = match event {
            "paid" => Event::Paid,
            "answered" => Event::Answered,
            _ => return None,
        };
        let (at, head) = (at.parse().ok()?, head.parse().ok()?);
        let [machine, attempt, thread] = [machine, attempt, thread].map(str::to_owned);
        Some(Entry { event, at, machine, attempt, thread, head })
    }
}

/// The ledger, which no disturbance reaches.
#[derive(Debug, Clone)]
pub(crate) struct Ledger(PathBuf);

impl Ledger {
    pub(crate) fn in_dir(dir: &Path) -> Ledger {
        Ledger(dir.join("ledger"))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn entries(&self) -> Vec<Entry> {
        let text = std::fs::read_to_string(&self.0).unwrap_or_default();
        text.lines().filter_map(Entry::parse).collect()
    }
}

/// Seconds since the machine was started, as agents see them.
pub(crate) fn now() -> f64 {
    let uptime = std::fs::read_to_string("/proc/uptime").unwrap();
    uptime.split(' ').next().unwrap().parse().unwrap()
}
