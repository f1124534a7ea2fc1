"""The file in which a client keeps the secret of its session: who has it is that client, from one start to the next.

Rule: one process has it at a time (a lock, which ends with the process), nobody else may read it, and it is there whole
or not at all.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from rookery.errors import ClientError
from rookery.live.admission import new_secret

__all__ = ["SessionFile"]

#: What a secret is at the least, in bytes.
_LEAST = 16


class SessionFile:
    """A file with the secret of a session; made with a new one where there is none."""

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise ClientError(f"the session file {path} cannot be opened: {error.strerror}") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._file)
            raise ClientError(f"another process has the session of {path}: give each its own file") from error
        self.secret = self._read(path)

    def _read(self, path: Path) -> bytes:
        found = os.pread(self._file, 1 << 10, 0)
        if not found:
            secret = new_secret()
            line = secret.hex().encode() + b"\n"
            os.pwrite(self._file, line, 0)
            os.fsync(self._file)
            return secret
        try:
            secret = bytes.fromhex(found.decode().strip())
        except ValueError:
            secret = b""
        if len(secret) < _LEAST or not found.endswith(b"\n"):
            self.close()
            raise ClientError(f"{path} is no session file: name another one, or remove it and begin anew")
        return secret

    def close(self) -> None:
        """Let go of the file; the secret stays in it."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
