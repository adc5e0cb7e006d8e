# SPDX-License-Identifier: Apache-2.0
"""The authority, certificates and kubeconfigs of one test bed.

Everyone who talks to the API server does so with a client certificate of their own.
"""

import base64
import datetime
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_VALID_DAYS = 365


def _publish(path: Path, content: bytes) -> None:
    """Write a file that only its owner reads, whole or not at all."""
    draft = path.with_name(f".{path.name}.draft")
    draft.unlink(missing_ok=True)
    draft.touch(mode=0o600)
    draft.write_bytes(content)
    draft.replace(path)


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def _name(common_name: str, organization: str) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
    if organization:
        attributes.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
    return x509.Name(attributes)


def _builder(subject: x509.Name, issuer: x509.Name) -> x509.CertificateBuilder:
    # A day of grace: clocks of a machine that has just woken up may jump.
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=_VALID_DAYS))
    )


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


@dataclass(frozen=True, slots=True)
class Authority:
    """A certificate authority that writes what it issues into one folder."""

    folder: Path
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @classmethod
    def open(cls, folder: Path) -> "Authority":
        """Load the authority of a folder, or make it."""
        key_path, certificate_path = folder / "ca.key", folder / "ca.crt"
        if certificate_path.exists():
            key = serialization.load_pem_private_key(key_path.read_bytes(), None)
            if isinstance(key, ec.EllipticCurvePrivateKey):
                loaded = x509.load_pem_x509_certificate(certificate_path.read_bytes())
                return cls(folder, key, loaded)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        key = ec.generate_private_key(ec.SECP256R1())
        subject = _name("testbed", "")
        certificate = (
            _builder(subject, subject)
            .public_key(key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(
                x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
            )
            .sign(key, hashes.SHA256())
        )
        _publish(key_path, _pem(key))
        _publish(certificate_path, certificate.public_bytes(serialization.Encoding.PEM))
        return cls(folder, key, certificate)

    def issue(
        self,
        file: str,
        common_name: str,
        organization: str = "",
        alternatives: Sequence[str] = (),
    ) -> tuple[Path, Path]:
        """Issue a certificate for clients, and for servers when it has alternative names.

        Args:
            file: name of the files, without suffix.
            common_name: the user.
            organization: the user's group, or nothing.
            alternatives: addresses and DNS names of a server.

        Returns:
            Paths of certificate and key; existing ones are kept.
        """
        certificate_path, key_path = self.folder / f"{file}.crt", self.folder / f"{file}.key"
        if certificate_path.exists():
            return certificate_path, key_path
        key = ec.generate_private_key(ec.SECP256R1())
        usages = [ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = _builder(_name(common_name, organization), self.certificate.subject)
        if alternatives:
            usages.append(ExtendedKeyUsageOID.SERVER_AUTH)
            names = x509.SubjectAlternativeName([_alternative(name) for name in alternatives])
            builder = builder.add_extension(names, critical=False)
        certificate = (
            builder.public_key(key.public_key())
            .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()),
                critical=False,
            )
            .sign(self.key, hashes.SHA256())
        )
        _publish(key_path, _pem(key))
        _publish(certificate_path, certificate.public_bytes(serialization.Encoding.PEM))
        return certificate_path, key_path

    def key_pair(self, file: str) -> tuple[Path, Path]:
        """Make a bare key pair, for signing tokens; return public and private path."""
        public, private = self.folder / f"{file}.pub", self.folder / f"{file}.key"
        if not public.exists():
            key = ec.generate_private_key(ec.SECP256R1())
            _publish(private, _pem(key))
            encoded = key.public_key().public_bytes(
                serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
            )
            _publish(public, encoded)
        return public, private

    def kubeconfig(self, path: Path, server: str, common_name: str, organization: str = "") -> Path:
        """Write a kubeconfig that holds everything it needs; an existing one is kept.

        Args:
            path: the file, readable by its owner only.
            server: URL of the API server.
            common_name: the user.
            organization: the user's group, or nothing.
        """
        if path.exists():
            return path
        certificate, key = self.issue(f"client-{path.name}", common_name, organization)
        content = _kubeconfig(server, common_name, certificate, key, self.folder / "ca.crt")
        _publish(path, yaml.safe_dump(content, sort_keys=False).encode())
        return path


def _kubeconfig(
    server: str, user: str, certificate: Path, key: Path, authority: Path
) -> dict[str, object]:
    def encoded(file: Path) -> str:
        return base64.b64encode(file.read_bytes()).decode()

    cluster = {"server": server, "certificate-authority-data": encoded(authority)}
    credentials = {
        "client-certificate-data": encoded(certificate),
        "client-key-data": encoded(key),
    }
    context = {"cluster": "testbed", "user": user}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "testbed", "cluster": cluster}],
        "users": [{"name": user, "user": credentials}],
        "contexts": [{"name": "testbed", "context": context}],
        "current-context": "testbed",
    }
