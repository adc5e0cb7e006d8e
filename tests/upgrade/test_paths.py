# SPDX-License-Identifier: Apache-2.0
"""Into which versions a backup is not restored."""

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.upgrade.paths import (
    problem_of_restore,
)


@pytest.mark.parametrize(
    ("written_by", "runs", "problem"),
    [
        ("8.0.30-MatrixOne-v1.3.0", "1.3.0", ""),
        ("8.0.30-MatrixOne-v3.0.4", "3.0.18", ""),
        ("8.0.30-MatrixOne-v3.0.18", "3.0.4", ""),
        ("8.0.30-MatrixOne-v2.2.2", "3.0.4", ""),
        ("8.0.30-MatrixOne-v1.3.0", "2.0.1", "does not get to 2.0.1"),
        ("8.0.30-MatrixOne-v1.3.0", "4.2.0", "does not get to 4.2.0"),
        ("8.0.30-MatrixOne-v2.0.1", "3.0.9", "does not get to 3.0.9"),
        ("8.0.30-MatrixOne-v3.0.4", "2.2.2", "2.2.2 cannot read what 3.0.4 has written"),
        ("2.2.2", "2.1.0", "2.1.0 cannot read what 2.2.2 has written"),
        ("8.0.30-MatrixOne-v3.0.4", "", ""),
        ("8.0.30-MatrixOne-v3.0.4", "nightly", ""),
        ("8.0.30-MatrixOne-86b2c61", "1.3.0", ""),
        ("8.0.30-MatrixOne-v8632561", "1.3.0", ""),
        ("", "1.3.0", ""),
    ],
)
def test_what_is_known_not_to_run_is_not_restored(written_by: str, runs: str, problem: str) -> None:
    """Where a version is unknown, nothing is known against it."""
    found = problem_of_restore(written_by, runs)
    assert problem in found
    assert bool(found) is bool(problem)
