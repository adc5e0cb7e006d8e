#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Starts one log store: completes the mounted configuration with what only this Pod knows, waits for
# its own DNS name and becomes mo-service. START_ROOT stands before every fixed path (tests).
set -eu

root=${START_ROOT:-}
mounted=$root/etc/logservice/logservice.toml
gossip=$root/etc/gossip/gossip.toml
incarnations=$root/etc/gossip/incarnations
bootstrap=$root/etc/bootstrap/bootstrap.toml
data=$root/var/lib/matrixone
binary=$root/mo-service
resolv_conf=$root/etc/resolv.conf
config=${TMPDIR:-$root/tmp}/logservice.toml

pod=${POD_NAME:-$(hostname)}
fqdn=$pod.$HEADLESS_SERVICE_NAME.$NAMESPACE.svc${CLUSTER_DOMAIN:+.$CLUSTER_DOMAIN}
ordinal=${pod##*-}
case $POD_IP in
  *:*) ip="[$POD_IP]" ;;
  *) ip=$POD_IP ;;
esac

# A store's identity goes with its data: the incarnation is written beside them at the first start,
# and a store that finds it there keeps it, whatever has been decided for its successor meanwhile.
incarnation() {
  if [ ! -s "$data/incarnation" ]; then
    awk -v ordinal="$ordinal" '
      $1 == ordinal { found = $2 }
      END { print found + 0 }
    ' "$incarnations" >"$data/incarnation.new"
    mv "$data/incarnation.new" "$data/incarnation"
  fi
  cat "$data/incarnation"
}

instance_keys() {
  printf 'uuid = "00000000-0000-0000-%04x-%012x"\n' "$1" "$ordinal"
  if [ "${ADDRESS_STYLE:-}" = service-host ]; then
    printf 'service-host = "%s"\n' "$fqdn"
    printf 'raft-port = 32000\nlogservice-port = 32001\ngossip-port = 32002\n'
  else
    printf 'raft-address = "%s:32000"\nlogservice-address = "%s:32001"\n' "$fqdn" "$fqdn"
    printf 'gossip-address = "%s:32002"\ngossip-address-v2 = "%s:32002"\n' "$ip" "$fqdn"
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

number=$(incarnation)
seeds=$(awk 'NF && $0 != "[logservice]"' "$gossip")
keys=$(instance_keys "$number")
cat "$mounted" >"$config"
insert '[logservice]' "$seeds
$keys"
awk '$0 != "[logservice]"' "$bootstrap" >>"$config"

if [ -n "${MO_BIN_PATH:-}" ]; then
  mkdir -p "$MO_BIN_PATH"
  cp "$binary" "$MO_BIN_PATH/mo-service"
  binary=$MO_BIN_PATH/mo-service
fi

wait_for_dns "$fqdn"
echo "$binary -cfg $config $*"
exec "$binary" -cfg "$config" "$@"
