"""One broker, as a machine (`rookery.machine`): messages of brokers and clients, and the time go in, effects come out.

The commands of its owner: `start` or `join`, `introduce`, `restore`, `transfer`, `request_zone`, `leave`. All that
clients want they say in messages (`client_messages.py`, `requests.py`).

This file holds the state that all parts share and the routing of messages over zones. What is known of peers is in
`routing_table.py`, who owns which zone in `membership.py` and `takeover.py`, subscriptions in `placement.py`, events in
`publishing.py`, `intake.py`, `deliveries.py`, `copies.py`, `replicas.py` and `sessions.py`, network distance in
`round_trips.py`, `landmarks.py` and `proximity.py`, the load of zones in `balancing.py`.
Everything periodic happens at a beat, so there is one timer.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from rookery.brokers.balancing import Balancing
from rookery.brokers.balancing_messages import GiveZone, LoadReport, TakeZone
from rookery.brokers.batches import EventBatch, RoutedBatch
from rookery.brokers.client_messages import FromBroker
from rookery.brokers.configuration import BrokerConfiguration
from rookery.brokers.deliveries import Deliveries
from rookery.brokers.distance_messages import AskRoundTrip, LandmarkMap, MeasurePeers, PeersMeasured, RoundTripAnswer
from rookery.brokers.events import BrokerEvent, BrokerMessageRejected, JoinFailed
from rookery.brokers.intake import Intake
from rookery.brokers.landmarks import Landmarks
from rookery.brokers.leases import Leases
from rookery.brokers.membership import Membership
from rookery.brokers.messages import (
    Body,
    BrokerHeartbeat,
    FindOwner,
    FindResidents,
    JoinRequest,
    Message,
    OwnerFound,
    PlaceSubscriptions,
    PutResident,
    ReplicateSubscriptions,
    ResidentChanged,
    ResidentsFound,
    Routed,
    Transfer,
    TransferConfirmed,
    fits,
)
from rookery.brokers.owned_zone import OwnedZone
from rookery.brokers.ownership import ZoneOwnership
from rookery.brokers.placement import Placement
from rookery.brokers.proximity import Proximity
from rookery.brokers.publishing import Publishing
from rookery.brokers.replicas import Replicas
from rookery.brokers.requests import Requests
from rookery.brokers.round_trips import RoundTrips
from rookery.brokers.routing_table import RoutingTable
from rookery.brokers.sampling import Reservoir
from rookery.brokers.sessions import Sessions
from rookery.brokers.spanhop import next_hop
from rookery.brokers.spilling import Spilling
from rookery.machine import ClientId, Compute, Effect, Emit, Read, Send, Write
from rookery.machine.randomness import RandomNumbers
from rookery.space.zones import AxisCut, Path, Point, contains, gap

__all__ = ["Broker"]

#: A message that has made so many hops is dropped; whoever sent it tries again.
MOST_HOPS = 256
#: Holes that are looked up at one beat.
PROBES = 4


class Broker:
    """A broker of one topic."""

    def __init__(
        self,
        broker_id: int,
        configuration: BrokerConfiguration,
        random: RandomNumbers,
        *,
        position: tuple[float, ...] = (),
    ) -> None:
        self.id = broker_id
        self.configuration = configuration
        self.random = random
        #: Coordinates on the network, see `landmarks.py`.
        self.position = position
        self.owned: dict[Path, OwnedZone] = {}
        self.counters: Counter[str] = Counter()
        #: Points of events that passed here: where newcomers are sent.
        self.passing = Reservoir()
        #: Bytes that links to other brokers have not got rid of, as far as the driver has said.
        self.unsent = 0
        self.now = 0
        self.leases = Leases(self)
        self.routing_table = RoutingTable(self)
        self.membership = Membership(self)
        self.placement = Placement(self)
        self.round_trips = RoundTrips(self)
        self.landmarks = Landmarks(self)
        self.proximity = Proximity(self)
        self.balancing = Balancing(self)
        self.publishing = Publishing(self)
        self.intake = Intake(self)
        self.spilling = Spilling(self)
        self.deliveries = Deliveries(self)
        self.replicas = Replicas(self)
        self.sessions = Sessions(self)
        self.requests = Requests(self)
        self._effects: list[Effect] = []
        self._local: deque[Message] = deque()
        self._next_beat: int | None = None
        self._next_ancestors = 0

    # ---- verbs ---------------------------------------------------------------------------------------------------

    def start(self, now: int) -> None:
        """Be the first broker: own the whole space."""
        self._awake(now)
        self.membership.joining.found()
        self._settle()

    def join(self, bootstrap: int, now: int) -> None:
        """Join the network that a broker belongs to."""
        self._awake(now)
        self.membership.joining.join(bootstrap)
        self._settle()

    def introduce(self, peer: int, now: int) -> None:
        """Name a broker of the network to one that is alone."""
        self._advance(now)
        self.routing_table.remember(peer)
        self.membership.greet(peer)
        self._settle()

    def transfer(self, now: int, *, patience: int, back: AxisCut | None = None) -> None:
        """Give the zones away and wait to be told of another one, for so long; or get a part back (`plans.py`)."""
        self._advance(now)
        if not self.membership.leaving:
            self.membership.transfer_all(patience, back)
        self._settle()

    def request_zone(self, path: Path, cut: AxisCut | None, now: int) -> None:
        """Take the upper half of a zone, if its owner still has it."""
        self._advance(now)
        self.membership.joining.request_zone(path, cut)
        self._settle()

    def receive(self, message: Message, sender: int, now: int) -> None:
        """Take a message in."""
        self.receive_many((message,), sender, now)

    def receive_many(self, messages: Iterable[Any], sender: int | ClientId, now: int) -> None:
        """Take in the messages of one buffer, of a broker or a client: their batches are matched together."""
        self._advance(now)
        if self.membership.left:
            return
        if isinstance(sender, ClientId):
            self.requests.receive(messages, sender.number)
            self._settle()
            return
        self.routing_table.unreachable.pop(sender, None)
        self.routing_table.hear(sender)
        for message in messages:
            if not fits(message, self.configuration.space.dimensions):
                self.counters["rejected"] += 1
                self.emit(BrokerMessageRejected(sender, type(message).__name__))
                continue
            self.routing_table.remember(sender)
            self._dispatch(message, sender)
        self._settle()

    def undeliverable(self, message: Any, receiver: int | ClientId, now: int) -> None:
        """Take back a message that could not be delivered: its receiver is gone (failure cases 1 to 3)."""
        self._advance(now)
        if self.membership.left:
            return
        if isinstance(receiver, ClientId):
            self.lose(receiver, now)
            return
        self.routing_table.lose(receiver)
        self.publishing.lost(receiver)
        self.counters["undeliverable"] += 1
        if isinstance(message, Routed):
            if message.point:
                self.route(message)
            else:
                self.emit(JoinFailed(receiver))
        elif isinstance(message, Transfer):
            self.membership.take_back(message.state.ownership)
        elif isinstance(message, RoutedBatch):
            self.publishing.undeliverable(message)
        self._settle()

    def lose(self, node: int | ClientId, now: int) -> None:
        """Learn that a broker is gone, be there anything undeliverable or not; or that a client is away."""
        self._advance(now)
        if isinstance(node, ClientId):
            self.sessions.detach(node.number)
        else:
            self.routing_table.lose(node)
            self.publishing.lost(node)
        self._settle()

    def wake(self, now: int) -> None:
        """Do what is due."""
        self._advance(now)
        if self._next_beat is None or self.now < self._next_beat or self.membership.left:
            return
        self.routing_table.held_up(self.now - self._next_beat)
        self._next_beat = self.now + self.configuration.beat
        self._beat()
        self._settle()

    def relieved(self, now: int) -> None:
        """Learn that links have got rid of something (`unsent`): there may be room for what waits for that."""
        self._advance(now)
        self._settle()

    def timer(self) -> int | None:
        """Return when `wake` wants to be called."""
        return None if self.membership.left else self._next_beat

    def effects(self) -> list[Effect]:
        """Return what is to be done, and forget it."""
        effects, self._effects = self._effects, []
        return effects

    def completed(self, effect: Write | Read | Compute, result: Any, now: int) -> None:
        """What a `Write` asked for is on the disk, or the disk did not take it; something was read; or matched."""
        self._advance(now)
        if isinstance(effect, Compute):
            if not self.membership.left:
                if not self.intake.completed(effect, result) and not self.balancing.completed(effect, result):
                    self.landmarks.completed(effect, result)
                self._settle()
        elif isinstance(effect, Read):
            self.spilling.completed(effect, result)
            self._settle()
        elif effect.token is not None:
            self.publishing.completed(effect.token, result)
            self._settle()

    def restore(self, entries: Iterable[tuple[int, int, EventBatch]]) -> None:
        """Take in what a log of an earlier life holds; it is sent to its present owners as soon as one has a zone."""
        for owner, number, batch in entries:
            self.replicas.adopt(owner, number, batch)
            self.spilling.settle()

    def leave(self, now: int) -> None:
        """Hand everything over; `BrokerLeft` comes when that is done."""
        self._advance(now)
        self.requests.close_all()
        self.membership.leave()
        self._settle()

    def move(self, position: Point) -> None:
        """Have other coordinates on the network; everybody hears of it with the next ownership."""
        self.position = position
        for owned in self.owned.values():
            owned.ownership = msgspec.structs.replace(owned.ownership, position=position)
        self.proximity.settle()

    # ---- what the parts share ------------------------------------------------------------------------------------

    def send(self, receiver: int, message: Message) -> None:
        """Send a message, or keep it for oneself."""
        if receiver == self.id:
            self._local.append(message)
        else:
            self.counters[type(message).__name__] += 1
            self._effects.append(Send(receiver, message))

    def reply(self, client: int, message: FromBroker) -> None:
        """Say something to a client, if it is here."""
        if client in self.sessions.attached:
            self._effects.append(Send(ClientId(client), message))

    def effect(self, effect: Effect) -> None:
        """Ask for something to be done."""
        self._effects.append(effect)

    def emit(self, event: BrokerEvent) -> None:
        """Tell the program."""
        self._effects.append(Emit(event))

    def owned_at(self, point: Point) -> OwnedZone | None:
        """Return the owned zone that holds a point."""
        for owned in self.owned.values():
            if contains(owned.box, point):
                return owned
        return None

    def home(self) -> OwnedZone | None:
        """Return the owned zone that the broker keeps: the deepest."""
        return max(self.owned.values(), key=lambda owned: (len(owned.path), owned.path), default=None)

    def dispatch_body(self, point: Point, body: Body) -> None:
        """Send a body on its way over the zones."""
        home = self.home()
        source = home.ownership if home is not None else None
        self.route(Routed(point, body, self.id, (), source, source))

    def route(self, routed: Routed) -> None:
        """Bring a message one hop closer to its point, or accept it here."""
        point, body = routed.point, routed.body
        owned = self.owned_at(point)
        if owned is not None:
            self._arrive(owned, routed)
            return
        if not self.owned:
            onward = self.membership.joining.forwarding(point, routed.visited)
            if onward is not None and len(routed.visited) < MOST_HOPS:
                visited = (*routed.visited, self.id)
                self.send(onward, Routed(point, body, routed.origin, visited, routed.source, routed.via))
            else:
                self.counters["dropped"] += 1
            return
        if isinstance(body, PlaceSubscriptions) and body.around:
            self.placement.go_around(routed, body)
            return
        owned, hop = self._next_hop(point, routed.visited, came_back=self.id in routed.visited)
        if hop is None or len(routed.visited) >= MOST_HOPS:
            if isinstance(body, PlaceSubscriptions):
                self.placement.go_around(routed, body)
            else:
                self.counters["dropped"] += 1
            return
        self.counters["forwarded"] += 1
        visited = (*routed.visited, self.id)
        self.send(hop.owner, Routed(point, body, routed.origin, visited, routed.source, owned.ownership))

    def _next_hop(
        self, point: Point, visited: Sequence[int], *, came_back: bool
    ) -> tuple[OwnedZone, ZoneOwnership | None]:
        owned = max(
            self.owned.values(),
            key=lambda one: (-gap(one.box, point)[0], len(one.path)),
        )
        used = frozenset(visited) if came_back else frozenset()
        return owned, next_hop(owned, point, usable=self.is_usable, neighbors_only=came_back, used=used)

    def is_usable(self, ownership: ZoneOwnership) -> bool:
        """Tell whether a message may go to the owner of a zone."""
        return ownership.owner != self.id and self.routing_table.alive(ownership.owner)

    def _arrive(self, owned: OwnedZone, routed: Routed) -> None:
        body = routed.body
        match body:
            case PlaceSubscriptions():
                self.placement.spread(owned, body)
            case FindOwner(asker, stamp):
                self.send(asker, OwnerFound(owned.current_ownership(), stamp))
            case JoinRequest():
                self.membership.joining.admit(owned, body)
            case PutResident():
                self.proximity.put(owned, routed.point, body)
            case FindResidents():
                self.proximity.find(owned, routed.point, body)
            case LoadReport():
                self.balancing.told(body)

    def _dispatch(self, message: Message, sender: int) -> None:
        match message:
            case BrokerHeartbeat():
                self.routing_table.receive(message, sender)
            case Routed((), JoinRequest() as join):
                if self.owned:
                    self.membership.joining.invite(join)
            case Routed():
                for ownership in (message.source, message.via):
                    if (
                        ownership is not None
                        and ownership.owner != self.id
                        and ownership.owner not in self.routing_table.unreachable
                    ):
                        self.routing_table.remember(ownership.owner)
                        for owned in self.owned.values():
                            if ownership.owner == sender:
                                owned.queue.moved(ownership)
                            owned.queue.learn(ownership)
                self.route(message)
            case OwnerFound(ownership):
                self.routing_table.remember(ownership.owner)
                self.routing_table.heard[ownership.owner] = self.now
                self.routing_table.learn(ownership, self.now)
                for owned in self.owned.values():
                    owned.queue.moved(ownership)
                    owned.queue.learn(ownership)
                self.round_trips.found(message)
            case Transfer():
                self.membership.accept(message, sender)
            case TransferConfirmed(path, epoch):
                self.membership.confirmed(path, epoch)
            case ReplicateSubscriptions():
                self.placement.store_replica(message)
            case ResidentsFound():
                self.proximity.found(message)
            case ResidentChanged():
                self.proximity.changed(message)
            case AskRoundTrip():
                self.round_trips.asked(message, sender)
            case RoundTripAnswer():
                self.round_trips.answered(message, sender)
            case MeasurePeers():
                self.round_trips.wanted(message, sender)
            case PeersMeasured():
                self.landmarks.choice.told(message, sender)
            case LandmarkMap():
                self.landmarks.adopt(message, sender)
            case GiveZone():
                self.balancing.give(message, sender)
            case TakeZone():
                self.balancing.take(message)
            case _:
                self.publishing.receive(message, sender)

    # ---- the beat ------------------------------------------------------------------------------------------------

    def _advance(self, now: int) -> None:
        """Let the time be so much; notice if this broker slept through a beat, and is late for the one after it."""
        before, self.now = self.now, max(now, self.now)
        if self._next_beat is not None and self.now > self._next_beat + self.configuration.beat:
            self._next_beat = self.now
            self.counters["stalled"] += 1
            self.routing_table.stalled()
            self.leases.stalled()
            self.membership.stalled()
            self.placement.stalled(self.now - before)
            self.deliveries.stalled(self.now - before)

    def _awake(self, now: int) -> None:
        self.now = max(now, self.now)
        phase = int(self.random.random() * self.configuration.beat)
        self._next_beat = self.now + 1 + phase
        self._next_ancestors = self.now + int(self.random.random() * self.configuration.ancestors)

    def _beat(self) -> None:
        self.routing_table.prune()
        self.membership.beat()
        self.placement.beat()
        self.publishing.beat()
        self.requests.beat()
        self.round_trips.beat()
        self.landmarks.beat()
        self.proximity.beat()
        self.balancing.beat()
        if self.owned and self.now >= self._next_ancestors:
            self._next_ancestors = self.now + self.configuration.ancestors
            self.refresh_ancestors()
            self.routing_table.greet_known_peers()
        for owned in list(self.owned.values()):
            for path in [path for path in owned.details if owned.neighbors.get(path) is None]:
                del owned.details[path]
            for point in owned.holes()[:PROBES]:
                self.counters["holes"] += 1
                self.dispatch_body(point, FindOwner(self.id))
        self.membership.announce()

    def refresh_ancestors(self) -> None:
        """Look up residents beside every ancestor, at random points, so that the load of relaying is spread."""
        for owned in list(self.owned.values()):
            owned.queue.renew()
            for point in owned.queue.probes(self.random):
                self.dispatch_body(point, FindOwner(self.id))
        self.landmarks.refresh()
        self.proximity.refresh()
        self.round_trips.look_around(self.configuration.stretch_probes)

    def _settle(self) -> None:
        """Take what was sent to oneself."""
        while True:
            while self._local:
                self._dispatch(self._local.popleft(), self.id)
            self.placement.settle()
            self.publishing.settle()
            self.proximity.settle()
            self.balancing.settle()
            if not self._local:
                break
        self.spilling.settle()
        self.membership.flush()
