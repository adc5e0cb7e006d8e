# SPDX-License-Identifier: Apache-2.0
"""The errors of rendering. Everything raised on purpose is a RenderingError."""

from __future__ import annotations


class RenderingError(Exception):
    """Something cannot be rendered from what was given."""


class InvalidSpec(RenderingError):
    """A field of the resource cannot be used.

    Attributes:
        field_path: dotted path from the resource's root, e.g. ``spec.sharedStorage``.
        message: what is wrong and what would be right, without the path.
    """

    def __init__(self, field_path: str, message: str) -> None:
        super().__init__(f"{field_path}: {message}")
        self.field_path = field_path
        self.message = message


class TomlError(RenderingError):
    """A value cannot be written as TOML; the message names the key."""


class QuantityError(RenderingError):
    """A text is not a Kubernetes quantity."""
