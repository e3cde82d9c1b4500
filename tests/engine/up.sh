#!/usr/bin/env bash
# Starts the private Docker engine of the tests, with its images, and prints the DOCKER_HOST that reaches it.
#
# It is separate from any other engine of the machine: own data, own socket, own bridge, no packet forwarding; ports are
# published by docker-proxy. It leaves iptables alone, but for one rule where another Docker drops what it does not know.
# In its PATH stands a hook of the name that dockerd looks for before it registers its nvidia driver, so that GPU device
# requests start here without a GPU. A second call finds it running.
set -euo pipefail
. "$(dirname "$0")/common.sh"
become_root "$@"

create_bridge() {
    local number try prefix
    [ -z "$(subnet_prefix)" ] || return 0
    ip link show dev "$bridge" >/dev/null 2>&1 || ip link add name "$bridge" type bridge || die "cannot create a network bridge"
    number=$((16#$engine_id % 50))
    for try in $(seq 0 49); do
        prefix=10.$((200 + (number + try) % 50))
        ip -4 route show | grep -qF "$prefix." && continue
        ip address add "$prefix.0.1/24" dev "$bridge"
        ip link set dev "$bridge" up
        return 0
    done
    die "every network from 10.200 to 10.249 is in use on this machine"
}

# Another Docker on the machine sets FORWARD to drop, which would part our own containers from each other.
allow_own_traffic() {
    case $(iptables -S FORWARD 2>/dev/null) in
        *"-P FORWARD DROP"*) own_traffic -C || own_traffic -I || say "containers of this engine cannot reach each other" ;;
    esac
}

configure() {
    local prefix
    mkdir -p "$run_dir" "$engine_dir/data"
    prefix=$(subnet_prefix)
    cat >"$run_dir/daemon.json" <<JSON
{
  "data-root": "$engine_dir/data",
  "exec-root": "$run_dir/exec",
  "pidfile": "$pid_file",
  "hosts": ["unix://$socket"],
  "group": "${STEWARD_ENGINE_GROUP:-$(id -g)}",
  "bridge": "$bridge",
  "iptables": false,
  "ip6tables": false,
  "ip-forward": false,
  "ip-masq": false,
  "default-address-pools": [{"base": "$prefix.128.0/17", "size": 24}],
  "oom-score-adjust": 0
}
JSON
}

# The daemon keeps none of the caller's files, so that a command substitution around this script can end.
launch() {
    for fd in /proc/self/fd/*; do
        fd=${fd##*/}
        [ "$fd" -le 2 ] || eval "exec $fd>&-"
    done
    cd /
    exec env PATH="$here/bin:$PATH" setsid dockerd --config-file "$run_dir/daemon.json" \
        </dev/null >>"$engine_dir/dockerd.log" 2>&1
}

up_or_dead() { engine_answers || gone "$launched"; }

start() {
    local pid
    pid=$(engine_pid)
    if [ -n "$pid" ]; then
        say "process $pid does not answer; starting again"
        end "$pid" 20
    fi
    end_leftovers
    create_bridge
    allow_own_traffic
    configure
    : >"$engine_dir/dockerd.log"
    launch &
    launched=$!
    wait_for 60 up_or_dead || true
    engine_answers || {
        tail -n 15 "$engine_dir/dockerd.log" >&2
        die "dockerd did not start; its whole log is $engine_dir/dockerd.log"
    }
    say "dockerd is up, process $(engine_pid)"
}

exec 9>"$engine_dir/lock"
flock -w 600 9 || die "another start of this engine is still going on"
"$here/packages.sh" engine 9>&-
engine_answers 10 || start
DOCKER_HOST=unix://$socket "$here/images.sh" 9>&- 1>&2
echo "unix://$socket"
