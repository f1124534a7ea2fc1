"""A small authority of certificates, for those who have none: a folder with its own certificate and those it has made.

    authority = Authority.at(folder)                       # made if there is none
    authority.certify("broker-1", "broker", hosts=["10.0.0.1"])

A certificate bears its holder's name (CN), its role (OU: broker, client or operator) and, for who is dialed, the
addresses that it may be found at. The authority's private key stays in the folder and is needed for nothing but making
more; keep it off the machines that run brokers.

Elliptic curve P-256 and SHA-256, which every TLS 1.3 has. Times allow for clocks that are a day behind.
"""

from __future__ import annotations

import datetime
import ipaddress
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256

from rookery.errors import SettingsError
from rookery.live.admission import ROLES

__all__ = ["AUTHORITY_FILE", "Authority", "CertificateFiles"]

AUTHORITY_FILE, AUTHORITY_KEY = "authority.pem", "authority.key"
_DAY = datetime.timedelta(days=1)


class CertificateFiles(NamedTuple):
    """Where a certificate is, and its private key."""

    certificate: Path
    private_key: Path


class Authority:
    """Who signs certificates; made by `at`."""

    def __init__(self, folder: Path, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        self.folder = folder
        self._certificate = certificate
        self._key = key

    @property
    def file(self) -> Path:
        """The authority's certificate: what `--authority` takes."""
        return self.folder / AUTHORITY_FILE

    @staticmethod
    def at(folder: Path, *, days: int = 3650) -> Authority:
        """Return the authority of a folder; make one where there is none."""
        certificate_file, key_file = folder / AUTHORITY_FILE, folder / AUTHORITY_KEY
        if certificate_file.exists() or key_file.exists():
            try:
                certificate = x509.load_pem_x509_certificate(certificate_file.read_bytes())
                key = serialization.load_pem_private_key(key_file.read_bytes(), password=None)
            except (OSError, ValueError) as error:
                raise SettingsError(f"{folder} has no whole authority: {error}: give another folder") from error
            if not isinstance(key, ec.EllipticCurvePrivateKey):
                raise SettingsError(f"{key_file} is no key of `rookery keys`: give another folder")
            return Authority(folder, certificate, key)
        folder.mkdir(parents=True, exist_ok=True)
        key = ec.generate_private_key(ec.SECP256R1())
        name = _name("Rookery authority", "authority")
        builder = _builder(name, name, key, days).add_extension(x509.BasicConstraints(True, 0), critical=True)
        certificate = builder.add_extension(_usage(signs=True), critical=True).sign(key, SHA256())
        _write(key_file, _private(key), secret=True)
        _write(certificate_file, certificate.public_bytes(serialization.Encoding.PEM), secret=False)
        return Authority(folder, certificate, key)

    def certify(self, name: str, role: str, *, hosts: Iterable[str] = (), days: int = 825) -> CertificateFiles:
        """Make a certificate and its key; return where they are. One that is there already is not replaced."""
        if role not in ROLES:
            raise SettingsError(f"{role!r} is no role: say {', '.join(ROLES)}")
        if not name or name != Path(name).name or name.startswith(".") or f"{name}.pem" == AUTHORITY_FILE:
            raise SettingsError(f"{name!r} is no name for a certificate: it names a file too")
        certificate_file, key_file = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        if certificate_file.exists() or key_file.exists():
            raise SettingsError(f"{certificate_file} is there already: remove it, or choose another name")
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(_name(name, role), self._certificate.subject, key, days)
        builder = builder.add_extension(x509.BasicConstraints(False, None), critical=True)
        builder = builder.add_extension(_usage(signs=False), critical=True)
        found = [_host(host) for host in hosts]
        purposes = [x509.OID_CLIENT_AUTH, *([x509.OID_SERVER_AUTH] if found else [])]
        builder = builder.add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
        if found:
            builder = builder.add_extension(x509.SubjectAlternativeName(found), critical=False)
        certificate = builder.sign(self._key, SHA256())
        _write(key_file, _private(key), secret=True)
        _write(certificate_file, certificate.public_bytes(serialization.Encoding.PEM), secret=False)
        return CertificateFiles(certificate_file, key_file)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, days: int
) -> x509.CertificateBuilder:
    today = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - _DAY)
        .not_valid_after(today + days * _DAY)
    )


def _name(name: str, unit: str) -> x509.Name:
    parts = ((x509.OID_COMMON_NAME, name), (x509.OID_ORGANIZATIONAL_UNIT_NAME, unit))
    try:
        return x509.Name([x509.NameAttribute(kind, value) for kind, value in parts])
    except ValueError as error:
        raise SettingsError(f"{name!r} is no name for a certificate: {error}") from error


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _private(key: ec.EllipticCurvePrivateKey) -> bytes:
    encoding, format_ = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return key.private_bytes(encoding, format_, serialization.NoEncryption())


def _write(path: Path, data: bytes, *, secret: bool) -> None:
    """Make a file; a private key is nobody else's to read, from its first octet on."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if secret else 0o644)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
