"""The writer's side of RTPS: push samples, say what there is, repair what is asked for (RTPS 2.5, 8.4.9).

Samples go out at once to every matched reader; to several that hear our group, and want every sample, once for all of
them. To a reliable reader all that are sent in one go are followed by one HEARTBEAT that lets the reader see a hole; it
needs no answer, unless much is unacknowledged. And as long as something is, a HEARTBEAT that does need an answer is
repeated, first after 100 ms and then ever more slowly. An ACKNACK moves the reader's mark and names what to repeat:
what the history still holds is sent again, what it does not hold, or what the reader is not entitled to, becomes a GAP.

What is written in one go is matched in one go with the filters that readers have (`sieve`), before it is sent. A reader
whose filter leaves a sample out gets a GAP for its number, when there is something else to say to it. A reader that has
everything is *level*: nothing is noted of it for a sample that is not for it, so a sample costs what those cost who
want it, however many readers there are.

A reader can also be matched with a choice of instances (`wants`): it is sent those alone, and the numbers of all
others are a GAP. Discovery does this: an endpoint that a peer has no use for is never described to it. When interest
appears later the instance is written again, under a new number; whoever has it already gets a GAP for that number too.

A reader that lost us while we noticed nothing begins again: it has nothing, but it may have believed such a GAP. So
what it was passed over for is written once more when it is seen to begin again, by asking for what it had confirmed.
For that a HEARTBEAT always offers it what it was offered first, even if nothing is left there and the answer is a GAP.

The repetition does not depend on there being samples: a reader that has never answered is asked again, because Cyclone
DDS takes a new participant in asynchronously and loses the HEARTBEAT that follows its first announcement.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from rookery.errors import WireFormatError
from rookery.rtps.context import ParticipantContext
from rookery.rtps.events import SampleKind
from rookery.rtps.history import Change, Choice, History
from rookery.rtps.identity import UNKNOWN_ENTITY, Guid, is_builtin
from rookery.rtps.parameters import Parameter, ParameterId
from rookery.rtps.peers import Destination
from rookery.rtps.sequences import SET_BITS, NumberSet
from rookery.rtps.submessages import (
    AckNack,
    Data,
    DataFragment,
    Gap,
    Heartbeat,
    NackFragment,
    encode_sample_data,
)

__all__ = ["FRAGMENT_BYTES", "ReaderProxy", "Sieve", "Writer", "is_newer"]

#: A larger sample goes out in fragments, each of which fits an Ethernet frame with all headers.
FRAGMENT_BYTES = 1_280
HEARTBEAT_PERIOD = 100_000
SLOWEST_HEARTBEAT = 1_600_000
#: How far a GAP looks beyond what was asked for: whoever missed one stretch will ask for the next.
_GAP_REACH = 4_096
#: Instances that are gone and have no pending disposal are forgotten when there are so many.
_SENT_SLACK = 64
#: An answer is asked for without delay when this part of what a history holds is unacknowledged.
_EAGER_PART = 4
#: So many participants that hear the group are sent a sample once.
_MANY = 3
#: The history is looked through after one acknowledgment or sample for each so many readers.
_READERS_EACH = 16


def is_newer(count: int, than: int | None) -> bool:
    """Say whether a 32-bit count is ahead of another, wrap-around included; duplicates are not."""
    return than is None or 0 < (count - than) & 0xFFFFFFFF < 0x80000000


class Sieve(Protocol):
    """The filters of a writer's readers."""

    def __len__(self) -> int:
        """Return how many there are."""

    def choices(self, payloads: Sequence[bytes]) -> list[Choice]:
        """Return who is to have each of some samples."""


@dataclass(slots=True)
class ReaderProxy:
    """What a writer knows of one matched reader."""

    guid: Guid
    destination: Destination
    reliable: bool
    start: int
    """The first number that the reader is entitled to."""
    acknowledged: int
    """Everything below has arrived."""
    answered: bool = False
    period: int = HEARTBEAT_PERIOD
    last_count: int | None = None
    last_fragment_count: int | None = None
    wants: Callable[[bytes], bool] | None = None
    """Which instances the reader is to hear of; None means all."""
    sent: dict[bytes, int] = field(default_factory=dict)
    """With `wants`: the instances that the reader was sent, and under which number."""
    confirmed: int = 0
    """The highest base of an ACKNACK."""
    group: Destination | None = None
    """Where the reader hears what goes to many at once."""
    skipped: int | None = None
    """The first of the latest numbers of which the reader has heard nothing, because they are not for it."""

    def is_for(self, change: Change) -> bool:
        """Say whether the reader is to have a change: it wants the instance and does not have it yet."""
        if self.wants is None:
            return change.readers.includes(self.guid)
        before = self.sent.get(change.instance)
        if change.kind is not SampleKind.ALIVE:
            return before is not None
        if before is not None and before != change.sequence and before < self.acknowledged:
            return False
        return self.wants(change.instance)

    def note(self, change: Change) -> None:
        """Remember that the reader was sent a change."""
        if self.wants is not None:
            self.sent[change.instance] = change.sequence


class Writer:
    """One local writer and the readers that it serves."""

    def __init__(
        self,
        guid: Guid,
        *,
        history: History,
        context: ParticipantContext,
        sieve: Sieve | None = None,
    ) -> None:
        self.guid = guid
        self._sieve = sieve
        #: What was written and is not matched with the filters yet, and when.
        self._waiting: list[Change] = []
        self._waiting_since = 0
        #: Reliable readers that have everything that was sent, whatever their proxies say.
        self._level: dict[Guid, ReaderProxy] = {}
        #: Who had a filter when something was sent last, and the readers that had none.
        self._filtered: frozenset[Guid] | None = None
        self._unfiltered: list[ReaderProxy] = []
        self._since_collected = 0
        self.history = history
        self.readers: dict[Guid, ReaderProxy] = {}
        self._context = context
        self._heartbeat_count = 0
        #: Whether what follows is so of the readers of this moment.
        self._is_noted = True
        #: Whether every reader gets every sample; who is reliable of them, and where they are.
        self._is_plain = True
        self._reliable: dict[Guid, ReaderProxy] = {}
        self._destinations: tuple[Destination, ...] = ()
        #: Of the reliable ones, those that are reached through the group.
        self._in_group: dict[Guid, ReaderProxy] = {}
        #: Who is to have a HEARTBEAT about what was written since the last one was sent, and when that was written.
        self._unsaid: dict[Guid, ReaderProxy] = {}
        self._written = 0
        self._entities = struct.pack(">II", UNKNOWN_ENTITY, guid.entity)
        # Builtin data are never fragmented: Cyclone DDS refuses that.
        self._fragment_bytes = FRAGMENT_BYTES if not is_builtin(guid.entity) else 1 << 16

    def match(
        self,
        reader: Guid,
        *,
        destination: Destination,
        reliable: bool,
        with_history: bool,
        now: int,
        wants: Callable[[bytes], bool] | None = None,
        push: bool = False,
        group: Destination | None = None,
    ) -> None:
        """Begin to serve a reader, with what was written before or without.

        With `wants` it gets the instances of its choice; with `push` it gets the history at once, unasked.
        """
        self.distribute()
        start = self.history.first if with_history else self.history.last + 1
        proxy = ReaderProxy(reader, destination, reliable, start, start, wants=wants, group=group)
        self._forget(reader)
        self.readers[reader] = proxy
        if reliable:
            if push:
                self._push(proxy)
            self._send_heartbeat(proxy, final=False)
            self._expect_answer(proxy, now)

    def unmatch(self, reader: Guid) -> None:
        """Stop serving a reader."""
        if reader in self.readers:
            self.distribute()
            del self.readers[reader]
            self._forget(reader)
            self._context.deadlines.cancel(self._timer_of(reader))
            self._collect()

    def close(self) -> None:
        """Stop serving everyone."""
        for reader in tuple(self.readers):
            self.unmatch(reader)

    @property
    def acknowledged(self) -> bool:
        """Whether every reliable reader has everything."""
        self.distribute()
        last = self.history.last
        return all(
            proxy.acknowledged > last or proxy.guid in self._level for proxy in self.readers.values() if proxy.reliable
        )

    @property
    def has_room(self) -> bool:
        """Whether the history takes another change."""
        if not self.history.has_room:
            self.distribute()
            self._collect()
        return self.history.has_room

    def write(
        self,
        kind: SampleKind,
        instance: bytes,
        payload: bytes,
        *,
        timestamp: int | None,
        now: int,
    ) -> Change:
        """Send a change to everyone who wants it, and keep it as long as the history says."""
        _ = self.has_room  # made, where it can be
        change = self.history.add(kind, instance, payload, timestamp)
        if self._sieve and kind is SampleKind.ALIVE:
            if not self._waiting:
                self._context.outbox.follow(self.distribute)
            self._waiting.append(change)
            self._waiting_since = now
            return change
        self.distribute()
        self._send(change, now)
        return change

    def assert_liveliness(self) -> None:
        """Let every reader know, without a sample, that this writer is alive."""
        self.distribute()
        for proxy in self.readers.values():
            self._send_heartbeat(proxy, final=True, liveliness=True)

    def distribute(self) -> None:
        """Send what was written to those whose filters want it: before filters or readers change, at the latest."""
        if not self._waiting or self._sieve is None:
            return
        waiting, self._waiting = self._waiting, []
        for change, choice in zip(waiting, self._sieve.choices([one.payload for one in waiting]), strict=True):
            self._send(self.history.choose(change, choice) if choice.filtered else change, self._waiting_since)

    def _send(self, change: Change, now: int) -> None:
        if not self._is_noted:
            self._note_readers(change.sequence)
        if change.readers.filtered:
            served = self._wanting(change)
            self._is_plain = False
        else:
            for proxy in self._level.values():
                self._settle(proxy, change.sequence)
            self._level.clear()
            self._filtered = None
            if self._is_plain:
                if self._destinations:
                    self._send_to_all(change, now)
                if not self._reliable:
                    self._collect()
                return
            served = [proxy for proxy in self.readers.values() if self._serves(proxy, change)]
        for destination in dict.fromkeys(proxy.destination for proxy in served):
            self._send_change(change, destination, UNKNOWN_ENTITY)
        for proxy in served:
            proxy.note(change)
            if proxy.reliable:
                self._say_soon({proxy.guid: proxy}, now)
        if not change.readers.filtered:
            self._is_plain = all(proxy.wants is None and proxy.skipped is None for proxy in self.readers.values())
        self._collect_at_times()

    def _wanting(self, change: Change) -> list[ReaderProxy]:
        """Return the readers that a change is for, made ready for it; nobody else is looked at."""
        if change.readers.filtered is not self._filtered:
            self._filtered = change.readers.filtered
            self._unfiltered = [proxy for proxy in self.readers.values() if proxy.guid not in self._filtered]
            for proxy in self.readers.values():
                if proxy.reliable and proxy.acknowledged == change.sequence:
                    self._level[proxy.guid] = proxy
        wanting = [self.readers[guid] for guid in change.readers.wanted if guid in self.readers]
        wanting += self._unfiltered
        for proxy in wanting:
            if self._level.pop(proxy.guid, None) is not None:
                self._settle(proxy, change.sequence)
            if proxy.skipped is not None:
                self._send_gap(proxy, proxy.skipped, NumberSet(change.sequence))
        return wanting

    @staticmethod
    def _settle(proxy: ReaderProxy, end: int) -> None:
        """Note of a level reader that it has everything below a number, and what it was not told about."""
        if proxy.acknowledged < end:
            proxy.skipped = proxy.skipped or proxy.acknowledged
            proxy.acknowledged = end

    def receive_acknack(self, reader: Guid, message: AckNack, now: int) -> None:
        """Take a reader's account of what it has and send what it lacks."""
        self.distribute()
        proxy = self.readers.get(reader)
        if proxy is None or not proxy.reliable:
            return
        if reader in self._level:
            self._settle(proxy, self.history.last + 1)
        if not is_newer(message.count, proxy.last_count):
            self._context.counters["stale_acknack"] += 1
            return
        if message.missing.base > self.history.last + 1:
            raise WireFormatError(f"an acknowledgment up to {message.missing.base}, {self.history.last} written")
        proxy.last_count = message.count
        proxy.answered = True
        proxy.period = HEARTBEAT_PERIOD
        begins_again = message.missing.base < proxy.confirmed
        proxy.confirmed = message.missing.base
        if begins_again:
            self._begin_again(proxy, now)
        if message.missing.base > proxy.acknowledged:
            proxy.acknowledged = message.missing.base
            self._collect_at_times()
        complete = self._resend(proxy, message.missing)
        if not complete:
            self._send_heartbeat(proxy, final=False)
        elif not message.final:
            # The reader waits for an answer: it may be asking where to begin.
            self._send_heartbeat(proxy, final=True)
        if proxy.acknowledged > self.history.last:
            self._context.deadlines.cancel(self._timer_of(reader))
            if self._sieve:
                self._level[reader] = proxy
            if len(proxy.sent) > _SENT_SLACK + 2 * len(self.history):
                proxy.sent = {each: number for each, number in proxy.sent.items() if self.history.holds(each)}
        else:
            self._expect_answer(proxy, now)

    def receive_nack_fragment(self, reader: Guid, message: NackFragment, now: int) -> None:
        """Send single fragments again."""
        proxy = self.readers.get(reader)
        if proxy is None or not proxy.reliable:
            return
        if not is_newer(message.count, proxy.last_fragment_count):
            self._context.counters["stale_nack_fragment"] += 1
            return
        proxy.last_fragment_count = message.count
        change = self.history.get(message.sequence)
        if change is None or change.sequence < proxy.start:
            self._send_gaps(proxy, [message.sequence])
            return
        count = -(-len(change.payload) // self._fragment_bytes)
        self._send_fragments(change, (n for n in message.missing if 1 <= n <= count), proxy.destination, reader.entity)

    def _begin_again(self, proxy: ReaderProxy, now: int) -> None:
        """Take note that a reader forgot us, and write again what a GAP may have kept from it."""
        proxy.acknowledged = proxy.confirmed
        self._level.pop(proxy.guid, None)
        for change in self.history if proxy.sent else ():
            # It asks for what has the number under which it was sent; any other number may be void for it by now.
            if change.kind is SampleKind.ALIVE and proxy.sent.get(change.instance, change.sequence) != change.sequence:
                del proxy.sent[change.instance]
                self.write(change.kind, change.instance, change.payload, timestamp=change.timestamp, now=now)

    def _resend(self, proxy: ReaderProxy, wanted: NumberSet) -> bool:
        """Send what is wanted, as far as one answer may go; say whether that was all."""
        size = 0
        complete = True
        gone: list[int] = []
        for sequence in wanted:
            if sequence > self.history.last:
                break
            change = self.history.get(sequence)
            if change is None or sequence < proxy.start or not proxy.is_for(change):
                gone.append(sequence)
                continue
            if size and size + len(change.payload) > self._context.limits.resend_bytes:
                self._context.counters["resend_bytes"] += 1
                complete = False
                break
            size += len(change.payload)
            self._context.counters["resent"] += 1
            proxy.note(change)
            self._send_change(change, proxy.destination, proxy.guid.entity)
        self._send_gaps(proxy, gone)
        return complete

    def _send_to_all(self, change: Change, now: int) -> None:
        """Send a change to readers that all get every one."""
        payload = change.payload
        if change.kind is SampleKind.ALIVE and len(payload) <= self._fragment_bytes:
            octets = encode_sample_data(self._entities, change.sequence, payload)
            for destination in self._destinations:
                self._context.outbox.add_octets(destination, octets, change.timestamp)
        else:
            for destination in self._destinations:
                self._send_change(change, destination, UNKNOWN_ENTITY)
        if len(self._unsaid) < len(self._reliable):
            self._say_soon(self._reliable, now)

    def _say_soon(self, proxies: dict[Guid, ReaderProxy], now: int) -> None:
        """Let readers have one HEARTBEAT about all that is written until the next datagrams go out."""
        if not self._unsaid:
            self._context.outbox.follow(self._say_what_there_is)
            self._written = now
        self._unsaid |= proxies

    def _say_what_there_is(self) -> None:
        unsaid, self._unsaid = self._unsaid, {}
        if self._in_group and self._in_group.keys() <= unsaid.keys():
            self._say_to_group(unsaid)
        for proxy in unsaid.values():
            if proxy.guid in self._level:
                self._settle(proxy, self.history.last + 1)
            behind = self.history.last - proxy.acknowledged
            self._send_heartbeat(proxy, final=behind * _EAGER_PART < self._context.limits.history_samples)
            self._expect_answer(proxy, self._written)

    def _say_to_group(self, unsaid: dict[Guid, ReaderProxy]) -> None:
        """Let one HEARTBEAT speak to all who are reached through the group, if it is true of all."""
        proxies = self._in_group.values()
        if max(proxy.start for proxy in proxies) > self.history.first:
            return
        behind = self.history.last - min(proxy.acknowledged for proxy in proxies)
        self._heartbeat_count += 1
        final = behind * _EAGER_PART < self._context.limits.history_samples
        heartbeat = Heartbeat(
            UNKNOWN_ENTITY, self.guid.entity, self.history.first, self.history.last, self._heartbeat_count, final
        )
        group = next(iter(proxies)).group
        if group is not None:
            self._context.outbox.add(group, heartbeat)
            for proxy in proxies:
                del unsaid[proxy.guid]
                self._expect_answer(proxy, self._written)

    def _forget(self, changed: Guid) -> None:
        """Forget what rests on who the readers are, before one comes or after one went."""
        self._is_noted = False
        self._unsaid.pop(changed, None)
        self._level.pop(changed, None)

    def _note_readers(self, sequence: int) -> None:
        """See who gets every sample, from the next one on."""
        for proxy in self._level.values():
            self._settle(proxy, sequence)
        self._is_noted, self._filtered = True, None
        proxies = self.readers.values()
        self._reliable = {proxy.guid: proxy for proxy in proxies if proxy.reliable}
        heard = {proxy.destination for proxy in proxies if proxy.group is not None}
        reached = [proxy.group if len(heard) >= _MANY and proxy.group else proxy.destination for proxy in proxies]
        self._destinations = tuple(dict.fromkeys(reached))
        self._in_group = {}
        if len(heard) >= _MANY:
            self._in_group = {guid: proxy for guid, proxy in self._reliable.items() if proxy.group is not None}
        self._is_plain = all(proxy.wants is None and proxy.skipped is None for proxy in proxies)

    def _serves(self, proxy: ReaderProxy, change: Change) -> bool:
        """Say whether a new change goes to a reader; if not, nothing is said until there is something to say."""
        if proxy.is_for(change):
            if proxy.skipped is not None:
                self._send_gap(proxy, proxy.skipped, NumberSet(change.sequence))
            return True
        if proxy.acknowledged == change.sequence:
            proxy.acknowledged += 1
            proxy.skipped = proxy.skipped or change.sequence
        return False

    def _push(self, proxy: ReaderProxy) -> None:
        """Send everything that a reader is to have, and a GAP for each stretch between."""
        wanted = [change for change in self.history if change.sequence >= proxy.start and proxy.is_for(change)]
        proxy.start = wanted[0].sequence if wanted else self.history.last + 1
        proxy.acknowledged = expected = proxy.start
        for change in wanted:
            if change.sequence > expected:
                self._send_gap(proxy, expected, NumberSet(change.sequence))
            proxy.note(change)
            self._send_change(change, proxy.destination, proxy.guid.entity)
            expected = change.sequence + 1
        if wanted and expected <= self.history.last:
            self._send_gap(proxy, expected, NumberSet(self.history.last + 1))

    def _send_gaps(self, proxy: ReaderProxy, gone: list[int]) -> None:
        """Say what will not come: a stretch and the bitmap behind it, as often as needed."""
        # Everything below the history, or below what the reader is entitled to, is gone: one range says it all.
        floor = min(max(self.history.first, proxy.start), self.history.last + 1)
        while gone:
            start = gone[0]
            end = self._end_of_stretch(proxy, max(start + 1, floor))
            rest = NumberSet.of((number for number in gone if number >= end), base=end)
            self._send_gap(proxy, start, rest)
            gone = [number for number in gone if number >= end + SET_BITS]

    def _end_of_stretch(self, proxy: ReaderProxy, end: int) -> int:
        """Return the next number from `end` on that the reader is to have."""
        limit = min(self.history.last, end + _GAP_REACH)
        while end <= limit and ((change := self.history.get(end)) is None or not proxy.is_for(change)):
            end += 1
        return end

    def _send_gap(self, proxy: ReaderProxy, start: int, rest: NumberSet) -> None:
        proxy.skipped = None
        self._context.outbox.add(proxy.destination, Gap(proxy.guid.entity, self.guid.entity, start, rest))

    def _send_change(self, change: Change, destination: Destination, reader: int) -> None:
        if len(change.payload) > self._fragment_bytes:
            count = -(-len(change.payload) // self._fragment_bytes)
            self._send_fragments(change, range(1, count + 1), destination, reader)
            return
        key_only = change.kind is not SampleKind.ALIVE
        data = Data(reader, self.guid.entity, change.sequence, change.payload, key_only, _inline(change))
        self._context.outbox.add(destination, data, timestamp=change.timestamp)

    def _send_fragments(self, change: Change, numbers: Iterable[int], destination: Destination, reader: int) -> None:
        size, total = self._fragment_bytes, len(change.payload)
        inline, key_only = _inline(change), change.kind is not SampleKind.ALIVE
        for number in numbers:
            octets = change.payload[(number - 1) * size : number * size]
            fragment = DataFragment(
                reader, self.guid.entity, change.sequence, number, 1, size, total, octets, key_only, inline
            )
            self._context.outbox.add(destination, fragment, timestamp=change.timestamp)

    def _send_heartbeat(self, proxy: ReaderProxy, *, final: bool, liveliness: bool = False) -> None:
        self._heartbeat_count += 1
        first = max(self.history.first, proxy.start)
        if proxy.wants is not None and proxy.confirmed > proxy.start:
            first = proxy.start  # a reader that begins again is to show it by asking from there
        heartbeat = Heartbeat(
            proxy.guid.entity, self.guid.entity, first, self.history.last, self._heartbeat_count, final, liveliness
        )
        self._context.outbox.add(proxy.destination, heartbeat)

    def _timer_of(self, reader: Guid) -> tuple[str, int, Guid]:
        return ("heartbeat", self.guid.entity, reader)

    def _expect_answer(self, proxy: ReaderProxy, now: int) -> None:
        """Ask again after a while, unless that is planned already."""

        def ask(then: int) -> None:
            self.distribute()
            if proxy.guid in self._level:
                self._settle(proxy, self.history.last + 1)
            if proxy.answered and proxy.acknowledged > self.history.last:
                return
            self._send_heartbeat(proxy, final=False)
            proxy.period = min(2 * proxy.period, SLOWEST_HEARTBEAT)
            self._context.deadlines.arm(self._timer_of(proxy.guid), then + proxy.period, ask)

        self._context.deadlines.arm_sooner(self._timer_of(proxy.guid), now + proxy.period, ask)

    def _collect_at_times(self) -> None:
        """Let go of what everybody has, now and then where that takes a look at many readers."""
        self._since_collected += 1
        if self._since_collected * _READERS_EACH >= len(self.readers):
            self._collect()

    def _collect(self) -> None:
        self._since_collected = 0
        reliable = [
            proxy.acknowledged for proxy in self.readers.values() if proxy.reliable and proxy.guid not in self._level
        ]
        self.history.acknowledged_before(min(reliable, default=self.history.last + 1))


def _inline(change: Change) -> tuple[Parameter, ...]:
    if change.kind is SampleKind.ALIVE:
        return ()
    parameters = [Parameter(ParameterId.STATUS, bytes((0, 0, 0, change.kind)))]
    if len(change.instance) == 16:
        parameters.insert(0, Parameter(ParameterId.KEY_HASH, change.instance))
    return tuple(parameters)
