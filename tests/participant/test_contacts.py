"""With whom endpoints are exchanged: by summaries with those who may have a counterpart, and with nobody else."""

from __future__ import annotations

import pytest

from rookery.discovery import PROTOCOLS
from rookery.rtps import Address, Limits, QualityOfService, Reliability
from rookery.rtps.identity import SPDP_WRITER, is_builtin
from rookery.rtps.messages import decode_message
from rookery.rtps.submessages import AckNack, Data, Heartbeat
from rookery.simulated.domain import SimulatedNetwork, SimulatedParticipant

RELIABLE = QualityOfService(reliability=Reliability.RELIABLE)
SECOND = 1_000_000


class Counted(SimulatedNetwork):
    """A network that counts the submessages of SEDP."""

    def __init__(self) -> None:
        super().__init__(1)
        self.exchanged = 0
        self.on_datagram = self._count

    def _count(self, sender: SimulatedParticipant, datagram: bytes, to: Address) -> None:
        for said in decode_message(datagram).submessages:
            if isinstance(said, Data | Heartbeat | AckNack) and is_builtin(said.writer):
                self.exchanged += said.writer != SPDP_WRITER


def pair(protocol: str, *topics: str) -> tuple[Counted, list[SimulatedParticipant]]:
    network = Counted()
    members = [network.join(discovery=protocol) for _ in topics]
    for number, (member, topic) in enumerate(zip(members, topics, strict=True)):
        make = member.participant.create_reader if number else member.participant.create_writer
        make(topic, "T", RELIABLE, keyed=False, now=member.now)
        member.flush()
    network.run(5 * SECOND)
    return network, members


@pytest.mark.parametrize("protocol", [name for name in PROTOCOLS if name != "simple"])
def test_between_two_with_nothing_for_each_other_not_a_heartbeat_goes(protocol: str) -> None:
    network, members = pair(protocol, "one", "two")
    assert network.exchanged == 0
    assert [len(member.participant.remote_endpoints) for member in members] == [0, 0]
    network, members = pair(protocol, "same", "same")
    assert network.exchanged > 0
    assert [len(member.participant.remote_endpoints) for member in members] == [1, 1]


def test_an_observer_hears_of_every_endpoint() -> None:
    network = Counted()
    talking = network.join(discovery="ribbon")
    for number in range(5):
        talking.participant.create_writer(f"topic{number}", "T", RELIABLE, keyed=False, now=0)
    talking.flush()
    watching, deaf = network.join(discovery="ribbon", observer=True), network.join(discovery="ribbon")
    network.run(5 * SECOND)
    assert [len(member.participant.remote_endpoints) for member in (watching, deaf)] == [5, 0]


def test_contacts_beyond_the_limit_of_a_second_wait_for_the_next() -> None:
    network = SimulatedNetwork(1)
    busy = network.join(discovery="ribbon", limits=Limits(contacts_per_second=2))
    writer = busy.participant.create_writer("topic", "T", RELIABLE, keyed=False, now=0)
    busy.flush()
    for _ in range(6):
        reading = network.join(discovery="ribbon", announce_to=(busy.address,))
        reading.participant.create_reader("topic", "T", RELIABLE, keyed=False, now=reading.now)
        reading.flush()
    assert network.run(10 * SECOND, until=lambda: len(busy.participant.matched(writer)) == 6)
    assert busy.participant.counters["contacts_per_second"] > 0
