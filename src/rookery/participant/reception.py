"""What arrives: from a decoded message to the state machines that it is for.

A message is a list of submessages with a context that changes along the way: for whom (INFO_DST), from whom (INFO_SRC),
when written (INFO_TS). What is for another participant is skipped; everything else goes to SPDP, to the builtin readers
and writers of SEDP, or to the readers and writers of this participant that are paired with the sender. A fault in one
submessage refuses that one.
"""

from __future__ import annotations

from rookery.errors import WireFormatError
from rookery.participant.contacts import Contacts
from rookery.participant.liveliness import MESSAGE_WRITER
from rookery.participant.pairing import Pairing
from rookery.participant.retrieval import SUMMARY_WRITER
from rookery.rtps.context import ParticipantContext
from rookery.rtps.identity import SPDP_READER, SPDP_WRITER, UNKNOWN_ENTITY, UNKNOWN_PREFIX, Guid, is_builtin
from rookery.rtps.messages import Message
from rookery.rtps.reader import Reader
from rookery.rtps.sedp import EndpointDiscovery
from rookery.rtps.spdp import ParticipantDiscovery
from rookery.rtps.submessages import (
    AckNack,
    Data,
    DataFragment,
    Gap,
    Heartbeat,
    InfoTimestamp,
    NackFragment,
    SourceChange,
    Submessage,
    ToParticipant,
)
from rookery.rtps.writer import Writer
from rookery.rtps.xtypes.lookup import REPLY_WRITER, REQUEST_WRITER

__all__ = ["Reception"]


_LOOKUP_WRITERS = (REQUEST_WRITER, REPLY_WRITER)
#: Bits of an entity id that builtin and vendor's entities have (RTPS 2.5, 9.3.1.2).
_NOT_OF_A_USER = 0xC0


class Reception:
    """Takes messages in for one participant."""

    def __init__(
        self,
        context: ParticipantContext,
        *,
        spdp: ParticipantDiscovery,
        sedp: EndpointDiscovery,
        pairing: Pairing,
        contacts: Contacts,
    ) -> None:
        self._context = context
        self._prefix = context.prefix
        self._spdp = spdp
        self._sedp = sedp
        self._pairing = pairing
        self._contacts = contacts
        self._size_bytes = 0
        #: The writer that spoke last: most often it speaks again.
        self._speaker = Guid(UNKNOWN_PREFIX, UNKNOWN_ENTITY)
        self._by_multicast = False

    def take(self, message: Message, *, host: str, size_bytes: int, by_multicast: bool, now: int) -> None:
        """Hand every submessage that is for this participant to whom it concerns."""
        self._size_bytes, self._by_multicast = size_bytes, by_multicast
        source, destination = message.prefix, UNKNOWN_PREFIX
        timestamp: int | None = None
        credited = False
        for submessage in message.submessages:
            if isinstance(submessage, ToParticipant):
                destination = submessage.prefix
            elif isinstance(submessage, SourceChange):
                source, destination, timestamp = submessage.prefix, UNKNOWN_PREFIX, None
            elif isinstance(submessage, InfoTimestamp):
                timestamp = submessage.microseconds
            elif destination in (UNKNOWN_PREFIX, self._prefix):
                directed = destination == self._prefix
                if not credited:
                    credited = True
                    self._context.peers.heard(
                        source, host=host, size_bytes=size_bytes, addressed_to_us=directed, now=now
                    )
                    if source in self._pairing.liveliness.silent:
                        self._pairing.liveliness.heard(source, now)
                try:
                    self._handle(submessage, source, directed, timestamp, now)
                except WireFormatError as error:
                    self._context.reject(str(error))
        self._contacts.after_message(source, now)

    def _handle(self, submessage: Submessage, source: bytes, directed: bool, timestamp: int | None, now: int) -> None:
        if type(submessage) is Data and not submessage.writer & _NOT_OF_A_USER:
            self._take_sample(submessage, source, timestamp, now)
            return
        match submessage:
            case Data(writer=entity) if entity == SPDP_WRITER:
                if submessage.reader in (UNKNOWN_ENTITY, SPDP_READER):
                    self._spdp.receive(
                        submessage,
                        source=source,
                        directed=directed,
                        size_bytes=self._size_bytes,
                        now=now,
                        by_multicast=self._by_multicast,
                    )
            case Data():
                writer_guid = Guid(source, submessage.writer)
                readers = self._addressed(writer_guid, submessage.reader, now)
                for reader in readers:
                    reader.receive_data(writer_guid, submessage, timestamp=timestamp, now=now)
                if not readers and not is_builtin(submessage.writer):
                    self._pairing.early.note(writer_guid, submessage.sequence, now)
            case DataFragment():
                if is_builtin(submessage.writer) and submessage.writer not in _LOOKUP_WRITERS:
                    raise WireFormatError("builtin data in fragments")
                if self._pairing.liveliness.watched:
                    self._pairing.liveliness.sample(Guid(source, submessage.writer), now)
                for reader in self._addressed(Guid(source, submessage.writer), submessage.reader, now):
                    reader.receive_fragment(Guid(source, submessage.writer), submessage, timestamp=timestamp, now=now)
            case Heartbeat():
                writer_guid = Guid(source, submessage.writer)
                readers = self._addressed(writer_guid, submessage.reader, now)
                if submessage.liveliness:
                    self._pairing.liveliness.sample(writer_guid, now)
                for reader in readers:
                    reader.receive_heartbeat(writer_guid, submessage, now)
                if not readers and not is_builtin(submessage.writer):
                    self._pairing.early.note(writer_guid, submessage.last + 1, now)
            case Gap():
                for reader in self._addressed(Guid(source, submessage.writer), submessage.reader, now):
                    reader.receive_gap(Guid(source, submessage.writer), submessage, now)
            case AckNack() if submessage.writer == SUMMARY_WRITER:
                self._contacts.retrieval.serve(source, submessage, now)
            case AckNack() if submessage.writer in _LOOKUP_WRITERS:
                service = self._pairing.types.be_asked(source, submessage.writer, now)
                service.receive_acknack(Guid(source, submessage.reader), submessage, now)
            case AckNack() if submessage.writer == MESSAGE_WRITER:
                messages = self._pairing.liveliness.be_asked(source, now)
                messages.receive_acknack(Guid(source, submessage.reader), submessage, now)
            case AckNack():
                writer = self._writer_of(submessage.writer)
                if writer is not None:
                    if is_builtin(submessage.writer):
                        self._contacts.be_asked(source, submessage.writer, now)
                    writer.receive_acknack(Guid(source, submessage.reader), submessage, now)
            case NackFragment():
                writer = self._writer_of(submessage.writer)
                if writer is not None:
                    writer.receive_nack_fragment(Guid(source, submessage.reader), submessage, now)

    def _take_sample(self, submessage: Data, source: bytes, timestamp: int | None, now: int) -> None:
        speaker = self._speaker
        if submessage.writer != speaker.entity or source != speaker.prefix:
            speaker = self._speaker = Guid(source, submessage.writer)
        readers = self._pairing.listeners(speaker, submessage.reader)
        if self._pairing.liveliness.watched:
            self._pairing.liveliness.sample(speaker, now)
        for reader in readers:
            reader.receive_data(speaker, submessage, timestamp=timestamp, now=now)
        if not readers:
            self._pairing.early.note(speaker, submessage.sequence, now)

    def _addressed(self, writer: Guid, reader: int, now: int) -> tuple[Reader, ...]:
        """Return the local readers, builtin or not, that a writer's submessage is for."""
        if writer.entity == SUMMARY_WRITER:
            retrieving = self._contacts.retrieval.reader
            return (retrieving,) if writer in retrieving.writers else ()
        if not is_builtin(writer.entity):
            return self._pairing.listeners(writer, reader)
        if writer.entity in _LOOKUP_WRITERS:
            found = self._pairing.types.reader_of(writer, now)
            return (found,) if found is not None and reader in (UNKNOWN_ENTITY, found.guid.entity) else ()
        if writer.entity == MESSAGE_WRITER:
            found = self._pairing.liveliness.reader_of(writer, now)
            return (found,) if found is not None and reader in (UNKNOWN_ENTITY, found.guid.entity) else ()
        builtin = self._sedp.reader_of(writer.entity)
        if builtin is None or reader not in (UNKNOWN_ENTITY, builtin.guid.entity):
            return ()
        if writer in builtin.writers or self._contacts.is_heard(writer, now):
            return (builtin,)
        return ()

    def _writer_of(self, entity: int) -> Writer | None:
        if entity == SUMMARY_WRITER:
            return self._contacts.retrieval.writer
        if is_builtin(entity):
            return self._sedp.writers.get(entity) or self._pairing.types.writers.get(entity)
        local = self._pairing.writers.get(Guid(self._prefix, entity))
        return None if local is None else local.writer
