# SPDX-License-Identifier: Apache-2.0
"""What can go wrong with an object store. Messages name the store and the key, never a secret."""

from __future__ import annotations

from typing import Final


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


class Exists(Refused):
    """There is an object already, or another one than expected: a condition does not hold."""


def shortened(text: str) -> str:
    """Return the beginning of what a server says, for messages."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


_LONGEST: Final = 500


def kind_of(code: str, status: int) -> type[StoreError]:
    """Return the error that an answer of a server means.

    Args:
        code: of S3; empty for an answer without one.
        status: of HTTP.
    """
    return _BY_CODE.get(code) or _by_status(status)


def _by_status(status: int) -> type[StoreError]:
    if status == 507:
        return Full
    if status >= 500:
        return Unreachable
    return {401: Forbidden, 403: Forbidden, 404: Absent, 412: Exists}.get(status, Refused)


_BY_CODE: Final[dict[str, type[StoreError]]] = {
    "NoSuchKey": Absent,
    "NoSuchVersion": Absent,
    "NoSuchUpload": Absent,
    "NoSuchBucket": StoreAbsent,
    "ExpiredToken": Expired,
    "ExpiredTokenException": Expired,
    "TokenRefreshRequired": Expired,
    "InvalidToken": Expired,
    "InvalidIdentityToken": Forbidden,  # of a security token service, with status 400
    "XAdminUserNotFound": Forbidden,  # versitygw, with status 404
    "QuotaExceeded": Full,
    "XMinioStorageFull": Full,
    "XMinioAdminBucketQuotaExceeded": Full,
    "InsufficientStorage": Full,
    "InsufficientCapacity": Full,
    "StorageFull": Full,
    "PreconditionFailed": Exists,
    "ConditionalRequestConflict": Exists,
    "NotImplemented": Unsupported,
    "MethodNotAllowed": Unsupported,
}
