#!/usr/bin/env bash
# Installs the Debian packages that the tests' real parts need, when they are missing: packages.sh [engine] [nvml]
set -euo pipefail
. "$(dirname "$0")/common.sh"

# group, a file that shows that the package is there, package
table="
engine /usr/sbin/dockerd docker.io
engine /usr/sbin/ip|/sbin/ip|/bin/ip|/usr/bin/ip iproute2
engine /etc/ssl/certs/ca-certificates.crt ca-certificates
engine /usr/bin/docker-registry docker-registry
nvml /usr/bin/gcc gcc
nvml /usr/include/stdio.h libc6-dev
"
groups=" ${*:-engine nvml} "

missing() {
    local group files package file found
    while read -r group files package; do
        case $groups in *" $group "*) ;; *) continue ;; esac
        found=
        for file in ${files//|/ }; do [ -e "$file" ] && found=1; done
        [ -n "$found" ] || echo "$package"
    done <<<"${table:1:-1}"
}

install() {
    DEBIAN_FRONTEND=noninteractive timeout 600 apt-get install -y --no-install-recommends \
        -o DPkg::Lock::Timeout=120 -o Acquire::Retries=2 -o Acquire::http::Timeout=60 "$@" </dev/null 1>&2
}

wanted=$(missing)
[ -n "$wanted" ] || exit 0
command -v apt-get >/dev/null || die "this machine has no apt-get; install by hand: $wanted"
become_root "$@"
say "installing" $wanted
# A machine's package lists may be missing or old; they are fetched only when they turn out not to do.
install $wanted || { timeout 300 apt-get update 1>&2 && install $wanted; } || die "could not install: $wanted"
wanted=$(missing)
[ -z "$wanted" ] || die "still missing after the installation: $wanted"
