//! Prompt caches of providers: all prompts of a role begin with the same bytes, so that later visits read them from the cache.

use serde_json::{Value, json};
use uwf_testing::llm_server::{LlmScript, LlmServer, LlmServerRequest, ScriptedAnswer, ScriptedUsage};
use uwf_testing::{TestHome, text};

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

/// Each visit of `uwf-react` makes two requests: one in which the model calls a tool, and one with the tool's result.
#[test]
fn three_visits_with_tools_read_more_each_time() {
    let (mut sent, mut requests): (Vec<String>, usize) = (Vec::new(), 0);
    let server = LlmServer::start(LlmScript::deciding(move |request| {
        requests += 1;
        // Providers cache tools and messages with their roles and calls, so compare all of them.
        let prompt = format!("{}{}", request.body["tools"], request.body["messages"]);
        let shared = |known: &String| known.bytes().zip(prompt.bytes()).take_while(|(a, b)| a == b).count();
        let read = sent.iter().map(shared).max().unwrap_or(0);
        let used = usage(prompt.len(), read);
        sent.push(prompt);
        let visit = requests.div_ceil(2);
        match requests % 2 {
            1 => ScriptedAnswer::text("I look at the sheep.").and_call("read_file", json!({ "path": "sheep.txt" })),
            _ => ScriptedAnswer::text("Counted.").and_call("submit", json!({ "n": visit })),
        }
        .usage(used)
    }));
    let home = home();
    home.file("sheep.txt", &"A sheep that looks like the one before.\n".repeat(20));
    home.config(&format!(
        "providers:\n  p: {{ baseUrl: \"{}\" }}\nmodels:\n  m: {{ provider: p, name: scripted-model }}\n\
         agents:\n  r: {{ command: uwf-react, model: m }}\ndefaultAgent: r\nextract: {{ llm: 0 }}\n",
        server.url()
    ));
    let thread = home.start_counting(3, "Count the sheep.");
    let mut totals = Vec::new();
    for _ in 0..3 {
        home.json(&["thread", "step", &thread]);
        let tokens = home.json(&["thread", "cost", &thread])["total"]["tokens"].take();
        totals.push((tokens["input"].as_u64().unwrap(), tokens["cached"].as_u64().unwrap()));
    }
    let of_steps = visits(&home, &thread);
    assert_eq!(of_steps.len(), 3);
    let mut sum = (0, 0);
    for (step, total) in of_steps.iter().zip(&totals) {
        sum = (sum.0 + step.0, sum.1 + step.1);
        assert_eq!(sum, *total, "the cost is that of the steps: {of_steps:?} {totals:?}");
    }
    // The first request of the first visit finds nothing in the cache; each later visit reads all instructions and earlier steps.
    let share = |(input, cached): (u64, u64)| cached * 100 / input;
    let shares: Vec<u64> = of_steps.iter().copied().map(share).collect();
    assert!(of_steps.is_sorted_by(|one, next| one.1 < next.1), "{of_steps:?}");
    assert!(shares[0] < 50 && shares[1] > 80 && shares[2] > 80, "{shares:?}");
    assert_eq!(server.requests().len(), 6);
    let text = home.uwf(&["thread", "cost", &thread, "--format", "text"]).stdout;
    assert!(text.contains("cached"), "{text}");
}

/// Anthropic charges more for tokens that it writes to its cache.
#[test]
fn cache_writes_have_their_own_price() {
    let used = ScriptedUsage {
        input: 1_000_000,
        output: 0,
        cached: Some(200_000),
        cache_write: 300_000,
        ..ScriptedUsage::default()
    };
    let server = LlmServer::start(LlmScript::deciding(move |_| ScriptedAnswer::text("---\nn: 1\n---\n").usage(used)));
    let home = home();
    let config = format!(
        "providers:\n  p: {{ baseUrl: \"{}\", kind: anthropic }}\nmodels:\n  m: {{ provider: p, name: scripted-model }}\n\
         agents:\n  l: {{ command: uwf-llm, model: m }}\ndefaultAgent: l\nextract: {{ llm: 0 }}\n",
        server.origin()
    );
    home.config(&config);
    let thread = home.start_counting(1, "Count the sheep.");
    home.json(&["thread", "step", &thread]);
    assert_eq!(home.json(&["thread", "cost", &thread])["total"]["cost"], json!([]), "unknown is never 0");
    let price = |more: &str| {
        home.config(&format!(
            "{config}prices: {{ date: 2026-11-01, models: {{ m: {{ input: 10, output: 0, cached: 1{more} }} }} }}\n"
        ));
        home.json(&["thread", "cost", &thread])["total"]["cost"][0]["amount"].as_f64().unwrap()
    };
    assert!((price(", cacheWrite: 12.5") - 8.95).abs() < 1e-9, "5 + 0.2 + 3.75");
    assert!((price("") - 8.2).abs() < 1e-9, "without a price of its own, it has the price of input");
    let step = text(&home.json(&["thread", "show", &thread]), "head");
    let tokens = home.json(&["thread", "step-details", &step, "--format", "json"])["detail"]["tokens"].take();
    assert_eq!((&tokens["cacheWrite"], &tokens["cached"]), (&json!(300_000), &json!(200_000)), "{tokens}");
    assert_eq!(home.uwf(&["thread", "verify", &thread]).code, Some(0));
    assert_eq!(home.uwf(&["cas", "verify"]).code, Some(0));
}
