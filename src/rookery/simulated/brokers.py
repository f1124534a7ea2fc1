"""A broker network in a world: the brokers and clients that run live, and a record of what was delivered to whom.

    network = SimulatedBrokers(configuration, seed=1)
    network.join(), network.join()
    network.subscribe(1, "cheap", "price < 10")        # by a client that attaches to broker 1
    network.publish(2, {"price": 9.0})                 # by a client that attaches to broker 2
    network.run(5_000_000)
    network.delivered                                  # {("cheap", (publisher, 0)): 1}

Brokers are numbered from 1 in the order of their birth; one that comes back with its disk has another number. Each
broker that is named in `subscribe` or `publish` gets a client of its own; when that broker is gone the client attaches
to another one, as clients do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Any

from rookery.brokers.batches import EventBatch
from rookery.brokers.broker import Broker
from rookery.brokers.client import ClientMachine
from rookery.brokers.client_events import (
    Attached,
    BatchAccepted,
    BatchRefused,
    ClientEvent,
    Delivered,
    GaveUp,
    InForce,
    SubscriptionFailed,
)
from rookery.brokers.configuration import BrokerConfiguration
from rookery.brokers.events import BrokerEvent, BrokerLeft, EntryWanted, Isolated, JoinFailed
from rookery.brokers.messages import EventId
from rookery.brokers.records import open_records
from rookery.machine import ClientId, Node
from rookery.simulated.calendar import Calendar
from rookery.simulated.disks import SimulatedDisk
from rookery.simulated.links import LinkConditions
from rookery.simulated.world import Process, World

__all__ = ["SimulatedBrokers", "SimulatedClient"]

#: Microseconds until a client's program has taken what was delivered.
ACKNOWLEDGES_AFTER = 500
#: Bytes from which a log moves what is live to a new file: small, so that histories see moves.
COMPACT_FROM = 4 << 10
#: How far apart the monotonic clocks of two processes may be: eleven days.
MOST_AHEAD = 1_000_000_000_000
#: Brokers that a client knows of before any has named others.
ENTRIES = 8
#: Clients of simulated brokers do not give up: somebody will come back.
PATIENCE = 1 << 60


class SimulatedClient:
    """A client of the network, and the program that uses it: it takes what it is given, at once or after a while."""

    def __init__(self, network: SimulatedBrokers, number: int, brokers: Iterable[int], **options: Any) -> None:
        self.number = number
        self.machine = ClientMachine(number, list(brokers), **{"patience": PATIENCE, **options})
        #: By name: what this client's subscriptions have had, and how often.
        self.delivered: Counter[tuple[str, EventId]] = Counter()
        #: Names of subscriptions that every zone has.
        self.in_force: set[str] = set()
        self.refused: list[str] = []
        self.failed: list[str] = []
        #: How long its program takes for what it is given; None for a program that takes nothing.
        self.acknowledges_after: int | None = ACKNOWLEDGES_AFTER
        self._network = network
        self._names: dict[str, int] = {}
        self._conditions: dict[str, tuple[str, tuple[object, ...]]] = {}
        self._durable: dict[str, str | None] = {}
        self._unacknowledged: list[Delivered] = []
        self._process = self._start()

    def subscribe(
        self, name: str, where: str, parameters: tuple[object, ...] = (), *, durable: str | None = None
    ) -> None:
        """Subscribe to a condition under a name."""
        self._conditions[name], self._durable[name] = (where, parameters), durable
        self._names[name] = self.machine.subscribe({name: (where, parameters)}, durable=durable)
        self.perform()

    def unsubscribe(self, name: str) -> None:
        """End a subscription."""
        self.in_force.discard(name)
        self.machine.unsubscribe(self._names.pop(name))
        self.perform()

    def publish(self, *events: Mapping[str, Any]) -> list[EventId]:
        """Publish events in one batch; return their ids."""
        now = self._now
        published = [(self.number, self.machine.publish(dict(event), now)) for event in events]
        self.perform()
        return published

    def go_away(self) -> None:
        """Fall asleep: the connection is gone, and nothing is heard until `come_back`."""
        node = self._process.node
        self._network.world.pause(node)
        self._network.world.disconnect(ClientId(self.number))

    def come_back(self) -> None:
        """Wake up, and find a broker."""
        self._network.world.resume(self._process.node)

    def forget(self) -> None:
        """Be another process with the same number: it subscribes again, and knows of nothing else that was before."""
        world = self._network.world
        world.end(ClientId(self.number))
        first = world.random.randrange(1 << 40) << 20  # what it published before had other numbers
        brokers = list(self._network.brokers)
        self.machine = ClientMachine(self.number, brokers, patience=PATIENCE, resumed=True, first=first)
        self.in_force.clear()
        self._process = self._start()
        for name in self._names:
            self._names[name] = self.machine.subscribe({name: self._conditions[name]}, durable=self._durable.get(name))
        self.perform()

    def acknowledge_after(self, microseconds: int | None) -> None:
        """Let the program take what it is given so long after it came, or not at all."""
        self.acknowledges_after = microseconds
        if microseconds is not None:
            left, self._unacknowledged = self._unacknowledged, []
            for delivered in left:
                self._acknowledge(delivered)

    def perform(self) -> None:
        """Do what the machine wants done."""
        self._network.world.perform(self._process)

    @property
    def _now(self) -> int:
        return self._network.world.time(ClientId(self.number))

    def _start(self) -> Process:
        node = ClientId(self.number)
        process = self._network.world.start(node, self.machine, self._on_event, clock=self._network.clock(node))
        self.machine.start(self._now)
        self._network.world.perform(process)
        return process

    def _on_event(self, event: ClientEvent) -> None:
        network = self._network
        match event:
            case Delivered():
                for name, sequence in zip(event.names, event.sequences, strict=True):
                    event_id = (event.publisher, sequence)
                    self.delivered[name, event_id] += 1
                    network.delivered[name, event_id] += 1
                if self.acknowledges_after is None:
                    self._unacknowledged.append(event)
                else:
                    network.calendar.after(self.acknowledges_after, lambda: self._acknowledge(event))
            case InForce(number):
                self.in_force.update(name for name, known in self._names.items() if known == number)
            case SubscriptionFailed(_, reason):
                self.failed.append(reason)
            case BatchAccepted(first, count, refused):
                network.accepted.update((self.number, first + place) for place in range(count) if place not in refused)
            case BatchRefused(_, _, reason):
                self.refused.append(reason)
            case Attached():
                self.in_force.clear()
            case GaveUp():
                raise AssertionError("a simulated client does not give up")
        if network.on_client_event is not None:
            network.on_client_event(self.number, event)

    def _acknowledge(self, delivered: Delivered) -> None:
        if self._process.is_alive:
            self.machine.acknowledge(delivered.number, delivered.key)
            self.perform()


class SimulatedBrokers:
    """A network of brokers of one topic, with clients."""

    def __init__(
        self, configuration: BrokerConfiguration, *, seed: int, conditions: LinkConditions | None = None
    ) -> None:
        self.configuration = configuration
        self.seed = seed
        self.world = World(seed=seed, conditions=conditions)
        #: The living, by number.
        self.brokers: dict[int, Broker] = {}
        self.clients: dict[int, SimulatedClient] = {}
        #: What clients were given: (subscription, event) and how often.
        self.delivered: Counter[tuple[str, EventId]] = Counter()
        self.accepted: set[EventId] = set()
        #: The brokers that programs know before they have met others; None where they know them all.
        self.entry_points: tuple[int, ...] | None = None
        #: The disks of brokers that have crashed.
        self.disks: dict[int, SimulatedDisk] = {}
        self.on_event: Callable[[int, BrokerEvent], None] | None = None
        self.on_client_event: Callable[[int, ClientEvent], None] | None = None
        self._born = 0
        self._client_of: dict[int, SimulatedClient] = {}
        self._subscriber: dict[str, SimulatedClient] = {}

    @property
    def calendar(self) -> Calendar:
        """The time of the world."""
        return self.world.calendar

    @property
    def messages(self) -> int:
        """How many messages were sent."""
        return self.world.messages

    def run(self, microseconds: int, *, until: Callable[[], bool] | None = None) -> bool:
        """Let time pass, at most so much of it, or until a condition holds; say whether it does."""
        return self.world.run(microseconds, until=until)

    def clock(self, node: Node) -> int:
        """Return how far ahead the monotonic clock of a process begins: no two are alike, as those of machines."""
        return Random(f"{self.seed}/{node}/clock").randrange(MOST_AHEAD)

    # ---- brokers -------------------------------------------------------------------------------------------------

    def join(
        self, *, bootstrap: int | None = None, position: tuple[float, ...] = (), disk: SimulatedDisk | None = None
    ) -> int:
        """Add a broker; it joins through a random one if none is named. Return its number."""
        self._born += 1
        number = self._born
        broker = Broker(number, self.configuration, Random(f"{self.seed}/{number}"), position=position)
        if bootstrap is None and self.brokers:
            known = self._known()
            bootstrap = known[self.world.random.randrange(len(known))]
        self.brokers[number] = broker
        disk = disk or SimulatedDisk()
        records = open_records(disk, compact_from=COMPACT_FROM)
        self.world.start(
            number,
            broker,
            lambda event: self._on_event(broker, event),
            disk=disk,
            log=records,
            clock=self.clock(number),
        )
        broker.restore(records.entries())
        if bootstrap is None:
            broker.start(self.world.time(number))
        else:
            broker.join(bootstrap, self.world.time(number))
        self.perform(number)
        return number

    def leave(self, number: int) -> None:
        """Let a broker go; it is gone when it has handed over all it has."""
        self.brokers[number].leave(self.world.time(number))
        self.perform(number)

    def crash(self, number: int) -> None:
        """End a broker without a word; its disk is still there."""
        del self.brokers[number]
        self.disks[number] = self.world.end(number)

    def restart(self, number: int) -> int:
        """Bring a crashed broker back with its disk, under another number."""
        again = self.join(disk=self.disks.pop(number))
        self.world.rename(number, again)
        return again

    def records_of(self, number: int) -> list[tuple[int, int, EventBatch]]:
        """Return what a living broker keeps on its disk."""
        log = self.world.processes[number].log
        assert log is not None
        return log.entries()

    def disk_of(self, number: int) -> SimulatedDisk:
        """Return the disk of a living broker."""
        return self.world.processes[number].disk

    def perform(self, number: int) -> None:
        """Do what a broker wants done; to be called after a command that was given to it."""
        self.world.perform(self.world.processes[number])

    def _on_event(self, broker: Broker, event: BrokerEvent) -> None:
        if isinstance(event, BrokerLeft):
            self.brokers.pop(broker.id, None)
            self.calendar.after(0, lambda: self._gone(broker.id))
        elif isinstance(event, JoinFailed | Isolated | EntryWanted):
            self.calendar.after(0, lambda: self._find_peers(broker))
        if self.on_event is not None:
            self.on_event(broker.id, event)

    def _gone(self, number: int) -> None:
        if number in self.world.processes:
            self.world.end(number)

    def _find_peers(self, broker: Broker) -> None:
        """Do what a program does with its list of entry points: try another one."""
        peers = [number for number in self._known() if self.brokers[number].owned and number != broker.id]
        if peers and broker.id in self.brokers:
            peer = peers[self.world.random.randrange(len(peers))]
            if broker.owned:
                broker.introduce(peer, self.world.time(broker.id))
            else:
                broker.join(peer, self.world.time(broker.id))
            self.perform(broker.id)

    def _known(self) -> list[int]:
        """Return the living brokers that a program may turn to: the entry points, if any of them lives."""
        return [number for number in self.entry_points or () if number in self.brokers] or list(self.brokers)

    # ---- clients -------------------------------------------------------------------------------------------------

    def client(self, *brokers: int, **options: Any) -> SimulatedClient:
        """Add a client that attaches to the first of these brokers, or to a random one; it knows of a few others."""
        number = len(self.clients) + 1
        living = self._known()
        others = (living[self.world.random.randrange(len(living))] for _ in range(ENTRIES))
        known = dict.fromkeys((*brokers, *others))
        made = self.clients[number] = SimulatedClient(self, number, known, **options)
        return made

    def subscribe(self, broker: int, name: str, where: str) -> None:
        """Subscribe the client of a broker."""
        client = self._subscriber[name] = self._at(broker)
        client.subscribe(name, where)

    def unsubscribe(self, name: str) -> None:
        """End a subscription, wherever its client is attached by now."""
        self._subscriber.pop(name).unsubscribe(name)

    def publish(self, broker: int, event: Mapping[str, Any]) -> EventId:
        """Publish an event by the client of a broker."""
        (event_id,) = self._at(broker).publish(event)
        return event_id

    def _at(self, broker: int) -> SimulatedClient:
        client = self._client_of.get(broker)
        if client is None:
            client = self._client_of[broker] = self.client(broker)
        return client
