#!/usr/bin/env bash
# Packs a finished program for every way to install it: archive, wheel, npm packages, Debian package, Homebrew formula, install.sh.
# Usage: scripts/package.sh PROGRAM
# The packages are for the machine of PROGRAM and have its version. They are put into the subdirectory dist of CARGO_TARGET_DIR, or of
# target. Nothing is compiled, so every package has the same program.
set -euo pipefail
program=$(realpath "${1:?usage: scripts/package.sh PROGRAM}")
cd "$(dirname "$0")/.."

repository=https://github.com/uncaged/uwf
summary="Run workflows of AI agents one step at a time and keep every step: git for agent runs"
target_dir=${CARGO_TARGET_DIR:-target}
mkdir -p "$target_dir"
dist=$(realpath "$target_dir")/dist

# The names of one architecture.
machine=$(readelf --file-header "$program" | sed -n 's/^ *Machine: *//p')
case $machine in
    *X86-64) arch=x86_64 node_arch=x64 debian_arch=amd64 ;;
    AArch64) arch=aarch64 node_arch=arm64 debian_arch=arm64 ;;
    *) echo "package.sh: $program is for $machine; x86_64 and aarch64 are released" >&2; exit 64 ;;
esac
target=$arch-unknown-linux-gnu
version=$("$program" --version | cut -d ' ' -f 2)

for tool in dpkg-deb npm python3; do
    command -v "$tool" >/dev/null || { echo "package.sh: missing: $tool; run: scripts/install.sh installs" >&2; exit 1; }
done
packagers=$(scripts/packagers.sh)
# Of the commit, so that the same program makes the same packages.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}

# Packages of another version would be listed in SHA256SUMS. The archives of one version may be for both architectures.
for archive in "$dist"/*.tar.gz; do
    case ${archive##*/} in
        '*.tar.gz' | "uwf-$version-x86_64-unknown-linux-gnu.tar.gz" | "uwf-$version-aarch64-unknown-linux-gnu.tar.gz") ;;
        *) rm -rf "$dist"; break ;;
    esac
done
mkdir -p "$dist"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The README with links that also work outside of the repository.
readme() {
    sed -E -e "s#!\[([^]]*)\]\((docs/[^)]*)\)#![\1]($repository/raw/v$version/\2)#g" \
        -e "s#\]\(((docs|examples)/|[A-Z]+\.md)#]($repository/blob/v$version/\1#g" README.md
}

make_archive() {
    local name=uwf-$version-$target
    mkdir "$work/$name"
    cp "$program" "$work/$name/uwf"
    cp README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT "$work/$name"
    tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -c "$name" | gzip -n > "$dist/$name.tar.gz"
    (cd "$dist" && sha256sum "$name.tar.gz" > "$name.tar.gz.sha256")
}

# `wheel pack` writes RECORD and the file's name. The program needs neither glibc nor musl, so one wheel has the tags of both.
make_wheel() {
    local python_version dir info
    python_version=$("$packagers/python" -c 'import sys, packaging.version as v; print(v.Version(sys.argv[1]))' "$version")
    dir=$work/wheel
    info=$dir/uwf-$python_version.dist-info
    mkdir -p "$dir/uwf-$python_version.data/scripts" "$info/licenses"
    install -m 755 "$program" "$dir/uwf-$python_version.data/scripts/uwf"
    cp LICENSE-APACHE LICENSE-MIT "$info/licenses"
    cat > "$info/WHEEL" <<END
Wheel-Version: 1.0
Generator: uwf-package
Root-Is-Purelib: false
Tag: py3-none-manylinux_2_17_$arch
Tag: py3-none-musllinux_1_1_$arch
END
    {
        cat <<END
Metadata-Version: 2.4
Name: uwf
Version: $python_version
Summary: $summary
License-Expression: MIT OR Apache-2.0
License-File: LICENSE-APACHE
License-File: LICENSE-MIT
Keywords: workflow,agents,llm,cli,ai
Project-URL: Repository, $repository
Project-URL: Changelog, $repository/blob/v$version/CHANGELOG.md
Classifier: Environment :: Console
Classifier: Operating System :: POSIX :: Linux
Requires-Python: >=3.8
Description-Content-Type: text/markdown

END
        readme
    } > "$info/METADATA"
    rm -f "$dist"/uwf-*"_$arch.whl"
    "$packagers/wheel" pack --dest-dir "$dist" "$dir" >/dev/null
}

# A package with the program for each machine, and one that depends on both: npm installs those whose `os` and `cpu` fit.
make_npm_packages() {
    local platform=$work/npm/platform launcher=$work/npm/launcher common
    common="\"version\": \"$version\", \"license\": \"MIT OR Apache-2.0\", \"homepage\": \"$repository\",
  \"repository\": { \"type\": \"git\", \"url\": \"git+$repository.git\" }, \"os\": [\"linux\"], \"preferUnplugged\": true"
    mkdir -p "$platform/bin" "$launcher/bin"
    install -m 755 "$program" "$platform/bin/uwf"
    install -m 755 packaging/npm-launcher.sh "$launcher/bin/uwf"
    cp LICENSE-APACHE LICENSE-MIT "$platform"
    cp LICENSE-APACHE LICENSE-MIT "$launcher"
    readme > "$launcher/README.md"
    echo "The program of [uwf]($repository) for Linux on $arch. Install the package \`uwf\`." > "$platform/README.md"
    cat > "$platform/package.json" <<END
{
  "name": "@uwf/linux-$node_arch", $common,
  "description": "The program of uwf for Linux on $arch",
  "cpu": ["$node_arch"]
}
END
    cat > "$launcher/package.json" <<END
{
  "name": "uwf", $common,
  "description": "$summary",
  "keywords": ["workflow", "agents", "llm", "cli", "ai"],
  "cpu": ["x64", "arm64"],
  "bin": { "uwf": "bin/uwf" },
  "optionalDependencies": { "@uwf/linux-x64": "$version", "@uwf/linux-arm64": "$version" }
}
END
    (cd "$work/npm" && npm pack --silent --pack-destination "$dist" ./platform ./launcher >/dev/null)
}

make_debian_package() {
    # A pre-release sorts before its release only with a tilde.
    local debian_version=${version/-/\~}-1 root=$work/debian doc=$work/debian/usr/share/doc/uwf
    install -D -m 755 "$program" "$root/usr/bin/uwf"
    "$program" man --install --dir "$root/usr/share/man/man1" >/dev/null
    gzip -9n "$root"/usr/share/man/man1/*
    mkdir -p "$root"/usr/share/{bash-completion/completions,zsh/vendor-completions,fish/vendor_completions.d,lintian/overrides} "$doc" "$root/DEBIAN"
    "$program" completions bash > "$root/usr/share/bash-completion/completions/uwf"
    "$program" completions zsh > "$root/usr/share/zsh/vendor-completions/_uwf"
    "$program" completions fish > "$root/usr/share/fish/vendor_completions.d/uwf.fish"
    cp packaging/debian-overrides "$root/usr/share/lintian/overrides/uwf"
    cp packaging/debian-copyright "$doc/copyright"
    gzip -9n < CHANGELOG.md > "$doc/changelog.gz"
    gzip -9n > "$doc/changelog.Debian.gz" <<END
uwf ($debian_version) unstable; urgency=medium

  * Release $version. The changes are in /usr/share/doc/uwf/changelog.gz.

 -- $(sed -n 's/^Maintainer: //p' packaging/debian-control)  $(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")
END
    sed -e "s/@VERSION@/$debian_version/" -e "s/@ARCHITECTURE@/$debian_arch/" \
        -e "s/@SIZE@/$(du -sk "$root/usr" | cut -f 1)/" packaging/debian-control > "$root/DEBIAN/control"
    (cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum > DEBIAN/md5sums)
    chmod -R u=rwX,go=rX "$root"
    rm -f "$dist"/uwf_*"_$debian_arch.deb"
    dpkg-deb --build --root-owner-group -Zxz "$root" "$dist" >/dev/null
}

make_archive
make_wheel
make_npm_packages
make_debian_package
cp install.sh "$dist"
scripts/package-index.sh "$dist"
