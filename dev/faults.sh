#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The gate's sample of `make faults`: points of all methods and a known seed, at most four minutes, so that a commit
# which is tested twice gets the same verdict. SEED= draws others. The commit is to choose it once drawn seeds are clean.
set -euo pipefail
cd "$(dirname "$0")/.."
exec make --no-print-directory faults SEED="${SEED:-681522}" POINTS="${POINTS:-400}" SECONDS_EACH=240
