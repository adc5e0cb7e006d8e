#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Starts one transaction node: completes the mounted configuration with what only this Pod knows,
# waits for its own DNS name and becomes mo-service. START_ROOT stands before every fixed path
# (tests).
set -eu

root=${START_ROOT:-}
mounted=$root/etc/matrixone/config/config.toml
binary=$root/mo-service
resolv_conf=$root/etc/resolv.conf
config=${TMPDIR:-$root/tmp}/config.toml
shards=$root/etc/matrixone/shards
memory=$root/var/lib/matrixone/data/tnservice

pod=${POD_NAME:-$(hostname)}
name=$pod.$HEADLESS_SERVICE_NAME.$NAMESPACE.svc
fqdn=$name${CLUSTER_DOMAIN:+.$CLUSTER_DOMAIN}
ordinal=${pod##*-}

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

uuid() {
  if [ -n "${HOSTNAME_UUID:-}" ]; then
    hash_uuid "$name"
  else
    printf '00000000-0000-0000-0000-1%011x' "$ordinal"
  fi
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

# Some nslookups (busybox) do not try the search list, though the resolver of mo-service does.
resolves() { # name
  if nslookup "$1" >/dev/null 2>&1; then return 0; fi
  domains=$(awk '$1 == "search" { $1 = ""; print }' "$resolv_conf")
  for domain in $domains; do
    if nslookup "$1.$domain" >/dev/null 2>&1; then return 0; fi
  done
  return 1
}

# Sleeps before the first question, because servers remember for seconds that a name is not there.
wait_for_dns() { # name
  limit=$(($(date +%s) + ${DNS_TIMEOUT:-30}))
  while :; do
    sleep 1
    if resolves "$1"; then return; fi
    if [ "$(date +%s)" -ge "$limit" ]; then
      echo "timeout: $1 did not resolve within ${DNS_TIMEOUT:-30} s" >&2
      exit 1
    fi
  done
}

table=dn
if grep -q '^\[tn\]$' "$mounted"; then table=tn; fi
id=$(uuid)
cat "$mounted" >"$config"
insert "[$table]" "uuid = \"$id\"
service-address = \"$fqdn:41010\"
service-host = \"$fqdn\""
insert "[$table.lockservice]" "service-address = \"$fqdn:6003\""
insert "[$table.LogtailServer]" "service-address = \"$fqdn:32003\""

# A node without the file that says which shard it serves is taken for one that serves none, and
# compute nodes acknowledge what they can commit nowhere.
if [ -s "$shards/$id" ] && [ ! -e "$memory/$id" ]; then
  mkdir -p "$memory"
  cp "$shards/$id" "$memory/.$id"
  mv "$memory/.$id" "$memory/$id"
fi

if [ -n "${MO_BIN_PATH:-}" ]; then
  mkdir -p "$MO_BIN_PATH"
  cp "$binary" "$MO_BIN_PATH/mo-service"
  binary=$MO_BIN_PATH/mo-service
fi

# Compute nodes ask for the name of one that served before all the time: to wait helps nobody then.
if [ ! -s "$shards/$id" ]; then wait_for_dns "$fqdn"; fi
echo "$binary -cfg $config $*"
exec "$binary" -cfg "$config" "$@"
