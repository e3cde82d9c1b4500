#!/usr/bin/env bash
# Builds the test images on DOCKER_HOST, without an image registry, when they are missing or what they are made of changed.
#
# steward-test/python:3.11 (Debian's Python), steward-test/simulated:1 (the simulated engine) and steward-test/llamacpp:1
# (llama.cpp's server from the pinned wheel xllamacpp). Each carries the digest of its inputs as a label.
set -euo pipefail
. "$(dirname "$0")/common.sh"
[ -n "${DOCKER_HOST:-}" ] || die "DOCKER_HOST is not set; 'make engine' starts an engine and prints it"

label=test-image.inputs
cd "$checkout"
sources=(controller/__init__.py controller/simulation/__init__.py controller/simulation/engine/*.py)

# digest WORD... : of the contents of the named files, and of other words as they are.
digest() {
    local word
    for word in "$@"; do if [ -f "$word" ]; then cat "$word"; else echo "$word"; fi; done | sha256sum | cut -c1-16
}

is_current() { [ "$(docker image inspect -f "{{index .Config.Labels \"$label\"}}" "$1" 2>/dev/null)" = "$2" ]; }

# build IMAGE DIGEST CONTEXT
build() {
    docker_timeout=300 docker build -q --label "$label=$2" -t "$1" "$3" >/dev/null || die "could not build $1"
}

# make_image IMAGE DIGEST FUNCTION: runs the function in an empty folder unless the image is already made of these inputs.
make_image() {
    local started=$SECONDS work status=0
    is_current "$1" "$2" && return
    work=$(mktemp -d "$engine_dir/build.XXXXXX")
    set +e # a subshell on the left of || would go on after an error
    (
        set -e
        cd "$work"
        "$3" "$1" "$2"
    )
    status=$?
    set -e
    rm -rf "$work"
    [ "$status" = 0 ] || die "could not build $1"
    docker image prune -f --filter "label=$label" >/dev/null || true # the ones that this one replaces
    say "built $1 in $((SECONDS - started)) s"
}

python_image() {
    bash "$here/python/rootfs.sh" >root.tar
    docker_timeout=300 docker import -c "LABEL $label=$2" -c 'ENV LANG=C.UTF-8 PYTHONUNBUFFERED=1' \
        -c 'ENV PATH=/usr/local/bin:/usr/bin:/bin' -c 'CMD ["python3"]' root.tar "$1" >/dev/null
}

simulated_image() {
    cp "$here/simulated/Dockerfile" .
    tar -C "$checkout" -c "${sources[@]}" | tar -x
    build "$1" "$2" .
}

llamacpp_image() {
    cp "$here/llamacpp/Dockerfile" "$here/llamacpp/llama_server.py" .
    pinned_wheel >wheel.txt
    "$(python)" -m pip install -q --disable-pip-version-check --no-compile --no-deps --only-binary :all: --require-hashes \
        --target site-packages -r wheel.txt 1>&2
    build "$1" "$2" .
}

# The wheel's line of requirements-dev.txt with its hashes: one place holds the pin.
pinned_wheel() { awk '/^xllamacpp==/ {pinned = 1} pinned {print; if ($0 !~ /\\$/) exit}' "$checkout/requirements-dev.txt"; }

# A Python with pip: the checkout's own, else a private one (Debian's own Python refuses to install anything).
python() {
    local own=$checkout/.venv/bin/python private=$engine_dir/pip
    [ -x "$own" ] && echo "$own" && return
    [ -x "$private/bin/python" ] || python3 -m venv "$private" 1>&2
    echo "$private/bin/python"
}

docker version >/dev/null 2>&1 || die "no Docker engine answers at $DOCKER_HOST"
python_inputs=$(digest "$here/python/rootfs.sh" "$here/python/packages.txt")
make_image steward-test/python:3.11 "$python_inputs" python_image
make_image steward-test/simulated:1 "$(digest "$python_inputs" "$here/simulated/Dockerfile" "${sources[@]}")" \
    simulated_image
make_image steward-test/llamacpp:1 "$(digest "$python_inputs" "$here"/llamacpp/Dockerfile "$here"/llamacpp/llama_server.py \
    "$(pinned_wheel)")" llamacpp_image
