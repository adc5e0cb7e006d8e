# SPDX-License-Identifier: Apache-2.0
"""Certificates of an authority of their own, as Secrets of type ``kubernetes.io/tls``."""

import base64
import datetime
from collections.abc import Sequence
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Authority:
    """Issues certificates.

    Attributes:
        certificate: of the authority, PEM.
    """

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tests")])
        issued = self._builder(self._name, self._key, datetime.timedelta(days=1)).add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True
        )
        self.certificate = _pem(issued.sign(self._key, hashes.SHA256()))

    def secret(
        self, names: Sequence[str] = ("mo",), valid: datetime.timedelta = datetime.timedelta(days=1)
    ) -> dict[str, Any]:
        """Return the data of a Secret with a new certificate and its key.

        Args:
            names: DNS names of the server.
            valid: for how long from now; negative for one that has expired.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
        alternative = x509.SubjectAlternativeName([x509.DNSName(one) for one in names])
        issued = self._builder(subject, key, valid).add_extension(alternative, critical=False)
        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        pair = {"tls.crt": _pem(issued.sign(self._key, hashes.SHA256())), "tls.key": private}
        return {name: base64.b64encode(value).decode() for name, value in pair.items()}

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, valid: datetime.timedelta
    ) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=2))
            .not_valid_after(now + valid)
        )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
