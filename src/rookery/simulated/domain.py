"""DDS participants in a world: they are reached by their addresses and by the groups of their domains.

The world (`rookery.simulated.world`) loses datagrams, sends them twice and lets them overtake each other, cuts links
and ends processes. Here is what is DDS's about it: addresses, prefixes and groups, and `digest`, a hash over every
datagram sent, by which two runs are the same run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from rookery.participant import Participant, ParticipantConfiguration, multicast_address, new_prefix
from rookery.participant.configuration import data_group
from rookery.rtps.events import Event
from rookery.rtps.locators import Address
from rookery.simulated.links import LinkConditions
from rookery.simulated.world import World

__all__ = ["SimulatedNetwork", "SimulatedParticipant", "conditions_between"]


def conditions_between(shortest: int, longest: int, *, loss: float = 0.0, duplication: float = 0.0) -> LinkConditions:
    """Return the conditions of datagrams that take between two times, in microseconds."""
    return LinkConditions(
        latency=shortest, jitter=longest - shortest, loss=loss, duplication=duplication, datagrams=True
    )


class SimulatedParticipant:
    """One participant of the simulated network; `events` is everything that happened to it."""

    def __init__(self, network: SimulatedNetwork, participant: Participant) -> None:
        self.participant = participant
        self.address = participant.configuration.unicast
        self.events: list[Event] = []
        self.on_event: Callable[[Event], None] = self.events.append
        self._world = network.world
        self._process = self._world.start(self.address, participant, lambda event: self.on_event(event))
        self._world.join_group(multicast_address(participant.configuration.domain_id), self.address)
        if participant.configuration.multicast_data:
            self._world.join_group(data_group(participant.configuration.domain_id), self.address)

    @property
    def now(self) -> int:
        """The time of this participant."""
        return self._world.now + self._process.clock

    @property
    def crashed(self) -> bool:
        """Whether it is gone, with a goodbye or without."""
        return not self._process.is_alive

    def flush(self) -> None:
        """Do what the participant wants done; to be called after every command to it."""
        if self._process.is_alive:
            self._world.perform(self._process)

    def receive(self, datagram: bytes, sender: Address) -> None:
        """Take in a datagram of somebody who is no process of this world."""
        self.participant.receive_many((datagram,), sender, self.now)
        self.flush()

    def leave(self) -> None:
        """Say goodbye and be gone."""
        self.participant.stop(self.now)
        self.flush()
        self.crash()

    def crash(self) -> None:
        """Be gone without a word."""
        self._world.end(self.address)


class SimulatedNetwork:
    """The participants of one or more domains in one world."""

    def __init__(self, seed: int, conditions: LinkConditions | None = None) -> None:
        self.seed = seed
        self.world = World(seed=seed, conditions=conditions or LinkConditions(latency=100, datagrams=True))
        self.world.on_message = self._sent
        self.calendar = self.world.calendar
        self.participants: dict[Address, SimulatedParticipant] = {}
        self.datagrams = 0
        self.bytes_sent = 0
        #: Sees every datagram as it is sent: sender, datagram, address.
        self.on_datagram: Callable[[SimulatedParticipant, bytes, Address], None] | None = None
        self._hash = hashlib.blake2b(digest_size=16)
        self._islands: dict[Address, int] = {}

    def join(self, *, domain_id: int = 0, **options: Any) -> SimulatedParticipant:
        """Add a participant and start it; `options` are those of `ParticipantConfiguration`."""
        number = len(self.participants) + 1
        address = Address(f"127.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}", 10_000)
        return self._start(address, domain_id=domain_id, **options)

    def restart(self, member: SimulatedParticipant, **options: Any) -> SimulatedParticipant:
        """Start a participant where one is gone: with the same address and another prefix, as after `kill -9`."""
        return self._start(member.address, domain_id=member.participant.configuration.domain_id, **options)

    def _start(self, address: Address, **options: Any) -> SimulatedParticipant:
        prefix = new_prefix(self.world.random.randbytes(10))
        configuration = replace(ParticipantConfiguration(prefix=prefix, unicast=address), **options)
        member = self.participants[address] = SimulatedParticipant(self, Participant(configuration))
        self._cut_off([address])
        member.participant.start(member.now)
        member.flush()
        return member

    def partition(self, *islands: Iterable[SimulatedParticipant]) -> None:
        """Cut the network into islands; who is in none of them is on an island with the others left over."""
        self.heal()
        self._islands = {member.address: number for number, island in enumerate(islands, start=1) for member in island}
        self._cut_off(self.participants)

    def heal(self) -> None:
        """End the partition."""
        for one in self._islands:
            for other in self.participants:
                self.world.mend(one, other)
        self._islands = {}

    def cut(self, one: SimulatedParticipant, other: SimulatedParticipant, *, both_ways: bool = True) -> None:
        """Let nothing pass from one to the other, and back."""
        self.world.cut(one.address, other.address, both_ways=both_ways)

    def mend(self, one: SimulatedParticipant, other: SimulatedParticipant) -> None:
        """Let everything pass again between two."""
        self.world.mend(one.address, other.address)

    def run(self, microseconds: int, *, until: Callable[[], bool] | None = None) -> bool:
        """Let time pass, at most so much of it, or until a condition holds; say whether it does."""
        return self.world.run(microseconds, until=until)

    @property
    def digest(self) -> str:
        """A hash over everything that was sent: when, by whom, to whom, and the bytes."""
        return self._hash.hexdigest()

    def _sent(self, sender: Any, receiver: Any, datagram: bytes) -> None:
        self.datagrams += 1
        self.bytes_sent += len(datagram)
        self._hash.update(f"{self.calendar.now} {sender} {receiver} {len(datagram)} ".encode() + datagram)
        if self.on_datagram is not None:
            self.on_datagram(self.participants[sender], datagram, receiver)

    def _cut_off(self, addresses: Iterable[Address]) -> None:
        for one in addresses:
            for other in self._islands:
                if self._islands.get(one, 0) != self._islands[other]:
                    self.world.cut(one, other)
