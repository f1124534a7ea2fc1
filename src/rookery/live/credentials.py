"""What a program proves itself with: a key that many share, a certificate of its own, both, or nothing.

    Credentials.read(certificate=…, private_key=…, authority=…, key=…)

With an authority both ends of a link must show certificates of it: then a name is an identity, and roles and rights go
by it (`admission.py`, `rights.py`). With an authority alone, what is dialed must show one.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

from rookery.errors import SettingsError

__all__ = ["Credentials"]


@dataclass(frozen=True, slots=True)
class Credentials:
    """A key, and the TLS contexts to dial and to listen with."""

    key: bytes | None = None
    dialing: ssl.SSLContext | None = None
    listening: ssl.SSLContext | None = None

    @staticmethod
    def read(
        *,
        certificate: Path | None = None,
        private_key: Path | None = None,
        authority: Path | None = None,
        key: bytes | None = None,
    ) -> Credentials:
        """Read the files; raise `SettingsError` where they cannot be used."""
        if (certificate is None) != (private_key is None):
            raise SettingsError("a certificate and its key go together: give --certificate and --private-key")
        if certificate is None and authority is None:
            return Credentials(key)
        try:
            dialing = ssl.create_default_context(cafile=None if authority is None else str(authority))
            dialing.minimum_version = ssl.TLSVersion.TLSv1_3
            if certificate is None or private_key is None:
                return Credentials(key, dialing)
            dialing.load_cert_chain(certificate, private_key)
            listening = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            listening.minimum_version = ssl.TLSVersion.TLSv1_3
            listening.load_cert_chain(certificate, private_key)
            if authority is not None:
                listening.load_verify_locations(str(authority))
                listening.verify_mode = ssl.CERT_REQUIRED
        except (OSError, ssl.SSLError) as error:
            raise SettingsError(f"the certificate cannot be used: {error}") from error
        return Credentials(key, dialing, listening)
