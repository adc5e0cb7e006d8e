#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs and builds what the tests run: Debian packages where this is root on Debian, the programs of the test bed.
# All of it is cached; with warm caches this takes seconds.
set -euo pipefail
cd "$(dirname "$0")/.."

# Start scripts are run under each shell and awk that images bring; the documentation talks SQL with this client. A
# fault of the harness is a wrong clock.
if ! type gawk mawk busybox mysql faketime &>/dev/null; then
  if [ "$(id -u)" = 0 ] && type apt-get &>/dev/null; then
    apt-get -qq update
    apt-get -qq install -y --no-install-recommends gawk mawk busybox-static mariadb-client-core faketime \
      >/dev/null
  else
    echo "binaries: gawk, mawk, busybox, mysql and faketime are needed; install them" >&2
    exit 1
  fi
fi
python -m testbed build --nodes fake
python -m testbed build --nodes real --image matrixone
python -m testbed build helm versitygw promql hakeeper-sim
python -m testbed build operator-verify
