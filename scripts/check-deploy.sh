#!/usr/bin/env bash
# Checks what deploy/ has: the services of systemd, Docker Compose and Kubernetes by their schemas, and the image by a workflow that runs in it.
# Usage: scripts/check-deploy.sh PROGRAM
#   PROGRAM  the static program of scripts/release.sh
# It needs what `scripts/install.sh deploy` installs, and no network.
set -euo pipefail
program=$(realpath "${1:?usage: scripts/check-deploy.sh PROGRAM}")
cd "$(dirname "$0")/.."

fail() {
    printf 'check-deploy.sh: %s\n' "$*" >&2
    exit 1
}
for tool in buildah curl docker-compose systemd-analyze; do
    command -v "$tool" >/dev/null || fail "missing: $tool; run: scripts/install.sh deploy"
done
validators=$(scripts/python-packages.sh validators "kubernetes-validate==1.37.0")
dir=$(mktemp -d)
server=
finish() {
    if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi
    # What runs in a container may write once more after buildah has ended.
    for _ in {1..50}; do
        if remove_files 2>/dev/null; then return; fi
        sleep 0.2
    done
    remove_files
}
# An ordinary user has files of the image only in a user namespace.
remove_files() { if [ "$(id -u)" -eq 0 ]; then rm -rf "$dir"; else buildah unshare rm -rf "$dir"; fi; }
trap finish EXIT

image() { buildah --storage-driver vfs --root "$dir/images" --runroot "$dir/run" "$@"; }

check_services() {
    local unit instance
    for unit in deploy/systemd/*@.service; do
        # An instance for this user, of the program that is there.
        instance=$dir/$(basename "${unit/@/@$(id -un)}")
        sed "s|/usr/bin/uwf |$program |" "$unit" > "$instance"
        grep -q "ExecStart=$program" "$instance" || fail "$unit does not start /usr/bin/uwf"
    done
    systemd-analyze verify "$dir"/uwf-*.service
    # Each option that they give exists.
    "$program" worker --engine temporal --max-agents 4 --drain 10m --help >/dev/null
    "$program" serve --hooks --gateway --address 0.0.0.0:7717 --host uwf.example.org --help >/dev/null
    echo "ok  systemd"
}

check_compose() {
    POSTGRES_PASSWORD=test WORKFLOW_DASHBOARD_SECRET=test docker-compose -f deploy/compose.yaml config --quiet
    if docker-compose -f deploy/compose.yaml config --quiet 2>/dev/null; then fail "compose.yaml accepts an empty password"; fi
    echo "ok  compose"
}

check_kubernetes() {
    "$validators/kubernetes-validate" --strict --quiet deploy/kubernetes/*.yaml
    echo "ok  kubernetes"
}

# Each configuration that the examples ship is valid.
check_configurations() {
    mkdir "$dir/root"
    cp deploy/config.example.yaml "$dir/root/config.yaml"
    UNCAGED_WORKFLOW_STORAGE_ROOT=$dir/root "$program" config validate >/dev/null || fail "deploy/config.example.yaml is not valid"
    python3 - deploy/kubernetes/settings.yaml > "$dir/root/config.yaml" <<'END'
import sys
lines = iter(open(sys.argv[1]).read().split("  config.yaml: |\n")[1].splitlines())
for line in lines:
    if not line.startswith("    "):
        break
    print(line[4:])
END
    UNCAGED_WORKFLOW_STORAGE_ROOT=$dir/root "$program" config validate >/dev/null || fail "the configuration in deploy/kubernetes is not valid"
    echo "ok  configurations"
}

# Runs a command in the container, as the user of the image.
contained() { image run --isolation chroot uwf -- "$@"; }

check_image() {
    local context=$dir/context secret=a-secret-of-this-test-that-is-long-enough port=7797 status
    mkdir "$context"
    cp "$program" "$context/uwf"
    image build --quiet --isolation chroot --file deploy/Containerfile --target uwf --tag uwf "$context" >/dev/null
    image from --name uwf uwf >/dev/null
    contained /usr/bin/uwf --version
    contained /usr/bin/uwf init workflow compare --template map >/dev/null
    contained /usr/bin/uwf run compare -p 'Compare tram and bus lane' --agent 'uwf-mock .workflows/mock/compare.yaml' --format json > "$dir/report" \
        || fail "a workflow fails in the image"
    grep -q '"outcome":"succeeded"' "$dir/report" || fail "a workflow in the image reports $(cat "$dir/report")"
    contained /usr/bin/uwf doctor --offline >/dev/null || fail "uwf doctor finds problems in the image"
    echo "ok  image"

    # The probes of Kubernetes come without the name of a host.
    image run --isolation chroot --env WORKFLOW_DASHBOARD_SECRET=$secret uwf -- \
        /usr/bin/uwf serve --gateway --address 127.0.0.1:$port > "$dir/server" 2>&1 &
    server=$!
    for _ in $(seq 50); do
        if curl --silent --fail "http://127.0.0.1:$port/healthz" >/dev/null; then break; fi
        sleep 0.2
    done
    for path in healthz readyz; do
        status=$(curl --silent --output /dev/null --write-out '%{http_code}' --header "Host: 10.1.2.3:$port" "http://127.0.0.1:$port/$path")
        [ "$status" = 200 ] || { cat "$dir/server" >&2; fail "/$path in the image answers $status"; }
    done
    kill "$server"
    wait "$server" || true
    server=
    echo "ok  dashboard in the image"
}

check_services
check_compose
check_kubernetes
check_configurations
check_image
