# SPDX-License-Identifier: Apache-2.0
"""A session of PyMySQL that trusts its server with nothing: no password, no time, no memory.

The driver answers whatever a server asks for. `mysql_clear_password` and `dialog` get the password
itself; so do `sha256_password` and `caching_sha2_password` over TLS with any certificate, or under
a key that the server names. MatrixOne asks for `mysql_native_password`, which never sends it, and
this session speaks no other.
"""

from __future__ import annotations

import ssl
import time
from typing import Any, Final

try:
    from pymysql import err
    from pymysql.connections import Connection
    from pymysql.constants import CLIENT
except ImportError:  # the caller reports it when a statement is to be run
    err, CLIENT, Connection = None, None, object

PLUGIN: Final = "mysql_native_password"
LARGEST_PACKET: Final = 1 << 20
LARGEST_SESSION: Final = 4 << 20
"""Bytes of all packets of a server together; our statements return a few rows."""
CANNOT_LOAD_PLUGIN: Final = 2059
LOST: Final = 2013
NO_TLS: Final = 2026
_LONGEST_ANSWER: Final = 10.0
"""Seconds that one packet may take."""


class Session(Connection):  # type: ignore[misc]
    """A session with an end.

    Args:
        deadline: of ``time.monotonic()``, for login and statements together.
        longest_answer: seconds that one packet may take, 10 by default; a statement that works for
            long before it answers needs more.
        trusted: certificates in PEM, one of which the server has to have, or to be certified by;
            empty without TLS, which the driver must not try then: compute nodes of MatrixOne lose
            the beginning of some handshakes.
        given: parameters of ``pymysql.connect``, without timeouts.

    Raises:
        pymysql.OperationalError: with `CANNOT_LOAD_PLUGIN` when the server wants the password in
            another form, with `LOST` when it sends too much or takes too long, with `NO_TLS` when
            it offers no TLS where that is required.
        ssl.SSLError: what is to be trusted is no certificate.
    """

    def __init__(
        self,
        *,
        deadline: float,
        longest_answer: float | None = None,
        trusted: str = "",
        **given: Any,
    ) -> None:
        self._deadline = self._until = deadline
        self._longest_answer = longest_answer or _LONGEST_ANSWER
        self._received = 0
        seconds = max(0.1, min(_LONGEST_ANSWER, deadline - time.monotonic()))
        self._needs_tls = bool(trusted)
        protected = {"ssl": _trusting(trusted)} if trusted else {"ssl_disabled": True}
        timeouts = dict.fromkeys(("connect_timeout", "read_timeout", "write_timeout"), seconds)
        super().__init__(**timeouts, **protected, **given)

    def _get_server_information(self) -> None:
        super()._get_server_information()
        _require_native(self._auth_plugin_name)
        if self._needs_tls and not self.server_capabilities & CLIENT.SSL:
            raise err.OperationalError(NO_TLS, "the server offers no TLS")

    def _process_auth(self, plugin_name: bytes, *rest: Any) -> Any:
        _require_native(plugin_name.decode("ascii", "replace"))
        return super()._process_auth(plugin_name, *rest)

    def _read_packet(self, *given: Any) -> Any:
        self._until = min(self._deadline, time.monotonic() + self._longest_answer)
        return super()._read_packet(*given)

    def _write_bytes(self, data: bytes) -> None:
        self._limit_socket(min(self._deadline, time.monotonic() + _LONGEST_ANSWER))
        super()._write_bytes(data)

    def _read_bytes(self, num_bytes: int) -> bytes:
        """Read within what is left of time and bytes, however slowly they come."""
        self._received += num_bytes
        if num_bytes > LARGEST_PACKET or self._received > LARGEST_SESSION:
            raise self._lost("the server sends too much")
        parts: list[bytes] = []
        while num_bytes:
            self._limit_socket(self._until)
            try:
                part = self._rfile.read1(num_bytes)
            except OSError as error:
                raise self._lost(str(error)) from error
            if not part:
                raise self._lost("the server closed the connection")
            parts.append(part)
            num_bytes -= len(part)
        return b"".join(parts)

    def _limit_socket(self, until: float) -> None:
        """Let the next operation of the socket end by then; the driver must not change it."""
        left = until - time.monotonic()
        if left <= 0:
            raise self._lost("no answer in time")
        self._sock.settimeout(left)
        self._current_timeout = self._read_timeout = self._write_timeout = left

    def _lost(self, why: str) -> err.OperationalError:
        self._force_close()
        return err.OperationalError(LOST, why)


def _trusting(certificates: str) -> ssl.SSLContext:
    """Return a context that trusts nothing else, whether it signs certificates or is one.

    Names are not compared: the server is addressed by the IP of its Service.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=certificates)
    return context


def _require_native(plugin: str) -> None:
    if plugin not in ("", PLUGIN):
        raise err.OperationalError(CANNOT_LOAD_PLUGIN, "the server wants the password itself")
