#!/usr/bin/env bash
# Installs the real agents that tests drive, and prints the directory they are in. Nothing is installed twice: the
# directory is target/real-agents, or $UWF_REAL_AGENTS_CACHE. Talk goes to stderr.
#
# hermes-agent and docx-diff (with python-docx) go into a Python environment; codex, Claude Code, opencode, gemini and the
# programs by which codex and Claude Code speak ACP into node_modules. The versions are those the tests were written for,
# all of which run on Node 20.
set -euo pipefail
cd "$(dirname "$0")/.."

PYTHON_PACKAGES=("hermes-agent[acp,mcp]==0.19.0" "docx-diff==0.1.0" "python-docx==1.2.0")
NPM_PACKAGES=("@openai/codex@0.169.0" "@zed-industries/codex-acp@0.16.0" "@anthropic-ai/claude-code@2.1.197"
    "@agentclientprotocol/claude-agent-acp@0.49.0" "opencode-ai@1.18.33" "@google/gemini-cli@0.61.0")

dir=${UWF_REAL_AGENTS_CACHE:-target/real-agents}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
exec 9>"$dir/lock"
flock 9
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
if ! node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)'; then
    say "gemini and claude-agent-acp need Node 20 or newer, this is $(node --version 2>/dev/null || echo none)"
    exit 1
fi
if ! installed npm "${NPM_PACKAGES[@]}"; then
    say "installing ${NPM_PACKAGES[*]}"
    rm -rf "$dir/npm" "$dir/npm.stamp"
    mkdir -p "$dir/npm"
    # Only two of the install scripts are needed, and newer versions of npm run none unasked: these two put a program's
    # binary in its place.
    npm install --prefix "$dir/npm" --silent --no-audit --no-fund --ignore-scripts "${NPM_PACKAGES[@]}" >&2
    (cd "$dir/npm/node_modules/@anthropic-ai/claude-code" && node install.cjs >&2)
    (cd "$dir/npm/node_modules/opencode-ai" && node postinstall.mjs >&2)
    stamp npm "${NPM_PACKAGES[@]}"
fi
printf '%s\n' "$dir"
