"""The reader's side of RTPS: take samples in order, see holes, ask for what is missing (RTPS 2.5, 8.4.12).

From a best-effort writer a sample is delivered unless a later one was. From a reliable writer samples are delivered
in order: a sample ahead of its turn waits in a window above the next expected number, and a HEARTBEAT shows what is
missing below; `repair` says when to ask for it. Ranges are never walked: a HEARTBEAT or GAP that spans 2⁶² numbers
costs as much as one that spans two.

Where to begin is the writer's to say: a reliable reader holds what arrives until the first HEARTBEAT, and asks for one.
A volatile reader begins with the first number that the writer offers to it. A volatile reader of a transient-local
writer must not be given the past, and Cyclone DDS gives it on request; so such a reader begins with the first sample
that came by itself, or after the first HEARTBEAT: whatever is pushed to it was written after the match.

A writer that is lost and found again is the same writer: the reader goes on behind what it has delivered, so that
nothing is delivered twice. That holds where a writer's name is never used again (`is_unique`), as our own prefixes are
random; a writer of another vendor may have begun anew under its old name, and is taken in from the beginning.

A reader usually acknowledges what it has delivered. One that acknowledges *when kept* leaves that to its
owner, who says through `keep` what is safe: until then the writer must hold the samples, whatever happens here. With
`most_unkept` it takes no more of a writer than so many beyond what is safe, and asks for the rest when there is room.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec

from rookery.errors import WireFormatError
from rookery.rtps.context import ParticipantContext
from rookery.rtps.events import SampleKind
from rookery.rtps.fragments import Reassembly
from rookery.rtps.identity import Guid
from rookery.rtps.keeping import Keeping
from rookery.rtps.parameters import Parameter, ParameterId
from rookery.rtps.peers import Destination
from rookery.rtps.repair import NACK_DELAY, Repairs
from rookery.rtps.sequences import SET_BITS, NumberSet
from rookery.rtps.submessages import AckNack, Data, DataFragment, Gap, Heartbeat, NackFragment
from rookery.rtps.writer import is_newer

__all__ = ["Reader", "Received", "WriterProxy"]

#: How often a writer that has not said where to begin is asked, at first; then ever more slowly.
FIRST_ASK_PERIOD = 100_000
SLOWEST_ASK = 1_600_000
#: How long an answer that a HEARTBEAT asks for may wait; less than what a writer takes for silence.
LONGEST_WAIT = 50_000
_KEPT_COST = 256
#: Unfinished samples whose fragments are asked for in one answer.
_FRAGMENT_REQUESTS = 8


class Received(msgspec.Struct, frozen=True, gc=False):
    """One change of a remote writer."""

    sequence: int
    kind: SampleKind
    payload: bytes
    timestamp: int | None
    key_hash: bytes | None


@dataclass(slots=True)
class WriterProxy:
    """What a reader knows of one matched writer. `held` maps a number to its sample, or to None for a gap."""

    guid: Guid
    destination: Destination
    reliable: bool
    from_first: bool
    """Whether the reader takes everything that the writer still has."""
    fragments: Reassembly
    pushed_from: int | None = None
    """The first number that came by itself, before this writer was known."""
    is_unique: bool = False
    """Whether no other writer will ever have this name."""
    next: int = 1
    last: int = 0
    begun: bool = False
    held: dict[int, Received | None] = field(default_factory=dict)
    held_bytes: int = 0
    last_heartbeat: int | None = None
    period: int = FIRST_ASK_PERIOD
    repairs: Repairs = field(default_factory=Repairs)


class Reader:
    """One local reader and the writers that it listens to."""

    def __init__(
        self,
        guid: Guid,
        *,
        deliver: Callable[[Guid, Received, int], None],
        context: ParticipantContext,
        acknowledge_when_kept: bool = False,
        kept: Mapping[Guid, int] | None = None,
        most_unkept: int | None = None,
    ) -> None:
        self.guid = guid
        self._most_unkept = most_unkept
        self.writers: dict[Guid, WriterProxy] = {}
        self._keeping = Keeping(kept or {}) if acknowledge_when_kept else None
        self._owner_deliver = deliver
        #: Of writers that are lost, the number behind what was delivered.
        self._tombstones: dict[Guid, int] = {}
        self._context = context
        # One count for all writers and for the reader's whole life: a writer that is forgotten and found again still
        # remembers the last count that it saw and would take a fresh start for old news.
        self._answer_count = 0

    def match(
        self,
        writer: Guid,
        *,
        destination: Destination,
        reliable: bool,
        from_first: bool,
        now: int,
        expected: bool = False,
        pushed_from: int | None = None,
        is_unique: bool = False,
    ) -> None:
        """Begin to listen to a writer; `reliable` if both sides are.

        With `expected` its HEARTBEAT is on the way already, and it is asked for one only if none comes. `pushed_from`
        is the first number that came from it before it was known here, and `is_unique` says that the name is its alone.
        """
        proxy = WriterProxy(writer, destination, reliable, from_first, Reassembly(self._context), pushed_from)
        proxy.is_unique, proxy.next = is_unique, self._tombstones.pop(writer, 1)
        following = None if self._keeping is None else self._keeping.next_of(writer)
        if following is not None:
            proxy.next, proxy.from_first = following, True
        self.writers[writer] = proxy
        if reliable:
            self._ask_where_to_begin(proxy, now, expected=expected)

    def unmatch(self, writer: Guid) -> None:
        """Stop listening to a writer."""
        proxy = self.writers.pop(writer, None)
        if proxy is not None:
            proxy.fragments.clear()
            if proxy.is_unique and proxy.next > 1:
                self._tombstones[writer] = proxy.next
                if len(self._tombstones) > self._context.limits.participants:
                    del self._tombstones[next(iter(self._tombstones))]
            self._context.deadlines.cancel(("begin", self.guid.entity, writer))
            self._context.deadlines.cancel(("nack", self.guid.entity, writer))

    def keep(self, writer: Guid, *, through: int, now: int) -> None:
        """Take the owner's word that everything up to a number is safe, and acknowledge it."""
        proxy = self.writers.get(writer)
        if self._keeping is not None and self._keeping.keep(writer, through) and proxy is not None and proxy.reliable:
            self._answer(proxy, now, requested=True)

    def close(self) -> None:
        """Stop listening to everyone."""
        for writer in tuple(self.writers):
            self.unmatch(writer)

    def receive_data(self, writer: Guid, message: Data, *, timestamp: int | None, now: int) -> None:
        """Take a whole sample in."""
        proxy = self.writers.get(writer)
        if proxy is None:
            return
        if message.payload is not None and len(message.payload) > self._context.limits.sample_bytes:
            self._context.counters["sample_bytes"] += 1
            raise WireFormatError(f"a sample of {len(message.payload)} bytes")
        received = _received(message, message.payload, timestamp)
        if received is not None and self._is_next(proxy, message.sequence):
            # The usual case: in turn, nothing is missing, nothing was asked for. What `_accept` would note is undone by
            # what it would do next.
            proxy.next = message.sequence + 1
            proxy.last = message.sequence
            self._deliver(proxy, received, now)
            return
        self._accept(proxy, message.sequence, received, now)

    def receive_fragment(self, writer: Guid, message: DataFragment, *, timestamp: int | None, now: int) -> None:
        """Take a part of a sample in."""
        proxy = self.writers.get(writer)
        if proxy is None or not self._is_wanted(proxy, message.sequence):
            return
        payload = proxy.fragments.add(message)
        if payload is not None:
            self._accept(proxy, message.sequence, _received(message, payload, timestamp), now)
        elif proxy.reliable:
            proxy.last = max(proxy.last, message.sequence)
            proxy.repairs.saw(proxy.last, now)
            proxy.repairs.progressed(message.sequence, now)
            self._look_for_missing(proxy, now)

    def receive_heartbeat(self, writer: Guid, message: Heartbeat, now: int) -> None:
        """Learn what the writer has, and answer if that is asked for or something is missing."""
        proxy = self.writers.get(writer)
        if proxy is None or not proxy.reliable:
            return
        if not is_newer(message.count, proxy.last_heartbeat):
            self._context.counters["stale_heartbeat"] += 1
            return
        proxy.last_heartbeat = message.count
        proxy.last = max(proxy.last, message.last)
        proxy.repairs.heard()
        if proxy.begun or message.final:
            proxy.repairs.saw(proxy.last, now)
        else:
            proxy.repairs.begin(proxy.last, now)
        if not proxy.begun:
            self._begin(proxy, message, now)
        if message.first > proxy.next:
            self._context.counters["lost"] += message.first - proxy.next
            self._advance_to(proxy, message.first, now)
        if not message.final:
            # What waits to be kept will be acknowledged when it is: until then there is nothing to say.
            self._answer(proxy, now, requested=self._keeping is None or not self._keeping.waits(writer))
        else:
            self._look_for_missing(proxy, now)

    def receive_gap(self, writer: Guid, message: Gap, now: int) -> None:
        """Learn what will never come."""
        proxy = self.writers.get(writer)
        if proxy is None or not proxy.reliable:
            return
        end = message.rest.base
        if message.start <= proxy.next < end:
            self._advance_to(proxy, end, now)
        else:
            window_end = proxy.next + self._context.limits.reorder_window
            for number in range(max(message.start, proxy.next), min(end, window_end)):
                proxy.held.setdefault(number, None)
        for number in message.rest:
            if proxy.next <= number < proxy.next + self._context.limits.reorder_window:
                proxy.held.setdefault(number, None)
        if proxy.begun:
            self._drain(proxy, now)
            self._look_for_missing(proxy, now)

    def _is_next(self, proxy: WriterProxy, sequence: int) -> bool:
        """Say whether a sample of a reliable writer is the one expected, and nothing else is."""
        return (
            sequence == proxy.next
            and sequence > proxy.last
            and proxy.begun
            and proxy.reliable
            and not proxy.held
            and not proxy.fragments
            and proxy.repairs.is_idle
            and not (self._most_unkept is not None and self._is_too_far(proxy, sequence))
        )

    def _is_wanted(self, proxy: WriterProxy, sequence: int) -> bool:
        if sequence < proxy.next or sequence in proxy.held:
            self._context.counters["duplicate"] += 1
            proxy.repairs.repeated(sequence)
            return False
        if proxy.reliable and proxy.begun and sequence >= proxy.next + self._context.limits.reorder_window:
            self._context.counters["reorder_window"] += 1
            return False
        if self._is_too_far(proxy, sequence):
            self._context.counters["unkept"] += 1
            return False
        return True

    def _is_too_far(self, proxy: WriterProxy, sequence: int) -> bool:
        """Say whether a sample has to wait at its writer until the owner has kept others."""
        if self._most_unkept is None or self._keeping is None or not proxy.begun:
            return False
        return sequence >= self._keeping.acknowledged(proxy.guid, proxy.next) + self._most_unkept

    def _accept(self, proxy: WriterProxy, sequence: int, received: Received | None, now: int) -> None:
        if not self._is_wanted(proxy, sequence):
            return
        proxy.last = max(proxy.last, sequence)
        if not proxy.reliable:
            proxy.next = sequence + 1
            proxy.fragments.discard_below(sequence)
            if received is not None:
                self._deliver(proxy, received, now)
            return
        proxy.repairs.saw(proxy.last, now)
        proxy.repairs.arrived(sequence, now)
        proxy.fragments.discard(sequence)
        if proxy.begun and sequence == proxy.next:
            proxy.next += 1
            if received is not None:
                self._deliver(proxy, received, now)
            self._drain(proxy, now)
            self._look_for_missing(proxy, now)
            return
        size = _KEPT_COST + (len(received.payload) if received is not None else 0)
        full = len(proxy.held) >= self._context.limits.reorder_window
        if full or proxy.held_bytes + size > self._context.limits.reorder_bytes:
            self._context.counters["reorder_window" if full else "reorder_bytes"] += 1
            return
        proxy.held[sequence] = received
        proxy.held_bytes += size
        self._look_for_missing(proxy, now)

    def _deliver(self, proxy: WriterProxy, received: Received, now: int) -> None:
        if self._keeping is not None:
            self._keeping.deliver(proxy.guid, received.sequence)
        self._owner_deliver(proxy.guid, received, now)

    def _begin(self, proxy: WriterProxy, message: Heartbeat, now: int) -> None:
        proxy.begun = True
        self._context.deadlines.cancel(("begin", self.guid.entity, proxy.guid))
        if proxy.from_first:
            begin = message.first
        else:
            pushed = [number for number, received in proxy.held.items() if received is not None]
            if proxy.pushed_from is not None:
                pushed.append(proxy.pushed_from)
            begin = max(min([message.last + 1, *pushed]), message.first)
        # A GAP may have said more already.
        self._advance_to(proxy, max(begin, proxy.next), now)

    def _advance_to(self, proxy: WriterProxy, number: int, now: int) -> None:
        """Give up everything below `number` that has not come, but deliver, in order, what has."""
        for sequence in sorted(held for held in proxy.held if held < number):
            self._release(proxy, sequence, now)
        proxy.next = max(proxy.next, number)
        proxy.fragments.discard_below(number)
        self._drain(proxy, now)

    def _drain(self, proxy: WriterProxy, now: int) -> None:
        while proxy.next in proxy.held:
            proxy.next += 1
            self._release(proxy, proxy.next - 1, now)
        proxy.repairs.forget_below(proxy.next)

    def _release(self, proxy: WriterProxy, sequence: int, now: int) -> None:
        received = proxy.held.pop(sequence)
        if received is not None:
            proxy.held_bytes -= _KEPT_COST + len(received.payload)
            self._deliver(proxy, received, now)

    def _look_for_missing(self, proxy: WriterProxy, now: int) -> None:
        """See to it that what is missing is asked for when the time has come, whatever the writer does."""
        name = ("nack", self.guid.entity, proxy.guid)
        if proxy.begun and proxy.next <= proxy.last and name not in self._context.deadlines:
            self._answer(proxy, now, requested=False)

    def _answer(self, proxy: WriterProxy, now: int, *, requested: bool) -> None:
        """Acknowledge what may be and ask for what is missing and due; say nothing new only if it is `requested`."""
        name = ("nack", self.guid.entity, proxy.guid)
        self._context.deadlines.cancel(name)
        # The set begins with what is acknowledged and spans 256 numbers, so nothing beyond can be asked for.
        base = proxy.next if self._keeping is None else self._keeping.acknowledged(proxy.guid, proxy.next)
        window = range(proxy.next, min(proxy.last + 1, base + SET_BITS)) if proxy.begun else range(0)
        due, later = proxy.repairs.due((number for number in window if number not in proxy.held), now)
        partial = [number for number in due if number in proxy.fragments][:_FRAGMENT_REQUESTS]
        whole = [number for number in due if number not in proxy.fragments]
        proxy.repairs.ask((*whole, *partial), now)
        if len(whole) + len(partial) < len(due):
            later = now + NACK_DELAY
        elif due:
            again = now + proxy.repairs.patience
            later = again if later is None else min(again, later)
        # An answer that will have something to ask soon waits for it: one ACKNACK instead of two.
        waits = requested and not due and later is not None and later <= now + LONGEST_WAIT
        if later is not None:
            self._context.deadlines.arm(name, later, lambda then: self._answer(proxy, then, requested=waits))
        if waits or not (due or requested):
            return
        self._answer_count += 1
        wanted = NumberSet.of(whole, base=base)
        acknack = AckNack(self.guid.entity, proxy.guid.entity, wanted, self._answer_count, final=True)
        self._context.outbox.add(proxy.destination, acknack)
        for sequence in partial:
            self._answer_count += 1
            pieces = proxy.fragments.missing(sequence)
            request = NackFragment(self.guid.entity, proxy.guid.entity, sequence, pieces, self._answer_count)
            self._context.outbox.add(proxy.destination, request)

    def _ask_where_to_begin(self, proxy: WriterProxy, now: int, *, expected: bool) -> None:
        """Send an ACKNACK that acknowledges nothing and wants an answer, until a HEARTBEAT comes."""

        def ask(then: int) -> None:
            self._answer_count += 1
            nothing = NumberSet(1)
            acknack = AckNack(self.guid.entity, proxy.guid.entity, nothing, self._answer_count, final=False)
            self._context.outbox.add(proxy.destination, acknack)
            self._context.deadlines.arm(("begin", self.guid.entity, proxy.guid), then + proxy.period, ask)
            proxy.period = min(2 * proxy.period, SLOWEST_ASK)

        if expected:
            self._context.deadlines.arm(("begin", self.guid.entity, proxy.guid), now + proxy.period, ask)
        else:
            ask(now)


def _received(message: Data | DataFragment, payload: bytes | None, timestamp: int | None) -> Received | None:
    """Return the change that a submessage carries; None when it carries nothing for anyone."""
    if not message.inline and not message.key_only:
        return None if payload is None else Received(message.sequence, SampleKind.ALIVE, payload, timestamp, None)
    status = 0
    key_hash: bytes | None = None
    for parameter in message.inline:
        if parameter.id == ParameterId.STATUS:
            status = _octets(parameter, 4)[3] & 3
        elif parameter.id == ParameterId.KEY_HASH:
            key_hash = _octets(parameter, 16)
    kind = SampleKind(status)
    if payload is None and (kind is SampleKind.ALIVE or key_hash is None):
        return None
    if message.key_only and kind is SampleKind.ALIVE:
        return None
    return Received(message.sequence, kind, payload or b"", timestamp, key_hash)


def _octets(parameter: Parameter, count: int) -> bytes:
    if len(parameter.value) < count:
        raise WireFormatError(f"inline parameter 0x{parameter.id:04x} of {len(parameter.value)} octets")
    return parameter.value[:count]
