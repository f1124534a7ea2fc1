"""Histories of a DDS domain: participants write, crash, come back and are cut off; who lives at the end has everything.

A history is a function of its seed. Every participant writes a topic of its own, reliably and for late readers, and
reads some of the others'. The network loses, doubles and reorders; participants crash or leave, and come back at the
same address as somebody new; links are cut in one direction or both, for shorter or longer than a lease.

The oracle knows what was written. At the end each reader has of each writer that lives every sample, once and in order;
of a writer that is gone it has the first ones, once and in order.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.histories import Faults

from rookery.rtps import Durability, Guid, QualityOfService, Reliability
from rookery.rtps.events import MessageRejected, SampleReceived
from rookery.simulated.domain import SimulatedNetwork, SimulatedParticipant, conditions_between

__all__ = ["BAD", "History"]

SECOND = 1_000_000
BAD = conditions_between(100, 30_000, loss=0.2, duplication=0.2)
LASTING = QualityOfService(reliability=Reliability.RELIABLE, durability=Durability.TRANSIENT_LOCAL, history_depth=None)
#: Silence of a dozen periods is no accident, even where a fifth is lost.
PERIOD, LEASE = SECOND // 2, 6 * SECOND


@dataclass(slots=True)
class Actor:
    """A participant, what it has, and how many samples it has written."""

    member: SimulatedParticipant
    place: int
    writer: Guid
    readers: dict[Guid, int]
    """Its readers, and the place whose topic each reads."""
    written: int = 0


class History:
    """One domain under the faults of one seed."""

    def __init__(self, seed: int, *, discovery: str, faults: Faults, events: int = 25) -> None:
        self.faults = faults
        self.random = Random(f"history {seed}")
        self.network = SimulatedNetwork(seed, BAD)
        self.discovery = discovery
        self.actors: list[Actor] = []
        self.gone: list[Actor] = []
        self.counts = dict.fromkeys(("written", "crashes", "goodbyes", "one-way cuts", "two-way cuts"), 0)
        self.cuts: list[tuple[SimulatedParticipant, SimulatedParticipant]] = []
        self.size = self.random.randrange(2, 5)
        for place in range(self.size):
            self.actors.append(self.start(self.network.join(**self.options()), place, self.sources(place)))
        for _ in range(events):
            self.network.run(self.random.randrange(2 * SECOND))
            self.happen()
        for one, other in self.cuts:
            self.network.mend(one, other)

    def options(self) -> dict[str, object]:
        lease = self.random.choice((LEASE, 3 * LEASE))
        return {"lease": lease, "period": PERIOD, "discovery": self.discovery}

    def sources(self, place: int) -> list[int]:
        """Return whose topics the participant at a place will read."""
        others = [other for other in range(self.size) if other != place]
        return self.random.sample(others, self.random.randrange(1, len(others) + 1))

    def start(self, member: SimulatedParticipant, place: int, sources: list[int]) -> Actor:
        """Give a participant its writer and its readers."""
        common = {"type_name": "T", "qos": LASTING, "keyed": False, "now": member.now}
        writer = member.participant.create_writer(f"topic{place}", **common)
        readers = {member.participant.create_reader(f"topic{other}", **common): other for other in sources}
        member.flush()
        return Actor(member, place, writer, readers)

    def happen(self) -> None:
        """Let one thing happen."""
        what = self.random.random()
        actor = self.random.choice(self.actors)
        if what < 0.5:
            for _ in range(self.random.randrange(1, 6)):
                actor.written += 1
                self.counts["written"] += 1
                size = 4_000 if self.random.random() < 0.1 else 40  # the long ones are fragmented
                payload = b"\0\1\0\0" + actor.written.to_bytes(4, "little") * (size // 4)
                actor.member.participant.write(actor.writer, payload, now=actor.member.now)
            actor.member.flush()
        elif what < 0.6:
            says_goodbye = self.random.random() < 0.3
            # It comes back while the others still believe in it, or after they have lost it.
            pause = self.random.randrange(self.random.choice((SECOND, 4 * LEASE)))
            options, sources = self.options(), self.sources(actor.place)
            if self.faults.strikes():
                actor.member.leave() if says_goodbye else actor.member.crash()
                self.counts["goodbyes" if says_goodbye else "crashes"] += 1
                self.gone.append(actor)
                self.network.run(pause)
                back = self.network.restart(actor.member, **options)
                self.actors[self.actors.index(actor)] = self.start(back, actor.place, sources)
        elif what < 0.75:
            one, other = self.random.sample(self.actors, 2)
            both_ways = self.random.random() < 0.5
            if self.faults.strikes():
                self.network.cut(one.member, other.member, both_ways=both_ways)
                self.counts["two-way cuts" if both_ways else "one-way cuts"] += 1
            self.cuts.append((one.member, other.member))
        elif what < 0.9 and self.cuts:
            self.network.mend(*self.cuts.pop(self.random.randrange(len(self.cuts))))
        else:
            self.network.run(self.random.randrange(2 * LEASE))

    def missing(self) -> list[str]:
        """Return what readers do not have yet."""
        lacking = []
        for actor in self.actors:
            for reader, place in actor.readers.items():
                source = self.actors[place]
                if actor.member.participant.matched(reader) != (source.writer,):
                    lacking.append(f"{actor.place} reads {place}: not matched with its writer alone")
                elif len(received(actor, reader, source.writer)) < source.written:
                    lacking.append(f"{actor.place} reads {place}: samples")
        return lacking

    def wrong(self) -> list[str]:
        """Return what readers have that they should not: doubled, out of order, not as it was written, refused."""
        found = []
        everyone = {actor.writer: actor for actor in (*self.actors, *self.gone)}
        for actor in (*self.actors, *self.gone):
            for event in actor.member.events:
                if isinstance(event, MessageRejected):
                    found.append(f"{actor.place} refused: {event.reason}")
                elif isinstance(event, SampleReceived):
                    content = event.payload[4:]
                    if content != event.sequence.to_bytes(4, "little") * (len(content) // 4):
                        found.append(f"{actor.place}: {event.sequence} is not what was written")
            for reader in actor.readers:
                for writer, source in everyone.items():
                    numbers = received(actor, reader, writer)
                    if numbers != list(range(1, len(numbers) + 1)) or len(numbers) > source.written:
                        found.append(f"{actor.place} has of {source.place}, which wrote {source.written}: {numbers}")
        return found


def received(actor: Actor, reader: Guid, writer: Guid) -> list[int]:
    return [
        event.sequence
        for event in actor.member.events
        if isinstance(event, SampleReceived) and (event.reader, event.writer) == (reader, writer)
    ]
