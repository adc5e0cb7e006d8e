# SPDX-License-Identifier: Apache-2.0
"""What can go wrong with an object store. Messages name the store and the key, never a secret."""

from __future__ import annotations


class StoreError(Exception):
    """The store did not do what was asked."""


class MissingLibrary(StoreError):
    """The Python package botocore is not installed."""


class Absent(StoreError):
    """There is no object of that key."""


class StoreAbsent(StoreError):
    """There is no such bucket or folder."""


class Forbidden(StoreError):
    """No credentials, unknown ones, or ones that may not do this."""


class Expired(StoreError):
    """The credentials were good once."""


class Unreachable(StoreError):
    """No answer, or none but errors of the server, in all attempts."""


class Full(StoreError):
    """No space or quota is left."""


class Unsupported(StoreError):
    """The server does not have this call."""


class Refused(StoreError):
    """The server refused the request for another reason, which the message quotes."""
