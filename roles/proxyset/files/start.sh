#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Starts one proxy: completes the mounted configuration with its identity, waits for the plugin if
# there is one, and becomes mo-service. START_ROOT stands before every fixed path (tests).
set -eu

root=${START_ROOT:-}
mounted=$root/etc/matrixone/config/config.toml
binary=$root/mo-service
config=${TMPDIR:-$root/tmp}/config.toml

pod=${POD_NAME:-$(hostname)}

# The first 16 digits of a SHA-256, each character in hexadecimal, the two of a pair exchanged.
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

# Tells whether a TCP connection can be made: with bash where the image has it, else with busybox.
connects() { # host, port
  if command -v bash >/dev/null; then
    # shellcheck disable=SC2016 # the inner shell expands them
    timeout 2 bash -c 'exec 3<>"/dev/tcp/$1/$2"' bash "$1" "$2" 2>/dev/null
  else
    nc -w 2 "$1" "$2" -e true 2>/dev/null
  fi
}

# The end of the wait shows as a restart of the container, and the wait begins anew.
wait_for_plugin() { # host:port
  limit=$(($(date +%s) + ${PLUGIN_TIMEOUT:-600}))
  until connects "${1%:*}" "${1##*:}"; do
    if [ "$(date +%s)" -ge "$limit" ]; then
      echo "timeout: the plugin at $1 took no connection for ${PLUGIN_TIMEOUT:-600} s" >&2
      exit 1
    fi
    sleep 1
  done
}

id=$(hash_uuid "$pod.$NAMESPACE.svc")
cat "$mounted" >"$config"
insert '[proxy]' "uuid = \"$id\""

if [ -n "${WAIT_PLUGIN_ADDR:-}" ]; then wait_for_plugin "$WAIT_PLUGIN_ADDR"; fi

echo "$binary -cfg $config $*"
exec "$binary" -cfg "$config" "$@"
