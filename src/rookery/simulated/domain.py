"""A network that exists only in memory: the same participants under a virtual clock, with seeded misfortune.

Every datagram of every participant passes here. It may be lost, come twice, be held up (and so be overtaken), or be cut
off by a partition; a participant may crash without a word. All dice come from one seed, all times are integers, and all
tables keep their order, so one seed gives one run: `digest` is a hash over every datagram sent, for saying so.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from rookery.machine import Emit, Multicast, Send
from rookery.participant import Participant, ParticipantConfiguration, multicast_address, new_prefix
from rookery.rtps.events import Event
from rookery.rtps.locators import Address
from rookery.simulated.calendar import Calendar

__all__ = ["Conditions", "SimulatedNetwork", "SimulatedParticipant"]


@dataclass(frozen=True, slots=True)
class Conditions:
    """How bad the network is; probabilities per datagram, delays in microseconds.

    Each copy of a datagram gets its own delay, so whenever the two delays differ datagrams overtake each other.
    """

    loss: float = 0.0
    duplication: float = 0.0
    shortest_delay: int = 100
    longest_delay: int = 100


class SimulatedParticipant:
    """One participant on the simulated network; `events` is everything that happened to it."""

    def __init__(self, network: SimulatedNetwork, participant: Participant) -> None:
        self.participant = participant
        self.address = participant.configuration.unicast
        self.events: list[Event] = []
        self.on_event: Callable[[Event], None] = self.events.append
        self.crashed = False
        self._network = network
        self._timer: int | None = None

    @property
    def now(self) -> int:
        """The time on the network."""
        return self._network.calendar.now

    def flush(self) -> None:
        """Send what waits, take the events, set the timer; to be called after every call of the participant."""
        for effect in self.participant.effects():
            if isinstance(effect, Send):
                self._network.send(self, effect.message, effect.receiver)
            elif isinstance(effect, Emit):
                self.on_event(effect.event)
        when = self.participant.timer()
        if when is not None and (self._timer is None or when < self._timer):
            self._timer = when
            self._network.calendar.at(max(when, self.now), lambda: self._wake(when))

    def receive(self, datagram: bytes, sender: Address, *, by_multicast: bool = False) -> None:
        """Take a datagram in, unless crashed."""
        if not self.crashed:
            message = Multicast(datagram) if by_multicast else datagram
            self.participant.receive_many((message,), sender, self.now)
            self.flush()

    def leave(self) -> None:
        """Say goodbye and be gone."""
        self.participant.stop(self.now)
        self.flush()
        self.crashed = True

    def crash(self) -> None:
        """Be gone without a word."""
        self.crashed = True

    def _wake(self, when: int) -> None:
        if self.crashed or self._timer != when:
            return
        self._timer = None
        self.participant.wake(self.now)
        self.flush()


class SimulatedNetwork:
    """The participants of one or more domains, and what lies between them."""

    def __init__(self, seed: int, conditions: Conditions | None = None) -> None:
        self.seed = seed
        self.conditions = conditions or Conditions()
        self.calendar = Calendar()
        self.participants: dict[Address, SimulatedParticipant] = {}
        self._groups: dict[Address, list[SimulatedParticipant]] = {}
        self.datagrams = 0
        self.octets = 0
        self._dice = random.Random(seed)
        self._hash = hashlib.blake2b(digest_size=16)
        self._islands: dict[Address, int] = {}

    def join(self, *, domain_id: int = 0, **options: Any) -> SimulatedParticipant:
        """Add a participant and start it; `options` are those of `ParticipantConfiguration`."""
        number = len(self.participants) + 1
        address = Address(f"127.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}", 10_000)
        prefix = new_prefix(self._dice.randbytes(10))
        configuration = replace(
            ParticipantConfiguration(prefix=prefix, unicast=address, domain_id=domain_id), **options
        )
        member = SimulatedParticipant(self, Participant(configuration))
        self.participants[address] = member
        self._groups.setdefault(multicast_address(domain_id), []).append(member)
        member.participant.start(self.calendar.now)
        member.flush()
        return member

    def send(self, sender: SimulatedParticipant, datagram: bytes, to: Address) -> None:
        """Carry a datagram to an address, or to every participant of a domain's group."""
        self.datagrams += 1
        self.octets += len(datagram)
        self._hash.update(f"{self.calendar.now} {sender.address} {to} {len(datagram)} ".encode() + datagram)
        for receiver in self._receivers(to):
            if self._islands.get(receiver.address, 0) == self._islands.get(sender.address, 0):
                self._carry(datagram, sender.address, receiver, by_multicast=to not in self.participants)

    def partition(self, *islands: Iterable[SimulatedParticipant]) -> None:
        """Cut the network into islands; who is in none of them is on an island with the others left over."""
        self._islands = {member.address: number for number, island in enumerate(islands, start=1) for member in island}

    def heal(self) -> None:
        """End the partition."""
        self._islands = {}

    def run(self, microseconds: int, *, until: Callable[[], bool] | None = None) -> bool:
        """Let time pass, at most so much of it, or until a condition holds; say whether it does."""
        return self.calendar.run(self.calendar.now + microseconds, condition=until)

    @property
    def digest(self) -> str:
        """A hash over everything that was sent: when, by whom, to whom, and the octets."""
        return self._hash.hexdigest()

    def _receivers(self, to: Address) -> list[SimulatedParticipant]:
        if to in self.participants:
            return [self.participants[to]]
        return self._groups.get(to, [])

    def _carry(self, datagram: bytes, sender: Address, receiver: SimulatedParticipant, *, by_multicast: bool) -> None:
        conditions, dice = self.conditions, self._dice
        copies = 1 + (dice.random() < conditions.duplication)
        for _ in range(copies):
            if dice.random() < conditions.loss:
                continue
            delay = dice.randint(conditions.shortest_delay, conditions.longest_delay)
            self.calendar.after(delay, lambda: receiver.receive(datagram, sender, by_multicast=by_multicast))
