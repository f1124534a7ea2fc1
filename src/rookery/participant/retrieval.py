"""Summaries that are too large to be repeated: announced by their digest, fetched by those who need them.

A summary of more than a hundred bytes or so goes out whole when it is new, and afterwards a *reference* stands for it
in the slow repetitions; one that does not fit into an announcement at all is only ever announced by reference (filters,
2.8). Whoever hears a reference to something that it does not have asks: the summary is the one sample of a reliable,
transient-local writer that every such participant has, so loss is repaired and large ones come in fragments, by the
machinery that carries samples too. The entity ids are of the vendor-specific kind (RTPS 2.5, table 9.1): nobody else
has them. What arrives is believed if its digest is the one that was announced.
"""

from __future__ import annotations

from collections.abc import Callable

from rookery.discovery.carriage import Reference, container_digest
from rookery.rtps.context import ParticipantContext
from rookery.rtps.events import SampleKind
from rookery.rtps.history import History
from rookery.rtps.identity import Guid
from rookery.rtps.peers import RemoteParticipant
from rookery.rtps.reader import Reader, Received
from rookery.rtps.submessages import AckNack
from rookery.rtps.writer import Writer

__all__ = ["SUMMARY_READER", "SUMMARY_WRITER", "Retrieval"]

SUMMARY_WRITER = 0x8F010043
SUMMARY_READER = 0x8F010044
#: No summary is larger: 64 KiB is a ribbon of 47,000 endpoints.
LARGEST_SUMMARY = 1 << 16
#: How long an asker who falls silent is served, and how long one listens on after the summary has come, to acknowledge.
_SERVICE = 10_000_000
_FAREWELL = 1_000_000


class Retrieval:
    """Serves this participant's summary to those who ask, and asks for the others'."""

    def __init__(
        self, context: ParticipantContext, *, arrived: Callable[[RemoteParticipant, bytes, int], None]
    ) -> None:
        self._context = context
        self._arrived = arrived
        self._wanted: dict[bytes, Reference] = {}
        history = History(depth=1, keeps_for_late_readers=True, at_most=1)
        self.writer = Writer(Guid(context.prefix, SUMMARY_WRITER), history=history, context=context)
        self.reader = Reader(Guid(context.prefix, SUMMARY_READER), deliver=self._deliver, context=context)

    def publish(self, container: bytes, now: int) -> Reference:
        """Offer a summary to whoever asks, instead of the last one; return what stands for it."""
        self.writer.close()
        self.writer.write(SampleKind.ALIVE, b"", container, timestamp=None, now=now)
        epoch = int.from_bytes(container[4:8], "little")
        return Reference(container[0], epoch, len(container), container_digest(container))

    def ask(self, peer: RemoteParticipant, reference: Reference, now: int) -> None:
        """Ask a peer for the summary that it refers to."""
        self.cancel(peer.prefix)
        self._wanted[peer.prefix] = reference
        writer = Guid(peer.prefix, SUMMARY_WRITER)
        destination = peer.metatraffic_destination
        self.reader.match(writer, destination=destination, reliable=True, from_first=True, now=now)

    def cancel(self, prefix: bytes) -> None:
        """Ask no more: the summary came another way, or the peer is gone."""
        self._wanted.pop(prefix, None)
        self._context.deadlines.cancel(("farewell", prefix))
        self.reader.unmatch(Guid(prefix, SUMMARY_WRITER))

    def forget(self, prefix: bytes) -> None:
        """Stop asking a peer and serving it."""
        self.cancel(prefix)
        self.writer.unmatch(Guid(prefix, SUMMARY_READER))
        self._context.deadlines.cancel(("served", prefix))

    def serve(self, prefix: bytes, message: AckNack, now: int) -> None:
        """Take an ACKNACK for the summary: begin to serve who asks, and end when it has everything."""
        reader, peer = Guid(prefix, SUMMARY_READER), self._context.peers.get(prefix)
        if peer is None or not self.writer.history.last:
            return
        if reader not in self.writer.readers:
            destination = peer.metatraffic_destination
            self.writer.match(reader, destination=destination, reliable=True, with_history=True, now=now)
            self._context.deadlines.arm(("served", prefix), now + _SERVICE, lambda _: self.writer.unmatch(reader))
        self.writer.receive_acknack(reader, message, now)
        if self.writer.readers[reader].acknowledged > self.writer.history.last:
            self.writer.unmatch(reader)
            self._context.deadlines.cancel(("served", prefix))

    def _deliver(self, writer: Guid, received: Received, now: int) -> None:
        reference, peer = self._wanted.pop(writer.prefix, None), self._context.peers.get(writer.prefix)
        self._context.deadlines.arm(("farewell", writer.prefix), now + _FAREWELL, lambda _: self.reader.unmatch(writer))
        if reference is None or peer is None:
            return
        if container_digest(received.payload) != reference.digest:
            # It has a newer one already, whose announcement is on its way or will be repeated.
            self._context.counters["other_summary"] += 1
            return
        self._arrived(peer, received.payload, now)
