"""With whom endpoints are exchanged, and when: the discovery protocols at work in one participant.

`simple` is SEDP as specified: everything is announced to a participant that appears, and taken in. Every other protocol
announces a summary of the local endpoints and goes by the summaries of the others (seed 000, steps 1 to 5; seed 001,
participant and endpoint discovery phase): an endpoint is announced to those who may have a counterpart, at once and
unasked, and between two participants who have nothing for each other no builtin endpoint is ever matched, so not a
single HEARTBEAT goes between them. Whoever is spoken to, because the other side's summary let too much through or is
newer, answers and takes in what comes.

A peer without a summary is unmodified DDS. It announces everything to us; when we have that, it is sent what it has a
counterpart for, and gets a GAP for the rest. A peer whose summary cannot be read (another key, no room, damage) may
filter us likewise, so it is sent everything: that is `simple`, between the two of us.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import partial

from rookery.discovery.carriage import (
    REFERENCE,
    carried_container,
    decode_reference,
    decode_summary,
    is_observer,
)
from rookery.discovery.directory import InterestDirectory
from rookery.discovery.interests import topic_of_key
from rookery.discovery.tree import PAPER
from rookery.errors import FilterError
from rookery.participant.announcing import Announcing, domain_key
from rookery.participant.configuration import ParticipantConfiguration
from rookery.participant.retrieval import LARGEST_SUMMARY, Retrieval
from rookery.rtps.announcements import EndpointAnnouncement
from rookery.rtps.context import ParticipantContext
from rookery.rtps.events import FoundTopic, TreeSearched
from rookery.rtps.identity import VENDOR, BuiltinEndpoint, Guid, guid_from_octets
from rookery.rtps.peers import RemoteParticipant
from rookery.rtps.sedp import EndpointDiscovery, other_side, topic_of
from rookery.rtps.spdp import ParticipantDiscovery

__all__ = ["Contacts"]

#: How long unmodified peers may take to announce everything before they are sent what is known to concern them.
PATIENCE = 1_000_000
_SECOND = 1_000_000
_ANNOUNCERS = BuiltinEndpoint.PUBLICATIONS_ANNOUNCER | BuiltinEndpoint.SUBSCRIPTIONS_ANNOUNCER
#: Bytes of an endpoint's announcement with long names, and its share of the message around it.
_RECORD = 250


class Contacts:
    """The discovery protocol of one participant."""

    def __init__(
        self,
        context: ParticipantContext,
        configuration: ParticipantConfiguration,
        *,
        spdp: ParticipantDiscovery,
        sedp: EndpointDiscovery,
    ) -> None:
        self.directory = InterestDirectory(tree_mode="paper" if configuration.discovery == f"tree:{PAPER}" else "sound")
        self._context = context
        self._spdp = spdp
        self._sedp = sedp
        self._domain_key = domain_key(configuration)
        self.retrieval = Retrieval(context, arrived=self._summary_arrived)
        self.announcing = Announcing(
            context, configuration, domain_key=self._domain_key, spdp=spdp, retrieval=self.retrieval
        )
        self._catching_up: dict[bytes, None] = {}
        self._postponed: dict[bytes, None] = {}
        self._contacts = 0
        self._second = 0

    @property
    def is_simple(self) -> bool:
        """Whether everything is announced to everyone."""
        return not self.announcing.has_summary

    # Endpoints, ours and theirs.

    def add_local(self, announcement: EndpointAnnouncement, now: int) -> None:
        """Announce an endpoint of ours to those who may want it."""
        reached: list[bytes] = []
        if not self.is_simple:
            reached = self.directory.add_local(announcement)
            key = self.directory.key_of(announcement.guid)
            if self.directory.own[key] == 1:
                self.announcing.add(key, now)
            for prefix in reached:
                self._report_search(prefix, (self.directory.sought_by(announcement.guid),))
        self._sedp.announce(announcement, now)
        for prefix in reached:
            self._announce_to(prefix, (announcement.guid,), now)

    def remove_local(self, announcement: EndpointAnnouncement, now: int) -> None:
        """Dispose of an endpoint of ours, at those who know it."""
        if not self.is_simple:
            key = self.directory.remove_local(announcement.guid)
            if key is not None:
                self.announcing.remove(key, now)
        self._sedp.withdraw(announcement, now)

    def add_remote(self, announcement: EndpointAnnouncement, now: int) -> None:
        """Take in that a peer has an endpoint: it may want to hear of its counterparts here."""
        if not self.is_simple:
            self._announce_to(announcement.guid.prefix, self.directory.add_remote(announcement), now)

    def remove_remote(self, announcement: EndpointAnnouncement) -> None:
        """Take in that a peer's endpoint is gone."""
        if not self.is_simple:
            self.directory.remove_remote(announcement)

    # Peers.

    def add_peer(self, peer: RemoteParticipant, now: int) -> None:
        """Begin with a participant that has appeared."""
        if self.is_simple:
            self._spdp.introduce(peer.prefix, now)
            self._sedp.add_peer(peer, now)
            return
        self.consider(peer, now)
        if self._sedp.has_pending_disposals(peer.prefix) and peer.prefix not in self._catching_up:
            self._answer(peer, now)

    def change_peer(self, peer: RemoteParticipant, now: int) -> None:
        """Go by what a participant announces now."""
        if not self.is_simple:
            self.consider(peer, now)

    def remove_peer(self, peer: RemoteParticipant, now: int, *, for_good: bool) -> None:
        """Forget a participant; unless `for_good` it may be back and still believe in us."""
        self._sedp.remove_peer(peer.prefix, now, for_good=for_good)
        self.retrieval.forget(peer.prefix)
        self.directory.forget(peer.prefix)
        self._catching_up.pop(peer.prefix, None)
        self._postponed.pop(peer.prefix, None)
        self._context.deadlines.cancel(("catch up", peer.prefix))

    def consider(self, peer: RemoteParticipant, now: int) -> None:
        """Read a participant's summary, or find that it has none, and act on it."""
        prefix, announcement = peer.prefix, peer.announcement
        container = carried_container(announcement.vendor_parameters) if announcement.vendor == VENDOR else None
        if container is None:
            self._spdp.introduce(prefix, now)
            self.directory.drop_summary(prefix)
            if announcement.builtin_endpoints & _ANNOUNCERS:
                self._listen_to_everything(peer, now)
            else:
                self._announce_to(prefix, self.directory.set_everything(prefix), now)
            return
        self._go_by(peer, container, now)

    def _summary_arrived(self, peer: RemoteParticipant, container: bytes, now: int) -> None:
        if peer.incomplete:
            peer.incomplete = False  # and the asking ends by itself, after its acknowledgment
            self._go_by(peer, container, now)

    def _go_by(self, peer: RemoteParticipant, container: bytes, now: int) -> None:
        try:
            reference = decode_reference(container)
            if reference is not None and reference.size <= LARGEST_SUMMARY:
                peer.incomplete = True
                self.retrieval.ask(peer, reference, now)
                return
            if peer.incomplete:
                peer.incomplete = False
                self.retrieval.cancel(peer.prefix)
            fresh = self._read(peer, container)
        except FilterError as error:
            self._context.counters["unreadable_summary"] += 1
            self._context.reject(f"a summary that is not used: {error}")
            self.directory.drop_summary(peer.prefix)
            fresh = self.directory.set_everything(peer.prefix)
            for topic in self._sedp.writers:
                self._sedp.listen(peer, topic, now=now)
        self._announce_to(peer.prefix, fresh, now)

    def _read(self, peer: RemoteParticipant, container: bytes) -> list[Guid]:
        """Keep a summary and return our endpoints that the peer is now to hear of; raise if it cannot be used."""
        if self._domain_key is not None and not peer.authentic:
            self._context.counters["unauthentic_summary"] += 1
            raise FilterError("it does not bear the seal of this domain")
        if is_observer(container):
            return self.directory.set_everything(peer.prefix)
        if container[:1] == bytes((REFERENCE,)):
            raise FilterError(f"it has more than {LARGEST_SUMMARY} bytes")
        summary = decode_summary(container, self._domain_key)
        if summary.epoch != peer.sequence & 0xFFFFFFFF:
            raise FilterError(f"its epoch is {summary.epoch}, that of its announcement {peer.sequence}")
        others = self.directory.octets - self.directory.view(peer.prefix).octets
        if others + len(container) > self._context.limits.summary_bytes:
            self._context.counters["summary_bytes"] += 1
            raise FilterError(f"no room for it; the limit is {self._context.limits.summary_bytes} bytes")
        fresh = self.directory.set_summary(peer.prefix, summary, octets=len(container))
        self._report_search(peer.prefix, self.directory.sought)
        return fresh

    def _report_search(self, prefix: bytes, asked: Collection[str]) -> None:
        """Report where in a peer's tree the keys that were asked for are; nothing for other summaries."""
        view = self.directory.view(prefix)
        if view.visited and asked:
            found = [
                FoundTopic(*topic_of_key(key), *sub_node) for key in asked for sub_node in view.sub_nodes.get(key, ())
            ]
            self._context.report(TreeSearched(prefix, view.octets, len(asked), view.visited, tuple(found)))

    # Serving and listening.

    def _announce_to(self, prefix: bytes, guids: Iterable[Guid], now: int) -> None:
        """Announce some endpoints to a participant; harmless if it knows them."""
        peer = self._context.peers.get(prefix)
        if peer is None or prefix in self._catching_up:
            return
        for guid in guids:
            topic = topic_of(guid)
            self._spdp.introduce(prefix, now)
            if self._sedp.serves(prefix, topic):
                self._sedp.repeat(prefix, guid, now)
            elif self._may_contact(prefix, now):
                # To an address that has proved nothing, a HEARTBEAT must do: the answer to it is the proof.
                push = self._context.peers.has_credit(peer, _RECORD * len(self.directory.view(prefix).relevant))
                self._sedp.serve(peer, topic, now=now, wants=partial(self._wants, prefix), push=push)
            else:
                return
            # It is announced because the other side has its counterpart: that will come from there.
            self._sedp.listen(peer, other_side(topic), now=now, expected=True)

    def _wants(self, prefix: bytes, instance: bytes) -> bool:
        return self.directory.wants(prefix, guid_from_octets(instance))

    def _may_contact(self, prefix: bytes, now: int) -> bool:
        """Say whether to begin with a participant now; if not, it is done later."""
        if any(self._sedp.serves(prefix, topic) for topic in self._sedp.writers):
            return True
        if now // _SECOND != self._second:
            self._second, self._contacts = now // _SECOND, 0
        most = self._context.limits.contacts_per_second
        if self._contacts >= most:
            self._context.counters["contacts_per_second"] += 1
            if not self._postponed:
                self._context.reject(f"more than {most} contacts in a second; the rest wait")
            self._postponed[prefix] = None
            self._context.deadlines.arm(("contacts",), (self._second + 1) * _SECOND, self._contact_postponed)
            return False
        self._contacts += 1
        return True

    def _contact_postponed(self, now: int) -> None:
        postponed, self._postponed = self._postponed, {}
        for prefix in postponed:
            view = self.directory.peers.get(prefix)
            if view is not None:
                self._announce_to(prefix, tuple(view.relevant), now)

    def _listen_to_everything(self, peer: RemoteParticipant, now: int) -> None:
        """Take in everything that an unmodified peer has before anything is announced to it."""
        began = [self._sedp.listen(peer, topic, now=now) for topic in self._sedp.writers]
        if any(began):
            self._catching_up[peer.prefix] = None
            self._context.deadlines.arm(("catch up", peer.prefix), now + PATIENCE, partial(self._answer, peer))

    def after_message(self, prefix: bytes, now: int) -> None:
        """See whether an unmodified peer has announced everything, after anything that came from it."""
        if prefix in self._catching_up:
            peer = self._context.peers.get(prefix)
            if peer is not None and self._sedp.is_up_to_date(peer):
                self._answer(peer, now)

    def _answer(self, peer: RemoteParticipant, now: int) -> None:
        """Serve a peer with all topics: what it has a counterpart for, and a GAP for everything else."""
        self._catching_up.pop(peer.prefix, None)
        self._context.deadlines.cancel(("catch up", peer.prefix))
        if self._context.peers.get(peer.prefix) is peer:
            self._spdp.introduce(peer.prefix, now)
            for topic in self._sedp.writers:
                self._sedp.serve(peer, topic, now=now, wants=partial(self._wants, peer.prefix))

    def is_heard(self, writer: Guid, now: int) -> bool:
        """Listen to a builtin writer that speaks to us although we did not expect it; say whether we do."""
        peer = self._context.peers.get(writer.prefix)
        if peer is None or self.is_simple or writer.entity not in self._sedp.writers:
            return False
        return self._sedp.listen(peer, writer.entity, now=now, expected=True)

    def be_asked(self, prefix: bytes, topic: int, now: int) -> None:
        """Serve a builtin topic to a participant that asks for it although we have nothing for it."""
        peer = self._context.peers.get(prefix)
        if peer is None or self.is_simple or prefix in self._catching_up or self._sedp.serves(prefix, topic):
            return
        if self._may_contact(prefix, now):
            self._sedp.serve(peer, topic, now=now, wants=partial(self._wants, prefix))
