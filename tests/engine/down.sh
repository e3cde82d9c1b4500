#!/usr/bin/env bash
# Stops the private Docker engine of the tests and its containers; images stay for the next start.
set -euo pipefail
. "$(dirname "$0")/common.sh"
become_root "$@"

exec 9>"$engine_dir/lock"
flock -w 600 9 || die "a start of this engine is still going on"
if engine_answers; then
    export DOCKER_HOST=unix://$socket
    running=$(docker ps -q)
    if [ -n "$running" ]; then
        say "stopping" $running
        docker stop -t 3 $running >/dev/null || docker kill $running >/dev/null || true
    fi
fi
pid=$(engine_pid)
if [ -n "$pid" ]; then
    end "$pid" 30
    say "dockerd is down"
fi
end_leftovers
own_traffic -D || true
prefix=$(subnet_prefix)
for link in ${prefix:+$(ip -4 -o address show | awk -v prefix="$prefix." 'index($4, prefix) == 1 {print $2}')}; do
    ip link delete dev "$link" || true # the bridge, and those of networks that were made on this engine
done
rm -rf "$run_dir"
