# SPDX-License-Identifier: Apache-2.0
"""Why something in a store is left alone. Messages name the store and the key."""

from __future__ import annotations


class OwnershipError(Exception):
    """Nothing was deleted, or nothing more."""


class Foreign(OwnershipError):
    """It is somebody else's, or nobody knows whose it is."""


class Superseded(OwnershipError):
    """Another attempt of the same owner has taken over."""


class Contested(OwnershipError):
    """Another attempt wants it at the same moment; a later try may succeed."""
