"""The client end of the broker network, as a machine: subscriptions and events go in, each delivery comes out once.

A client is attached to one broker and learns of others. When the connection is gone it attaches to another one,
subscribes again under the same names and publishes again what was not accepted. Events are numbered by their publisher,
and a subscription remembers the numbers that it has had (the dedup window), so whatever is sent again counts once. What
is not accepted is sent again after `retry`, and each time twice as late where nothing is accepted meanwhile: brokers
that are behind already get no more to do. A delivery is acknowledged when the program has taken it: what a slow program
leaves waits at the brokers.

Brokers are known by whatever the driver can reach them by; those that a broker names are numbers.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from rookery.brokers.batches import Accepted, DeliverBatch, Refused, Superseded, batch_of, events_of
from rookery.brokers.client_events import (
    Attached,
    BatchAccepted,
    BatchRefused,
    Delivered,
    DeliveryKey,
    GaveUp,
    InForce,
    StatusGiven,
    SubscriptionFailed,
)
from rookery.brokers.client_messages import (
    AskStatus,
    Attach,
    ClientAcknowledge,
    DeliverToClient,
    FromBroker,
    FromClient,
    KnownBrokers,
    PublishBatch,
    Status,
    Subscribe,
    Subscribed,
    SubscriptionRejected,
    Unsubscribe,
    Welcome,
)
from rookery.brokers.versions import Versions
from rookery.errors import HistoryFullError
from rookery.machine import Close, Effect, Emit, Send
from rookery.machine.dedup import DedupWindow
from rookery.machine.redelivery import Redelivery

__all__ = ["ClientMachine"]

SECOND = 1_000_000
#: How many times `retry` a batch that is not accepted waits at the most until it is sent again.
MOST_PATIENCE = 4
#: Events of one batch, at most.
MOST_EVENTS = 1024
#: Bytes of a batch of more than one.
MOST_OCTETS = 4 << 20
#: Matches that a subscription remembers so that none is given twice.
DEDUP_WINDOW = 1 << 20
#: Brokers remembered.
MOST_BROKERS = 32
#: Between two attempts to attach: at first, and at last.
FIRST_PAUSE, LAST_PAUSE = SECOND // 20, SECOND

#: A condition and its parameters.
Condition: TypeAlias = tuple[str, tuple[object, ...]]


@dataclass(slots=True)
class _InFlight:
    """A batch that is not accepted."""

    request: PublishBatch
    accepted: set[int]
    #: When it was sent; None where that was more than once, and what is accepted may be any of them.
    sent: int | None = None


@dataclass(slots=True)
class _Open:
    """A subscription, perhaps of many conditions: by their names on the wire, the program's name and the condition."""

    conditions: dict[str, tuple[str, str, tuple[object, ...]]]
    #: Names that some zone does not have yet.
    waiting: set[str] = field(default_factory=set)
    #: Names, publishers and sequence numbers of the matches that it has had.
    seen: DedupWindow[tuple[str, int, int], None] = field(default_factory=lambda: DedupWindow(DEDUP_WINDOW))


class ClientMachine:
    """One client of a broker network."""

    def __init__(
        self,
        identity: int,
        brokers: Sequence[Hashable],
        *,
        window: int = 65_536,
        retry: int = 2 * SECOND,
        patience: int = 10 * SECOND,
    ) -> None:
        self.identity = identity
        self.brokers: list[Any] = list(brokers)
        #: What the broker has said of the network; None before any has.
        self.welcome: Welcome | None = None
        #: How often it was let in by a broker.
        self.attachments = 0
        #: Events that were published and not accepted.
        self.in_flight = 0
        #: Matches that came again.
        self.repeated = 0
        self.versions = Versions()
        self._window = window
        self._patience = patience
        #: The broker that was asked to let this client in, and whether it has.
        self._broker: Any = None
        self._is_attached = False
        self._is_over = False
        self._pause = FIRST_PAUSE
        self._next_attempt: int | None = None
        self._alone_since = 0
        self._open: dict[int, _Open] = {}
        self._number_of: dict[str, int] = {}
        self._subscriptions = 0
        self._events: list[dict[str, Any]] = []
        self._sequence = 0
        self._batches: dict[int, _InFlight] = {}
        self._retry = retry
        self._redelivery: Redelivery[int] = Redelivery(retry)
        #: Deliveries that the program has not acknowledged, and by which subscriptions.
        self._unacknowledged: dict[DeliveryKey, set[int]] = {}
        self._acknowledged: list[DeliveryKey] = []
        self._effects: list[Effect] = []
        self.now = 0

    # ---- commands ------------------------------------------------------------------------------------------------

    def start(self, now: int) -> None:
        """Attach to a broker."""
        self.now = self._alone_since = now
        self._attach()

    def subscribe(self, conditions: Mapping[str, Condition]) -> int:
        """Subscribe to conditions under names of the program; return the number of the subscription."""
        self._subscriptions += 1
        number = self._subscriptions
        wires = {f"{self.identity:x}/{number}/{name}": (name, *entry) for name, entry in conditions.items()}
        opened = self._open[number] = _Open(wires, waiting=set(wires))
        self._number_of.update(dict.fromkeys(wires, number))
        if self._is_attached:  # else when a broker lets it in
            self._place(number, opened)
        return number

    def unsubscribe(self, number: int) -> None:
        """End a subscription; what the program has not acknowledged of it is not waited for."""
        opened = self._open.pop(number, None)
        if opened is None:
            return
        for wire in opened.conditions:
            del self._number_of[wire]
            self.versions.forget(wire)
            self._say(Unsubscribe(wire))
        for key in [key for key, numbers in self._unacknowledged.items() if number in numbers]:
            self.acknowledge(number, key)

    def publish(self, event: dict[str, Any], now: int) -> int:
        """Publish an event; those of one turn travel together. Return its sequence number."""
        if now > self.now:
            self.now = now
        in_flight, events = self.in_flight, self._events
        if in_flight >= self._window:
            raise HistoryFullError(f"{in_flight} events are not acknowledged: await room() or flush()")
        self.in_flight = in_flight + 1
        events.append(event)
        number = self._sequence + len(events) - 1
        if len(events) >= MOST_EVENTS:
            self._pack()
        return number

    def acknowledge(self, number: int, key: DeliveryKey) -> None:
        """The program has what was delivered to a subscription under a key."""
        numbers = self._unacknowledged.get(key)
        if numbers is not None and number in numbers:
            numbers.discard(number)
            if not numbers:
                del self._unacknowledged[key]
                self._acknowledged.append(key)

    def ask(self) -> None:
        """Ask the broker how it is; `StatusGiven` comes."""
        self._say(AskStatus())

    def order(self, request: FromClient) -> None:
        """Tell the broker to transfer a zone."""
        self._say(request)

    def close(self) -> None:
        """End all subscriptions, and attach to nobody again."""
        for number in list(self._open):
            self.unsubscribe(number)
        self._is_over = True

    def is_in_force(self, number: int) -> bool:
        """Tell whether every zone has a subscription, as far as the present broker has said."""
        return number in self._open and self._is_attached and not self._open[number].waiting

    @property
    def has_room(self) -> bool:
        """Whether `publish` takes an event."""
        return self.in_flight < self._window

    @property
    def is_attached(self) -> bool:
        """Whether a broker has let this client in."""
        return self._is_attached

    @property
    def broker(self) -> Any:
        """The broker that this client is attached to or has asked; None between two."""
        return self._broker

    # ---- the machine ---------------------------------------------------------------------------------------------

    def receive_many(self, messages: Iterable[FromBroker], sender: Any, now: int) -> None:
        """Take in what the broker says; what comes late from an earlier one is not for this attachment."""
        self.now = max(now, self.now)
        if sender != self._broker:
            return
        for message in messages:
            self._dispatch(message)

    def undeliverable(self, message: FromClient, receiver: Any, now: int) -> None:
        """Take back what the broker did not get: it is gone."""
        self.lose(receiver, now)

    def lose(self, node: Any, now: int) -> None:
        """The connection to a broker is gone, or could not be made: try the next one, after a pause."""
        self.now = max(now, self.now)
        if node != self._broker or self._is_over:
            return
        if self._is_attached:
            self._alone_since = self.now
        self._broker, self._is_attached = None, False
        if self.now - self._alone_since > self._patience:
            self._is_over = True
            self._effects.append(Emit(GaveUp()))
            return
        self.brokers.append(self.brokers.pop(0))
        self._next_attempt = self.now + self._pause
        self._pause = min(LAST_PAUSE, self._pause * 3 // 2)

    def completed(self, effect: Effect, result: Any, now: int) -> None:
        """A client writes nothing."""

    def wake(self, now: int) -> None:
        """Attach, or publish again what was not accepted for long."""
        self.now = max(now, self.now)
        if self._is_over:
            return
        if self._next_attempt is not None and self._next_attempt <= self.now:
            self._attach()
        due = self._redelivery.due(self.now)
        if due:
            self._wait(2 * self._redelivery.patience)
        for first in due:
            self._send(first)

    def timer(self) -> int | None:
        """Return when to wake."""
        if self._is_over:
            return None
        if self._broker is None:
            return self._next_attempt
        return self._redelivery.timer() if self._is_attached else None

    def effects(self) -> list[Effect]:
        """Return what is to be done: what was published in one turn goes in one batch, and so do acknowledgments."""
        if self._events:
            self._pack()
        if self._acknowledged:
            acknowledged, self._acknowledged = self._acknowledged, []
            self._say(ClientAcknowledge(tuple(acknowledged)))
        effects, self._effects = self._effects, []
        return effects

    # ---- attaching -----------------------------------------------------------------------------------------------

    def _attach(self) -> None:
        self._next_attempt = None
        self._broker = self.brokers[0]
        self._effects.append(Send(self._broker, Attach()))

    def _welcomed(self, welcome: Welcome) -> None:
        if self.welcome is not None and welcome.topic != self.welcome.topic:
            self._effects.append(Close(self._broker, "another topic"))  # it is somebody else's port by now
            self.lose(self._broker, self.now)
            return
        self.welcome = welcome
        self._is_attached = True
        self._pause = FIRST_PAUSE
        self.attachments += 1
        self._learn(welcome.brokers[1:])
        self.versions.learn(welcome.version)
        self._effects.append(Emit(Attached(welcome)))
        for number, opened in self._open.items():
            self._place(number, opened)
        self._wait(self._retry)
        for first in self._batches:
            self._send(first)

    def _learn(self, brokers: Sequence[int]) -> None:
        """Remember brokers; the one that is attached to stays the first, under the name that it was reached by."""
        self.brokers = list(dict.fromkeys([self._broker, *brokers, *self.brokers]))[:MOST_BROKERS]

    def _say(self, request: FromClient) -> None:
        if self._is_attached:
            self._effects.append(Send(self._broker, request))

    def _dispatch(self, message: FromBroker) -> None:
        match message:
            case DeliverToClient(owner, delivery):
                self._deliver(owner, delivery)
            case Accepted(_, first, offsets):
                self._accepted(first, offsets)
            case Refused(_, first, reason, final):
                self._refused(first, reason, final=final)
            case Subscribed(name, version):
                if self.versions.is_current(name, version):
                    self._placed(name)
            case Superseded(name, _, stored):
                if self.versions.is_beaten(name, stored) and name in self._number_of:
                    self._subscribe(self._number_of[name], name)
            case SubscriptionRejected(name, reason):
                if name in self._number_of:
                    self._effects.append(Emit(SubscriptionFailed(self._number_of[name], reason)))
            case Status(document):
                self._effects.append(Emit(StatusGiven(document)))
            case KnownBrokers(brokers):
                self._learn(brokers)
            case Welcome():
                self._welcomed(message)

    # ---- subscriptions -------------------------------------------------------------------------------------------

    def _place(self, number: int, opened: _Open) -> None:
        opened.waiting = set(opened.conditions)
        for wire in opened.conditions:
            self._subscribe(number, wire)

    def _subscribe(self, number: int, wire: str) -> None:
        """Send a subscription as the latest: it may go to another broker than before."""
        version = self.versions.next(wire)
        if version is None:
            reason = "the versions of this client are used up: connect anew"
            self._effects.append(Emit(SubscriptionFailed(number, reason)))
            return
        _, where, parameters = self._open[number].conditions[wire]
        self._say(Subscribe(wire, version, where, parameters))

    def _placed(self, wire: str) -> None:
        number = self._number_of.get(wire)
        if number is not None:
            opened = self._open[number]
            if wire in opened.waiting:
                opened.waiting.discard(wire)
                if not opened.waiting:
                    self._effects.append(Emit(InForce(number)))

    # ---- deliveries ----------------------------------------------------------------------------------------------

    def _deliver(self, owner: int, delivery: DeliverBatch) -> None:
        key = (owner, delivery.number)
        numbers = {number for name in delivery.every if (number := self._number_of.get(name)) is not None}
        if len(self._open) == 1 and delivery.names:
            numbers |= self._open.keys()
        else:
            numbers.update(number for name in delivery.names if (number := self._number_of.get(name)) is not None)
        given = [delivered for number in numbers if (delivered := self._fresh(number, key, delivery)) is not None]
        if given:
            self._unacknowledged.setdefault(key, set()).update(delivered.number for delivered in given)
            self._effects += map(Emit, given)
        elif key not in self._unacknowledged:
            self._acknowledged.append(key)

    def _fresh(self, number: int, key: DeliveryKey, delivery: DeliverBatch) -> Delivered | None:
        """Return the matches of a subscription that it has not had; None if there are none."""
        opened, batch = self._open[number], delivery.batch
        conditions, publisher, sequences = opened.conditions, batch.publisher, batch.sequences()
        matches = [(row, name) for name in delivery.every if name in conditions for row in range(batch.count)]
        matches += [(row, name) for row, name in zip(delivery.rows, delivery.names, strict=True) if name in conditions]
        is_new = opened.seen.add_many([(name, publisher, sequences[row]) for row, name in matches], None)
        if not all(is_new):
            self.repeated += is_new.count(False)
            matches = [match for match, new in zip(matches, is_new, strict=True) if new]
        if not matches:
            return None
        events = events_of(batch)
        return Delivered(
            number,
            key,
            publisher,
            [conditions[name][0] for _, name in matches],
            [sequences[row] for row, _ in matches],
            [events[row] for row, _ in matches],
        )

    # ---- publishing ----------------------------------------------------------------------------------------------

    def _pack(self) -> None:
        events, self._events = self._events, []
        if len(events) > 1 and not any(events):  # events without attributes: a batch of more has nothing to show
            for event in events:
                self._pack_batch([event])
        else:
            self._pack_batch(events)

    def _pack_batch(self, events: list[dict[str, Any]]) -> None:
        request = PublishBatch(batch_of(self.identity, self._sequence, events))
        if len(events) > 1 and request.batch.size > MOST_OCTETS:
            self._pack_batch(events[: len(events) // 2])
            self._pack_batch(events[len(events) // 2 :])
            return
        self._batches[self._sequence] = waiting = _InFlight(request, set())
        self._send(self._sequence)
        waiting.sent = self.now
        self._sequence += len(events)

    def _send(self, first: int) -> None:
        self._redelivery.sent(first, self.now)
        self._batches[first].sent = None
        self._say(self._batches[first].request)

    def _wait(self, patience: int) -> None:
        """Send again what is not accepted after so long, within bounds."""
        self._redelivery.patience = max(self._retry, min(patience, MOST_PATIENCE * self._retry))

    def _accepted(self, first: int, offsets: tuple[int, ...]) -> None:
        waiting = self._batches.get(first)
        if waiting is None:
            return
        waiting.accepted.update(offsets)
        count = waiting.request.batch.count
        if not offsets or len(waiting.accepted) >= count:
            if waiting.sent is not None:
                self._wait(2 * (self.now - waiting.sent))
            self._over(first, count)
            self._effects.append(Emit(BatchAccepted(first, count)))

    def _refused(self, first: int, reason: str, *, final: bool) -> None:
        waiting = self._batches.get(first)
        if waiting is None:
            return
        count = waiting.request.batch.count
        if final:
            self._over(first, count)
        self._effects.append(Emit(BatchRefused(first, count, reason, final)))

    def _over(self, first: int, count: int) -> None:
        del self._batches[first]
        self._redelivery.acknowledged(first)
        self.in_flight -= count
