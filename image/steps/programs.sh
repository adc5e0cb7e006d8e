#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes programs of a virtual environment callable where scripts and modules of projects for
# operator-sdk's base image name them: /usr/local/bin/python3, /usr/local/bin/ansible-playbook.
# Scripts, not links: Python would not find the environment of a link to its program.
# Usage: programs.sh FROM TO
set -eu
for program in python3 pip3 ansible ansible-galaxy ansible-inventory ansible-playbook ansible-runner ansible-vault; do
  if [ -x "$1/$program" ]; then
    printf '#!/bin/sh\nexec %s/%s "$@"\n' "$1" "$program" >"$2/$program"
    chmod 755 "$2/$program"
  fi
done
