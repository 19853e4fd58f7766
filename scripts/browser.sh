#!/usr/bin/env bash
# Installs what the tests of pages need, and prints the directory it is in: Chromium without windows, which starts in a third of the time,
# Playwright and axe in a Python environment, and the compiler of TypeScript, which checks the types of the scripts. Nothing is installed
# twice: the directory is target/browser, or $UWF_BROWSER_CACHE. Messages go to stderr.
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

if ! installed python "${PYTHON_PACKAGES[@]}"; then
    say "installing ${PYTHON_PACKAGES[*]}"
    rm -rf "$dir/venv" "$dir/python.stamp"
    python3 -m venv "$dir/venv" >&2
    "$dir/venv/bin/pip" install --quiet --disable-pip-version-check "${PYTHON_PACKAGES[@]}" >&2
    stamp python "${PYTHON_PACKAGES[@]}"
fi
# Debian has it as a package. Elsewhere it comes from Playwright, which needs a network for it.
browser=/usr/bin/chromium-headless-shell
if [ ! -x "$browser" ] && command -v apt-get >/dev/null 2>&1; then
    sudo=$([ "$(id -u)" -eq 0 ] || echo sudo)
    $sudo apt-get update -q >&2
    if apt-cache show chromium-headless-shell >/dev/null 2>&1; then
        say "installing chromium-headless-shell"
        $sudo apt-get install -q -y chromium-headless-shell >&2
    fi
fi
if [ ! -x "$browser" ]; then
    say "installing the browser of Playwright"
    PLAYWRIGHT_BROWSERS_PATH=$dir/playwright "$dir/venv/bin/playwright" install --with-deps --only-shell chromium >&2
    browser=$(find "$dir/playwright" -type f \( -name chrome-headless-shell -o -name headless_shell \) | head -n 1)
    [ -n "$browser" ] || { say "browser.sh: Playwright installed no browser"; exit 1; }
fi
ln -sfn "$browser" "$dir/chromium"
if ! installed npm "${NPM_PACKAGES[@]}"; then
    say "installing ${NPM_PACKAGES[*]}"
    rm -rf "$dir/npm" "$dir/npm.stamp"
    mkdir -p "$dir/npm"
    npm install --prefix "$dir/npm" --silent --no-audit --no-fund --ignore-scripts "${NPM_PACKAGES[@]}" >&2
    stamp npm "${NPM_PACKAGES[@]}"
fi
printf '%s\n' "$dir"
