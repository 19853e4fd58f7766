#!/usr/bin/env bash
# Installs the programs that pack and install Python packages, wheel and uv, and prints the directory they are in.
exec "$(dirname "$0")/python-packages.sh" packagers "wheel==0.48.0" "uv==0.13.9"
