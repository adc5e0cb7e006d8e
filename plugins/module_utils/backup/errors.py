# SPDX-License-Identifier: Apache-2.0
"""The errors of reading documents about backups."""

from __future__ import annotations


class BackupError(Exception):
    """A document about a backup cannot be used."""


class InvalidManifest(BackupError):
    """The record of a backup is malformed, or of a format that this release does not know."""


class InvalidTask(BackupError):
    """A task or the result of one is malformed."""
