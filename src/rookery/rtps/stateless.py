"""The stateless half of RTPS: a writer that repeats one thing to fixed places and keeps no account of who heard it.

Announcements of participants work this way (RTPS 2.5, 8.5.3): whoever misses one hears the next. The sequence number
goes up only when the content changes, so a receiver can tell news from repetition without reading it, and news from a
packet that was overtaken.
"""

from __future__ import annotations

from rookery.rtps.events import SampleKind
from rookery.rtps.outbox import Outbox
from rookery.rtps.parameters import Parameter, ParameterId
from rookery.rtps.peers import Destination
from rookery.rtps.submessages import Data

__all__ = ["StatelessWriter"]


class StatelessWriter:
    """Best effort towards whatever destination is named."""

    def __init__(self, *, reader: int, writer: int, outbox: Outbox) -> None:
        self._reader = reader
        self._writer = writer
        self._outbox = outbox
        self._kind = SampleKind.ALIVE
        self._payload = b""
        self._brief: bytes | None = None
        self._key_hash = b""
        self.sequence = 0

    def set(self, kind: SampleKind, payload: bytes, *, key_hash: bytes, brief: bytes | None = None) -> None:
        """Replace what is repeated, under the next sequence number; `brief` is a shorter form of the same."""
        self.sequence += 1
        self._kind, self._payload, self._key_hash, self._brief = kind, payload, key_hash, brief

    def send(self, destination: Destination, *, timestamp: int | None, brief: bool = False) -> None:
        """Say it once more, to one place."""
        payload = self._brief if brief and self._brief is not None else self._payload
        inline: tuple[Parameter, ...] = ()
        if self._kind is not SampleKind.ALIVE:
            status = Parameter(ParameterId.STATUS, bytes((0, 0, 0, self._kind)))
            inline = (Parameter(ParameterId.KEY_HASH, self._key_hash), status)
        key_only = self._kind is not SampleKind.ALIVE
        data = Data(self._reader, self._writer, self.sequence, payload, key_only, inline)
        self._outbox.add(destination, data, timestamp=timestamp)
