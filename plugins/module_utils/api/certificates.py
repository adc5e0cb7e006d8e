# SPDX-License-Identifier: Apache-2.0
"""The certificate in a Secret of type ``kubernetes.io/tls``: what may be told of it, and whether a
server can use it. Nothing here leaves the module but what every client of the server sees.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from typing import Any, Final, Self

from .timestamps import timestamp, unix_time

CERTIFICATE: Final = "tls.crt"
KEY: Final = "tls.key"
AUTHORITY: Final = "ca.crt"
"""Of who has signed the certificate; cert-manager adds it."""
_WEEK: Final = 7 * 24 * 3600.0
_DIGITS: Final = 16
"""Of a fingerprint: enough to tell a certificate from those before it."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """What is known of a certificate.

    Attributes:
        fingerprint: of the certificate with its chain; empty where there is none.
        not_after: when it expires, RFC 3339; empty where it cannot be read.
        not_before: from when on it is valid, likewise.
        problem: why a server cannot use it; empty if it can.
    """

    fingerprint: str = ""
    not_after: str = ""
    not_before: str = ""
    problem: str = ""

    @property
    def renew_before(self) -> str:
        """When it should have been renewed, RFC 3339; empty where that is not known.

        It is a week, or a tenth of its life, before its end. cert-manager renews it at two thirds
        of its life, so that something is wrong by then.
        """
        if not self.not_after:
            return ""
        end = unix_time(self.not_after)
        return timestamp(end - min(_WEEK, (end - unix_time(self.not_before)) / 10))

    def has_expired(self, now: str) -> bool:
        """Return whether it is not valid any more at a time, RFC 3339."""
        return bool(self.not_after) and self.not_after <= now

    def as_fields(self) -> dict[str, str]:
        """Return it as it travels through results of tasks."""
        return asdict(self)

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Self:
        """Return what ``as_fields`` wrote."""
        return cls(**fields)


def certificate_of(secret: Mapping[str, Any]) -> Certificate:
    """Return what is known of the certificate in a Secret.

    Args:
        secret: with its ``data``.
    """
    try:
        chain, key = _decoded(secret, CERTIFICATE), _decoded(secret, KEY)
    except ValueError as error:
        return Certificate(problem=str(error))
    fingerprint = hashlib.sha256(chain).hexdigest()[:_DIGITS]
    try:
        return Certificate(fingerprint, *_checked(chain, key))
    except ValueError as error:
        return Certificate(fingerprint, problem=str(error))


def _decoded(secret: Mapping[str, Any], name: str) -> bytes:
    value = (secret.get("data") or {}).get(name)
    if not value:
        raise ValueError(f"it has no {name}")
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, TypeError) as error:
        raise ValueError(f"{name} is not base64") from error


def _checked(chain: bytes, key: bytes) -> tuple[str, str]:
    """Return when a certificate expires, and from when on it is valid.

    Raises:
        ValueError: it cannot be read, or the key is not the one that belongs to it. What the
            library says is left out: it may quote what it could not read.
    """
    # Only where there is a certificate to read: the import takes about 70 ms.
    from cryptography import x509  # noqa: PLC0415
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415
        Encoding,
        PublicFormat,
        load_pem_private_key,
    )

    try:
        certificate = x509.load_pem_x509_certificate(chain)
        public = certificate.public_key()
    except (ValueError, UnsupportedAlgorithm):
        raise ValueError(f"{CERTIFICATE} holds no certificate in PEM") from None
    try:
        private = load_pem_private_key(key, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise ValueError(f"{KEY} holds no private key in PEM without a password") from None
    form = Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    if public.public_bytes(*form) != private.public_key().public_bytes(*form):
        raise ValueError(f"{KEY} is not the key of {CERTIFICATE}")
    return _utc(certificate, "not_valid_after"), _utc(certificate, "not_valid_before")


def _utc(certificate: Any, name: str) -> str:
    moment: datetime | None = getattr(certificate, f"{name}_utc", None)
    if moment is None:  # cryptography before 42
        moment = getattr(certificate, name).replace(tzinfo=timezone.utc)
    return timestamp(moment.timestamp())
