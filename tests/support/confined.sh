#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a program as Kubernetes runs a container with a read-only root and a user of its own choice:
# a root file system of folders of this machine, all read-only, an empty /tmp, user 1000680000
# without an entry in /etc/passwd, group root, no capabilities. The mounts end with the program.
# Usage: unshare --mount confined.sh ROOT FOLDER[:AT]... -- PROGRAM...   (ROOT: an empty folder)
set -eu
root=$1
shift

show() { # folder, where
  if [ -L "$1" ]; then
    ln -s "$(readlink "$1")" "$root$2"
  elif [ -e "$1" ]; then
    mkdir -p "$root$2"
    mount --bind "$1" "$root$2"
    mount -o remount,bind,ro "$root$2"
  fi
}

mount -t tmpfs -o mode=755 none "$root"
# Before the folders, some of which may be below /tmp.
mkdir "$root/tmp" "$root/proc" "$root/dev"
mount -t tmpfs -o mode=1777 none "$root/tmp"
mount --rbind /proc "$root/proc"
mount --rbind /dev "$root/dev"
for folder in /usr /bin /sbin /lib /lib64 /etc /sys/fs/cgroup; do
  show "$folder" "$folder"
done
while [ "$1" != -- ]; do
  show "${1%%:*}" "${1##*:}"
  shift
done
shift
mount -o remount,ro "$root"
exec chroot "$root" setpriv --reuid 1000680000 --regid 0 --clear-groups --inh-caps=-all --bounding-set=-all \
  --no-new-privs env --chdir /opt/ansible "$@"
