#!/usr/bin/env bash
# Installs what the tests of pages need, and prints the directory it is in: Chromium from the system's packages, Playwright and
# axe in a Python environment, and the compiler of TypeScript, which checks the types of the scripts. Nothing is installed
# twice: the directory is target/browser, or $UWF_BROWSER_CACHE. Talk goes to stderr.
set -euo pipefail
cd "$(dirname "$0")/.."

PYTHON_PACKAGES=("playwright==1.65.2" "axe-playwright-python==0.1.8")
NPM_PACKAGES=("typescript@7.0.2")

dir=${UWF_BROWSER_CACHE:-target/browser}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
exec 9>"$dir/lock"
flock 9
say() { printf '%s\n' "$*" >&2; }

# Each step leaves a stamp with what it installed, so that a half-done one is done again and a new version too.
installed() { [ "$(cat "$dir/$1.stamp" 2>/dev/null)" = "${*:2}" ]; }
stamp() { printf '%s' "${*:2}" >"$dir/$1.stamp"; }

if [ ! -x /usr/bin/chromium ]; then
    say "installing chromium"
    sudo=$([ "$(id -u)" -eq 0 ] || echo sudo)
    if ! command -v apt-get >/dev/null 2>&1; then
        say "missing: /usr/bin/chromium; install it with your system's package manager"
        exit 1
    fi
    $sudo apt-get update -q >&2
    $sudo apt-get install -q -y chromium >&2
fi
if ! installed python "${PYTHON_PACKAGES[@]}"; then
    say "installing ${PYTHON_PACKAGES[*]}"
    rm -rf "$dir/venv" "$dir/python.stamp"
    python3 -m venv "$dir/venv" >&2
    "$dir/venv/bin/pip" install --quiet --disable-pip-version-check "${PYTHON_PACKAGES[@]}" >&2
    stamp python "${PYTHON_PACKAGES[@]}"
fi
if ! installed npm "${NPM_PACKAGES[@]}"; then
    say "installing ${NPM_PACKAGES[*]}"
    rm -rf "$dir/npm" "$dir/npm.stamp"
    mkdir -p "$dir/npm"
    npm install --prefix "$dir/npm" --silent --no-audit --no-fund --ignore-scripts "${NPM_PACKAGES[@]}" >&2
    stamp npm "${NPM_PACKAGES[@]}"
fi
printf '%s\n' "$dir"
