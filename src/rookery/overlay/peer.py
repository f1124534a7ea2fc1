"""One peer of the overlay: a machine without I/O (spec 1).

Messages, commands, timers and the time go in; effects come out. Same inputs, same effects: time is `now`, dice come
with the construction, and nothing here opens a socket or reads a clock. `on_message` trusts what it is given, as
the simulator may; `receive_octets` is the face for a real network and rejects whatever is no sound message.
"""

from __future__ import annotations

from collections.abc import Iterable

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
)
from rookery.overlay.configuration import OverlayConfiguration
from rookery.overlay.effects import Effect, Introduce, Publish, Subscribe
from rookery.overlay.identity import Descriptor, SemanticSpace
from rookery.overlay.messages import (
    Cluster,
    ClusterJoin,
    Contacts,
    Event,
    Failed,
    Find,
    Found,
    Handover,
    Heartbeat,
    Inject,
    Injected,
    Join,
    JoinReply,
    Leave,
    Link,
    LinkCorrection,
    Lookup,
    MemberAlive,
    Message,
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
from rookery.overlay.state import Dice, Interests, PeerState, Phase

__all__ = ["Peer"]

#: Peers remembered to join through.
BOOTSTRAPS = 8


class Peer:
    """A peer: `start`, then messages and timers, until `leave`."""

    __slots__ = ("state",)

    def __init__(
        self,
        *,
        node: int,
        interests: Interests,
        space: SemanticSpace,
        dice: Dice,
        configuration: OverlayConfiguration | None = None,
        random_id: int | None = None,
        address: str = "",
    ) -> None:
        place = dice.getrandbits(64) if random_id is None else random_id
        self.state = PeerState(
            descriptor=space.describe(node=node, random_id=place, cells=interests.cells, address=address),
            interests=interests,
            space=space,
            dice=dice,
            configuration=configuration or OverlayConfiguration(),
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
    def is_ready(self) -> bool:
        """Whether the peer has its place, on the rings or in a cluster."""
        return self.state.phase in (Phase.ACTIVE, Phase.MEMBER)

    @property
    def is_confirmed(self) -> bool:
        """Whether the peer has its place, is in the directory, and every link has answered since it was announced."""
        state = self.state
        asked = any(one.kind in ("renewal", "find") for one in state.requests.values())
        return self.is_ready and not asked and state.table.known.keys() <= state.confirmed

    def on_start(self, now: int, bootstraps: Iterable[int] = ()) -> list[Effect]:
        """Join through any of these peers; with none, be the first."""
        self.state.bootstraps = tuple(bootstraps)
        joining.start(self.state, now)
        return self.state.take_effects()

    def on_command(self, now: int, command: Publish | Subscribe | Introduce | str) -> list[Effect]:
        """Publish, want something else, be introduced to others, `"confirm"` or `"leave"`.

        To confirm is to ask those we are linked to whether they know of it (`is_confirmed`).
        """
        state = self.state
        if isinstance(command, Publish):
            publishing.publish(state, now, command.payload)
        elif isinstance(command, Subscribe):
            self._subscribe(now, command.interests)
        elif isinstance(command, Introduce):
            met = [node for node in command.nodes if node != self.node]
            state.bootstraps = tuple(dict.fromkeys((*met, *state.bootstraps)))[:BOOTSTRAPS]
        elif command == "confirm":
            for node in state.table.known:
                if node not in state.confirmed:
                    state.send(node, Ping())
        elif command == "leave":
            repair.leave(state, now)
        else:
            raise ValueError(f"no command {command!r}; there are Publish, Subscribe, Introduce, 'confirm' and 'leave'")
        return state.take_effects()

    def _subscribe(self, now: int, interests: Interests) -> None:
        """Other interests in the same cells are a private matter; other cells mean another place: leave and join."""
        state = self.state
        before, state.interests = state.interests.cells, interests
        if interests.cells == before:
            return
        others = tuple(state.ways_in)
        alone = state.phase is Phase.ACTIVE and not state.table.known and not len(state.fingers)
        was = max(state.own.epoch, state.self_descriptor.epoch)
        repair.leave(state, now)
        old = state.self_descriptor
        state.self_descriptor = state.space.describe(
            node=old.node, random_id=old.random_id, cells=interests.cells, epoch=was + 1, address=old.address
        )
        state.reset(state.self_descriptor)
        state.bootstraps = others
        if alone:  # nobody to ask; should those that we once came through be back, the heartbeat finds them
            joining.activate(state, now)
        else:
            joining.start(state, now)

    def on_timer(self, now: int, timer: str) -> list[Effect]:
        """A timer has run out: `heartbeat`, or `request` for answers that are overdue."""
        state = self.state
        if state.phase is not Phase.LEFT:
            if timer == "heartbeat":
                repair.heartbeat(state, now)
            else:
                for number in [number for number, one in state.requests.items() if one.deadline <= now]:
                    if number in state.requests:
                        joining.retry(state, now, number)
                state.set_request_timer()
        return state.take_effects()

    def receive_octets(self, now: int, sender: int, octets: bytes) -> list[Effect]:
        """Take octets from a network; what is no message, or describes a peer that cannot be, is counted."""
        message = decode(octets)
        if message is None or not is_sound(message, self.state):
            self.state.note("message rejected")
            return self.state.take_effects()
        return self.on_message(now, sender, message)

    def on_undeliverable(self, now: int, to: int, messages: Iterable[Message]) -> list[Effect]:
        """A network that notices says that a peer cannot be reached: it is gone, and what it was sent goes elsewhere.

        Should it only have been cut off, its next heartbeat is answered as a stranger's, and it announces itself again.
        """
        if self.state.phase is not Phase.LEFT:
            unreachable.receive(self.state, now, to, messages)
        return self.state.take_effects()

    def on_message(self, now: int, sender: int, message: Message) -> list[Effect]:
        """Take a message."""
        state = self.state
        if state.phase is Phase.LEFT:
            return []
        match message:
            case Event():
                dissemination.receive_event(state, now, sender, message)
            case Heartbeat():
                repair.receive_heartbeat(state, now, sender, message)
            case RingEvent():
                dissemination.receive_ring_event(state, now, message)
            case Lookup():
                if message.register:  # only who has its place is a finger
                    state.learn_finger(message.origin, now)
                if not cluster.settle_claim(state, now, message):
                    ring.receive_lookup(state, now, message)
            case Find():
                ring.receive_find(state, now, message)
            case Found():
                joining.receive_found(state, now, message)
                linking.watch_predecessor(state, now)
            case Link():
                linking.receive_link(state, now, message)
            case Unlink():
                linking.receive_unlink(state, now, sender, message)
            case LinkCorrection():
                linking.receive_correction(state, now, message)
            case Redirect():
                linking.receive_redirect(state, now, sender, message)
            case Contacts():
                joining.receive_contacts(state, now, message)
            case Inject():
                dissemination.receive_inject(state, now, sender, message)
            case Injected():
                publishing.receive_injected(state, message)
            case Join():
                joining.receive_join(state, now, message)
            case JoinReply():
                joining.receive_join_reply(state, now, message)
            case Handover():
                ring.receive_handover(state, now, sender, message)
            case Ping():
                if state.phase is Phase.ACTIVE:
                    state.send(sender, Pong(state.own))
            case Pong():
                self._pong(now, sender, message)
            case Failed():
                repair.receive_failed(state, now, message)
            case Leave():
                repair.receive_leave(state, now, sender, message)
            case Cluster():
                cluster.receive_cluster(state, now, sender, message)
            case ClusterJoin():
                joining.receive_cluster_join(state, now, message)
            case MemberAlive():
                cluster.receive_alive(state, now, message)
            case Primary():
                cluster.receive_primary(state, now, message)
            case Returned():
                arcs.receive_returned(state, sender, message)
        return state.take_effects()

    def _pong(self, now: int, sender: int, message: Pong) -> None:
        state = self.state
        state.heard[sender] = now
        if sender in state.table.known:
            state.confirmed.add(sender)
        if state.phase is Phase.ACTIVE:
            held = next((one for one in state.fingers if one.node == sender), None)
            if held is not None and held.random_id != message.own.random_id:
                state.fingers.remove(sender)  # it stands elsewhere now
            state.learn_finger(message.own, now)
