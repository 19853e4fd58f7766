#!/bin/sh
# Installs the newest release of uwf for the current user:
#
#   curl -fsSL https://github.com/uncaged/uwf/releases/latest/download/install.sh | sh
#
# It needs Linux, tar, gzip, sha256sum, and curl or wget. It downloads the archive for this machine, compares it with the checksum of the
# release, and installs one file. If anything fails, or you press Ctrl-C, it installs nothing and removes what it downloaded.
#
# Variables:
#   UWF_INSTALL_DIR      directory of the program. Default: ~/.local/bin
#   UWF_INSTALL_VERSION  for example 0.2.0. Default: the newest release
#   UWF_INSTALL_URL      release page, or a mirror of it. Default: https://github.com/uncaged/uwf/releases
set -eu

fail() {
    printf 'install.sh: %s\n' "$*" >&2
    exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# Prints the target of this machine.
target() {
    released="uwf is released for Linux on x86_64 and aarch64"
    case $(uname -s) in
        Linux) ;;
        Darwin) fail "$released; on macOS, build it: cargo install --git https://github.com/uncaged/uwf uwf" ;;
        CYGWIN* | MINGW* | MSYS* | Windows*)
            fail "uwf does not run on Windows; run this in WSL (https://learn.microsoft.com/windows/wsl/install)"
            ;;
        *) fail "uwf does not run on $(uname -s); $released" ;;
    esac
    case $(uname -m) in
        x86_64 | amd64) echo x86_64-unknown-linux-gnu ;;
        aarch64 | arm64) echo aarch64-unknown-linux-gnu ;;
        *) fail "this machine is $(uname -m); $released" ;;
    esac
}

# Downloads URL to FILE. A redirect of an https address must not lead to plain http.
download() {
    if has curl; then
        case $1 in
            https:*) curl --proto '=https' --tlsv1.2 --fail --silent --show-error --location --output "$2" "$1" ;;
            *) curl --fail --silent --show-error --location --output "$2" "$1" ;;
        esac
    else
        wget -q -O "$2" "$1"
    fi || fail "cannot download $1; check the network and try again"
}

cleanup() {
    if [ -n "$staged" ]; then rm -f "$staged"; fi
    if [ -n "$work" ]; then rm -rf "$work"; fi
    if [ -n "$made" ]; then rmdir "$made" 2>/dev/null || :; fi
}

next_steps() {
    case ":$PATH:" in
        *":$dir:"*)
            found=$(command -v uwf || :)
            if [ "$found" != "$dir/uwf" ]; then echo "PATH has another uwf first: $found"; fi
            ;;
        *)
            echo "$dir is not on your PATH. Add this line to ~/.profile, then log in again:"
            echo "    export PATH=\"$dir:\$PATH\""
            echo
            ;;
    esac
    cat <<'END'
Next:
    uwf setup                    choose provider, key, model and default agent
    uwf completions --install    complete commands and threads in your shell
    uwf man --install            install the manual pages
END
}

# All of the script is in functions, so that sh runs nothing if only a part of it arrives.
main() {
    staged='' work='' made=''
    trap cleanup EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM

    base=${UWF_INSTALL_URL:-https://github.com/uncaged/uwf/releases}
    if [ -n "${UWF_INSTALL_DIR:-}" ]; then
        dir=$UWF_INSTALL_DIR
    else
        dir=${HOME:-}/.local/bin
        [ -n "${HOME:-}" ] || fail "HOME is not set; set UWF_INSTALL_DIR to the directory for the program"
    fi
    case $dir in /*) ;; *) dir=$PWD/$dir ;; esac
    target=$(target)
    has curl || has wget || fail "neither curl nor wget is installed; install one of them"
    for tool in tar gzip sha256sum; do
        has "$tool" || fail "$tool is not installed; install it and try again"
    done

    work=$(mktemp -d "${TMPDIR:-/tmp}/uwf-install.XXXXXX")
    if [ -n "${UWF_INSTALL_VERSION:-}" ]; then
        sums=$base/download/v${UWF_INSTALL_VERSION#v}/SHA256SUMS
    else
        sums=$base/latest/download/SHA256SUMS
    fi
    download "$sums" "$work/SHA256SUMS"
    # The list has the version too, so that "the newest" is asked once: a release that appears meanwhile changes nothing.
    line=$(grep -E "^[0-9a-f]{64}  uwf-[0-9][0-9A-Za-z.+-]*-$target\.tar\.gz\$" "$work/SHA256SUMS" | head -n 1)
    [ -n "$line" ] || fail "$sums lists no archive for $target"
    archive=${line##* }
    name=${archive%.tar.gz}
    version=${name#uwf-}
    version=${version%-"$target"}

    echo "downloading uwf $version for $target"
    download "$base/download/v$version/$archive" "$work/$archive"
    actual=$(sha256sum "$work/$archive")
    if [ "${actual%% *}" != "${line%% *}" ]; then
        fail "the checksum of $archive is ${actual%% *}, but SHA256SUMS says ${line%% *}; nothing was installed"
    fi
    tar -xzf "$work/$archive" -C "$work"

    [ -d "$dir" ] || made=$dir
    mkdir -p "$dir"
    # In the same directory, so that the last step is a rename: it cannot be half done, and works while uwf runs.
    staged=$dir/.uwf-install.$$
    cp "$work/$name/uwf" "$staged"
    chmod 755 "$staged"
    "$staged" --version >/dev/null || fail "the downloaded program does not run on this machine; nothing was installed"
    mv -f "$staged" "$dir/uwf"
    staged='' made=''

    echo "installed uwf $version: $dir/uwf"
    next_steps
}

main
