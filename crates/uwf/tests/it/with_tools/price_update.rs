//! `scripts/update-prices.py` on an invented public table.

use std::process::Command;

use serde_json::{Value, json};
use uwf_testing::{FinishedRun, repository};

use crate::home;

#[test]
fn script_makes_the_table_from_public_prices() {
    let home = home();
    let chat = |provider: &str, prices: Value| {
        let mut entry = json!({ "litellm_provider": provider, "mode": "chat" });
        entry.as_object_mut().unwrap().extend(prices.as_object().unwrap().clone());
        entry
    };
    let price = |input: f64, output: f64| json!({ "input_cost_per_token": input, "output_cost_per_token": output });
    let public = json!({
        "sample_spec": { "mode": "one of chat, embedding" },
        "small": chat("anthropic", json!({
            "input_cost_per_token": 3e-6, "output_cost_per_token": 1.5e-5, "cache_read_input_token_cost": 3e-7,
            "cache_creation_input_token_cost": 3.75e-6,
            "output_cost_per_reasoning_token": 1.5e-5,
        })),
        "gemini/thinker": chat("gemini", json!({
            "input_cost_per_token": 1e-7, "output_cost_per_token": 4e-7, "output_cost_per_reasoning_token": 3.5e-6,
        })),
        // Sold by its maker first.
        "dashscope/seen": chat("dashscope", price(9e-6, 9e-6)),
        "deepseek/seen": chat("deepseek", price(1e-6, 2e-6)),
        "free-preview": chat("openai", price(0.0, 0.0)),
        "half-priced": chat("openai", json!({ "input_cost_per_token": 1e-6 })),
        "ft:tuned": chat("openai", price(1e-6, 2e-6)),
        "embedder": { "litellm_provider": "openai", "mode": "embedding", "input_cost_per_token": 1e-6, "output_cost_per_token": 1e-6 },
        "elsewhere": chat("bedrock", price(1e-6, 2e-6)),
    });
    home.file("public.json", &public.to_string());
    let script = |args: &[&str]| -> FinishedRun {
        let script = repository().join("scripts/update-prices.py");
        Command::new("python3").arg(script).args(args).current_dir(home.work()).output().unwrap().into()
    };
    let made = ["public.json", "--date", "2026-11-02", "--source", "a test", "--output", "made.json"];
    assert_eq!(script(&made).code, Some(0));
    let table: Value = serde_json::from_str(&std::fs::read_to_string(home.work().join("made.json")).unwrap()).unwrap();
    assert_eq!(
        table,
        json!({
            "date": "2026-11-02",
            "source": "a test",
            "providers": {
                "anthropic": { "small": { "input": 3, "output": 15, "cached": 0.3, "cacheWrite": 3.75 } },
                "google": { "thinker": { "input": 0.1, "output": 0.4, "reasoning": 3.5 } },
                "deepseek": { "seen": { "input": 1, "output": 2 } },
            },
        })
    );
    home.file("other.json", "{}");
    let none = script(&["other.json", "--output", "none.json"]);
    assert!(none.code == Some(2) && none.stderr.contains("no model of a known provider"), "{none:?}");
    assert!(!home.work().join("none.json").exists());
}
