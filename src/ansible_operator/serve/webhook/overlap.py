# SPDX-License-Identifier: Apache-2.0
"""Authorities that stay registered for a while after they were replaced.

API servers observe a new registration within seconds, replicas a new certificate at their next
check. Until then a server may show a certificate of the authority before, whatever the new bundle
contains: cert-manager and a Secret that was deleted know nothing of that one.
"""

import re
import time
from collections.abc import Callable, Iterable

_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----\n?", re.DOTALL)


class Overlap:
    """What to register for each bundle.

    Args:
        bundle: certificates, PEM, that are trusted at the beginning; None for none.
        seconds: for how long replaced ones stay trusted.
        clock: monotonic seconds.
    """

    def __init__(
        self, bundle: bytes | None, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._current = bundle or b""
        self._previous = b""
        self._seconds = seconds
        self._until = 0.0
        self._clock = clock

    def with_previous(self, bundle: bytes | None) -> bytes | None:
        """The bundle with the certificates that it has replaced lately; None remains None."""
        if bundle is None:
            return None
        now = self._clock()
        if now >= self._until:
            self._previous = b""
        if bundle != self._current:
            self._previous = _joined(self._current, self._previous)
            self._current, self._until = bundle, now + self._seconds
        return _joined(bundle, self._previous)


def _joined(first: bytes, others: bytes) -> bytes:
    """The first certificates as they are, and those of the others that are not among them."""
    known = set(_stripped(first))
    missing = [one for one in _stripped(others) if one not in known]
    return b"\n".join([first.rstrip(b"\n"), *missing]) + b"\n" if missing else first


def _stripped(bundle: bytes) -> Iterable[bytes]:
    return (found.strip() for found in _CERTIFICATE.findall(bundle))
