# SPDX-License-Identifier: Apache-2.0
"""A certificate authority of one operator, and the serving certificates that it signs. Pure.

A serving certificate is replaced when a third of its life is left, the authority likewise; its
predecessor stays trusted beside it, so that no replica is refused while the change spreads.
"""

import datetime
from collections.abc import Collection
from dataclasses import dataclass, field

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from ansible_operator.errors import ConfigError
from ansible_operator.serve.certificates import KeyPair, alternative_names

AUTHORITY_LIFE = datetime.timedelta(days=3650)
SERVING_LIFE = datetime.timedelta(days=90)
SKEW = datetime.timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Credentials:
    """Everything that replicas share.

    Attributes:
        bundle: certificates (PEM) that the API server is to trust, the authority's own first.
        authority_key: PEM.
        serving: what the servers show.
    """

    bundle: bytes
    authority_key: bytes = field(repr=False)
    serving: KeyPair


def make_credentials(
    names: Collection[str], now: datetime.datetime, *, trusted: bytes = b""
) -> Credentials:
    """A new authority and its first serving certificate.

    Args:
        names: DNS names and addresses of the server; the first is the common name.
        now: the present, aware.
        trusted: certificates to go on trusting.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _name("ansible-operator webhook authority")
    certificate = (
        _builder(subject, subject, key.public_key(), now, AUTHORITY_LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    authority = certificate.public_bytes(serialization.Encoding.PEM)
    return Credentials(
        bundle=authority + trusted,
        authority_key=_pem(key),
        serving=_sign(certificate, key, names, now),
    )


def renewed(
    credentials: Credentials, names: Collection[str], now: datetime.datetime
) -> Credentials:
    """The credentials as they should be now: the very same object if nothing is due.

    Raises:
        ConfigError: they cannot be read.
    """
    try:
        authorities = x509.load_pem_x509_certificates(credentials.bundle)
        serving = x509.load_pem_x509_certificate(credentials.serving.certificate)
        key = serialization.load_pem_private_key(credentials.authority_key, None)
    except ValueError as error:
        raise ConfigError(f"the webhook's certificates cannot be read: {error}") from error
    authority = authorities[0]
    if _is_due(authority, now) or not isinstance(key, ec.EllipticCurvePrivateKey):
        previous = authority.public_bytes(serialization.Encoding.PEM)
        return make_credentials(names, now, trusted=previous)
    if _is_due(serving, now) or not _covers(serving, names):
        pair = _sign(authority, key, names, now)
        return Credentials(credentials.bundle, credentials.authority_key, pair)
    return credentials


def _is_due(certificate: x509.Certificate, now: datetime.datetime) -> bool:
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return now > end - (end - begin) / 3


def _covers(certificate: x509.Certificate, names: Collection[str]) -> bool:
    extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    return set(extension.value) >= set(alternative_names(names))


def _sign(
    authority: x509.Certificate,
    key: ec.EllipticCurvePrivateKey,
    names: Collection[str],
    now: datetime.datetime,
) -> KeyPair:
    own = ec.generate_private_key(ec.SECP256R1())
    common = next(iter(names))[:64]
    certificate = (
        _builder(_name(common), authority.subject, own.public_key(), now, SERVING_LIFE)
        .add_extension(x509.SubjectAlternativeName(alternative_names(names)), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    return KeyPair(certificate.public_bytes(serialization.Encoding.PEM), _pem(own))


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    now: datetime.datetime,
    life: datetime.timedelta,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - SKEW)
        .not_valid_after(now + life)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
