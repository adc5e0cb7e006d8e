# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters of the role that installs, upgrades and removes the operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..module_utils.api.plain import plain
from ..module_utils.operator.rendering import operator_objects
from ..module_utils.operator.uninstall import independent, keeping_volumes


def objects_of(manifests: Any, **chosen: Any) -> list[dict[str, Any]]:
    """Return the operator's objects with what a user chose."""
    return operator_objects(plain(list(manifests)), **plain(chosen))


def patches_of(resources: Any) -> list[dict[str, Any]]:
    """Return patches that keep the volumes of log services."""
    return keeping_volumes(plain(resources))


def independent_of(resources: Any) -> Any:
    """Return the resources that go with none of our own."""
    return independent(plain(list(resources)))


class FilterModule:
    """The filters of this file by name."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters."""
        return {
            "operator_objects": objects_of,
            "keeping_volumes": patches_of,
            "independent": independent_of,
        }
