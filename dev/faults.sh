#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The gate's sample of `make faults`: three minutes of points. The commit chooses them, so that each commit gets a
# sample of its own and the same one when it is tested again; the seed is printed. `together` and `aged` run at
# night only: their expectations of what two at once and old histories come to are still being sharpened.
set -euo pipefail
cd "$(dirname "$0")/.."
seed=$((16#$(git rev-parse --short=6 HEAD | cut -c1-6)))
exec make --no-print-directory faults SEED="$seed" POINTS=4000 SECONDS_EACH=180 \
  METHODS="fields interrupted lossy hostile stores runner promises histories"
