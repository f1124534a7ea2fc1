"""Overload is not death: brokers that are offered three times what they can take slow their publishers down.

Brokers of this world take time for each event that they are told of, and messages wait for them (`simulated/labor.py`).
Publishers offer by the clock, whatever becomes of it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, get_args

import msgspec
import pytest
from tests.histories import Faults

import rookery
from rookery.brokers.batches import (
    Accepted,
    BatchMessage,
    DeliverBatch,
    Redeliver,
    Replicate,
    RoutedBatch,
    batch_of,
)
from rookery.brokers.client_messages import PublishBatch
from rookery.brokers.configuration import BrokerConfiguration
from rookery.brokers.messages import (
    BrokerHeartbeat,
    EventId,
    FindOwner,
    Message,
    Routed,
    TransferConfirmed,
    is_urgent,
    is_urgent_frame,
)
from rookery.brokers.routing_table import RoutingTable
from rookery.brokers.sending import SendingWindow
from rookery.simulated.brokers import SimulatedBrokers
from rookery.simulated.labor import Labor
from rookery.space.axes import Axis, EventSpace

from . import mixed_faults
from .invariants import network
from .mixed_faults import MixedHistory

SECOND = 1_000_000
#: What a broker does for one event of a message, and for any other message.
EACH, OTHER = 1400, 20
SPACE = EventSpace(rookery.Schema(x=float, y=float), [Axis("x"), Axis("y")])
PUBLISHERS = 3
#: What subscribers want of an event, and as a condition.
SUBSCRIBERS: dict[str, tuple[Callable[[dict[str, float]], bool], str]] = {
    "all": (lambda event: True, ""),
    "right": (lambda event: event["x"] >= 0.5, "x >= 0.5"),
    "low": (lambda event: event["y"] < 0.3, "y < 0.3"),
}
#: Events a second that are more than brokers can take.
FAST = 1500
#: Events that a publisher may have that are not accepted.
WINDOW = 8192
TICK = SECOND // 20


def takes(message: Any) -> int:
    """How long a broker takes for a message."""
    match message:
        case PublishBatch(batch) | RoutedBatch(batch) | DeliverBatch(_, batch):
            return OTHER + EACH * batch.count
        case Replicate(batches):
            return OTHER + EACH // 10 * sum(batch.count for _, batch in batches)
    return OTHER


@dataclass
class Busy:
    """A network whose brokers take time, with publishers who offer by the clock and subscribers of everything."""

    made: SimulatedBrokers
    publishers: list[Any]
    window: int = WINDOW
    places: dict[EventId, dict[str, float]] = field(default_factory=dict)

    @property
    def published(self) -> int:
        return len(self.places)

    @classmethod
    def of(cls, brokers: int, *, seed: int, passes: Callable[[Any], bool] = is_urgent) -> Busy:
        configuration = BrokerConfiguration(space=SPACE, beat=SECOND, refresh=12 * SECOND, ancestors=12 * SECOND)
        made = SimulatedBrokers(configuration, seed=seed)
        made.world.labor = Labor(takes, passes)
        for _ in range(brokers):
            made.join()
            made.run(SECOND)
        made.run(5 * SECOND)
        for number, (name, (_, where)) in enumerate(SUBSCRIBERS.items()):
            made.client(1 + number % brokers).subscribe(name, where)
        made.run(3 * SECOND)
        return cls(made, [made.client(1 + number % brokers, retry=2 * SECOND) for number in range(PUBLISHERS)])

    def offer(self, rate: float, seconds: float) -> float:
        """Offer so many events a second; return how many were accepted each second."""
        generator = random.Random(self.made.seed)
        accepted, begun = len(self.made.accepted), self.made.world.now
        while (elapsed := self.made.world.now - begun) < seconds * SECOND:
            due = int(rate * (elapsed + TICK) / SECOND) - int(rate * elapsed / SECOND)
            for number, client in enumerate(self.publishers):
                share = [
                    {"x": generator.random(), "y": generator.random()} for _ in range(number, due, len(self.publishers))
                ]
                if client.machine.in_flight + len(share) <= self.window:
                    self.places.update(zip(client.publish(*share), share, strict=True))
            self.made.run(TICK)
        return (len(self.made.accepted) - accepted) / seconds

    def counted(self, *names: str) -> int:
        return sum(broker.counters[name] for broker in self.made.brokers.values() for name in names)

    def check(self) -> None:
        """Wait until everything is accepted and delivered; nothing is missing and nothing came twice."""
        made = self.made
        assert made.run(600 * SECOND, until=lambda: not self.waiting), f"{self.waiting} events were never accepted"
        due = {(name, event) for event in made.accepted for name in self.wanting(event)}
        made.run(90 * SECOND, until=lambda: due <= made.delivered.keys())
        assert made.delivered.keys() == due
        assert set(made.delivered.values()) == {1}

    @property
    def waiting(self) -> int:
        """How many events are not accepted."""
        return sum(one.machine.in_flight for one in self.publishers)

    def wanting(self, event: EventId) -> list[str]:
        """The oracle."""
        place = self.places[event]
        return [name for name, (wants, _) in SUBSCRIBERS.items() if wants(place)]


def overloaded(busy: Busy, *, seconds: float = 12) -> None:
    """Find the capacity, offer three times as much, and see that at least four fifths of it are accepted."""
    capacity = busy.offer(FAST, 6)
    busy.made.run(10 * SECOND)
    accepted = busy.offer(3 * capacity, seconds)
    assert accepted >= 0.8 * capacity, f"{accepted} events a second were accepted, {capacity} are the capacity"


@pytest.mark.parametrize("brokers", [2, 4])
def test_three_times_the_capacity(brokers: int) -> None:
    """Nobody is taken for dead, no lease ends, nothing is missing and nothing comes twice."""
    busy = Busy.of(brokers, seed=brokers)
    overloaded(busy)
    busy.check()
    assert not busy.counted("taken over", "ownerless taken", "yielded", "held", "matched late")


def test_a_crash_under_load_is_one_takeover() -> None:
    """Of four busy brokers one dies: its zone is taken over, and no other."""
    busy = Busy.of(4, seed=4)
    capacity = busy.offer(FAST, 6)
    busy.offer(3 * capacity, 5)
    busy.made.crash(4)
    busy.offer(3 * capacity, 12)
    busy.check()
    assert busy.counted("taken over") == 1
    assert not busy.counted("ownerless taken", "yielded")


def test_publishers_that_know_no_bounds_kill_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is offered, who owns what and who is there does not wait for it: no broker is taken for dead."""
    monkeypatch.setattr(SendingWindow, "has_room", lambda self, count: True)
    busy = Busy.of(2, seed=1)
    busy.window = 65_536
    busy.offer(4 * FAST, 12)
    assert len(busy.made.accepted) < busy.published // 2
    assert not busy.counted("taken over", "ownerless taken", "yielded")


def test_that_load_does_kill_where_heartbeats_wait_for_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """So the tests above prove something: without what they are about a broker takes over from a living one."""
    monkeypatch.setattr(SendingWindow, "has_room", lambda self, count: True)
    monkeypatch.setattr(RoutingTable, "hear", lambda self, peer: None)
    busy = Busy.of(2, seed=1, passes=lambda message: False)
    busy.window = 65_536
    busy.offer(4 * FAST, 12)
    assert busy.counted("taken over", "ownerless taken")


# ---- and faults ------------------------------------------------------------------------------------------------------


def takes_long(message: Any) -> int:
    """How long a broker takes for a message: a second for three events, so that much waits, and is passed."""
    return OTHER + (takes(message) - OTHER) * SECOND // (3 * EACH)


def live_busy(seed: int, faults: Faults, monkeypatch: pytest.MonkeyPatch) -> MixedHistory:
    """Live through a history of mixed faults whose brokers are behind with events most of the time."""

    def busy_network(*arguments: Any, **options: Any) -> SimulatedBrokers:
        made = network(*arguments, **options)
        made.world.labor = Labor(takes_long, is_urgent)
        return made

    monkeypatch.setattr(mixed_faults, "network", busy_network)
    return mixed_faults.live_mixed(seed, faults)


@pytest.mark.parametrize("seed", range(12))
def test_mixed_faults_while_events_wait(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who owns what passes what is about events, in any mixture of faults, and all is delivered, once."""
    live_busy(seed, Faults(), monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12, 300))
def test_many_mixed_faults_while_events_wait(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    live_busy(seed, Faults(), monkeypatch)


# ---- what passes what ------------------------------------------------------------------------------------------------


MESSAGES: list[Message] = [
    BrokerHeartbeat(()),
    TransferConfirmed((), 1),
    Routed((0.5, 0.5), FindOwner(1), 1),
    RoutedBatch(batch_of(1, 0, [{"x": 1.0}]), b"", 1),
    Accepted(1, 0, ()),
    Redeliver((1,)),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_frame_is_as_urgent_as_its_message(message: Message) -> None:
    assert is_urgent_frame(msgspec.msgpack.encode(message)) == is_urgent(message)


def test_every_kind_of_message_has_its_order() -> None:
    """The tags of messages about events, and no others, are those that wait."""
    about_events = {one.__struct_config__.tag for one in get_args(BatchMessage)}
    others = {one.__struct_config__.tag for one in get_args(Message)} - about_events
    assert min(about_events) > max(others)
    assert not any(is_urgent_frame(bytes([0x90, tag])) for tag in about_events)
    assert all(is_urgent_frame(bytes([0x90, tag])) for tag in others)


# ---- how much is on its way ------------------------------------------------------------------------------------------


def test_the_allowance_grows_while_events_are_accepted_soon() -> None:
    window = SendingWindow(4096)
    for _ in range(10):
        window.on_the_way = window.allowed
        window.accepted(window.allowed, 1000, 0)
    assert window.allowed == 4096
    assert not window.is_behind


def test_the_allowance_shrinks_once_in_a_round_trip_where_they_are_late() -> None:
    window = SendingWindow(4096)
    window.allowed = 4000
    window.accepted(10, 2 * SECOND, 10 * SECOND)
    assert window.allowed == 2000
    window.accepted(10, 2 * SECOND, 11 * SECOND)
    assert window.allowed == 2000
    assert window.is_behind
    window.repeated(13 * SECOND)
    assert window.allowed == 1000


def test_what_does_not_fill_the_allowance_does_not_make_it_grow() -> None:
    window = SendingWindow(4096)
    window.accepted(10, 1000, 0)
    assert window.allowed == 1024


def test_one_batch_is_always_on_its_way() -> None:
    window = SendingWindow(4096)
    window.allowed = 1
    assert window.has_room(1024)
    window.on_the_way = 1024
    assert not window.has_room(1)
