//! Prompt caches of providers: all prompts of a role begin with the same bytes, so that later visits read them from the cache.

use serde_json::{Value, json};
use uwf_testing::TestHome;
use uwf_testing::llm_server::{LlmScript, LlmServer, LlmServerRequest, ScriptedAnswer, ScriptedUsage};

use crate::home;

/// Bytes that count as one token.
const TOKEN: usize = 4;

/// The prefixes that a provider has in its cache.
#[derive(Default)]
struct PrefixCache(Vec<String>);

impl PrefixCache {
    /// OpenAI caches by itself: every request reads the longest prefix that it shares with an earlier one.
    fn shared_prefix(&mut self, request: &LlmServerRequest) -> ScriptedUsage {
        let sent = texts(&request.body["messages"]).concat();
        let shared = |known: &String| known.bytes().zip(sent.bytes()).take_while(|(a, b)| a == b).count();
        let read = self.0.iter().map(shared).max().unwrap_or(0);
        self.0.push(sent.clone());
        usage(sent.len(), read)
    }

    /// Anthropic caches up to each block with `cache_control`, and reads the longest of these prefixes.
    fn marked_prefix(&mut self, request: &LlmServerRequest) -> ScriptedUsage {
        let mut sent = String::new();
        let (mut read, mut marked) = (0, Vec::new());
        for message in
            [&json!({ "content": request.body["system"] })].into_iter().chain(items(&request.body["messages"]))
        {
            for block in items(&message["content"]) {
                sent.push_str(block["text"].as_str().unwrap());
                read = if self.0.contains(&sent) { sent.len() } else { read };
                marked.extend((block["cache_control"] == json!({ "type": "ephemeral" })).then(|| sent.clone()));
            }
        }
        assert!(marked.len() <= 4, "Anthropic refuses a fifth mark");
        self.0.extend(marked);
        usage(sent.len(), read)
    }
}

fn items(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

fn texts(messages: &Value) -> Vec<&str> {
    items(messages).iter().map(|message| message["content"].as_str().unwrap()).collect()
}

fn usage(sent: usize, read: usize) -> ScriptedUsage {
    ScriptedUsage { input: (sent / TOKEN) as u64, cached: Some((read / TOKEN) as u64), ..ScriptedUsage::default() }
}

/// A thread of three visits of a role, with a provider of this kind that caches.
fn three_visits(kind: &str, cache: fn(&mut PrefixCache, &LlmServerRequest) -> ScriptedUsage) -> (TestHome, String) {
    let (mut known, mut visits) = (PrefixCache::default(), 0);
    let server = LlmServer::start(LlmScript::deciding(move |request| {
        visits += 1;
        let answer = format!("---\nn: {visits}\n---\n{}", "A line about the sheep that were counted.\n".repeat(10));
        ScriptedAnswer::text(answer).usage(cache(&mut known, request))
    }));
    let home = home();
    let url = if kind == "anthropic" { server.origin() } else { server.url() };
    home.config(&format!(
        "providers:\n  p: {{ baseUrl: \"{url}\", kind: {kind} }}\nmodels:\n  m: {{ provider: p, name: scripted-model }}\n\
         agents:\n  l: {{ command: uwf-llm, model: m }}\ndefaultAgent: l\nextract: {{ llm: 0 }}\n"
    ));
    let thread = home.start_counting(3, "Count the sheep.");
    for _ in 0..3 {
        home.json(&["thread", "step", &thread]);
    }
    (home, thread)
}

/// For each visit, the tokens of the prompt and those from the cache.
fn visits(home: &TestHome, thread: &str) -> Vec<(u64, u64)> {
    let steps = home.json(&["thread", "steps", thread]);
    let steps = steps.as_array().or_else(|| steps["steps"].as_array()).unwrap().clone();
    let tokens = |step: &Value| {
        let hash = step["hash"].as_str().or_else(|| step["step"].as_str())?.to_owned();
        let tokens = home.json(&["thread", "step-details", &hash, "--format", "json"])["detail"]["tokens"].take();
        Some((tokens["input"].as_u64()?, tokens["cached"].as_u64()?))
    };
    steps.iter().filter_map(tokens).collect()
}

#[test]
fn three_visits_read_shared_prefix_from_cache() {
    let (home, thread) = three_visits("openai", PrefixCache::shared_prefix);
    assert_eq!(visits(&home, &thread), [(291, 0), (460, 271), (590, 402)]);
}

#[test]
fn three_visits_read_marked_prefix_from_cache() {
    let (home, thread) = three_visits("anthropic", PrefixCache::marked_prefix);
    assert_eq!(visits(&home, &thread), [(291, 0), (460, 270), (590, 401)]);
}
