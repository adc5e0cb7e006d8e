#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# On a Red Hat UBI, which has either dnf or microdnf, makes the one that is there callable by both
# names, because Dockerfiles of projects for operator-sdk's base image use both.
# Usage: package_managers.sh FOLDER
set -eu
for pair in dnf:microdnf microdnf:dnf; do
  missing=${pair%:*} present=${pair#*:}
  if command -v "$present" >/dev/null && ! command -v "$missing" >/dev/null; then
    printf '#!/bin/sh\nexec %s "$@"\n' "$(command -v "$present")" >"$1/$missing"
    chmod 755 "$1/$missing"
    exit
  fi
done
