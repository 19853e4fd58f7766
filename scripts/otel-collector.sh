#!/usr/bin/env bash
# Installs the collector of OpenTelemetry that tests send spans to, and prints the path of its program. Nothing is installed
# twice: it is in target/otel-collector. Talk goes to stderr.
#
# It is Rotel, a collector in Rust (Apache-2.0), whose package on PyPI has the program: 10 MB, nothing to compile. It receives
# OTLP over HTTP as JSON, and writes down what it has understood.
set -euo pipefail
cd "$(dirname "$0")/.."

PACKAGE="rotel==0.0.1a15"
dir=target/otel-collector
say() { printf '%s\n' "$*" >&2; }

mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
# Tests run side by side.
exec 9>"$dir/lock"
flock 9
if [ "$(cat "$dir/stamp" 2>/dev/null)" != "$PACKAGE" ]; then
    say "installing $PACKAGE"
    rm -rf "$dir/venv" "$dir/stamp"
    python3 -m venv "$dir/venv" >&2
    "$dir/venv/bin/pip" install --quiet --disable-pip-version-check "$PACKAGE" >&2
    chmod +x "$dir"/venv/lib/python*/site-packages/rotel/rotel-agent
    printf '%s' "$PACKAGE" >"$dir/stamp"
fi
agent=$(echo "$dir"/venv/lib/python*/site-packages/rotel/rotel-agent)
if ! "$agent" version >/dev/null 2>&1; then
    say "$agent does not start; it needs libpython: apt-get install libpython$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
    "$agent" version >&2
fi
printf '%s\n' "$agent"
