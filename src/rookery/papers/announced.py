"""A simulated network that keeps what participants announced: each new summary once, as its octets were sent.

Rule: a new announcement has a new sequence number, and the summary's epoch is that number. Repetitions, quick or slow,
carry the same under the same number, and are no announcements of their own here.
"""

from __future__ import annotations

from dataclasses import dataclass

from rookery.discovery.carriage import carried_container, decode_reference, decode_summary
from rookery.filters import CuckooFilter
from rookery.rtps.announcements import decode_participant
from rookery.rtps.identity import Guid
from rookery.rtps.locators import Address
from rookery.rtps.messages import decode_message
from rookery.rtps.qos import QualityOfService
from rookery.rtps.spdp import read_repetition
from rookery.rtps.submessages import Data
from rookery.simulated.domain import SimulatedNetwork, SimulatedParticipant
from rookery.simulated.links import LinkConditions

__all__ = ["PERIOD", "Announced", "ListeningNetwork", "read", "write"]

#: How often participants announce themselves, in microseconds.
PERIOD = 3_000_000


@dataclass(frozen=True, slots=True)
class Announced:
    """One announcement of a summary."""

    at: int
    """When it was sent first, in microseconds."""
    container: bytes

    @property
    def filter(self) -> CuckooFilter:
        """The cuckoo filter that a receiver makes of it."""
        made = decode_summary(self.container)
        assert isinstance(made, CuckooFilter)
        return made


class ListeningNetwork(SimulatedNetwork):
    """The simulated network, with an ear for summaries."""

    def __init__(self, seed: int, conditions: LinkConditions | None = None) -> None:
        super().__init__(seed, conditions)
        self.on_datagram = self._hear
        self.announced: dict[bytes, list[Announced]] = {}
        self._last: dict[bytes, int] = {}

    def _hear(self, sender: SimulatedParticipant, datagram: bytes, to: Address) -> None:
        """Keep a summary that was not announced before."""
        said = read_repetition(datagram)
        if said is not None and said[1] > self._last.get(said[0], 0):
            self._last[said[0]] = said[1]
            for message in decode_message(datagram).submessages:
                if isinstance(message, Data) and message.payload:
                    container = carried_container(decode_participant(message.payload).vendor_parameters)
                    if container and decode_reference(container) is None:
                        heard = self.announced.setdefault(said[0], [])
                        heard.append(Announced(self.calendar.now, container))

    def of(self, member: SimulatedParticipant) -> list[Announced]:
        """Return what a participant announced so far, in order."""
        return self.announced.get(member.participant.prefix, [])


def write(member: SimulatedParticipant, topic: str, type_name: str) -> Guid:
    """Let a participant have another writer, from now on."""
    guid = member.participant.create_writer(topic, type_name, QualityOfService(), keyed=False, now=member.now)
    member.flush()
    return guid


def read(member: SimulatedParticipant, topic: str, type_name: str) -> Guid:
    """Let a participant have another reader, from now on."""
    guid = member.participant.create_reader(topic, type_name, QualityOfService(), keyed=False, now=member.now)
    member.flush()
    return guid
