"""The client end of the broker network, as a machine: subscriptions and events go in, each delivery comes out once.

A client is attached to one broker and learns of others. When the connection is gone it attaches to another one
(`seeking.py`), subscribes again under the same names and publishes again what was not accepted. Events are numbered by
their publisher, and a subscription remembers the numbers that it has had (the dedup window), so whatever is sent again
counts once. What is not accepted is sent again after `retry`, and each time twice as late where nothing is accepted
meanwhile: brokers that are behind already get no more to do. What is on its way is bounded by what brokers accept in a
short time (`sending.py`), the rest waits here, and `has_room` says so. A delivery is acknowledged when the program has
taken it: what a slow program leaves waits at the brokers. A program that is back (`resumed`) is let in before it has
said what it subscribes to, and its backlog comes at once: what is for subscriptions that it has not opened yet is kept
for them, and acknowledged for nobody only after `RESUMING`. It numbers its events from somewhere else (`first`): the
numbers that it used before are taken.

A durable subscription has a name of the program's own, whatever was opened before it, and outlives its program: when it
is closed nothing is said to the brokers, and what the program has not taken comes to whoever opens it again. It ends
when its program says so, or when nobody has had it open for as long as brokers keep it.

Subscriptions go out in bulks, at most `PLACING` of them at a time without an answer: what waits here is not sent again
by brokers that look whether it has come to its zones.

Brokers are known by whatever the driver can reach them by; those that a broker names are numbers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeAlias
from urllib.parse import quote

from rookery.brokers.batches import Accepted, DeliverBatch, Refused, Superseded, batch_of, events_of
from rookery.brokers.bulks import bulks
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
    SubscribedMany,
    SubscribeMany,
    SubscriptionRejected,
    Unsubscribe,
    UnsubscribeMany,
    Welcome,
)
from rookery.brokers.seeking import Seeking
from rookery.brokers.sending import SendingWindow
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
MOST_BYTES = 4 << 20
#: Matches that a subscription remembers so that none is given twice.
DEDUP_WINDOW = 1 << 20
#: How long a program that is back has to open the subscriptions that it had.
RESUMING = 60 * SECOND
#: Subscriptions that may be on their way to their zones.
PLACING = 4096
#: What the names of durable subscriptions have in the place of a number.
DURABLE = "~"
#: What a delivery waits for, beside numbers of subscriptions: one that the program has not opened yet.
NOT_OPENED = 0

#: A condition and its parameters.
Condition: TypeAlias = tuple[str, tuple[object, ...]]


@dataclass(slots=True)
class _InFlight:
    """A batch that is not accepted."""

    request: PublishBatch
    accepted: set[int]
    #: Events of it that no broker will ever take.
    refused: set[int] = field(default_factory=set)
    #: When it was sent; None where that was more than once, and what is accepted may be any of them.
    sent: int | None = None
    #: Whether it was sent to the present broker, or to any.
    is_on_the_way: bool = False
    was_sent: bool = False


@dataclass(slots=True)
class _Open:
    """A subscription, perhaps of many conditions: by their names on the wire, the program's name and the condition."""

    conditions: dict[str, tuple[str, str, tuple[object, ...]]]
    is_durable: bool = False
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
        resumed: bool = False,
        first: int = 0,
    ) -> None:
        self.identity = identity
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
        self._sending = SendingWindow(window)
        #: Batches that wait until there is room on the way, the oldest first.
        self._unsent: deque[int] = deque()
        self.seeking = Seeking(brokers, patience=patience)
        self._is_over = False
        self._open: dict[int, _Open] = {}
        self._number_of: dict[str, int] = {}
        self._subscriptions = 0
        #: By its name on the wire, what is to be sent to the present broker when there is room; what has no answer yet.
        self._unplaced: dict[str, int] = {}
        self._placing: set[str] = set()
        self._events: list[dict[str, Any]] = []
        self._sequence = first
        self._batches: dict[int, _InFlight] = {}
        self._retry = retry
        self._redelivery: Redelivery[int] = Redelivery(retry)
        #: Deliveries that the program has not acknowledged, and by which subscriptions.
        self._unacknowledged: dict[DeliveryKey, set[int]] = {}
        self._acknowledged: list[DeliveryKey] = []
        #: Of a program that is back: deliveries for subscriptions that it has not opened yet, and until when it may.
        self._early: dict[DeliveryKey, DeliverBatch] = {}
        #: Deliveries to durable subscriptions that the program has not acknowledged.
        self._kept: dict[DeliveryKey, DeliverBatch] = {}
        self._resumed = resumed
        #: Whether there may be durable subscriptions that are not open.
        self._has_durable = resumed
        self._resuming_until: int | None = None
        self._effects: list[Effect] = []
        self.now = 0

    # ---- commands ------------------------------------------------------------------------------------------------

    def start(self, now: int) -> None:
        """Attach to a broker."""
        self.now = now
        self.seeking.begin(now)
        self._attach()

    def subscribe(self, conditions: Mapping[str, Condition], *, durable: str | None = None) -> int:
        """Subscribe to conditions under names of the program; return the number of the subscription.

        A durable one may be open once at a time.
        """
        self._subscriptions += 1
        number = self._subscriptions
        within = f"{self.identity:x}/{number}/" if durable is None else self._durable(durable)
        wires = {f"{within}{name}": (name, *entry) for name, entry in conditions.items()}
        self._has_durable |= durable is not None
        self._open[number] = _Open(wires, durable is not None, waiting=set(wires))
        self._number_of.update(dict.fromkeys(wires, number))
        if self.is_attached:  # else when a broker lets it in
            self._unplaced.update(dict.fromkeys(wires, number))
            self._place()
        early, self._early = self._early, {}
        for key, delivery in early.items():
            self._deliver(key[0], delivery)
        return number

    def unsubscribe(self, number: int, *, for_good: bool = False) -> None:
        """End a subscription; what the program has not acknowledged of it is not waited for.

        A durable one is only closed, unless it is to end for good: what is not acknowledged comes when it is opened.
        """
        opened = self._open.get(number)
        if opened is None:
            return
        stays = opened.is_durable and not for_good
        keys = [key for key, numbers in self._unacknowledged.items() if number in numbers]
        # What an earlier broker has placed, and the present one has not heard of, it cannot take back.
        waiting = [wire for wire in opened.conditions if self._unplaced.pop(wire, None) is not None]
        never_said = {wire for wire in waiting if not self.versions.is_counted(wire)}
        self._subscribe([(number, wire) for wire in waiting if wire not in never_said] if not stays else ())
        del self._open[number]
        self._placing.difference_update(opened.conditions)
        for wire in opened.conditions:
            del self._number_of[wire]
            if not stays:
                self.versions.forget(wire)
        if not stays:
            for bulk in bulks((wire for wire in opened.conditions if wire not in never_said), len):
                self._say(UnsubscribeMany(bulk) if len(bulk) > 1 else Unsubscribe(*bulk))
        self._place()
        for key in keys:
            if stays:
                self._unacknowledged[key].discard(number)
                self._unacknowledged[key].add(NOT_OPENED)
                self._early[key] = self._kept[key]
            else:
                self.acknowledge(number, key)

    def is_open(self, durable: str) -> bool:
        """Tell whether a durable subscription is open."""
        within = self._durable(durable)
        return any(one.is_durable and next(iter(one.conditions), "").startswith(within) for one in self._open.values())

    def _durable(self, name: str) -> str:
        """Return what the names of a durable subscription's conditions begin with: no number of a subscription."""
        return f"{self.identity:x}/{DURABLE}{quote(name, safe='')}/"

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
                self._kept.pop(key, None)
                self._acknowledged.append(key)

    def ask(self, *, sample: bool = False) -> None:
        """Ask the broker how it is, perhaps with a sample of its events' places; `StatusGiven` comes."""
        self._say(AskStatus(sample))

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
        return number in self._open and self.is_attached and not self._open[number].waiting

    @property
    def has_room(self) -> bool:
        """Whether another event would be on its way soon; `publish` takes it as long as the window has room."""
        if self._sending.is_behind and self.in_flight >= 2 * self._sending.allowed:
            return False
        return self.in_flight < self._window

    @property
    def is_attached(self) -> bool:
        """Whether a broker has let this client in."""
        return self.seeking.is_attached

    @property
    def broker(self) -> Any:
        """The broker that this client is attached to or has asked; None between two."""
        return self.seeking.broker

    @property
    def brokers(self) -> list[Any]:
        """The brokers that this client knows, the present one first."""
        return self.seeking.brokers

    # ---- the machine ---------------------------------------------------------------------------------------------

    def receive_many(self, messages: Iterable[FromBroker], sender: Any, now: int) -> None:
        """Take in what the broker says; what comes late from an earlier one is not for this attachment."""
        self.now = max(now, self.now)
        if sender != self.broker:
            return
        for message in messages:
            self._dispatch(message)
        if self._unplaced:
            self._place()

    def undeliverable(self, message: FromClient, receiver: Any, now: int) -> None:
        """Take back what the broker did not get: it is gone."""
        self.lose(receiver, now)

    def lose(self, node: Any, now: int) -> None:
        """The connection to a broker is gone, or could not be made: try the next one, after a pause."""
        self.now = max(now, self.now)
        if node != self.broker or self._is_over:
            return
        if not self.seeking.lost(self.now):
            self._is_over = True
            self._effects.append(Emit(GaveUp()))

    def completed(self, effect: Effect, result: Any, now: int) -> None:
        """A client writes nothing."""

    def wake(self, now: int) -> None:
        """Attach, or publish again what was not accepted for long."""
        self.now = max(now, self.now)
        if self._is_over:
            return
        if self.seeking.is_due(self.now):
            self._attach()
        elif (silent := self.seeking.pass_over(self.now)) is not None:
            self._effects.append(Close(silent, "no answer"))
        if self._resuming_until is not None and self._resuming_until <= self.now:
            self._resuming_until = None
            for key in [key for key, delivery in self._early.items() if not self._is_for_closed(delivery)]:
                del self._early[key]
                self.acknowledge(NOT_OPENED, key)
        due = self._redelivery.due(self.now)
        if due:
            self._wait(2 * self._redelivery.patience)
            self._sending.repeated(self.now)
        left = self._sending.allowed
        for first in due:
            left -= self._batches[first].request.batch.count
            if left + self._batches[first].request.batch.count > 0:
                self._send(first)
            else:  # there is no room for it: in its turn
                self._redelivery.sent(first, self.now)

    def timer(self) -> int | None:
        """Return when to wake."""
        if self._is_over:
            return None
        if not self.is_attached:
            return self.seeking.timer()
        times = (self._resuming_until, self._redelivery.timer())
        return min((time for time in times if time is not None), default=None)

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
        self._effects.append(Send(self.seeking.ask(self.now), Attach()))

    def _welcomed(self, welcome: Welcome) -> None:
        if self.welcome is not None and welcome.topic != self.welcome.topic:
            self._effects.append(Close(self.broker, "another topic"))  # it is somebody else's port by now
            self.lose(self.broker, self.now)
            return
        self.welcome = welcome
        self.seeking.welcomed(welcome.brokers[1:])
        self.attachments += 1
        if self._resumed and self.attachments == 1:
            self._resuming_until = self.now + RESUMING
        self.versions.learn(welcome.version)
        self._effects.append(Emit(Attached(welcome)))
        self._placing.clear()
        self._unplaced.clear()
        for number, opened in self._open.items():
            opened.waiting = set(opened.conditions)
            self._unplaced.update(dict.fromkeys(opened.conditions, number))
        self._place()
        self._wait(self._retry)
        self._sending.on_the_way = 0
        for first, waiting in self._batches.items():
            waiting.is_on_the_way = False
            self._redelivery.acknowledged(first)
        self._unsent = deque(self._batches)
        self._send_unsent()

    def _say(self, request: FromClient) -> None:
        if self.is_attached:
            self._effects.append(Send(self.broker, request))

    def _dispatch(self, message: FromBroker) -> None:
        match message:
            case DeliverToClient(owner, delivery):
                self._deliver(owner, delivery)
            case Accepted(_, first, offsets):
                self._accepted(first, offsets)
            case Refused(_, first, reason, final, offsets):
                self._refused(first, reason, offsets, final=final)
            case Subscribed(name, version):
                self._placed(name, version)
            case SubscribedMany(subscriptions):
                for name, version in subscriptions:
                    self._placed(name, version)
            case Superseded(name, _, stored):
                if self.versions.is_beaten(name, stored) and name in self._number_of and name not in self._unplaced:
                    self._subscribe([(self._number_of[name], name)])
            case SubscriptionRejected(name, reason):
                self._placing.discard(name)
                if name in self._number_of:
                    self._effects.append(Emit(SubscriptionFailed(self._number_of[name], reason)))
            case Status(document):
                self._effects.append(Emit(StatusGiven(document)))
            case KnownBrokers(brokers):
                self.seeking.learn(brokers)
            case Welcome():
                self._welcomed(message)

    # ---- subscriptions -------------------------------------------------------------------------------------------

    def _place(self) -> None:
        """Send what waits, when there is room for a good part of it."""
        room = PLACING - len(self._placing)
        if room >= min(len(self._unplaced), PLACING // 2) and self.is_attached:
            chosen = list(islice(self._unplaced, room))
            self._subscribe([(self._unplaced.pop(wire), wire) for wire in chosen])

    def _subscribe(self, chosen: Iterable[tuple[int, str]]) -> None:
        """Send subscriptions as the latest: they may go to another broker than before."""
        requests: list[Subscribe] = []
        for number, wire in chosen:
            version = self.versions.next(wire)
            if version is None:
                reason = "the versions of this client are used up: connect anew"
                self._effects.append(Emit(SubscriptionFailed(number, reason)))
                break
            opened = self._open[number]
            _, where, parameters = opened.conditions[wire]
            requests.append(Subscribe(wire, version, where, parameters, opened.is_durable))
        self._placing.update(one.name for one in requests)
        for bulk in bulks(requests, lambda one: len(one.where) + len(one.name)):
            self._say(SubscribeMany(bulk) if len(bulk) > 1 else bulk[0])

    def _placed(self, wire: str, version: int) -> None:
        if not self.versions.is_current(wire, version):
            return
        self._placing.discard(wire)
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
        is_resuming = self._resuming_until is not None
        if (is_resuming and not self._number_of.keys() >= {*delivery.every, *delivery.names}) or (
            self._has_durable and self._is_for_closed(delivery)
        ):
            self._early[key] = delivery
            self._unacknowledged.setdefault(key, set()).add(NOT_OPENED)
        numbers = {number for name in delivery.every if (number := self._number_of.get(name)) is not None}
        if len(self._open) == 1 and delivery.names:
            numbers |= self._open.keys()
        else:
            numbers.update(number for name in delivery.names if (number := self._number_of.get(name)) is not None)
        given = [delivered for number in numbers if (delivered := self._fresh(number, key, delivery)) is not None]
        if given:
            self._unacknowledged.setdefault(key, set()).update(delivered.number for delivered in given)
            if any(self._open[delivered.number].is_durable for delivered in given):
                self._kept[key] = delivery
            self._effects += map(Emit, given)
        elif key not in self._unacknowledged:
            self._acknowledged.append(key)
        if key not in self._early:
            self.acknowledge(NOT_OPENED, key)

    def _is_for_closed(self, delivery: DeliverBatch) -> bool:
        """Tell whether a delivery is for a durable subscription that is not open."""
        within = f"{self.identity:x}/{DURABLE}"
        return any(
            name.startswith(within) and name not in self._number_of for name in (*delivery.every, *delivery.names)
        )

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
        if len(events) > 1 and request.batch.size > MOST_BYTES:
            self._pack_batch(events[: len(events) // 2])
            self._pack_batch(events[len(events) // 2 :])
            return
        self._batches[self._sequence] = _InFlight(request, set())
        self._unsent.append(self._sequence)
        self._sequence += len(events)
        self._send_unsent()

    def _send_unsent(self) -> None:
        """Send what waits, as far as there is room on the way."""
        while self._unsent and self.is_attached:
            waiting = self._batches[self._unsent[0]]
            if not self._sending.has_room(waiting.request.batch.count):
                break
            self._send(self._unsent.popleft())

    def _send(self, first: int) -> None:
        waiting = self._batches[first]
        if not waiting.is_on_the_way:
            self._sending.on_the_way += waiting.request.batch.count
        waiting.sent = None if waiting.was_sent else self.now
        waiting.is_on_the_way = waiting.was_sent = True
        self._redelivery.sent(first, self.now)
        self._say(waiting.request)

    def _wait(self, patience: int) -> None:
        """Send again what is not accepted after so long, within bounds."""
        self._redelivery.patience = max(self._retry, min(patience, MOST_PATIENCE * self._retry))

    def _accepted(self, first: int, offsets: tuple[int, ...]) -> None:
        waiting = self._batches.get(first)
        if waiting is None:
            return
        waiting.accepted.update(offsets or range(waiting.request.batch.count))
        self._check_over(first, waiting)

    def _check_over(self, first: int, waiting: _InFlight) -> None:
        """End a batch of which each event is accepted or refused for good."""
        count = waiting.request.batch.count
        if len(waiting.accepted | waiting.refused) >= count:
            if waiting.sent is not None:
                self._wait(2 * (self.now - waiting.sent))
                self._sending.accepted(count, self.now - waiting.sent, self.now)
            self._over(first, count)
            if len(waiting.refused) < count:
                self._effects.append(Emit(BatchAccepted(first, count, tuple(sorted(waiting.refused)))))

    def _refused(self, first: int, reason: str, offsets: tuple[int, ...], *, final: bool) -> None:
        waiting = self._batches.get(first)
        if waiting is None:
            return
        count = waiting.request.batch.count
        if offsets:
            fresh = tuple(offset for offset in offsets if offset not in waiting.refused)
            waiting.refused.update(fresh)
            if fresh:
                self._effects.append(Emit(BatchRefused(first, count, reason, True, fresh)))
            self._check_over(first, waiting)
            return
        if final:
            self._over(first, count)
        self._effects.append(Emit(BatchRefused(first, count, reason, final)))

    def _over(self, first: int, count: int) -> None:
        if self._batches.pop(first).is_on_the_way:
            self._sending.on_the_way -= count
        else:  # accepted before it was sent to the present broker: by an earlier one
            self._unsent.remove(first)
        self._redelivery.acknowledged(first)
        self.in_flight -= count
        self._send_unsent()
