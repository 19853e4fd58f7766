#!/usr/bin/env bash
# Runs a command in a box: namespaces of its own for mounts, networks and processes, in which it may make networks as root would.
# What it starts ends with it. Without a command it only says whether that is permitted here: exit code 1 and one line if not.
set -euo pipefail
# Debian keeps ip in a directory that may not be on PATH.
PATH=$PATH:/usr/sbin:/sbin

new=(unshare --mount --net --pid --fork --kill-child --mount-proc)
[ "$(id -u)" -eq 0 ] || new+=(--user --map-root-user)
# Names of networks and what libfaketime shares lie in the box, too.
boxed() {
    "${new[@]}" sh -c 'mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /dev/shm && ip link set lo up && exec "$@"' box "$@"
}
if [ $# -gt 0 ]; then
    boxed "$@"
    exit
fi
if ! boxed sh -c 'ip link add br0 type bridge && ip netns add probe' 2>/dev/null; then
    echo "no network namespaces are permitted here (or iproute2 is missing), so the demonstration of three machines cannot run" >&2
    exit 1
fi
