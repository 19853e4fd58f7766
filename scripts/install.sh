#!/usr/bin/env bash
# Installs what parts of ./test need: Debian's packages with apt-get, then packages from PyPI and npm below target/.
# Usage: scripts/install.sh PART...
#   installs  what scripts/package.sh and scripts/check-installs.sh need
#   deploy    what scripts/check-deploy.sh needs
# It prints what it is about to install, asks for root only if a package of Debian is missing, and installs nothing twice.
set -euo pipefail
cd "$(dirname "$0")/.."
# Debian keeps nginx and ip in directories that may not be on PATH.
PATH=$PATH:/usr/sbin:/sbin

programs=()
scripts=()
for part in "$@"; do
    case $part in
        tools | campaigns | stores | temporal | browser | real-agents | cluster)
            command -v cargo-nextest >/dev/null 2>&1 || { programs+=(python3); scripts+=(checkers.sh); }
            ;;
    esac
    case $part in
        dependencies | docs) programs+=(python3); scripts+=(checkers.sh) ;;
        forge) programs+=(npm) ;;
        macos) programs+=(curl python3); scripts+=(macos.sh) ;;
        installs) programs+=(python3 npm busybox curl lintian ruby shellcheck); scripts+=(packagers.sh) ;;
        deploy) programs+=(python3 buildah curl docker-compose systemd-analyze) ;;
        tools) programs+=(python3 bwrap strace faketime nginx openssl ssh-keygen); scripts+=(otel-collector.sh) ;;
        campaigns) programs+=(strace) ;;
        stores) programs+=(python3 npm faketime openssl strace); scripts+=(postgres.sh s3-servers.sh) ;;
        temporal) programs+=(python3 npm nginx openssl); scripts+=(postgres.sh s3-servers.sh temporal.sh) ;;
        browser) programs+=(python3 npm); scripts+=(browser.sh) ;;
        real-agents) programs+=(python3 npm); scripts+=(real-agents.sh) ;;
        cluster) programs+=(python3 npm faketime ip); scripts+=(s3-servers.sh temporal.sh) ;;
    esac
done

# The package of a program, where it has another name.
package() { case $1 in ip) echo iproute2 ;; systemd-analyze) echo systemd ;; ssh-keygen) echo openssh-client ;; bwrap) echo bubblewrap ;; *) echo "$1" ;; esac; }
packages=()
for program in "${programs[@]}"; do
    command -v "$program" >/dev/null 2>&1 || packages+=("$(package "$program")")
done
if [[ " ${programs[*]} " == *" python3 "* ]]; then
    python3 -c 'import ensurepip' 2>/dev/null || packages+=(python3-venv)
fi
apt_install() {
    echo "installing Debian's packages $*"
    command -v apt-get >/dev/null 2>&1 || {
        echo "install.sh: this system has no apt-get; install these with its package manager: $*" >&2
        exit 1
    }
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null 2>&1 || { echo "install.sh: run as root: apt-get install $*" >&2; exit 1; }
        as_root=(sudo)
    fi
    "${as_root[@]}" apt-get update -q
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y "$@"
}
mapfile -t packages < <(printf '%s\n' "${packages[@]}" | sort -u | grep .)
[ ${#packages[@]} -eq 0 ] || apt_install "${packages[@]}"
if [[ " ${scripts[*]} " == *" otel-collector.sh "* ]]; then
    # The collector is linked against the libpython of the python3 that is there by now.
    library=libpython$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    [[ "$(ldconfig -p)" == *"$library.so"* ]] || apt_install "$library"
fi
# They wait for registries and disks more than they compute.
mapfile -t scripts < <(printf '%s\n' "${scripts[@]}" | sort -u | grep .)
processes=()
for script in "${scripts[@]}"; do
    "scripts/$script" >/dev/null &
    processes+=($!)
done
status=0
for index in "${!scripts[@]}"; do
    wait "${processes[index]}" || { status=1; echo "install.sh: scripts/${scripts[index]} failed" >&2; }
done
exit "$status"
