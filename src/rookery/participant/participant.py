"""One DDS participant, as a machine: datagrams and times go in, datagrams and events come out.

The messages of this machine are datagrams: bytes, or `Multicast` of bytes for what came through the domain's group;
senders and receivers are addresses. Same inputs, same effects, byte for byte. Nothing that arrives raises: it becomes
`MessageRejected` and a counter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rookery.errors import TopicError
from rookery.machine import Effect, Emit, Multicast
from rookery.participant.announcing import announcement_seal
from rookery.participant.configuration import ParticipantConfiguration, data_group, multicast_address
from rookery.participant.contacts import Contacts
from rookery.participant.content_filters import WriterFilters
from rookery.participant.endpoints import LocalReader, LocalWriter
from rookery.participant.lapses import Lapses
from rookery.participant.pairing import Pairing
from rookery.participant.reception import Reception
from rookery.rtps.announcements import ContentFilter, EndpointAnnouncement, ParticipantAnnouncement
from rookery.rtps.context import ParticipantContext
from rookery.rtps.events import (
    Event,
    ParticipantChanged,
    ParticipantDiscovered,
    ParticipantLost,
    SampleKind,
    SampleReceived,
)
from rookery.rtps.history import History
from rookery.rtps.identity import (
    READER_KEYED,
    READER_KEYLESS,
    WRITER_KEYED,
    WRITER_KEYLESS,
    Guid,
)
from rookery.rtps.locators import Address, Locator
from rookery.rtps.messages import decode_message, decode_shared_message
from rookery.rtps.parameters import Parameter
from rookery.rtps.peers import RemoteParticipant
from rookery.rtps.qos import Durability, QualityOfService, require_supported
from rookery.rtps.reader import Reader, Received
from rookery.rtps.sedp import EndpointDiscovery, EndpointListener, RemoteEndpoint
from rookery.rtps.spdp import ParticipantDiscovery, ParticipantListener, read_repetition
from rookery.rtps.types import CdrStruct, Type
from rookery.rtps.writer import Writer
from rookery.rtps.xtypes.information import AnnouncedType

if TYPE_CHECKING:
    from rookery.filters import SubNode

__all__ = ["Participant"]

_NO_INSTANCE = b""
_SHARED_BYTES = 2_048


class Participant:
    """A participant of one domain; `start` announces it, `stop` says goodbye."""

    def __init__(self, configuration: ParticipantConfiguration) -> None:
        self.configuration = configuration
        self.prefix = configuration.prefix
        self._context = context = ParticipantContext(
            self.prefix,
            limits=configuration.limits,
            networks=configuration.networks,
            datagram_bytes=configuration.datagram_bytes,
            epoch=configuration.epoch,
            data_group=data_group(configuration.domain_id) if configuration.multicast_data else None,
        )
        self.counters = context.counters
        self._entity_count = 0
        locators = tuple(map(Locator.of, (configuration.unicast, *configuration.further_unicast)))
        self._spdp = ParticipantDiscovery(
            context,
            ParticipantAnnouncement(
                self.prefix,
                configuration.lease,
                locators,
                locators,
                configuration.domain_id,
                name=configuration.name,
                user_data=configuration.user_data,
                vendor_parameters=configuration.vendor_parameters,
                groups=() if context.data_group is None else (Locator.of(context.data_group),),
            ),
            announce_to=(multicast_address(configuration.domain_id),)
            if configuration.announce_to is None
            else configuration.announce_to,
            period=configuration.period,
            quick_repeats=configuration.quick_repeats,
            listener=ParticipantListener(
                self._participant_discovered, self._participant_changed, self._participant_lost
            ),
            seal=announcement_seal(configuration),
        )
        self._sedp = EndpointDiscovery(
            context,
            listener=EndpointListener(
                self._endpoint_discovered, self._endpoint_lost, lambda endpoint: self._pairing.filter_remote(endpoint)
            ),
        )
        self._pairing = Pairing(context)
        self._lapses = Lapses(context, epoch=configuration.epoch)
        self._contacts = Contacts(context, configuration, spdp=self._spdp, sedp=self._sedp)
        self._reception = Reception(
            context, spdp=self._spdp, sedp=self._sedp, pairing=self._pairing, contacts=self._contacts
        )

    # ---- the machine ---------------------------------------------------------------------------------------------

    def receive_many(self, messages: Iterable[bytes | Multicast], sender: Address, now: int) -> None:
        """Take in the datagrams of one address; they may be anything."""
        for message in messages:
            if isinstance(message, Multicast):
                self._receive(message.message, sender, now, by_multicast=True)
            else:
                self._receive(message, sender, now, by_multicast=False)

    def undeliverable(self, message: bytes, receiver: Address, now: int) -> None:
        """Do nothing: UDP returns no datagram, and a loss is repaired by those who miss what was in it."""

    def lose(self, node: Address, now: int) -> None:
        """Do nothing: UDP has no connections, and a participant is lost when its lease ends."""

    def completed(self, effect: Effect, result: Any, now: int) -> None:
        """Do nothing: a participant writes nothing to a disk."""

    def wake(self, now: int) -> None:
        """Do what is due."""
        self._context.deadlines.run(now)

    def timer(self) -> int | None:
        """Return when `wake` is wanted next."""
        return self._context.deadlines.next()

    def effects(self) -> list[Effect]:
        """Return the datagrams to send and the events that happened, and forget them."""
        sends = self._context.outbox.sends()
        if sends:
            self.counters["bytes_out"] += sum(len(send.message) for send in sends)
        return [*sends, *map(Emit, self.take_events())]

    def take_events(self) -> list[Event]:
        """Return the events that happened, before the others of its effects; forget them."""
        events, self._context.events = self._context.events, []
        return events

    def _receive(self, data: bytes, sender: Address, now: int, *, by_multicast: bool) -> None:
        context = self._context
        self.counters["bytes_in"] += len(data)
        repetition = read_repetition(data)
        if repetition is not None and self._spdp.is_repetition(*repetition):
            context.peers.heard(repetition[0], host=sender.host, size_bytes=len(data), addressed_to_us=False, now=now)
            if repetition[0] in self._pairing.liveliness.silent:
                self._pairing.liveliness.heard(repetition[0], now)
            return
        context.sender = sender
        if len(context.events) >= context.limits.queued_events:
            self.counters["queued_events"] += 1
            return
        shared = by_multicast and len(data) <= _SHARED_BYTES
        message = (decode_shared_message if shared else decode_message)(data)
        if message.prefix == self.prefix:
            return  # our own multicast comes back to us
        self._reception.take(message, host=sender.host, size_bytes=len(data), by_multicast=by_multicast, now=now)
        if message.fault is not None:
            context.reject(message.fault)

    # ---- commands of the owner -----------------------------------------------------------------------------------

    def start(self, now: int) -> None:
        """Announce this participant."""
        self._contacts.announcing.start(now)

    def stop(self, now: int) -> None:
        """Say goodbye; whatever arrives or falls due afterwards has no effect that matters."""
        self._spdp.stop(now)

    def announce(self, now: int, *, vendor_parameters: tuple[Parameter, ...]) -> None:
        """Change what this participant says of itself, and say it."""
        self._contacts.announcing.say(now, vendor_parameters)

    @property
    def peers(self) -> tuple[RemoteParticipant, ...]:
        """The remote participants that are alive."""
        return tuple(self._context.peers)

    @property
    def remote_endpoints(self) -> tuple[RemoteEndpoint, ...]:
        """The remote readers and writers that are known."""
        return tuple(self._sedp.endpoints.values())

    @property
    def endpoints_made(self) -> int:
        """How many readers and writers this participant has had."""
        return self._entity_count

    @property
    def local_endpoints(self) -> tuple[EndpointAnnouncement, ...]:
        """This participant's own readers and writers."""
        return tuple(endpoint.announcement for endpoint in (*self._pairing.writers, *self._pairing.readers))

    def sub_nodes(self, prefix: bytes) -> dict[str, tuple[SubNode, ...]]:
        """Return, for what local endpoints seek, the sub-nodes of a peer's tree that may have it, by the key sought."""
        view = self._contacts.directory.peers.get(prefix)
        return {} if view is None else dict(view.sub_nodes)

    @property
    def summary_bytes(self) -> int:
        """Bytes of the discovery summaries that are kept of the peers."""
        return self._contacts.directory.octets

    @property
    def type_bytes(self) -> int:
        """Bytes of the descriptions of types that are kept of the peers."""
        return self._context.type_bytes

    @property
    def held_bytes(self) -> int:
        """Bytes of samples that are not delivered yet: unfinished ones and those ahead of their turn."""
        builtin = (*self._sedp.readers.values(), *self._pairing.types.readers.values(), self._pairing.liveliness.reader)
        readers = (*builtin, self._contacts.retrieval.reader, *(local.reader for local in self._pairing.readers))
        return self._context.fragment_bytes + sum(
            proxy.held_bytes for reader in readers for proxy in reader.writers.values()
        )

    def create_writer(
        self,
        topic: str,
        type_name: str,
        qos: QualityOfService,
        *,
        keyed: bool,
        now: int,
        type: CdrStruct | AnnouncedType | None = None,
    ) -> Guid:
        """Make a writer and announce it, with its type if that is given; raise for a policy that is not supported."""
        announcement = self._announcement(topic, type_name, qos, WRITER_KEYED if keyed else WRITER_KEYLESS, type)
        history = History(
            depth=qos.history_depth,
            keeps_for_late_readers=qos.durability is Durability.TRANSIENT_LOCAL,
            at_most=self._context.limits.history_samples,
        )
        self._contacts.add_local(announcement, now)
        known = self._pairing.types.offered(announcement.type_information)
        struct = known if isinstance(known, CdrStruct) else None
        filters = None if struct is None else WriterFilters(struct)
        writer = Writer(announcement.guid, history=history, context=self._context, sieve=filters)
        self._lapses.begin(announcement.guid, qos, struct, history)
        self._pairing.add_writer(LocalWriter(announcement, writer, filters), now)
        return announcement.guid

    def create_reader(
        self,
        topic: str,
        type_name: str,
        qos: QualityOfService,
        *,
        keyed: bool,
        now: int,
        type: CdrStruct | None = None,
        content_filter: ContentFilter | None = None,
        acknowledge_when_kept: bool = False,
        kept: Mapping[Guid, int] | None = None,
        most_unkept: int | None = None,
    ) -> Guid:
        """Make a reader and announce it; raise for a policy that is not supported.

        With `acknowledge_when_kept` nothing is acknowledged to reliable writers until `keep` is called, and no more
        than `most_unkept` samples of a writer are taken in before that. `kept` is what the owner has of each writer
        already: the reader goes on behind it.
        """
        announcement = self._announcement(topic, type_name, qos, READER_KEYED if keyed else READER_KEYLESS, type)
        announcement = replace(announcement, content_filter=content_filter)
        guid = announcement.guid
        reader = Reader(
            guid,
            deliver=lambda writer, received, then: self._deliver(guid, writer, received, then),
            context=self._context,
            acknowledge_when_kept=acknowledge_when_kept,
            kept=kept,
            most_unkept=most_unkept,
        )
        self._lapses.begin(guid, qos, type)
        self._pairing.arbitration.begin(guid, qos, type)
        self._contacts.add_local(announcement, now)
        self._pairing.add_reader(LocalReader(announcement, reader), now)
        return guid

    def set_filter(self, reader: Guid, content_filter: ContentFilter | None, now: int) -> None:
        """Announce what a reader wants from now on; what it wanted before comes until a writer has heard of it."""
        local = self._pairing.readers.get(reader)
        if local is None:
            raise TopicError(f"no reader {reader} in this participant")
        if local.announcement.content_filter != content_filter:
            local.announcement = replace(local.announcement, content_filter=content_filter)
            self._sedp.announce_anew(local.announcement, now)

    def keep(self, reader: Guid, writer: Guid, *, through: int, now: int) -> None:
        """Say that everything up to a number is safe, so that it can be acknowledged to its writer."""
        local = self._pairing.readers.get(reader)
        if local is None:
            raise TopicError(f"no reader {reader} in this participant")
        local.reader.keep(writer, through=through, now=now)

    def delete_endpoint(self, guid: Guid, now: int) -> None:
        """Take a reader or writer away and dispose of it at the others."""
        self._lapses.forget(guid)
        self._contacts.remove_local(self._pairing.remove(guid).announcement, now)

    def write(
        self,
        writer: Guid,
        payload: bytes,
        *,
        now: int,
        kind: SampleKind = SampleKind.ALIVE,
        key_hash: bytes = _NO_INSTANCE,
    ) -> int:
        """Send a sample (or, with another `kind`, the key of an instance that ends); return its sequence number."""
        local = self._pairing.writers.get(writer)
        if local is None:
            raise TopicError(f"no writer {writer} in this participant")
        timestamp = now + self.configuration.epoch
        change = local.writer.write(kind, key_hash, payload, timestamp=timestamp, now=now)
        if self._lapses.watches(writer):
            self._lapses.sample(writer, kind, key_hash, payload, now)
        if self._pairing.liveliness.promises:
            self._pairing.liveliness.written(writer, now)
        for reader in local.local:
            if self._lapses.watches(reader):
                self._lapses.sample(reader, kind, key_hash, payload, now)
            self._pairing.deliver_locally(reader, writer, change, now)
        return change.sequence

    def assert_liveliness(self, now: int, *, writer: Guid | None = None) -> None:
        """Say that the program is alive: for one writer, or for all whose liveliness is manual by participant."""
        if writer is None:
            self._pairing.liveliness.assert_participant(now)
        elif self._pairing.writers.get(writer) is None:
            raise TopicError(f"no writer {writer} in this participant")
        else:
            self._pairing.liveliness.assert_writer(writer, now)

    def is_acknowledged(self, writer: Guid) -> bool:
        """Say whether every reliable reader has everything that the writer wrote."""
        local = self._pairing.writers.get(writer)
        if local is None:
            raise TopicError(f"no writer {writer} in this participant")
        return local.writer.acknowledged

    def has_room(self, writer: Guid) -> bool:
        """Say whether a writer's history takes another sample, of whatever instance."""
        local = self._pairing.writers.get(writer)
        if local is None:
            raise TopicError(f"no writer {writer} in this participant")
        return local.writer.has_room

    def announced_type(self, remote: Guid, now: int) -> Type | None:
        """Return the type that a remote endpoint announced, if it is known; if not it is asked for."""
        endpoint = self._sedp.endpoints.get(remote)
        return None if endpoint is None else self._pairing.types.type_of(endpoint.announcement, now)

    def endpoint(self, guid: Guid) -> EndpointAnnouncement | None:
        """Return what an endpoint announces, our own or another's; None for one that is not known."""
        remote = self._sedp.endpoints.get(guid)
        if remote is not None:
            return remote.announcement
        own = self._pairing.writers.get(guid) or self._pairing.readers.get(guid)
        return None if own is None else own.announcement

    def announced_objects(self, endpoint: EndpointAnnouncement, now: int) -> tuple[bytes, ...] | None:
        """Return the objects of the type that an endpoint announced; None while they are being asked for."""
        return self._pairing.types.objects_of(endpoint, now)

    def matched(self, local: Guid) -> tuple[Guid, ...]:
        """Return the endpoints that a local endpoint is paired with."""
        return self._pairing.matched(local)

    def attentive(self, local: Guid) -> tuple[Guid, ...]:
        """Return those of its pairs that a local endpoint has reason to think know of it: the reliable ones that have
        spoken to it, and those that never speak.
        """
        silent = set(self._pairing.silent(local))
        return tuple(guid for guid in self._pairing.matched(local) if guid not in silent)

    def is_known(self, local: Guid) -> bool:
        """Say whether all that a local endpoint is paired with know of it: their participants have acknowledged its
        announcement, and the reliable ones have spoken to it.
        """
        remote = {guid.prefix for guid in self._pairing.matched(local)} - {self.prefix}
        return not self._pairing.silent(local) and all(self._sedp.has_acknowledged(prefix, local) for prefix in remote)

    # ---- what discovery finds ------------------------------------------------------------------------------------

    def _participant_discovered(self, peer: RemoteParticipant, now: int) -> None:
        self._context.report(ParticipantDiscovered(peer.announcement))
        self._contacts.add_peer(peer, now)

    def _participant_changed(self, peer: RemoteParticipant, now: int) -> None:
        self._context.report(ParticipantChanged(peer.announcement))
        self._contacts.change_peer(peer, now)

    def _participant_lost(self, peer: RemoteParticipant, reason: str, now: int) -> None:
        self._contacts.remove_peer(peer, now, for_good=reason == "disposed")
        self._pairing.types.forget(peer.prefix)
        self._pairing.liveliness.forget(peer.prefix)
        self._context.report(ParticipantLost(peer.prefix, reason))

    def _endpoint_discovered(self, endpoint: RemoteEndpoint, now: int) -> None:
        self._pairing.add_remote(endpoint, now)
        self._contacts.add_remote(endpoint.announcement, now)

    def _endpoint_lost(self, endpoint: RemoteEndpoint, now: int) -> None:
        self._contacts.remove_remote(endpoint.announcement)
        self._pairing.remove_remote(endpoint, now)

    def _deliver(self, reader: Guid, writer: Guid, received: Received, now: int) -> None:
        if self._lapses.watches(reader):
            self._lapses.sample(reader, received.kind, received.key_hash or b"", received.payload, now)
        sample = SampleReceived(
            reader,
            writer,
            received.sequence,
            received.kind,
            received.payload,
            received.timestamp,
            received.key_hash,
        )
        self._context.report(self._pairing.arbitration.judge(sample, now))

    def _announcement(
        self, topic: str, type_name: str, qos: QualityOfService, kind: int, type: CdrStruct | AnnouncedType | None
    ) -> EndpointAnnouncement:
        require_supported(qos)
        if not topic or not type_name:
            raise TopicError("a topic and its type need names")
        self._entity_count += 1
        information = None if type is None else self._pairing.types.offer(type)
        guid = Guid(self.prefix, self._entity_count << 8 | kind)
        return EndpointAnnouncement(guid, topic, type_name, qos, type_information=information)
