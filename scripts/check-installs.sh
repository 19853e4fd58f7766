#!/usr/bin/env bash
# Installs uwf from each package that scripts/package.sh made, each into an empty directory with an empty HOME, and runs a workflow with it.
# Usage: scripts/check-installs.sh PROGRAM
#   PROGRAM  the program in the packages; each installed program must be the same file
# It needs what `scripts/install.sh installs` installs, and no network.
set -euo pipefail
program=$(realpath "${1:?usage: scripts/check-installs.sh PROGRAM}")
cd "$(dirname "$0")/.."

fail() {
    printf 'check-installs.sh: %s\n' "$*" >&2
    exit 1
}

for tool in busybox cargo curl dpkg dpkg-deb lintian npm python3 ruby shellcheck; do
    command -v "$tool" >/dev/null || fail "missing: $tool; run: scripts/install.sh installs"
done
packagers=$(scripts/packagers.sh)
dist=$(realpath -m "${CARGO_TARGET_DIR:-target}")/dist
version=$("$program" --version | cut -d ' ' -f 2)
arch=$(uname -m)
target=$arch-unknown-linux-gnu
archive=$dist/uwf-$version-$target.tar.gz
case $arch in
    x86_64) node_arch=x64 debian_arch=amd64 formula_cpu=intel ;;
    aarch64) node_arch=arm64 debian_arch=arm64 formula_cpu=arm ;;
    *) fail "uwf is not released for $arch" ;;
esac
[ -e "$archive" ] || fail "$archive is not there; run: scripts/package.sh $program"

# The python3 of a version manager is a script that needs the variables of its manager.
python=$(python3 -c 'import sys; print(sys.executable)')
default_path=$(dirname "$(command -v node)"):/usr/local/bin:/usr/bin:/bin

dir=$(mktemp -d)
processes=()
finish() {
    for process in "${processes[@]}"; do kill "$process" 2>/dev/null || true; done
    rm -rf "$dir"
}
trap finish EXIT

# Runs a command without the variables of this shell, in an empty directory, with an empty HOME and TMPDIR: clean NAME COMMAND...
clean() {
    local place=$dir/$1
    shift
    mkdir -p "$place/home" "$place/tmp" "$place/work"
    env -C "$place/work" -i HOME="$place/home" TMPDIR="$place/tmp" PATH="${clean_path:-$default_path}" "$@"
}

cat > "$dir/hello.yaml" <<'END'
name: hello
roles:
  greeter:
    goal: You greet.
    meta: { type: object, properties: { greeting: { type: string } }, required: [greeting] }
graph:
  $START: [ { role: greeter } ]
  greeter: [ { role: $END } ]
END

# Runs a workflow with an installed program: run_with NAME COMMAND...
run_with() {
    local name=$1 report
    shift
    [ "$(clean "$name" "$@" --version)" = "uwf $version" ] || fail "$name: --version does not print uwf $version"
    report=$(clean "$name" "$@" run "$dir/hello.yaml" -p 'Greet the world' --output json --format json \
        --agent "greeter=echo '{\"greeting\": \"hello\"}'" 2> "$dir/$name/stderr") || { cat "$dir/$name/stderr" >&2; fail "$name: uwf run failed"; }
    [[ $report == *'"done":true'*'"outcome":"succeeded"'* ]] || fail "$name: uwf run reports $report"
    echo "ok  $name"
}

# The same for a program whose file is known.
run_installed() {
    cmp "$program" "$2" || fail "$1: the installed program is not $program"
    run_with "$1" "$2"
}

check_scripts() {
    shellcheck install.sh packaging/npm-launcher.sh scripts/check-older.sh scripts/package.sh scripts/package-index.sh scripts/packagers.sh scripts/python-packages.sh scripts/check-installs.sh actions/run.sh
    ruby -wc "$dist/uwf.rb" >/dev/null
    (cd "$dist" && sha256sum --check --quiet SHA256SUMS ./*.sha256) || fail "SHA256SUMS is wrong"
    local listed made
    listed=$(sed 's/^[0-9a-f]*  //' "$dist/SHA256SUMS")
    made=$(cd "$dist" && LC_ALL=C ls -I SHA256SUMS -I '*.sha256')
    [ "$listed" = "$made" ] || fail "SHA256SUMS does not list each file of $dist"
}

check_wheel() {
    python3 -m venv "$dir/venv"
    "$dir/venv/bin/pip" install --quiet --disable-pip-version-check --no-index --find-links "$dist" "uwf==$version"
    run_installed pip "$dir/venv/bin/uwf"
    run_with uvx "$packagers/uvx" --quiet --offline --no-config --no-index --find-links "$dist" uwf
}

# Also as npx does it: from a registry, which has the package of the other architecture too, or not yet.
check_npm() {
    local npm=(npm --silent --no-audit --no-fund --no-update-notifier)
    mkdir "$dir/npm-prefix"
    clean npm "${npm[@]}" install --offline --prefix "$dir/npm-prefix" "$dist/uwf-linux-$node_arch-$version.tgz" "$dist/uwf-$version.tgz"
    cmp "$program" "$dir/npm-prefix/node_modules/@uwf/linux-$node_arch/bin/uwf" || fail "npm: the installed program is not $program"
    run_with npm "$dir/npm-prefix/node_modules/.bin/uwf"
    run_with npx npx --yes --silent --no-update-notifier --registry "$page/npm/" uwf
}

check_debian_package() {
    local found root=$dir/debian-root package=$dist/uwf_${version/-/\~}-1_$debian_arch.deb
    mkdir -p "$root/var/lib/dpkg/"{info,updates}
    touch "$root/var/lib/dpkg/status"
    local dpkg=(dpkg --root="$root" --force-not-root --force-script-chrootless --log=/dev/null)
    "${dpkg[@]}" --install "$package" >/dev/null
    found=$("${dpkg[@]}" --verify uwf) || fail "deb: dpkg --verify uwf failed"
    [ -z "$found" ] || fail "deb: dpkg --verify uwf finds changes"
    found=$(dpkg-deb --field "$package" Depends) || fail "deb: dpkg-deb --field failed"
    [ -z "$found" ] || fail "deb: depends on another package"
    run_installed deb "$root/usr/bin/uwf"
    zgrep -q '^.TH UWF-THREAD-STEP 1' "$root/usr/share/man/man1/uwf-thread-step.1.gz" || fail "deb: no manual page of uwf thread step"
    bash -n "$root/usr/share/bash-completion/completions/uwf"
    "${dpkg[@]}" --purge uwf >/dev/null
    found=$(find "$root" -path "$root/var/lib/dpkg" -prune -o -type f -print) || fail "deb: find failed"
    [ -z "$found" ] || fail "deb: files are left after --purge"
}

# The slowest check, so it runs beside the others.
lint_debian_package() {
    # The parser of YAML, which is Rust, has messages of libyaml. Whether lintian finds one depends on how the program was optimized.
    local suppressed=embedded-library
    # A debug build as PROGRAM needs libraries; scripts/release.sh makes a static file only.
    if readelf --program-headers "$program" | grep -q INTERP; then suppressed+=,undeclared-elf-prerequisites; fi
    lintian --profile debian --no-cfg --fail-on error,warning --suppress-tags "$suppressed" "$dist/"uwf_*"_$debian_arch.deb"
}

check_formula() {
    ruby scripts/install-formula.rb "$dist/uwf.rb" "$formula_cpu" "$archive" "$dir/brew-prefix"
    run_installed brew "$dir/brew-prefix/bin/uwf"
}

# Fills in the metadata as cargo-binstall does, for glibc and for musl, and takes the program from the archive at that path.
check_binstall() {
    local metadata
    metadata=$(cargo metadata --no-deps --format-version 1 --offline | python3 -c '
import json, sys
[package] = [package for package in json.load(sys.stdin)["packages"] if package["name"] == "uwf"]
binstall, arch = package["metadata"]["binstall"], sys.argv[1]
for libc in "gnu", "musl":
    target = f"{arch}-unknown-linux-{libc}"
    values = {**binstall, **binstall["overrides"].get(target, {})}
    assert values["pkg-fmt"] == "tgz", values
    fields = {"repo": package["repository"], "name": "uwf", "version": package["version"], "target": target, "bin": "uwf", "binary-ext": ""}
    for key in "pkg-url", "bin-dir":
        text = values[key]
        for field, value in fields.items():
            text = text.replace("{ %s }" % field, value)
        assert "{" not in text, text
        print(text)
' "$arch")
    local urls paths
    mapfile -t urls < <(sed -n 'p;n' <<< "$metadata")
    mapfile -t paths < <(sed -n 'n;p' <<< "$metadata")
    for index in 0 1; do
        [ "${urls[index]}" = "https://github.com/uncaged/uwf/releases/download/v$version/${archive##*/}" ] || fail "binstall: no such file: ${urls[index]}"
    done
    [ "${paths[0]}" = "${paths[1]}" ] || fail "binstall: another path for musl: ${paths[1]}"
    mkdir "$dir/binstall-bin"
    tar -xzf "$archive" -C "$dir/binstall-bin" "${paths[0]}"
    run_installed binstall "$dir/binstall-bin/${paths[0]}"
}

# Runs install.sh as `curl … | sh` does: run_installer NAME MODE SHELL...
run_installer() {
    local name=$1 mode=$2
    shift 2
    clean "$name" UWF_INSTALL_URL="$page/$mode" "$@" < "$dist/install.sh" > "$dir/$name.out" 2>&1
}

# Fails if an installation left a file, or did not say why it failed: failed_cleanly NAME STATUS TEXT
failed_cleanly() {
    local left
    [ "$2" -ne 0 ] || fail "$1: install.sh succeeded"
    grep -q -- "$3" "$dir/$1.out" || { cat "$dir/$1.out" >&2; fail "$1: install.sh does not say: $3"; }
    left=$(find "$dir/$1" -mindepth 2)
    [ -z "$left" ] || fail "$1: install.sh left $left"
    echo "ok  $1"
}

check_installer() {
    run_installer install.sh whole sh || { cat "$dir/install.sh.out" >&2; fail "install.sh failed"; }
    grep -q 'is not on your PATH' "$dir/install.sh.out" || fail "install.sh does not say that the directory is not on PATH"
    [ -z "$(find "$dir/install.sh/tmp" -mindepth 1)" ] || fail "install.sh left files in TMPDIR"
    [ "$(cd "$dir/install.sh/home" && find . -type f)" = ./.local/bin/uwf ] || fail "install.sh wrote more than the program"
    run_installed install.sh "$dir/install.sh/home/.local/bin/uwf"

    # With nothing but busybox, as on Alpine: its shell, its wget, its tar. It replaces an older program, also of a version that is asked for.
    mkdir -p "$dir/applets" "$dir/older"
    busybox --install -s "$dir/applets"
    echo old > "$dir/older/uwf"
    clean_path=$dir/applets run_installer busybox whole UWF_INSTALL_DIR="$dir/older" UWF_INSTALL_VERSION="v$version" sh ||
        { cat "$dir/busybox.out" >&2; fail "install.sh failed with busybox"; }
    run_installed busybox "$dir/older/uwf"

    local status=0
    run_installer wrong-checksum wrong sh || status=$?
    failed_cleanly wrong-checksum "$status" 'the checksum of .* nothing was installed'
    status=0
    run_installer cut-download cut sh || status=$?
    failed_cleanly cut-download "$status" 'cannot download'
    # Some versions of busybox's wget accept an incomplete file; the checksum finds it.
    status=0
    clean_path=$dir/applets run_installer cut-download-wget cut sh || status=$?
    failed_cleanly cut-download-wget "$status" 'cannot download\|the checksum of'
    status=0
    run_installer no-release none sh || status=$?
    failed_cleanly no-release "$status" 'cannot download'
    # A part of the script, as a broken connection to its own page leaves it.
    status=0
    head -c -3 "$dist/install.sh" | clean cut-script UWF_INSTALL_URL="$page/whole" sh > "$dir/cut-script.out" 2>&1 || status=$?
    failed_cleanly cut-script "$status" 'not found'

    # Ctrl-C reaches all processes of a terminal's job, so the installer gets a session and a signal for its group. Python, because a shell
    # lets its background jobs ignore SIGINT.
    status=0
    clean interrupted UWF_INSTALL_URL="$page/slow" "$python" - "$dist/install.sh" > "$dir/interrupted.out" 2>&1 <<'END' || status=$?
import glob, os, signal, subprocess, sys, time
# A job that runs beside others may have been started with the signal ignored, which its children would inherit.
signal.signal(signal.SIGINT, signal.SIG_DFL)
installer = subprocess.Popen(["sh"], stdin=open(sys.argv[1]), start_new_session=True)
deadline = time.monotonic() + 20
while not any(os.path.getsize(file) for file in glob.glob(os.environ["TMPDIR"] + "/*/*.tar.gz")):
    assert time.monotonic() < deadline and installer.poll() is None, "no download began within 20 seconds"
    time.sleep(0.05)
os.killpg(installer.pid, signal.SIGINT)
sys.exit("interrupted: %d" % installer.wait(timeout=20))
END
    failed_cleanly interrupted "$status" '^interrupted: \(130\|-2\)$'

    local system machine
    for platform in Darwin-arm64 MINGW64_NT-10.0-x86_64 FreeBSD-amd64 Linux-riscv64; do
        system=${platform%-*} machine=${platform##*-}
        mkdir -p "$dir/uname-$platform"
        # shellcheck disable=SC2016 # The script of the stand-in expands it.
        printf '#!/bin/sh\n[ "$1" = -s ] && echo %s || echo %s\n' "$system" "$machine" > "$dir/uname-$platform/uname"
        chmod +x "$dir/uname-$platform/uname"
        status=0
        clean_path=$dir/uname-$platform:$default_path run_installer "on-$platform" whole sh || status=$?
        failed_cleanly "on-$platform" "$status" 'does not run on\|on macOS, build it\|this machine is riscv64'
    done
}

lint_debian_package > "$dir/lintian.out" 2>&1 &
lint=$!
python3 scripts/release-page.py "$dist" "$version" "$dir/port" &
processes=("$lint" "$!")
for _ in {1..100}; do
    [ ! -e "$dir/port" ] || break
    sleep 0.1
done
page=http://127.0.0.1:$(< "$dir/port")

check_scripts
check_wheel
check_npm
check_debian_package
check_formula
check_binstall
check_installer
wait "$lint" || { cat "$dir/lintian.out" >&2; fail "lintian has complaints"; }
echo "uwf $version for $target: every package installs and runs"
