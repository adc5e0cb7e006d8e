#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Starts one compute node: completes the mounted configuration with what only this Pod knows and
# becomes mo-service. START_ROOT stands before every fixed path (tests).
#
# As "start.sh drain <least> <most> <quiet> <peer>..." it is the preStop hook: it keeps the node
# serving until its SQL clients have been moved elsewhere, between that many seconds, and some quiet
# seconds more, in which its locks are handed over. Log stores and compute nodes are clients, too, for
# as long as they live: what the names of such peers resolve to does not count.
set -eu

root=${START_ROOT:-}

# Some nslookups (busybox) do not try the search list, though the resolver of mo-service does.
look_up() { # name...
  domains=$(awk '$1 == "search" { $1 = ""; print }' "$root/etc/resolv.conf" 2>/dev/null) || domains=
  for name in "$@"; do
    nslookup "$name" 2>/dev/null || true
    for domain in $domains; do
      nslookup "$name.$domain" 2>/dev/null || true
    done
  done
}

# Prints the IPv4 addresses of names as the kernel does: in hexadecimal, the last byte first.
addresses_of() { # name...
  look_up "$@" | awk '
    { for (i = 1; i <= NF; i++)
        if ($i ~ /^[0-9]+[.][0-9]+[.][0-9]+[.][0-9]+$/) {
          split($i, byte, ".")
          printf "%02X%02X%02X%02X ", byte[4], byte[3], byte[2], byte[1]
        } }
  '
}

# The server listens on both families with one socket, so that IPv4 clients are in either table.
# Where there is no IPv6 there is no second one; without the first nobody knows.
clients() { # addresses that do not count
  if [ ! -r "$root/proc/net/tcp" ]; then
    echo unknown
    return
  fi
  cat "$root/proc/net/tcp" "$root/proc/net/tcp6" 2>/dev/null |
    KNOWN=$1 awk '
      $2 ~ /:1771$/ && $4 == "01" { # port 6001, established
        here = substr($2, length($2) - 12, 8)
        there = substr($3, length($3) - 12, 8)
        if (here != there && !index(ENVIRON["KNOWN"], there)) found++
      }
      END { print found + 0 }
    '
}

drain() { # least, most, quiet, peer...
  least=$1
  most=$2
  quiet=$3
  shift 3
  begun=$(date +%s)
  known=$(addresses_of "$@")
  left=
  while :; do
    age=$(($(date +%s) - begun))
    if [ "$age" -ge "$most" ]; then return; fi
    if [ "$age" -ge "$least" ]; then
      if [ "$(clients "$known")" = 0 ]; then
        # The first time counts: now and then a probe looks like a client.
        left=${left:-$age}
        if [ $((age - left)) -ge "$quiet" ]; then return; fi
      else
        # Pods come and go meanwhile; in a cluster that is taken away names go before their sessions.
        known="$known $(addresses_of "$@")"
      fi
    fi
    sleep 1
  done
}

if [ "${1:-}" = drain ]; then
  shift
  drain "$@"
  exit 0
fi

mounted=$root/etc/matrixone/config/config.toml
binary=$root/mo-service
config=${TMPDIR:-$root/tmp}/config.toml

pod=${POD_NAME:-$(hostname)}
case $POD_IP in
  *:*) ip="[$POD_IP]" ;;
  *) ip=$POD_IP ;;
esac

# Other controllers compute the same UUID from the Pod: the first 16 digits of a SHA-256, each
# character in hexadecimal, the two of a pair exchanged.
hash_uuid() { # name
  digest=$(printf '%s\n' "$1" | sha256sum | cut -c1-16)
  printf '%s' "$digest" | od -An -v -tx1 | awk '
    { for (i = 1; i <= NF; i++) byte[++n] = $i }
    END {
      for (i = 1; i <= n; i += 2) {
        if (i == 5 || i == 7 || i == 9 || i == 11) printf "-"
        printf "%s%s", byte[i + 1], byte[i]
      }
    }
  '
}

# Inserts a text behind the header of a table of the configuration.
insert() { # header, text
  HEADER=$1 TEXT=$2 awk '
    { print }
    $0 == ENVIRON["HEADER"] { print ENVIRON["TEXT"]; found = 1 }
    END { exit !found }
  ' "$config" >"$config.new"
  mv "$config.new" "$config"
}

id=$(hash_uuid "$pod.$HEADLESS_SERVICE_NAME.$NAMESPACE.svc")
cat "$mounted" >"$config"
insert '[cn]' "uuid = \"$id\"
listen-address = \"0.0.0.0:6002\"
service-address = \"$ip:6002\"
sql-address = \"$ip:6001\"
service-host = \"$ip\""
insert '[cn.lockservice]' "service-address = \"$ip:6003\""

if [ -n "${MO_BIN_PATH:-}" ]; then
  mkdir -p "$MO_BIN_PATH"
  cp "$binary" "$MO_BIN_PATH/mo-service"
  binary=$MO_BIN_PATH/mo-service
fi

echo "$binary -cfg $config $*"
exec "$binary" -cfg "$config" "$@"
