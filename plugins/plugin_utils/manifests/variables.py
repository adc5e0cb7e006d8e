# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A resource that is given as variables of a play, as `-e @cluster.yaml` does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...module_utils.api.plain import plain
from .documents import ManifestError

_FIELDS = ("apiVersion", "kind", "metadata", "spec", "deps")


def resource_in_variables(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the resource whose fields are variables, as they were written.

    Args:
        variables: of a task, not yet evaluated. They stay so: a text with braces in a manifest is
            data, as it is to kubectl.

    Raises:
        ManifestError: A value is nothing that JSON knows.
    """
    try:
        return {name: plain(variables[name]) for name in _FIELDS if name in variables}
    except TypeError as error:
        raise ManifestError(
            f"the variables of the play: {error}; use -e manifest=<file>"
        ) from error
