"""Who is in the domain: announced quickly, then at the period; known until a goodbye or the end of the lease."""

from __future__ import annotations

import pytest

from rookery.rtps import Address, QualityOfService
from rookery.rtps.events import EndpointMatched, ParticipantDiscovered, ParticipantLost
from rookery.rtps.identity import SPDP_WRITER, UNKNOWN_PREFIX
from rookery.rtps.spdp import CROWD, read_repetition
from rookery.simulated.domain import SimulatedNetwork, SimulatedParticipant

SECOND = 1_000_000
_SPDP_WRITER = SPDP_WRITER.to_bytes(4, "big")


class Timed(SimulatedNetwork):
    """A network that keeps when the first participant announced itself to all, and under which number."""

    def __init__(self) -> None:
        super().__init__(1)
        self.announced: list[tuple[int, int]] = []
        self.on_datagram = self._see

    def _see(self, sender: SimulatedParticipant, datagram: bytes, to: Address) -> None:
        said = read_repetition(datagram)
        if said is not None and to.host.startswith("239.") and sender is next(iter(self.participants.values())):
            self.announced.append((self.calendar.now, said[1]))


def test_quick_repetitions_and_then_the_period() -> None:
    network = Timed()
    network.join(period=2 * SECOND, quick_repeats=(100_000, 500_000))
    network.run(7 * SECOND)
    times = (0, 100_000, 500_000, 2 * SECOND, 4 * SECOND, 6 * SECOND)
    assert network.announced == [(when, 1) for when in times]


@pytest.mark.parametrize("protocol", ["simple", "ribbon"])
def test_a_crowd_is_answered_at_once_by_one_announcement(protocol: str) -> None:
    """The first few are answered each, then those to whom there is something to say; one multicast is for the rest."""
    network = SimulatedNetwork(1)
    old = network.join(discovery=protocol, period=600 * SECOND, lease=900 * SECOND)
    old.participant.create_writer("wanted", "T", QualityOfService(), keyed=False, now=old.now)
    old.flush()
    network.run(2 * SECOND)
    said: list[Address] = []

    def see(sender: SimulatedParticipant, datagram: bytes, to: Address) -> None:
        if sender is old and _SPDP_WRITER in datagram:
            said.append(to)

    network.on_datagram = see
    crowd = []
    for number in range(40):
        member = network.join(discovery=protocol, period=600 * SECOND, lease=900 * SECOND)
        if number == 30:
            member.participant.create_reader("wanted", "T", QualityOfService(), keyed=False, now=member.now)
        crowd.append(member)
        member.flush()
    network.run(SECOND // 2)
    # Who has something to say to the old one and the other way round does not wait.
    assert any(isinstance(event, EndpointMatched) for event in crowd[30].events)
    network.run(SECOND)
    assert all(old.participant.prefix in {peer.prefix for peer in one.participant.peers} for one in crowd)
    to_all = [to for to in said if to.host.startswith("239.")]
    if protocol == "simple":  # there is something to say to everybody
        assert (len(said) - len(to_all), len(to_all)) == (40, 0)
    else:
        assert (len(said) - len(to_all), len(to_all)) == (CROWD + 1, 1)


def test_a_repetition_is_told_from_everything_else_by_its_first_bytes() -> None:
    assert read_repetition(b"") is None
    assert read_repetition(b"RTPS" + bytes(100)) is None
    assert read_repetition(UNKNOWN_PREFIX * 10) is None


@pytest.mark.parametrize(("says_goodbye", "reason"), [(True, "disposed"), (False, "expired")])
def test_somebody_new_at_the_address_of_one_who_is_gone_is_somebody_new(says_goodbye: bool, reason: str) -> None:
    network = SimulatedNetwork(1)
    watching, going = network.join(lease=5 * SECOND, period=SECOND), network.join(lease=5 * SECOND, period=SECOND)
    network.run(2 * SECOND)
    going.leave() if says_goodbye else going.crash()
    back = network.restart(going, lease=5 * SECOND, period=SECOND)
    network.run(20 * SECOND)
    assert [peer.prefix for peer in watching.participant.peers] == [back.participant.prefix]
    found = [event.announcement.prefix for event in watching.events if isinstance(event, ParticipantDiscovered)]
    assert found == [going.participant.prefix, back.participant.prefix]
    lost = [event for event in watching.events if isinstance(event, ParticipantLost)]
    assert lost == [ParticipantLost(going.participant.prefix, reason)]
