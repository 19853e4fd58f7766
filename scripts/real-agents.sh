#!/usr/bin/env bash
# Installs the real agents that tests drive, and prints the directory they are in. Nothing is installed twice: the
# directory is target/real-agents, or $UWF_REAL_AGENTS_CACHE. Talk goes to stderr.
#
# hermes-agent and docx-diff (with python-docx) go into a Python environment, codex into node_modules where there is npm.
set -euo pipefail
cd "$(dirname "$0")/.."

PYTHON_PACKAGES=("hermes-agent[acp,mcp]==0.19.0" "docx-diff==0.1.0" "python-docx==1.2.0")
NPM_PACKAGES=("@openai/codex@0.169.0")

dir=${UWF_REAL_AGENTS_CACHE:-target/real-agents}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
say() { printf '%s\n' "$*" >&2; }

# Each step leaves a stamp with what it installed, so that a half-done one is done again and a new version too.
installed() { [ "$(cat "$dir/$1.stamp" 2>/dev/null)" = "${*:2}" ]; }
stamp() { printf '%s' "${*:2}" >"$dir/$1.stamp"; }

if ! installed python "${PYTHON_PACKAGES[@]}"; then
    say "installing ${PYTHON_PACKAGES[*]}"
    rm -rf "$dir/venv" "$dir/python.stamp"
    python3 -m venv "$dir/venv" >&2
    "$dir/venv/bin/pip" install --quiet --disable-pip-version-check "${PYTHON_PACKAGES[@]}" >&2
    stamp python "${PYTHON_PACKAGES[@]}"
fi
if command -v npm >/dev/null 2>&1 && ! installed npm "${NPM_PACKAGES[@]}"; then
    say "installing ${NPM_PACKAGES[*]}"
    rm -rf "$dir/npm" "$dir/npm.stamp"
    mkdir -p "$dir/npm"
    npm install --prefix "$dir/npm" --silent --no-audit --no-fund "${NPM_PACKAGES[@]}" >&2
    stamp npm "${NPM_PACKAGES[@]}"
fi
printf '%s\n' "$dir"
