"""What a command proves itself with, from files: never from the command line, where everyone can read it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rookery.errors import SettingsError

if TYPE_CHECKING:
    from rookery.live.credentials import Credentials

__all__ = [
    "AuthorityFile",
    "CertificateFile",
    "Insecure",
    "KeyFile",
    "PrivateKeyFile",
    "read_credentials",
    "read_key",
]

_SHORTEST = 16

#: The `--key-file` option: declare `key_file: KeyFile = None` in the command.
KeyFile = Annotated[
    Path | None, typer.Option("--key-file", help="A file with the key that all who may take part share.")
]
#: For TLS; `rookery keys` makes them.
CertificateFile = Annotated[Path | None, typer.Option("--certificate", help="For TLS: one's own certificate, PEM.")]
PrivateKeyFile = Annotated[Path | None, typer.Option("--private-key", help="For TLS: the certificate's key, PEM.")]
AuthorityFile = Annotated[
    Path | None, typer.Option("--authority", help="For TLS: who must have signed the others' certificates, PEM.")
]
Insecure = Annotated[
    bool, typer.Option("--insecure", help="Let other machines reach this one without TLS: everyone can listen in.")
]


def read_key(file: Path | None) -> bytes | None:
    """Return the key in a file, without the line's end; None where no file is named."""
    if file is None:
        return None
    try:
        key = file.read_bytes().strip()
    except OSError as error:
        raise SettingsError(f"--key-file {file}: {error.strerror}") from error
    if len(key) < _SHORTEST:
        raise SettingsError(f"--key-file {file}: {len(key)} octets; a key has at least {_SHORTEST} random ones")
    return key


def read_credentials(
    key_file: Path | None, certificate: Path | None, private_key: Path | None, authority: Path | None
) -> Credentials:
    """Return what the options say."""
    from rookery.live.credentials import Credentials

    return Credentials.read(
        certificate=certificate, private_key=private_key, authority=authority, key=read_key(key_file)
    )
