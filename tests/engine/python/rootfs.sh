#!/usr/bin/env bash
# Writes a root file system with Python 3.11 and nothing that is not needed to stdout, as a tar archive.
#
# It is unpacked from Debian 12's own packages, fetched through the machine's own sources with private lists and a private
# cache, so that the machine's package state stays as it is; no image registry and no debootstrap (81 s) is involved.
set -euo pipefail
. "$(dirname "$0")/../common.sh"

apt_dir=$engine_dir/apt
work=$(mktemp -d "$engine_dir/rootfs.XXXXXX")
trap 'rm -rf "$work"' EXIT
root=$work/root

apt() {
    timeout 300 apt-get -qq -o Dir::Etc::sourcelist="$apt_dir/sources.list" -o Dir::Etc::sourceparts="$apt_dir/sources.list.d" \
        -o Dir::State::lists="$apt_dir/lists" -o Dir::Cache="$apt_dir/cache" -o APT::Sandbox::User=root \
        -o Acquire::Languages=none -o Acquire::Retries=2 -o Acquire::http::Timeout=60 "$@" </dev/null 1>&2
}

# The machine's own sources; on another Debian release the same mirrors with Debian 12's name in them.
copy_sources() {
    local codename file
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")
    mkdir -p "$apt_dir/sources.list.d" "$apt_dir/lists/partial" "$apt_dir/cache/archives/partial"
    rm -f "$apt_dir"/sources.list.d/*
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
        [ ! -f "$file" ] || sed "s/\b$codename\b/bookworm/g" "$file" >"$apt_dir/sources.list.d/${file##*/}"
    done
    : >"$apt_dir/sources.list"
}

download() {
    local names
    names=$(cat "$here/python/packages.txt")
    mkdir -p "$work/debs" "$root"
    apt update || say "could not refresh the package lists; trying with what is there"
    (cd "$work/debs" && apt download $names) ||
        die "could not fetch the packages of the Python image"
}

# Debian packages still write to /bin and /lib; the merged layout is made first, so that they land in /usr.
unpack() {
    local folder deb
    for folder in bin sbin lib lib64; do
        mkdir -p "$root/usr/$folder"
        ln -s "usr/$folder" "$root/$folder"
    done
    for deb in "$work"/debs/*.deb; do dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$root" --keep-directory-symlink; done
    rm -rf "$root"/usr/share/doc "$root"/usr/share/man "$root"/usr/share/lintian "$root"/usr/share/bug
}

# What the packages' own installation scripts would have done.
finish() {
    local applet
    mkdir -p "$root"/{etc,dev,proc,sys,run,tmp,root,usr/local/bin} "$root/etc/ssl/certs"
    chmod 1777 "$root/tmp"
    ln -s python3.11 "$root/usr/bin/python3"
    for applet in sh cat ls ps kill sleep env; do ln -sf busybox "$root/usr/bin/$applet"; done
    printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n' >"$root/etc/passwd"
    printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
    printf 'hosts: files dns\n' >"$root/etc/nsswitch.conf"
    cat "$root"/usr/share/ca-certificates/mozilla/*.crt >"$root/etc/ssl/certs/ca-certificates.crt"
    ldconfig -r "$root" 2>/dev/null || true # only a cache: the loader also looks into its default folders
}

copy_sources
download
unpack
finish
tar -C "$root" --owner=0 --group=0 --numeric-owner --sort=name -c .
