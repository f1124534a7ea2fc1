"""One peer of the overlay: a machine (`rookery.machine`) without I/O (spec 1).

Rule 1: a message is a struct of `messages`, as the world passes it, or its octets, as they come from a socket. Structs
come from peers of the same process and are trusted; octets are decoded, and what is no sound message (`soundness`) is
counted and changes nothing. Nothing that is received raises.
Rule 2: each message, and each command of the owner, is one step: the links that it changed are announced at its end.
Rule 3: one timer: the next heartbeat, or the first answer that is overdue.
Rule 4: what the network cannot deliver comes back, and its receiver is taken for gone (`unreachable`). That a
connection broke says nothing: it is dialed again. A peer has no disk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from rookery.machine import Effect
from rookery.machine.randomness import RandomNumbers
from rookery.overlay import (
    arcs,
    cluster,
    dissemination,
    joining,
    linking,
    publishing,
    repair,
    ring,
    unreachable,
    walks,
)
from rookery.overlay.configuration import OverlayConfiguration
from rookery.overlay.directory import Directory
from rookery.overlay.identity import Descriptor, SemanticSpace
from rookery.overlay.messages import (
    CellEvent,
    Cluster,
    ClusterJoin,
    EventId,
    Failed,
    Find,
    Found,
    Handover,
    Inject,
    Injected,
    Join,
    JoinReply,
    Leave,
    LinkCorrection,
    LinkHeartbeat,
    LinkRequest,
    Lookup,
    LookupReply,
    MemberAlive,
    Ping,
    Pong,
    Primary,
    Redirect,
    Returned,
    RingEvent,
    Unlink,
    decode,
)
from rookery.overlay.soundness import is_sound
from rookery.overlay.state import Interests, PeerState, Phase

__all__ = ["Peer"]

#: Peers remembered to join through.
BOOTSTRAPS = 8


class Peer:
    """A peer: `start`, then messages and the time, until `leave`."""

    __slots__ = ("state",)

    def __init__(
        self,
        *,
        node: int,
        interests: Interests,
        space: SemanticSpace,
        random: RandomNumbers,
        configuration: OverlayConfiguration | None = None,
        random_id: int | None = None,
        address: str = "",
        counters: Counter[str] | None = None,
    ) -> None:
        """`counters` are the peer's own unless it shares those of others."""
        place = random.getrandbits(64) if random_id is None else random_id
        self.state = PeerState(
            descriptor=space.describe(node=node, random_id=place, cells=interests.cells, address=address),
            interests=interests,
            space=space,
            random=random,
            configuration=configuration or OverlayConfiguration(),
            counters=Counter() if counters is None else counters,
        )

    @property
    def node(self) -> int:
        """Who this peer is."""
        return self.state.self_descriptor.node

    @property
    def descriptor(self) -> Descriptor:
        """What others know this peer by."""
        return self.state.own

    @property
    def counters(self) -> Counter[str]:
        """How often what happened."""
        return self.state.counters

    @property
    def is_ready(self) -> bool:
        """Whether the peer has its place, on the rings or in a cluster."""
        return self.state.phase in (Phase.ACTIVE, Phase.MEMBER)

    @property
    def is_confirmed(self) -> bool:
        """Whether the peer has its place, is in the directory, and every link has answered since it was announced."""
        state = self.state
        asked = any(one.kind in ("renewal", "find") for one in state.requests.values())
        return self.is_ready and not asked and state.table.known.keys() <= state.confirmed

    # ---- commands of the owner -----------------------------------------------------------------------------------

    def start(self, bootstraps: Iterable[int], now: int) -> None:
        """Join through any of these peers; with none, be the first."""
        self.state.bootstraps = tuple(bootstraps)
        joining.start(self.state, now)
        self.state.complete()

    def publish(self, payload: Any, now: int) -> EventId:
        """Publish an event; return its id."""
        event_id = publishing.publish(self.state, now, payload)
        self.state.complete()
        return event_id

    def subscribe(self, interests: Interests, now: int) -> None:
        """Want something else. In the same cells that is a private matter; in others it means to leave and join."""
        state = self.state
        before, state.interests = state.interests.cells, interests
        if interests.cells != before:
            self._move(interests, now)
            state.complete()

    def introduce(self, nodes: Iterable[int], now: int) -> None:
        """Name peers that are there too: to join through, or to find back what a partition cut off."""
        met = (node for node in nodes if node != self.node)
        self.state.bootstraps = tuple(dict.fromkeys((*met, *self.state.bootstraps)))[:BOOTSTRAPS]

    def confirm(self, now: int) -> None:
        """Ask those we are linked to whether they know of it (`is_confirmed`)."""
        state = self.state
        for node in state.table.known:
            if node not in state.confirmed:
                state.send(node, Ping())

    def leave(self, now: int) -> None:
        """Go in good order."""
        repair.leave(self.state, now)

    def _move(self, interests: Interests, now: int) -> None:
        state = self.state
        ways_in = tuple(state.ways_in)
        alone = state.phase is Phase.ACTIVE and not state.table.known and not len(state.fingers)
        was = max(state.own.epoch, state.self_descriptor.epoch)
        repair.leave(state, now)
        old = state.self_descriptor
        state.self_descriptor = state.space.describe(
            node=old.node, random_id=old.random_id, cells=interests.cells, epoch=was + 1, address=old.address
        )
        state.reset(state.self_descriptor)
        state.directory, state.copies = Directory(), Directory()  # of our old place, with ourselves as we were
        state.bootstraps = ways_in
        if alone:  # nobody to ask; should those that we once came through be back, the heartbeat finds them
            joining.activate(state, now)
        else:
            joining.start(state, now)

    # ---- the machine ---------------------------------------------------------------------------------------------

    def receive_many(self, messages: Iterable[Any], sender: Any, now: int) -> None:
        """Take messages, or the octets of them."""
        state = self.state
        for message in messages:
            if state.phase is Phase.LEFT:
                return
            if isinstance(message, bytes):
                message = decode(message)
                if message is None or not is_sound(message, state):
                    state.counters["message rejected"] += 1
                    continue
            kind = type(message)
            if kind in walks.WALKS and walks.is_repetition(state, now, message):
                state.counters["walk repeated"] += 1
                continue
            if kind in _OF_SENDER:
                _OF_SENDER[kind](state, now, sender, message)
            elif kind in _OF_ANYBODY:
                _OF_ANYBODY[kind](state, now, message)
            else:
                state.counters["message rejected"] += 1
            state.complete()

    def undeliverable(self, message: Any, receiver: Any, now: int) -> None:
        """Take back what a peer cannot be sent, which is therefore gone: the message goes elsewhere.

        Should the peer only have been cut off, its next heartbeat is answered as a stranger's, and it announces itself
        again.
        """
        if self.state.phase is not Phase.LEFT:
            self.state.counters["undeliverable"] += 1
            sent = decode(message) if isinstance(message, bytes) else message
            unreachable.receive(self.state, now, receiver, sent)
            self.state.complete()

    def lose(self, node: Any, now: int) -> None:
        """Learn that a connection broke: it is dialed again, or what was sent on it comes back."""

    def completed(self, effect: Effect, result: Any, now: int) -> None:
        """Learn of a write: there is none."""

    def wake(self, now: int) -> None:
        """Do what is due: ask again what was not answered in time, and the heartbeat."""
        state = self.state
        if state.phase is Phase.LEFT:
            return
        for number in [number for number, one in state.requests.items() if one.deadline <= now]:
            if number in state.requests:
                joining.retry(state, now, number)
        state.complete()
        if state.heartbeat_at is not None and state.heartbeat_at <= now:
            repair.heartbeat(state, now)
            state.complete()

    def timer(self) -> int | None:
        """Return when the next heartbeat or overdue answer is."""
        state = self.state
        due = state.heartbeat_at
        if state.phase is Phase.LEFT:
            return None
        for request in state.requests.values():
            if due is None or request.deadline < due:
                due = request.deadline
        return due

    def effects(self) -> list[Effect]:
        """Return what is to be done, and forget it."""
        effects, self.state.effects = self.state.effects, []
        return effects


def _receive_lookup(state: PeerState, now: int, lookup: Lookup) -> None:
    if lookup.register:  # only who has its place is a finger
        state.learn_finger(lookup.origin, now)
    if not cluster.settle_claim(state, now, lookup):
        ring.receive_lookup(state, now, lookup)


def _receive_found(state: PeerState, now: int, found: Found) -> None:
    joining.receive_found(state, now, found)
    linking.watch_predecessor(state, now)


def _receive_ping(state: PeerState, now: int, sender: int, ping: Ping) -> None:
    if state.phase is Phase.ACTIVE:
        state.send(sender, Pong(state.own))


def _receive_pong(state: PeerState, now: int, sender: int, pong: Pong) -> None:
    state.heard[sender] = now
    if sender in state.table.known:
        state.confirmed.add(sender)
    if state.phase is Phase.ACTIVE:
        finger = next((one for one in state.fingers if one.node == sender), None)
        if finger is not None and finger.random_id != pong.own.random_id:
            state.fingers.remove(sender)  # it stands elsewhere now
        is_back = state.tombstones.pop(sender, None) is not None  # whoever buried it was wrong
        state.learn_finger(pong.own, now)
        known = state.table.known.get(sender)
        if is_back or (known is not None and known.epoch < pong.own.epoch):
            state.learn((pong.own,), now)
            linking.watch_predecessor(state, now)


#: What a message does, by its kind, where it matters who sent it.
_OF_SENDER: dict[type, Callable[[PeerState, int, int, Any], None]] = {
    CellEvent: dissemination.receive_event,
    LinkHeartbeat: repair.receive_heartbeat,
    Ping: _receive_ping,
    Pong: _receive_pong,
    Unlink: linking.receive_unlink,
    Redirect: linking.receive_redirect,
    Inject: dissemination.receive_inject,
    Handover: ring.receive_handover,
    Leave: repair.receive_leave,
    Cluster: cluster.receive_cluster,
    Returned: lambda state, now, sender, message: arcs.receive_returned(state, sender, message),
}
#: What a message does, by its kind, whoever sent it.
_OF_ANYBODY: dict[type, Callable[[PeerState, int, Any], None]] = {
    RingEvent: dissemination.receive_ring_event,
    Lookup: _receive_lookup,
    LookupReply: joining.receive_contacts,
    Find: ring.receive_find,
    Found: _receive_found,
    LinkRequest: linking.receive_link,
    LinkCorrection: linking.receive_correction,
    Injected: lambda state, now, message: publishing.receive_injected(state, message),
    Join: joining.receive_join,
    JoinReply: joining.receive_join_reply,
    Failed: repair.receive_failed,
    ClusterJoin: joining.receive_cluster_join,
    MemberAlive: cluster.receive_alive,
    Primary: cluster.receive_primary,
}
