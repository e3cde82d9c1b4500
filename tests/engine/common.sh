# What the scripts of the private test engine share: where it lives, how to ask it, how to end what a crash left behind.
# Sourced, never run. Everything that is printed goes to stderr, so that a script's stdout is its answer alone.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
checkout=$(cd "$here/../.." && pwd)
engine_dir=${STEWARD_ENGINE_DIR:-$checkout/.engine}
mkdir -p "$engine_dir" && engine_dir=$(cd "$engine_dir" && pwd) || exit 1
engine_id=$(printf %s "$engine_dir" | sha256sum | cut -c1-8)

# A socket's path may have 107 characters at most and a checkout may lie deep, so sockets and pid files live in /run.
run_dir=/run/steward-engine-$engine_id
socket=$run_dir/docker.sock
pid_file=$run_dir/docker.pid
bridge=stw-$engine_id

PATH=$PATH:/usr/sbin:/sbin
export DOCKER_CONFIG=$engine_dir/docker-config  # no context, credential helper or plugin of the user's
export DOCKER_BUILDKIT=0                         # Debian's Docker has no buildx
docker_cli=/usr/bin/docker                       # Debian's own fits its dockerd; a newer one may refuse the old API
[ -x "$docker_cli" ] || docker_cli=docker

say() { printf 'engine: %s\n' "$*" >&2; }

die() {
    printf 'engine: error: %s\n' "$*" >&2
    exit 1
}

docker() { timeout "${docker_timeout:-60}" "$docker_cli" "$@"; }

# Root runs the rest; another user gets there by sudo, and the socket is then readable by that user's group.
become_root() {
    [ "$(id -u)" = 0 ] && return
    command -v sudo >/dev/null || die "needs root to run dockerd and to install packages, and there is no sudo"
    exec sudo env STEWARD_ENGINE_DIR="$engine_dir" STEWARD_ENGINE_GROUP="$(id -g)" bash "$0" "$@"
}

engine_answers() { [ -S "$socket" ] && docker_timeout=${1:-5} docker -H "unix://$socket" version >/dev/null 2>&1; }

# The command line of a process, in words; empty once it is gone.
command_line() { tr '\0' ' ' 2>/dev/null <"/proc/$1/cmdline" || true; } 2>/dev/null

# The pid of our dockerd; nothing when the file is missing, stale, or its number belongs to another program by now.
engine_pid() {
    local pid
    pid=$(cat "$pid_file" 2>/dev/null) || return 0
    case $(command_line "$pid") in *dockerd*"$run_dir"*) echo "$pid" ;; esac
}

# wait_for SECONDS COMMAND...: poll until it succeeds.
wait_for() {
    local tries=$(($1 * 10))
    shift
    until "$@"; do
        [ $((tries -= 1)) -gt 0 ] || return 1
        sleep 0.1
    done
}

gone() { [ ! -d "/proc/$1" ] || grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; }

# end PID SECONDS: TERM, then KILL.
end() {
    kill -TERM "$1" 2>/dev/null || return 0
    wait_for "$2" gone "$1" && return
    kill -KILL "$1" 2>/dev/null || return 0
    wait_for 10 gone "$1" || say "process $1 does not end"
}

# Processes that this engine started and that a killed dockerd leaves: its containerd, the shims, port proxies.
leftover_pids() {
    local entry pid prefix
    prefix=$(subnet_prefix)
    for entry in /proc/[0-9]*; do
        pid=${entry#/proc/}
        case $(command_line "$pid") in
            *containerd*"$run_dir"/exec*) echo "$pid" ;;
            *docker-proxy*"-container-ip ${prefix:-none}."*) echo "$pid" ;;
        esac
    done
}

# End, by pid, what a dockerd that is no more left running: each shim's container first, else it would live on alone.
end_leftovers() {
    local pid child
    for pid in $(leftover_pids); do
        case $(command_line "$pid") in
            *containerd-shim*)
                for child in $(cat "/proc/$pid/task/$pid/children" 2>/dev/null); do
                    say "ending process $child, left by a container of a stopped engine"
                    kill -KILL "$child" 2>/dev/null || true
                done
                ;;
        esac
    done
    for pid in $(leftover_pids); do end "$pid" 5; done
    unmount_leftovers
    # Nothing of the old run is worth recovering, and a new containerd hangs on the shims that it finds noted there.
    rm -rf "$run_dir/exec" "$pid_file" "$socket"
}

unmount_leftovers() {
    local point
    awk -v run="$run_dir/" -v data="$engine_dir/data" 'index($5, run) == 1 || index($5, data) == 1 {print $5}' \
        /proc/self/mountinfo | sort -r | while read -r point; do
        umount -l "$point" 2>/dev/null || true
    done
}

# The first two numbers of the engine's own network, as its bridge has them; empty without a bridge.
subnet_prefix() { { ip -4 -o address show dev "$bridge" 2>/dev/null || true; } | sed -n 's/.* inet \([0-9]*\.[0-9]*\)\..*/\1/p'; }

# own_traffic -C|-D|-I : one rule of FORWARD about packets within the engine's own networks.
own_traffic() {
    local prefix
    prefix=$(subnet_prefix)
    [ -n "$prefix" ] && iptables "$1" FORWARD -s "$prefix.0.0/16" -d "$prefix.0.0/16" -j ACCEPT 2>/dev/null
}
