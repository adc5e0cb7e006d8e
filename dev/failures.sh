# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by scripts that look once more at tests which failed while others ran beside them.

# failed_files LOG prints the files with failures of a pytest log; none, or more than three, are no case for it.
# It takes whole files: their tests may share a cluster, which the first failure left in a state that fails the others.
failed_files() {
  local files
  mapfile -t files < <(sed -nE 's/^(FAILED|ERROR) ([^: ]+).*/\2/p' "$1" | sort -u)
  ((1 <= ${#files[@]} && ${#files[@]} <= 3)) && printf '%s\n' "${files[@]}"
}
