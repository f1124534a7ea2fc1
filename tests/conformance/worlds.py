"""The machines beneath the four networks, in simulated worlds whose links lose, double and delay what they may."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from rookery.brokers.configuration import BrokerConfiguration
from rookery.brokers.messages import EventId
from rookery.errors import SubscriptionError
from rookery.overlay.configuration import OverlayConfiguration
from rookery.overlay.dissemination import Deliver
from rookery.overlay.identity import SemanticSpace
from rookery.overlay.interests import Condition, WhereInterests
from rookery.participant.event_types import event_type
from rookery.participant.exchange import Exchange
from rookery.rtps.qos import QualityOfService, Reliability
from rookery.simulated.brokers import SimulatedBrokers, SimulatedClient
from rookery.simulated.domain import SimulatedNetwork, SimulatedParticipant, conditions_between
from rookery.simulated.gateways import SimulatedIslands, SimulatedSite
from rookery.simulated.overlay import SimulatedOverlay
from rookery.space.notation import read_space

from .networks import CLIENTS, GRID, SCHEMA, SPACE, TOPIC, Event, Network

__all__ = ["WORLDS"]

SECOND = 1_000_000
#: What a world is given to come to rest: repetitions of what was lost take a while.
REST = 20 * SECOND
TYPE = event_type(SCHEMA, type_name=TOPIC)
RELIABLE = QualityOfService(reliability=Reliability.RELIABLE, history_depth=None)


class BrokerWorld:
    """Three brokers and a client at each."""

    has_null = has_parameters = True

    def __init__(self) -> None:
        space = read_space(SPACE, SCHEMA)
        configuration = BrokerConfiguration(space=space, topic=TOPIC, beat=SECOND, refresh=12 * SECOND)
        self._made = SimulatedBrokers(configuration, seed=5)
        for _ in range(CLIENTS):
            self._made.join()
            self._made.run(5 * SECOND)
        self._clients = [self._made.client(number, retry=SECOND) for number in list(self._made.brokers)]
        self._events: dict[EventId, Event] = {}
        self._made.run(5 * SECOND)

    async def subscribe(
        self, client: int, where: str | None, parameters: tuple[object, ...] = ()
    ) -> tuple[SimulatedClient, str]:
        subscriber, name = self._clients[client], f"s{len(self._made.delivered)}/{self._made.calendar.now}"
        failed = len(subscriber.failed)
        subscriber.subscribe(name, where or "", parameters)
        self._made.run(REST, until=lambda: name in subscriber.in_force or len(subscriber.failed) > failed)
        self._made.run(1)  # so that the next one has another name
        if len(subscriber.failed) > failed:
            subscriber.unsubscribe(name)
            raise SubscriptionError(subscriber.failed[-1])
        return subscriber, name

    async def unsubscribe(self, subscription: tuple[SimulatedClient, str]) -> None:
        subscriber, name = subscription
        subscriber.unsubscribe(name)

    async def settle(self) -> None:
        """Nothing is left to do: a subscription is in force when its client hears of it."""

    async def publish(self, client: int, *events: Event) -> None:
        ids = self._clients[client].publish(*events)
        self._events |= dict(zip(ids, events, strict=True))
        assert self._made.run(REST, until=lambda: self._made.accepted.issuperset(ids))

    async def received(self, subscription: tuple[SimulatedClient, str], count: int) -> list[Event]:
        self._made.run(REST)
        subscriber, name = subscription
        return [
            self._events[event]
            for (known, event), times in subscriber.delivered.items()
            if known == name
            for _ in range(times)
        ]


class _ParticipantWorld:
    """Participants whose topics are exchanged for events, as the client on DDS does it."""

    has_null = False

    def __init__(self) -> None:
        self._exchanges: list[Exchange] = []
        self._received: list[dict[int, list[Event]]] = [{} for _ in range(CLIENTS)]

    def _join(self, number: int, exchange: Exchange) -> None:
        self._exchanges.append(exchange)
        exchange.advertise(TOPIC, type=TYPE, qos=RELIABLE, now=self._now(number))
        self._flush(number)

    async def subscribe(self, client: int, where: str | None, parameters: tuple[object, ...] = ()) -> tuple[int, int]:
        made = self._exchanges[client].subscribe(
            TOPIC, where, type=TYPE, qos=RELIABLE, now=self._now(client), parameters=parameters or None
        )
        self._received[client][made] = []
        self._flush(client)
        return client, made

    async def unsubscribe(self, subscription: tuple[int, int]) -> None:
        client, made = subscription
        self._exchanges[client].unsubscribe(made, self._now(client))
        self._flush(client)

    async def settle(self) -> None:
        self._run()

    async def publish(self, client: int, *events: Event) -> None:
        for event in events:
            self._exchanges[client].publish(TOPIC, event, now=self._now(client))
            self._flush(client)

    async def received(self, subscription: tuple[int, int], count: int) -> list[Event]:
        self._run()
        client, made = subscription
        return self._received[client][made]

    def _take(self, client: int, event: Any) -> None:
        for delivery in self._exchanges[client].take(event):
            self._received[client][delivery.subscription_id].append(delivery.event)

    def _now(self, client: int) -> int:
        raise NotImplementedError

    def _flush(self, client: int) -> None:
        raise NotImplementedError

    def _run(self) -> None:
        raise NotImplementedError


class DdsWorld(_ParticipantWorld):
    """Three participants of one domain; one datagram of ten is lost, another one comes twice."""

    has_parameters = True

    def __init__(self) -> None:
        super().__init__()
        self._network = SimulatedNetwork(5, conditions_between(100, 5_000, loss=0.1, duplication=0.1))
        self._members: list[SimulatedParticipant] = []
        for number in range(CLIENTS):
            member = self._network.join(name=f"client {number}")
            member.on_event = lambda event, number=number: self._take(number, event)  # type: ignore[misc]
            self._members.append(member)
            self._join(number, Exchange(member.participant))

    def _now(self, client: int) -> int:
        return self._members[client].now

    def _flush(self, client: int) -> None:
        self._members[client].flush()

    def _run(self) -> None:
        self._network.run(REST)


class IslandWorld(_ParticipantWorld):
    """Three sites in a ring, whose gateways subscribe and publish themselves."""

    has_parameters = False

    def __init__(self) -> None:
        super().__init__()
        self._islands = SimulatedIslands(seed=5)
        self._sites: list[SimulatedSite] = [self._islands.site(name) for name in "abc"]
        self._seen = [0] * CLIENTS
        for one, other in ("ab", "bc", "ca"):
            self._islands.join(one, other)
        for number, site in enumerate(self._sites):
            self._join(number, Exchange(site.gateway.participant))
        self._run()

    async def subscribe(self, client: int, where: str | None, parameters: tuple[object, ...] = ()) -> tuple[int, int]:
        made = await super().subscribe(client, where)
        self._sites[client].gateway.restrict(
            made[1], topic=TOPIC, type_name=TOPIC, where=where or "TRUE", schema=SCHEMA, now=self._now(client)
        )
        self._flush(client)
        return made

    async def unsubscribe(self, subscription: tuple[int, int]) -> None:
        self._hear()
        client, made = subscription
        self._sites[client].gateway.release(made, self._now(client))
        await super().unsubscribe(subscription)

    def _now(self, client: int) -> int:
        return self._sites[client].now

    def _flush(self, client: int) -> None:
        self._sites[client].flush()

    def _run(self) -> None:
        self._islands.run(REST / SECOND)
        self._hear()

    def _hear(self) -> None:
        for number, site in enumerate(self._sites):
            events, self._seen[number] = site.events[self._seen[number] :], len(site.events)
            for event in events:
                self._take(number, event)


class _HeardOverlay(SimulatedOverlay):
    """An overlay whose deliveries are kept."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.heard: list[tuple[int, Deliver]] = []

    def _delivered(self, node: int, event: Deliver) -> None:
        super()._delivered(node, event)
        self.heard.append((node, event))


class OverlayWorld:
    """Three peers, which join anew with other interests and leave as they were before, as the client does it."""

    has_null = has_parameters = True

    def __init__(self) -> None:
        space = SemanticSpace(cell_count=GRID.cell_count, bit_count=1024, hash_count=4)
        self._overlay = _HeardOverlay(seed=5, space=space, configuration=OverlayConfiguration(heartbeat=2 * SECOND))
        self._conditions: list[dict[str | int, Condition]] = [{} for _ in range(CLIENTS)]
        self._made = 0
        self._nodes: list[list[int]] = [[] for _ in range(CLIENTS)]
        for client in range(CLIENTS):
            self._move(client)

    async def subscribe(self, client: int, where: str | None, parameters: tuple[object, ...] = ()) -> tuple[int, int]:
        self._made += 1
        condition = (where or "TRUE", parameters)
        WhereInterests(SCHEMA, GRID, {self._made: condition})
        self._conditions[client][self._made] = condition
        self._move(client)
        return client, self._made

    async def unsubscribe(self, subscription: tuple[int, int]) -> None:
        client, made = subscription
        del self._conditions[client][made]
        self._move(client)

    async def settle(self) -> None:
        self._overlay.run(REST)

    async def publish(self, client: int, *events: Event) -> None:
        node = self._nodes[client][-1]
        for event in events:
            self._overlay.publish(node, event)
        assert self._overlay.run(REST, until=lambda: not self._overlay.peers[node].state.outgoing)

    async def received(self, subscription: tuple[int, int], count: int) -> list[Event]:
        self._overlay.run(REST)
        client, made = subscription
        got: Counter[EventId] = Counter()
        payloads: dict[Any, Event] = {}
        for node, event in self._overlay.heard:
            if node in self._nodes[client] and made in event.subscriptions:
                got[event.event_id] += 1
                payloads[event.event_id] = event.payload
        return [payloads[event] for event, times in got.items() for _ in range(times)]

    def _move(self, client: int) -> None:
        peer = self._overlay.join(WhereInterests(SCHEMA, GRID, self._conditions[client]))
        assert self._overlay.run(REST, until=lambda: peer.is_ready)
        before, self._nodes[client] = self._nodes[client], [*self._nodes[client], peer.node]
        if before:
            self._overlay.run(REST)
            self._overlay.leave(before[-1])


WORLDS: dict[str, Callable[[], Network]] = {
    "dds": DdsWorld,
    "brokers": BrokerWorld,
    "overlay": OverlayWorld,
    "island": IslandWorld,
}
