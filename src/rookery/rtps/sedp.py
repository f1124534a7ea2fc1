"""SEDP, the simple endpoint discovery protocol: what the participants write and read (RTPS 2.5, 8.5.4).

Two builtin topics, publications and subscriptions, each with a reliable transient-local writer and a reader in every
participant: who is taken in later still hears everything that is there. An endpoint is an instance of these topics; its
end is a dispose of the instance. An announcement is believed only about the announcing participant's own endpoints.

`add_peer` is SEDP as it is specified: everything is announced to everyone. A protocol that knows what a peer is
interested in uses the parts instead: `serve` announces the endpoints of one topic to a peer, with a choice, `repeat`
announces an endpoint anew for those who had no interest in it before, and `listen` takes one topic of the peer in.

Leases differ, so of two participants that do not hear each other for a while often only one loses the other. The lost
one still believes in what was announced to it, and an endpoint that ended meanwhile would live on there. So a tombstone
keeps which endpoints a lost participant knows: when it is back it is sent the pending disposals. Nor is it known which
numbers it passed over, so what it is to have is written again, under new ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from rookery.errors import WireFormatError
from rookery.rtps.announcements import EndpointAnnouncement, decode_endpoint, decode_key
from rookery.rtps.context import ParticipantContext
from rookery.rtps.events import SampleKind
from rookery.rtps.history import History
from rookery.rtps.identity import (
    SEDP_PUBLICATIONS_READER,
    SEDP_PUBLICATIONS_WRITER,
    SEDP_SUBSCRIPTIONS_READER,
    SEDP_SUBSCRIPTIONS_WRITER,
    UNKNOWN_PREFIX,
    BuiltinEndpoint,
    Guid,
    guid_from_octets,
    is_builtin,
    is_writer,
)
from rookery.rtps.locators import Locator
from rookery.rtps.peers import Destination, RemoteParticipant
from rookery.rtps.reader import Reader, Received
from rookery.rtps.writer import Writer

__all__ = ["EndpointDiscovery", "EndpointListener", "RemoteEndpoint", "other_side", "topic_of"]


@dataclass(frozen=True, slots=True)
class RemoteEndpoint:
    """A remote reader or writer, and where its samples go."""

    announcement: EndpointAnnouncement
    destination: Destination
    #: Where it hears what goes to many at once, if that is where we say it.
    group: Destination | None = None


@dataclass(frozen=True, slots=True)
class EndpointListener:
    """What is called when an endpoint is found, when it is lost, and when its filter changes."""

    discovered: Callable[[RemoteEndpoint, int], None]
    lost: Callable[[RemoteEndpoint, int], None]
    #: A reader has another filter and is otherwise what it was.
    filtered: Callable[[RemoteEndpoint], None]


#: Writer entity, reader entity, and the bits that say whether a peer has the other side of each.
_TOPICS = (
    (
        SEDP_PUBLICATIONS_WRITER,
        SEDP_PUBLICATIONS_READER,
        BuiltinEndpoint.PUBLICATIONS_ANNOUNCER,
        BuiltinEndpoint.PUBLICATIONS_DETECTOR,
    ),
    (
        SEDP_SUBSCRIPTIONS_WRITER,
        SEDP_SUBSCRIPTIONS_READER,
        BuiltinEndpoint.SUBSCRIPTIONS_ANNOUNCER,
        BuiltinEndpoint.SUBSCRIPTIONS_DETECTOR,
    ),
)

_READER_OF = {writer: reader for writer, reader, _, _ in _TOPICS}
_ANNOUNCER_OF = {writer: announcer for writer, _, announcer, _ in _TOPICS}
_DETECTOR_OF = {writer: detector for writer, _, _, detector in _TOPICS}


def topic_of(guid: Guid) -> int:
    """Return the builtin topic, by its writer's entity id, in which an endpoint is announced."""
    return SEDP_PUBLICATIONS_WRITER if is_writer(guid.entity) else SEDP_SUBSCRIPTIONS_WRITER


def other_side(topic: int) -> int:
    """Return the builtin topic in which the counterparts of a topic's endpoints are announced."""
    return SEDP_SUBSCRIPTIONS_WRITER if topic == SEDP_PUBLICATIONS_WRITER else SEDP_PUBLICATIONS_WRITER


def _but_for_filters(endpoint: RemoteEndpoint) -> RemoteEndpoint:
    return replace(endpoint, announcement=replace(endpoint.announcement, content_filter=None))


class EndpointDiscovery:
    """Announces the endpoints of one participant and keeps the table of the others'."""

    def __init__(self, context: ParticipantContext, *, listener: EndpointListener) -> None:
        self.endpoints: dict[Guid, RemoteEndpoint] = {}
        self._by_participant: dict[bytes, dict[Guid, None]] = {}
        self._own: dict[Guid, EndpointAnnouncement] = {}
        self._tombstones: dict[bytes, dict[Guid, None]] = {}
        self._context = context
        self._listener = listener
        self.writers: dict[int, Writer] = {}
        self.readers: dict[int, Reader] = {}
        for writer, reader, _, _ in _TOPICS:
            # Our own endpoints are the caller's: bounded by the caller, not by a limit on strangers.
            history = History(depth=1, keeps_for_late_readers=True, at_most=1 << 24)
            self.writers[writer] = Writer(Guid(context.prefix, writer), history=history, context=context)
            self.readers[reader] = Reader(Guid(context.prefix, reader), deliver=self._deliver, context=context)

    def announce(self, announcement: EndpointAnnouncement, now: int) -> None:
        """Announce a local endpoint to everyone; to those who are served by choice, if they want it."""
        self._own[announcement.guid] = announcement
        self._write(SampleKind.ALIVE, announcement, announcement.encode(), now)

    def announce_anew(self, announcement: EndpointAnnouncement, now: int) -> None:
        """Announce that a local endpoint says something else of itself, to everyone who knows it."""
        self._own[announcement.guid] = announcement
        for proxy in self.writers[topic_of(announcement.guid)].readers.values():
            proxy.sent.pop(announcement.guid.octets(), None)  # or who has it would be passed over
        self._write(SampleKind.ALIVE, announcement, announcement.encode(), now)

    def withdraw(self, announcement: EndpointAnnouncement, now: int) -> None:
        """Dispose of a local endpoint, at everyone to whom it was announced."""
        del self._own[announcement.guid]
        self._write(SampleKind.DISPOSED_AND_UNREGISTERED, announcement, announcement.encode_key(), now)

    def _write(self, kind: SampleKind, announcement: EndpointAnnouncement, payload: bytes, now: int) -> None:
        writer = self.writers[topic_of(announcement.guid)]
        writer.write(kind, announcement.guid.octets(), payload, timestamp=now + self._context.epoch, now=now)

    def add_peer(self, peer: RemoteParticipant, now: int) -> None:
        """Begin to exchange endpoints with a participant, as far as it can."""
        for topic, _, _, _ in _TOPICS:
            self.serve(peer, topic, now=now)
            self.listen(peer, topic, now=now)

    def serve(
        self,
        peer: RemoteParticipant,
        topic: int,
        *,
        now: int,
        wants: Callable[[bytes], bool] | None = None,
        push: bool = False,
    ) -> bool:
        """Begin to serve a topic to a participant; say whether it can be."""
        remote = Guid(peer.prefix, _READER_OF[topic])
        if not peer.announcement.builtin_endpoints & _DETECTOR_OF[topic] or remote in self.writers[topic].readers:
            return False
        is_back = peer.prefix in self._tombstones and wants is not None
        self.writers[topic].match(
            remote,
            destination=peer.metatraffic_destination,
            reliable=True,
            with_history=not is_back,
            now=now,
            wants=wants,
            push=push and not is_back,
        )
        if is_back:
            for guid in self._own:
                if topic_of(guid) == topic and wants is not None and wants(guid.octets()):
                    self._write(SampleKind.ALIVE, self._own[guid], self._own[guid].encode(), now)
        self._write_pending_disposals(remote, topic, now)
        return True

    def has_pending_disposals(self, prefix: bytes) -> bool:
        """Say whether a participant that was lost may believe in endpoints that are gone."""
        return any(guid not in self._own for guid in self._tombstones.get(prefix, ()))

    def _write_pending_disposals(self, reader: Guid, topic: int, now: int) -> None:
        """Dispose, for a participant that is back, of what has ended while it was lost."""
        believed = self._tombstones.get(reader.prefix, {})
        ended = [guid for guid in believed if guid not in self._own and topic_of(guid) == topic]
        for guid in ended:
            del believed[guid]
            self.writers[topic].readers[reader].sent[guid.octets()] = 0
            gone = EndpointAnnouncement(guid, "", "")
            self._write(SampleKind.DISPOSED_AND_UNREGISTERED, gone, gone.encode_key(), now)

    def listen(self, peer: RemoteParticipant, topic: int, *, now: int, expected: bool = False) -> bool:
        """Begin to take in a topic of a participant; say whether it can be."""
        remote = Guid(peer.prefix, topic)
        reader = self.readers[_READER_OF[topic]]
        if not peer.announcement.builtin_endpoints & _ANNOUNCER_OF[topic] or remote in reader.writers:
            return False
        destination = peer.metatraffic_destination
        reader.match(remote, destination=destination, reliable=True, from_first=True, now=now, expected=expected)
        return True

    def reader_of(self, topic: int) -> Reader | None:
        """Return the builtin reader of a topic, if it is one."""
        entity = _READER_OF.get(topic)
        return None if entity is None else self.readers[entity]

    def serves(self, prefix: bytes, topic: int) -> bool:
        """Say whether a topic is served to a participant."""
        return Guid(prefix, _READER_OF[topic]) in self.writers[topic].readers

    def repeat(self, prefix: bytes, guid: Guid, now: int) -> None:
        """Repeat an endpoint under a new number, unless the participant was sent it already or has yet to ask."""
        topic = topic_of(guid)
        proxy = self.writers[topic].readers[Guid(prefix, _READER_OF[topic])]
        passed_by = proxy.answered or proxy.sent or proxy.start > self.writers[topic].history.first
        if passed_by and guid.octets() not in proxy.sent:
            announcement = self._own[guid]
            self._write(SampleKind.ALIVE, announcement, announcement.encode(), now)

    def has_acknowledged(self, prefix: bytes, guid: Guid) -> bool:
        """Say whether a participant has acknowledged everything of the topic in which a local endpoint is announced."""
        topic = topic_of(guid)
        proxy = self.writers[topic].readers.get(Guid(prefix, _READER_OF[topic]))
        return proxy is not None and proxy.acknowledged > self.writers[topic].history.last

    def is_up_to_date(self, peer: RemoteParticipant) -> bool:
        """Say whether everything that a participant has announced so far has arrived."""
        for topic, reader, announcer, _ in _TOPICS:
            if peer.announcement.builtin_endpoints & announcer:
                proxy = self.readers[reader].writers.get(Guid(peer.prefix, topic))
                if proxy is None or not proxy.begun or proxy.next <= proxy.last:
                    return False
        return True

    def remove_peer(self, prefix: bytes, now: int, *, for_good: bool = True) -> None:
        """Forget a participant's endpoints and stop talking to it; unless `for_good` it may be back."""
        self._tombstones.pop(prefix, None) if for_good else self._bury(prefix)
        for writer, reader, _, _ in _TOPICS:
            self.writers[writer].unmatch(Guid(prefix, reader))
            self.readers[reader].unmatch(Guid(prefix, writer))
        for guid in tuple(self._by_participant.pop(prefix, ())):
            self._listener.lost(self._forget(guid), now)

    def _bury(self, prefix: bytes) -> None:
        """Keep a tombstone of a participant that is lost without a goodbye: what it may believe in."""
        believed = self._tombstones.pop(prefix, {})
        for topic, reader, _, _ in _TOPICS:
            proxy = self.writers[topic].readers.get(Guid(prefix, reader))
            if proxy is not None and proxy.wants is not None:
                believed.update((guid_from_octets(instance), None) for instance in proxy.sent)
            elif proxy is not None:
                # What is there, and the disposals that not everyone has acknowledged.
                history = self.writers[topic].history
                believed.update((guid_from_octets(change.instance), None) for change in history)
        self._tombstones[prefix] = believed
        if len(self._tombstones) > self._context.limits.participants:
            del self._tombstones[next(iter(self._tombstones))]

    def _deliver(self, writer: Guid, received: Received, now: int) -> None:
        try:
            if received.kind is SampleKind.ALIVE:
                self._take(writer, decode_endpoint(received.payload), now)
            else:
                guid = decode_key(received.payload) if received.payload else guid_from_octets(received.key_hash or b"")
                self._lose(writer, guid, now)
        except WireFormatError as error:
            # The sample has been delivered as far as the protocol goes; only its content is refused.
            self._context.reject(str(error))

    def _group_of(self, announcement: EndpointAnnouncement, peer: RemoteParticipant) -> Destination | None:
        """Return our group, if an endpoint hears it: no other group is sent to, whatever somebody announces."""
        group = self._context.data_group
        if group is None or Locator.of(group) not in (announcement.groups or peer.announcement.groups):
            return None
        return Destination(UNKNOWN_PREFIX, group)

    def _take(self, writer: Guid, announcement: EndpointAnnouncement, now: int) -> None:
        guid = announcement.guid
        peer = self._context.peers.get(writer.prefix)
        if peer is None or guid.prefix != writer.prefix or is_builtin(guid.entity):
            raise WireFormatError("an endpoint announced by another")
        if is_writer(guid.entity) != (writer.entity == SEDP_PUBLICATIONS_WRITER):
            raise WireFormatError("a reader announced as writer, or the other way")
        names = (announcement.topic, announcement.type_name, *announcement.qos.partitions)
        if max(len(name.encode("utf-8")) for name in names) > self._context.limits.name_bytes:
            self._context.counters["name_bytes"] += 1
            raise WireFormatError(f"a name of more than {self._context.limits.name_bytes} bytes")
        old = self.endpoints.get(guid)
        announcement = self._within_room(announcement, old)
        own = self._by_participant.setdefault(guid.prefix, {})
        if old is None:
            for name, count in (("endpoints", len(self.endpoints)), ("endpoints_per_participant", len(own))):
                limit = getattr(self._context.limits, name)
                if count >= limit:
                    self._context.counters[name] += 1
                    raise WireFormatError(f"no room for another endpoint; the limit is {limit}")
        addresses = self._context.addresses(announcement.locators)
        destination = Destination(guid.prefix, (addresses or peer.default)[0])
        endpoint = RemoteEndpoint(announcement, destination, self._group_of(announcement, peer))
        if old == endpoint:
            return
        if old is not None and _but_for_filters(old) == _but_for_filters(endpoint):
            self._keep(endpoint)
            self._listener.filtered(endpoint)
            return
        if old is not None:
            self._listener.lost(old, now)
        self._keep(endpoint)
        own[guid] = None
        self._listener.discovered(endpoint, now)

    def _lose(self, writer: Guid, guid: Guid, now: int) -> None:
        if guid.prefix != writer.prefix:
            raise WireFormatError("an endpoint withdrawn by another")
        if guid in self.endpoints:
            del self._by_participant[guid.prefix][guid]
            self._listener.lost(self._forget(guid), now)

    def _keep(self, endpoint: RemoteEndpoint) -> None:
        """Keep an endpoint in place of what it said before."""
        guid = endpoint.announcement.guid
        if guid in self.endpoints:
            self._forget(guid)
        self.endpoints[guid] = endpoint
        self._context.type_bytes += len(endpoint.announcement.type_object)

    def _forget(self, guid: Guid) -> RemoteEndpoint:
        endpoint = self.endpoints.pop(guid)
        self._context.type_bytes -= len(endpoint.announcement.type_object)
        return endpoint

    def _within_room(self, announcement: EndpointAnnouncement, old: RemoteEndpoint | None) -> EndpointAnnouncement:
        """Return an announcement without its type, where there is no room for that."""
        before = 0 if old is None else len(old.announcement.type_object)
        more = len(announcement.type_object) - before
        if more <= 0 or self._context.type_bytes + more <= self._context.limits.type_bytes:
            return announcement
        self._context.counters["type_bytes"] += 1
        return replace(announcement, type_object=b"")
