#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The first process of a real node, in namespaces of its own, begins here: it gives the node its own
# view of the file system and then waits. Nothing that is mounted from here on is seen outside, and
# all of it is removed with the node's last process.
# Arguments: folder of the node, name of the node, program that waits.
set -eu
folder=$1 name=$2 wait_program=$3

# Mounts of the machine come in, mounts of the node don't go out; pods may share among themselves.
mount --make-rslave /
mount --make-rshared /
mount -t proc proc /proc

# kubelet sets these for the whole machine: it finds files that already hold what it wants.
set_aside() {
  if [ -e "/proc/sys/$1" ]; then
    echo "$2" >"$folder/sysctl"/"$3"
    mount --bind "$folder/sysctl/$3" "/proc/sys/$1"
  fi
}
mkdir -p "$folder/sysctl"
set_aside vm/overcommit_memory 1 overcommit_memory
set_aside vm/panic_on_oom 0 panic_on_oom
set_aside kernel/panic 10 panic
set_aside kernel/panic_on_oops 1 panic_on_oops
set_aside kernel/keys/root_maxkeys 1000000 root_maxkeys
set_aside kernel/keys/root_maxbytes 25000000 root_maxbytes

# Paths that the runtime, kubelet and CNI use regardless of their configuration.
for place in run var/lib var/log; do
  mkdir -p "$folder/$place"
  mount --bind "$folder/$place" "/$place"
done
mkdir -p /var/log/containers /var/log/pods /run/netns

hostname "$name"
ip link set lo up
echo 1 >/proc/sys/net/ipv4/ip_forward
if [ -e /proc/sys/net/bridge/bridge-nf-call-iptables ]; then
  echo 1 >/proc/sys/net/bridge/bridge-nf-call-iptables
fi
: >"$folder/prepared"
exec "$wait_program"
