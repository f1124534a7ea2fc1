"""Summaries that are announced by reference: who needs one gets it, whole, through any network."""

from __future__ import annotations

import pytest

from rookery.discovery.carriage import REFERENCE, carried_container
from rookery.participant.retrieval import SUMMARY_WRITER
from rookery.rtps import Address, QualityOfService, Reliability
from rookery.rtps.announcements import decode_participant
from rookery.rtps.events import MessageRejected
from rookery.rtps.identity import SPDP_WRITER
from rookery.rtps.messages import decode_message
from rookery.rtps.submessages import Data, DataFragment
from rookery.simulated.domain import SimulatedNetwork, SimulatedParticipant, conditions_between
from rookery.simulated.links import LinkConditions

BAD = conditions_between(100, 30_000, loss=0.2, duplication=0.2)
RELIABLE = QualityOfService(reliability=Reliability.RELIABLE)
SECOND = 1_000_000


class Watched(SimulatedNetwork):
    """A network that keeps what was sent."""

    def __init__(self, seed: int, conditions: LinkConditions | None = None) -> None:
        super().__init__(seed, conditions)
        self.seen: list[tuple[int, Address, bytes]] = []
        self.on_datagram = self._see

    def _see(self, sender: SimulatedParticipant, datagram: bytes, to: Address) -> None:
        self.seen.append((self.calendar.now, sender.address, datagram))

    def containers(self, sender: SimulatedParticipant) -> list[bytes]:
        """Return the containers that a participant announced, in order."""
        found = []
        for _, address, datagram in self.seen:
            for said in decode_message(datagram).submessages:
                if address == sender.address and isinstance(said, Data) and said.writer == SPDP_WRITER and said.payload:
                    found.append(carried_container(decode_participant(said.payload).vendor_parameters) or b"")
        return found


def with_topics(network: SimulatedNetwork, protocol: str, count: int) -> SimulatedParticipant:
    member = network.join(lease=60 * SECOND, period=3 * SECOND, discovery=protocol)
    for number in range(count):
        member.participant.create_writer(f"topic{number}", "T", RELIABLE, keyed=False, now=member.now)
    member.flush()
    return member


def reads(member: SimulatedParticipant, topic: str) -> bool:
    return any(
        member.participant.matched(endpoint.guid)
        for endpoint in member.participant.local_endpoints
        if endpoint.topic == topic
    )


def read(member: SimulatedParticipant, topic: str) -> None:
    member.participant.create_reader(topic, "T", RELIABLE, keyed=False, now=member.now)
    member.flush()


@pytest.mark.parametrize(("protocol", "count"), [("hashes", 600), ("tree", 400), ("cuckoo", 1_500)])
def test_a_summary_that_fits_no_announcement_is_fetched_in_fragments(protocol: str, count: int) -> None:
    for seed in range(3):
        network = Watched(seed, BAD)
        large = with_topics(network, protocol, count)
        small = with_topics(network, "ribbon", 0)
        read(small, "topic17")
        assert network.run(60 * SECOND, until=lambda small=small: reads(small, "topic17")), seed
        views = small.participant._contacts.directory
        fetched = lambda views=views, large=large: views.view(large.participant.prefix).summary is not None  # noqa: E731
        assert network.run(60 * SECOND, until=fetched), seed
        assert len(small.participant.remote_endpoints) < 10
        assert max(len(datagram) for _, _, datagram in network.seen) <= 1_400
        fragments = [
            said
            for _, _, datagram in network.seen
            for said in decode_message(datagram).submessages
            if isinstance(said, DataFragment) and said.writer == SUMMARY_WRITER
        ]
        assert len({said.first for said in fragments}) > 1
        assert all(container[0] == REFERENCE for container in network.containers(large))
        network.run(20 * SECOND)
        # It is fetched once, and then nobody is served any more.
        assert not large.participant._contacts.retrieval.writer.readers
        assert not small.participant._contacts.retrieval.reader.writers
        assert not [event for event in small.events + large.events if isinstance(event, MessageRejected)]


def test_what_is_repeated_slowly_is_a_reference_if_the_summary_is_long() -> None:
    network = Watched(1)
    short, long = with_topics(network, "ribbon", 10), with_topics(network, "ribbon", 300)
    network.run(10 * SECOND)
    assert {container[0] for container in network.containers(short)} == {0xD1}
    kinds = [container[0] for container in network.containers(long)]
    assert kinds == [0xD1, 0xD1, 0xD1, REFERENCE, REFERENCE, REFERENCE]  # at once, twice quickly, then every 3 s
    assert len({len(container) for container in network.containers(long)}) == 2


def test_who_missed_a_change_asks_for_it() -> None:
    network = Watched(2)
    changing, other = with_topics(network, "ribbon", 300), with_topics(network, "ribbon", 0)
    network.run(5 * SECOND)
    network.partition([changing])
    read(other, "new")
    changing.participant.create_writer("new", "T", RELIABLE, keyed=False, now=changing.now)
    changing.flush()
    network.run(2 * SECOND)  # all quick repetitions are over
    began = len(network.seen)
    network.heal()
    assert network.run(10 * SECOND, until=lambda: reads(other, "new"))
    # Either the one's summary came by reference and was fetched, or the other's was heard first.
    network.run(5 * SECOND)
    assert not other.participant.peers[0].incomplete
    view = other.participant._contacts.directory.peers[changing.participant.prefix]
    assert "W\x1fnew\x1fT" in view.summary
    asked = [
        said
        for _, _, datagram in network.seen[began:]
        for said in decode_message(datagram).submessages
        if isinstance(said, Data) and said.writer == SUMMARY_WRITER
    ]
    assert asked


def test_a_stranger_who_asks_is_not_served() -> None:
    from rookery.participant.retrieval import SUMMARY_READER
    from rookery.rtps.messages import encode_message
    from rookery.rtps.sequences import NumberSet
    from rookery.rtps.submessages import AckNack, ToParticipant

    network = Watched(3)
    member = with_topics(network, "ribbon", 300)
    network.run(SECOND)
    sent = len(network.seen)
    asks = AckNack(SUMMARY_READER, SUMMARY_WRITER, NumberSet(1), 1)
    packet = encode_message(b"a stranger..", [ToParticipant(member.participant.prefix), asks])
    member.receive(packet, Address("127.9.9.9", 9))
    assert len(network.seen) == sent
    assert not member.participant._contacts.retrieval.writer.readers
