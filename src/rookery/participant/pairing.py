"""Who talks to whom: the local endpoints of a participant, the remote ones, and the pairs among them.

Every endpoint that comes, local or remote, is compared with those on the other side of its topic; every pair is
reported to both state machines and to the owner. Readers and writers of one participant are pairs
too, and need no wire.
"""

from __future__ import annotations

from rookery.errors import TopicError
from rookery.participant.arbitration import Arbitration
from rookery.participant.endpoints import ByTopic, LocalReader, LocalWriter, obstacles
from rookery.participant.liveliness import WriterLivelinessProtocol
from rookery.participant.type_lookup import TypeLookup
from rookery.rtps.announcements import EndpointAnnouncement
from rookery.rtps.context import ParticipantContext
from rookery.rtps.early import EarlyNumbers
from rookery.rtps.events import (
    EndpointDiscovered,
    EndpointLost,
    EndpointMatched,
    EndpointUnmatched,
    QualityIncompatible,
    SampleReceived,
    TypeIncompatible,
)
from rookery.rtps.history import Change
from rookery.rtps.identity import UNKNOWN_ENTITY, VENDOR, Guid, is_writer
from rookery.rtps.qos import Durability, QualityOfService
from rookery.rtps.reader import Reader
from rookery.rtps.sedp import RemoteEndpoint

__all__ = ["Pairing"]


class Pairing:
    """All endpoints that one participant knows, and its pairs."""

    def __init__(self, context: ParticipantContext) -> None:
        self.arbitration = Arbitration(epoch=context.epoch, offer_of=self._offer_of)
        self.types = TypeLookup(context, resolved=self._reconsider)
        self.liveliness = WriterLivelinessProtocol(context)
        #: Pairs whose types are not known yet, local first.
        self._waiting: dict[tuple[Guid, Guid], None] = {}
        self.writers: ByTopic[LocalWriter] = ByTopic()
        self.readers: ByTopic[LocalReader] = ByTopic()
        self._remote_writers: ByTopic[RemoteEndpoint] = ByTopic()
        self._remote_readers: ByTopic[RemoteEndpoint] = ByTopic()
        self._listening: dict[Guid, dict[int, Reader]] = {}
        self.early = EarlyNumbers()
        self._context = context

    def add_writer(self, local: LocalWriter, now: int) -> None:
        """Take a local writer in and find its readers."""
        self.writers.add(local)
        self.liveliness.promise(local.announcement, local.writer, now)
        topic = local.announcement.topic
        for remote in self._remote_readers.of_topic(topic):
            self._pair_remote_reader(local, remote, now)
        for own in self.readers.of_topic(topic):
            self._pair_local(local, own, now)

    def add_reader(self, local: LocalReader, now: int) -> None:
        """Take a local reader in and find its writers."""
        self.readers.add(local)
        topic = local.announcement.topic
        for remote in self._remote_writers.of_topic(topic):
            self._pair_remote_writer(local, remote, now)
        for own in self.writers.of_topic(topic):
            self._pair_local(own, local, now)

    def remove(self, guid: Guid) -> LocalWriter | LocalReader:
        """Take a local endpoint out; raise if it is not there."""
        endpoint = self.writers.remove(guid) or self.readers.remove(guid)
        if endpoint is None:
            raise TopicError(f"no endpoint {guid} in this participant")
        self._forget_waiting(guid)
        if isinstance(endpoint, LocalWriter):
            endpoint.writer.close()
            self.liveliness.withdraw(guid)
            self.liveliness.forget_writer(guid)
            return endpoint
        self.liveliness.forget_reader(guid)
        self.arbitration.forget(guid)
        for writer in endpoint.reader.writers:
            self._listening[writer].pop(guid.entity)
        endpoint.reader.close()
        for own in self.writers:
            own.local.pop(guid, None)
        return endpoint

    def add_remote(self, endpoint: RemoteEndpoint, now: int) -> None:
        """Take a remote endpoint in and find its partners here."""
        announcement = endpoint.announcement
        self._context.report(EndpointDiscovered(announcement))
        if is_writer(announcement.guid.entity):
            self._remote_writers.add(endpoint)
            for reader in self.readers.of_topic(announcement.topic):
                self._pair_remote_writer(reader, endpoint, now)
        else:
            self._remote_readers.add(endpoint)
            for writer in self.writers.of_topic(announcement.topic):
                self._pair_remote_reader(writer, endpoint, now)

    def remove_remote(self, endpoint: RemoteEndpoint, now: int) -> None:
        """Take a remote endpoint out and end its pairs."""
        guid, topic = endpoint.announcement.guid, endpoint.announcement.topic
        self._forget_waiting(guid)
        if self._remote_writers.remove(guid) is not None:
            self.liveliness.forget_writer(guid)
            for reader in self._listening.pop(guid, {}).values():
                reader.unmatch(guid)
                self._context.report(EndpointUnmatched(reader.guid, guid))
        elif self._remote_readers.remove(guid) is not None:
            for local in self.writers.of_topic(topic):
                if guid in local.writer.readers:
                    local.writer.unmatch(guid)
                    if local.filters is not None:
                        local.filters.set(guid, None)
                    self._context.report(EndpointUnmatched(local.announcement.guid, guid))
        self._context.report(EndpointLost(guid))

    def filter_remote(self, endpoint: RemoteEndpoint) -> None:
        """Go by another filter of a remote reader, from the next sample on."""
        announcement = endpoint.announcement
        if self._remote_readers.get(announcement.guid) is None:
            return
        self._remote_readers.add(endpoint)
        for local in self.writers.of_topic(announcement.topic):
            if local.filters is not None and announcement.guid in local.writer.readers:
                local.writer.distribute()
                local.filters.set(announcement.guid, announcement.content_filter)

    def listeners(self, writer: Guid, reader: int) -> tuple[Reader, ...]:
        """Return the local readers that a remote writer's submessage is for."""
        listening = self._listening.get(writer)
        if not listening:
            return ()
        if reader == UNKNOWN_ENTITY:
            return tuple(listening.values())
        return (listening[reader],) if reader in listening else ()

    def matched(self, local: Guid) -> tuple[Guid, ...]:
        """Return the endpoints that a local endpoint is paired with; raise if it is not there."""
        writer, reader = self.writers.get(local), self.readers.get(local)
        if writer is not None:
            return (*writer.writer.readers, *writer.local)
        if reader is not None:
            return (*reader.reader.writers, *(own.announcement.guid for own in self.writers if local in own.local))
        raise TopicError(f"no endpoint {local} in this participant")

    def silent(self, local: Guid) -> tuple[Guid, ...]:
        """Return the remote endpoints that are paired with a local one, reliably, and have not spoken to it yet."""
        writer, reader = self.writers.get(local), self.readers.get(local)
        if writer is not None:
            return tuple(one.guid for one in writer.writer.readers.values() if one.reliable and not one.answered)
        if reader is not None:
            return tuple(one.guid for one in reader.reader.writers.values() if one.reliable and not one.begun)
        raise TopicError(f"no endpoint {local} in this participant")

    def deliver_locally(self, reader: Guid, writer: Guid, change: Change, now: int) -> None:
        """Hand a change to a reader of the same participant."""
        key_hash = change.instance or None
        sample = SampleReceived(
            reader, writer, change.sequence, change.kind, change.payload, change.timestamp, key_hash
        )
        self._context.report(self.arbitration.judge(sample, now))

    def _offer_of(self, writer: Guid) -> QualityOfService | None:
        """Return the policies of a writer that is alive."""
        found = self.writers.get(writer) or self._remote_writers.get(writer)
        watched = self.liveliness.watched.get(writer)
        is_silent = watched is not None and not watched.alive
        return None if found is None or is_silent else found.announcement.qos

    def _pair_remote_reader(self, local: LocalWriter, remote: RemoteEndpoint, now: int) -> None:
        writer, reader = local.announcement, remote.announcement
        if not self._may_pair(writer, reader, now):
            return
        if local.filters is not None:
            local.writer.distribute()
            local.filters.set(reader.guid, reader.content_filter)
        both_keep = min(writer.qos.durability, reader.qos.durability) >= Durability.TRANSIENT_LOCAL
        local.writer.match(
            reader.guid,
            destination=remote.destination,
            reliable=reader.qos.reliable,
            with_history=both_keep,
            now=now,
            group=remote.group,
        )
        if writer.guid in self.liveliness.promises:
            self.liveliness.serve(reader.guid.prefix, now)

    def _pair_remote_writer(self, local: LocalReader, remote: RemoteEndpoint, now: int) -> None:
        writer, reader = remote.announcement, local.announcement
        if not self._may_pair(writer, reader, now):
            return
        reader_keeps = reader.qos.durability >= Durability.TRANSIENT_LOCAL
        writer_forgets = writer.qos.durability is Durability.VOLATILE
        # Our own writers offer each reader only what it is entitled to; others offer the past to everyone.
        peer = self._context.peers.get(writer.guid.prefix)
        is_ours = peer is not None and peer.announcement.vendor == VENDOR
        self._listening.setdefault(writer.guid, {})[reader.guid.entity] = local.reader
        local.reader.match(
            writer.guid,
            destination=remote.destination,
            reliable=reader.qos.reliable,
            from_first=reader_keeps or writer_forgets or is_ours,
            now=now,
            pushed_from=self.early.of(writer.guid, now),
            is_unique=is_ours,
        )
        self.liveliness.watch(reader.guid, writer, now)

    def _pair_local(self, local: LocalWriter, own: LocalReader, now: int) -> None:
        writer, reader = local.announcement, own.announcement
        if not self._may_pair(writer, reader, now):
            return
        self._context.report(EndpointMatched(reader.guid, writer.guid))
        local.local[reader.guid] = None
        self.liveliness.watch(reader.guid, writer, now)
        if min(writer.qos.durability, reader.qos.durability) >= Durability.TRANSIENT_LOCAL:
            for change in local.writer.history:
                self.deliver_locally(reader.guid, writer.guid, change, now)

    def _may_pair(self, writer: EndpointAnnouncement, reader: EndpointAnnouncement, now: int) -> bool:
        """Say whether two endpoints are a pair, and report it; one whose type is not known waits."""
        # Of two local endpoints the writer reports what keeps them apart.
        local, remote = (reader, writer) if writer.guid.prefix != self._context.prefix else (writer, reader)
        faults = obstacles(writer=writer, reader=reader)
        if faults:
            self._context.report(QualityIncompatible(local.guid, remote.guid, faults))
            return False
        verdict = self.types.judge(writer=writer, reader=reader, now=now)
        if verdict == "asked":
            self._waiting[local.guid, remote.guid] = None
            return False
        if verdict != "fits":
            self._context.report(TypeIncompatible(local.guid, remote.guid, verdict[1]))
            return False
        self._context.report(EndpointMatched(local.guid, remote.guid))
        return True

    def _reconsider(self, prefix: bytes, now: int) -> None:
        """Judge the pairs that have waited for a participant's types."""
        for local, remote in [pair for pair in self._waiting if pair[1].prefix == prefix]:
            del self._waiting[local, remote]
            writer, reader = self.writers.get(local), self.readers.get(local)
            remote_reader, remote_writer = self._remote_readers.get(remote), self._remote_writers.get(remote)
            if writer is not None and remote_reader is not None:
                self._pair_remote_reader(writer, remote_reader, now)
            elif reader is not None and remote_writer is not None:
                self._pair_remote_writer(reader, remote_writer, now)

    def _forget_waiting(self, guid: Guid) -> None:
        for pair in [pair for pair in self._waiting if guid in pair]:
            del self._waiting[pair]
