#!/usr/bin/env bash
# Installs the server of PostgreSQL that tests of the store start, and prints the directory of its programs. Nothing is installed
# twice. Talk goes to stderr.
set -euo pipefail

say() { printf '%s\n' "$*" >&2; }
# Debian keeps them in a directory that is not on PATH.
programs() { dirname "$(PATH=$(printf '%s:' /usr/lib/postgresql/*/bin)$PATH command -v initdb)" 2>/dev/null; }

if [ -z "$(PATH=$(printf '%s:' /usr/lib/postgresql/*/bin)$PATH command -v initdb || true)" ]; then
    say "installing postgresql"
    if ! command -v apt-get >/dev/null 2>&1; then
        say "missing: initdb and postgres; install the server of PostgreSQL with your system's package manager"
        exit 1
    fi
    sudo=$([ "$(id -u)" -eq 0 ] || echo sudo)
    # Without this the package makes a database of its own, and starts a server for it.
    $sudo mkdir -p /etc/postgresql-common
    [ -e /etc/postgresql-common/createcluster.conf ] ||
        echo 'create_main_cluster = false' | $sudo tee /etc/postgresql-common/createcluster.conf >/dev/null
    $sudo apt-get update -q >&2
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -q -y -o Dpkg::Options::=--force-confold postgresql >&2
fi
programs
