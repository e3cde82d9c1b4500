#!/usr/bin/env bash
# Prints the path of Debian's docker-registry, fetching it first when the machine has none. It is unpacked below the test
# engine's folder and not installed, because the package would start a registry of its own that listens to the network.
set -euo pipefail
checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=${STEWARD_ENGINE_DIR:-$checkout/.engine}/registry
program=$folder/usr/bin/docker-registry

fetch() { timeout 60 apt-get -q -o Acquire::Retries=2 -o Acquire::http::Timeout=30 download docker-registry; }

if command -v docker-registry; then exit 0; fi
if [ ! -x "$program" ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    cd "$work"
    { fetch || { timeout 90 apt-get -q update && fetch; }; } >&2
    mkdir -p "$folder"
    dpkg -x docker-registry_*.deb "$folder"
fi
echo "$program"
