#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The gate's sample of `make faults`: points of a known seed, so that a commit which is tested twice gets the same
# verdict. SEED= draws others. `together`, `aged` and `histories` run at night only: what two at once and old histories
# come to is still being sharpened, and the order of sets is part of the last.
set -euo pipefail
cd "$(dirname "$0")/.."
exec make --no-print-directory faults SEED="${SEED:-681522}" POINTS=400 \
  METHODS="fields interrupted lossy hostile stores runner promises"
