#!/usr/bin/env bash
# Two simulated engines on the private Docker engine, kept by `steward run` until Ctrl-C. Nothing of yours is touched.
set -euo pipefail
cd "$(dirname "$0")/../.."
DOCKER_HOST=$(bash tests/engine/up.sh)
export DOCKER_HOST
demo=$(mktemp -d /tmp/steward-demo.XXXXXX)
mkdir -p "$demo/desired"
cat > "$demo/desired/estate.yml" <<YAML
# Edit and save this file: the containers follow.
rig: {name: demo, boot: {stagger: 0s}}
defaults:
  drain: {idle_for: 1s, limit: 20s, term: 5s}
estate:
  - name: chat
    compose: simulated/default
    gpus: []
    port: 8010
    set: {max_model_len: 8192, extra_args: [--sim-load-s, "2"]}
  - name: embed
    compose: simulated/default
    gpus: []
    port: 8011
YAML
export STEWARD_ESTATE="$demo/desired" STEWARD_STATE="$demo/state" STEWARD_LOCK_DIR="$demo/lock"
steward=$PWD/.venv/bin/steward

tidy() {
    trap - EXIT INT TERM
    [ -n "${pid:-}" ] && kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
    echo; echo "demo: removing its two engines"
    printf 'rig: {name: demo}\nallow_prune: [chat, embed]\nestate: []\n' > "$demo/desired/estate.yml"
    "$steward" apply --timeout 60s > "$demo/apply.log" 2>&1 || { cat "$demo/apply.log"; return 1; }
    rm -rf "$demo"
}
trap tidy EXIT
trap 'exit 0' INT TERM

echo "demo: the estate is $demo/desired/estate.yml"; echo
"$steward" plan
"$steward" run > "$demo/run.log" 2>&1 &
pid=$!
for name in chat embed; do "$steward" wait "$name" --timeout 60s; done
"$steward" status -v || true
cat <<TEXT

Three things to try, in another terminal:
  edit    change max_model_len or a port in $demo/desired/estate.yml and save
  break   write a word that does not belong there, or: docker -H $DOCKER_HOST stop \$(docker -H $DOCKER_HOST ps -q | head -1)
  watch   STEWARD_STATE=$demo/state STEWARD_ESTATE=$demo/desired $steward status --watch
and a request:
  curl -s http://127.0.0.1:8010/v1/completions -H 'Content-Type: application/json' -d '{"model": "chat", "prompt": "hello", "max_tokens": 8}'

What Steward does appears here; Ctrl-C ends the demo and removes it.

TEXT
STEWARD_STATE="$demo/state" "$steward" events --follow &
wait "$pid" || { cat "$demo/run.log"; exit 1; }
