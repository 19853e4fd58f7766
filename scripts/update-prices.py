#!/usr/bin/env python3
"""Makes the table of list prices that ships with uwf, from a public table in the form of LiteLLM.

    python3 scripts/update-prices.py model_prices_and_context_window.json --date 2026-11-28 --source 'LiteLLM 1.110.2'
    python3 scripts/update-prices.py https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json

The table is crates/uwf-core/src/config/list-prices.json; --output writes another file. The date is today unless --date gives it.
Prices are of a million tokens, in US dollars. Surcharges for long prompts, batches and caches that last longer than usual are left out.
"""

import argparse
import datetime
import json
import pathlib
import urllib.request

TABLE = pathlib.Path(__file__).parent.parent / "crates/uwf-core/src/config/list-prices.json"

# The provider in the public table, and its name here. If several sell a model, the price of the first counts.
PROVIDERS = {
    "anthropic": "anthropic",
    "openai": "openai",
    "gemini": "google",
    "xai": "xai",
    "deepseek": "deepseek",
    "moonshot": "moonshot",
    "zai": "zai",
    "mistral": "mistral",
    "dashscope": "dashscope",
}

# The price in the public table, and its name in the configuration of uwf.
PRICES = {
    "input": "input_cost_per_token",
    "output": "output_cost_per_token",
    "cached": "cache_read_input_token_cost",
    "cacheWrite": "cache_creation_input_token_cost",
    "reasoning": "output_cost_per_reasoning_token",
}


def read(place):
    """The public table, from a file or a URL."""
    if place.startswith(("http://", "https://")):
        with urllib.request.urlopen(place) as answer:
            return json.load(answer)
    return json.loads(pathlib.Path(place).read_text(encoding="utf-8"))


def per_million(cost):
    """The price of a million tokens, without the noise of binary fractions."""
    price = round(cost * 1_000_000, 6)
    return int(price) if price == int(price) else price


def price(entry):
    """The prices of a model; None if it has no price for a part, or is free: a free preview is no list price."""
    known = {name: entry[key] for name, key in PRICES.items() if isinstance(entry.get(key), (int, float))}
    if known.get("input", 0) <= 0 or known.get("output", 0) <= 0:
        return None
    prices = {name: per_million(cost) for name, cost in known.items()}
    # Some providers don't charge for writes.
    if prices.get("cacheWrite") in (0, prices["input"]):
        del prices["cacheWrite"]
    # As without it.
    if prices.get("reasoning") == prices["output"]:
        del prices["reasoning"]
    return prices


def table(public):
    """By provider, the models with their prices, each model once."""
    seen, providers = set(), {}
    for theirs, ours in PROVIDERS.items():
        models = {}
        for key, entry in public.items():
            name = key.removeprefix(f"{theirs}/")
            is_ours = entry.get("litellm_provider") == theirs and entry.get("mode") in ("chat", "responses")
            # Fine-tuned models have names of their own.
            if is_ours and name not in seen and ":" not in name and (prices := price(entry)):
                models[name] = prices
        seen.update(models)
        if models:
            providers[ours] = dict(sorted(models.items()))
    return providers


def written(date, source, providers):
    """The file, with a line for each model, so that changes are easy to read."""
    parts = []
    for provider, models in providers.items():
        lines = [f"      {json.dumps(name)}: {json.dumps(prices)}" for name, prices in models.items()]
        parts.append(f"    {json.dumps(provider)}: {{\n" + ",\n".join(lines) + "\n    }")
    head = f'{{\n  "date": {json.dumps(date)},\n  "source": {json.dumps(source)},\n  "providers": {{\n'
    return head + ",\n".join(parts) + "\n  }\n}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", help="the public table: a file or a URL")
    parser.add_argument("--date", type=datetime.date.fromisoformat, default=datetime.date.today())
    parser.add_argument("--source", help="where the prices are from; by default the file or the URL")
    parser.add_argument("--output", type=pathlib.Path, default=TABLE)
    given = parser.parse_args()
    providers = table(read(given.table))
    if not providers:
        parser.error(f"{given.table} has no model of a known provider")
    text = written(given.date.isoformat(), given.source or given.table, providers)
    given.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
