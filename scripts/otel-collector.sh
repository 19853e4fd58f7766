#!/usr/bin/env bash
# Installs the OpenTelemetry collector that tests send spans to, and prints the path of its program. Messages go to stderr.
#
# It is Rotel, a collector in Rust (Apache-2.0), whose package on PyPI has the program: 10 MB, nothing to compile. It receives
# OTLP over HTTP as JSON, and writes down what it has understood.
set -euo pipefail

programs=$("$(dirname "$0")/python-packages.sh" otel-collector "rotel==0.0.1a15")
agent=$(echo "$programs"/../lib/python*/site-packages/rotel/rotel-agent)
agent=$(realpath "$agent")
chmod +x "$agent"
if ! "$agent" version >/dev/null 2>&1; then
    echo "$agent does not start; it needs libpython: apt-get install libpython$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')" >&2
    "$agent" version >&2
fi
printf '%s\n' "$agent"
