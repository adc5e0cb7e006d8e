# SPDX-License-Identifier: Apache-2.0
"""Serving certificates: from a folder, else self-signed."""

import datetime
import ipaddress
import os
import ssl
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from ansible_operator.errors import ConfigError

LIFETIME = datetime.timedelta(days=365)
SKEW = datetime.timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate chain and its key, PEM."""

    certificate: bytes
    key: bytes = field(repr=False)


def self_signed(name: str, addresses: Sequence[str] = ("127.0.0.1", "::1")) -> KeyPair:
    """Make a certificate for a host name and addresses, valid for a year."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    names = alternative_names([name, *addresses])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - SKEW)
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    return KeyPair(
        certificate=certificate.public_bytes(serialization.Encoding.PEM),
        key=key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )


def alternative_names(names: Iterable[str]) -> list[x509.GeneralName]:
    """DNS names and IP addresses as a certificate has them."""
    return [_alternative_name(name) for name in names]


def _alternative_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def found_in(folder: Path) -> KeyPair | None:
    """``tls.crt`` and ``tls.key`` of a folder; None if they are not there.

    Raises:
        ConfigError: they are there but cannot be read.
    """
    certificate, key = folder / "tls.crt", folder / "tls.key"
    try:
        return KeyPair(certificate.read_bytes(), key.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"certificate in {folder} cannot be read: {error}") from error


def server_context(pair: KeyPair) -> ssl.SSLContext:
    """A server's TLS settings with this certificate; HTTP/1.1 only.

    Raises:
        ConfigError: certificate and key do not fit or are malformed.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    load(context, pair)
    return context


def load(context: ssl.SSLContext, pair: KeyPair) -> None:
    """Give a context another certificate; new connections use it.

    OpenSSL takes keys from files only: a private one that is removed at once.

    Raises:
        ConfigError: certificate and key do not fit or are malformed.
    """
    handle, name = tempfile.mkstemp(prefix="serving-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(pair.certificate + b"\n" + pair.key)
        context.load_cert_chain(name)
    except ssl.SSLError as error:
        raise ConfigError(f"the serving certificate cannot be used: {error.reason}") from error
    finally:
        Path(name).unlink()
