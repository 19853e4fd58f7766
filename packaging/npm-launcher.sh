#!/bin/sh
# Starts the program of the package for this machine, which npm installs as an optional dependency. `exec` leaves no process between uwf and
# its caller, so signals and exit codes need no forwarding.
case $(uname -m) in
    x86_64) package=@uwf/linux-x64 ;;
    aarch64) package=@uwf/linux-arm64 ;;
    *)
        echo "uwf: this machine is $(uname -m); uwf is released for x86_64 and aarch64" >&2
        exit 1
        ;;
esac
# The directories in which Node would look for the package.
dir=$(dirname "$(readlink -f "$0")")
while [ "$dir" != / ]; do
    dir=$(dirname "$dir")
    program=${dir%/}/node_modules/$package/bin/uwf
    if [ -x "$program" ]; then exec "$program" "$@"; fi
done
echo "uwf: $package is not installed; install uwf again without --omit=optional" >&2
exit 1
