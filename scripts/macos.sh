#!/usr/bin/env bash
# Installs below target/macos what type-checks uwf for macOS on Linux, and prints that directory: the Rust compiler of Debian's browsers with
# the source of the standard library, which knows Apple's targets, and zig as the C compiler of build scripts. The system stays as it is.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(rustc-web cargo-web rust-web-src)
rust=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

mkdir -p target/macos
dir=$(cd target/macos && pwd -P)
exec 9>"$dir/lock"
flock 9

# Prints the addresses of Debian's packages, and of libraries that they need and this system lacks. Fails if they are too old.
addresses() {
    local list version
    list=$(apt-get install --print-uris -qq -y --no-install-recommends "${packages[@]}" 2>/dev/null | cut -d "'" -f 2)
    version=$(sed -n 's|.*/rust-web-src_\([0-9.]*\).*|\1|p' <<< "$list")
    [ -n "$version" ] && printf '%s\n' "$rust" "$version" | sort --check=quiet --version-sort && printf '%s\n' "$list"
}

as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi; }

if [ ! -e "$dir/toolchain/stamp" ]; then
    command -v apt-get dpkg-deb >/dev/null || { echo "macos.sh: this needs Debian's apt-get and dpkg-deb" >&2; exit 1; }
    list=$(addresses) || { as_root apt-get update -q >&2 && list=$(addresses); } || {
        echo "macos.sh: no packages ${packages[*]} with Rust $rust: this needs Debian 12 or later with its security updates" >&2
        exit 1
    }
    echo "unpacking Debian's ${packages[*]} below target/macos" >&2
    rm -rf "$dir/toolchain"
    mkdir -p "$dir/toolchain/debs"
    (cd "$dir/toolchain/debs" && xargs -n 1 -P 4 curl -sSfO <<< "$list")
    for package in "$dir"/toolchain/debs/*.deb; do dpkg-deb -x "$package" "$dir/toolchain"; done
    rm -r "$dir/toolchain/debs"
    touch "$dir/toolchain/stamp"
fi

zig=$(scripts/python-packages.sh macos/zig ziglang==0.15.2)
zig=$("$zig/python" -c 'import os, ziglang; print(os.path.dirname(ziglang.__file__))')/zig
# A C compiler for each architecture, without the options that only Apple's compiler has.
for architecture in aarch64 x86_64; do
    cat > "$dir/cc-$architecture" <<END
#!/usr/bin/env bash
arguments=()
while [ \$# -gt 0 ]; do
    case \$1 in
        -arch | -isysroot | -target) shift ;;
        --target=* | -mmacosx-version-min=*) ;;
        *) arguments+=("\$1") ;;
    esac
    shift
done
exec "$zig" cc -target $architecture-macos "\${arguments[@]}"
END
done
printf '#!/bin/sh\nexec "%s" ar "$@"\n' "$zig" > "$dir/ar"
chmod +x "$dir/ar" "$dir"/cc-*
printf '%s\n' "$dir"
