"""What a stranger may do to a participant: every limit is met, counted, and nothing else happens."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from ipaddress import IPv4Network

import pytest
from msgspec.structs import replace

from rookery.machine import Emit, Send
from rookery.participant import Participant, ParticipantConfiguration
from rookery.rtps import Address, AllowedNetworks, Limits, QualityOfService, Reliability
from rookery.rtps.announcements import EndpointAnnouncement, ParticipantAnnouncement
from rookery.rtps.events import (
    EndpointDiscovered,
    EndpointMatched,
    Event,
    MessageRejected,
    ParticipantDiscovered,
    ParticipantLost,
    SampleReceived,
)
from rookery.rtps.identity import (
    SEDP_PUBLICATIONS_READER,
    SEDP_PUBLICATIONS_WRITER,
    SEDP_SUBSCRIPTIONS_WRITER,
    SPDP_READER,
    SPDP_WRITER,
    Guid,
)
from rookery.rtps.locators import Locator
from rookery.rtps.messages import encode_message
from rookery.rtps.parameters import Parameter, ParameterId
from rookery.rtps.qos import INFINITE
from rookery.rtps.sequences import NumberSet
from rookery.rtps.submessages import (
    AckNack,
    Data,
    DataFragment,
    Gap,
    Heartbeat,
    SourceChange,
    Submessage,
    ToParticipant,
)

HERE = Address("127.0.0.1", 9_000)
THERE = Address("127.0.0.2", 9_001)
OTHER = Address("127.0.0.3", 7_420)
RELIABLE = QualityOfService(reliability=Reliability.RELIABLE, history_depth=None)
PREFIX = b"stranger...."


class Victim:
    """A participant and the packets that strangers send to it."""

    def __init__(self, **limits: int) -> None:
        self.participant = Participant(
            ParticipantConfiguration(prefix=b"victim......", unicast=HERE, limits=Limits(**limits))
        )
        self.now = 0
        self.sent: list[tuple[bytes, Address]] = []

    def hear(self, *said: Submessage, prefix: bytes = PREFIX, sender: Address = THERE) -> list[Event]:
        """Receive a message and return what happened."""
        return self.hear_octets(encode_message(prefix, said), sender=sender)

    def hear_octets(self, octets: bytes, *, sender: Address = THERE) -> list[Event]:
        self.now += 1_000
        self.participant.receive_many((octets,), sender, self.now)
        return self.after()

    def wait(self, microseconds: int) -> list[Event]:
        """Let time pass, with every timer on the way."""
        end = self.now + microseconds
        while (due := self.participant.timer()) is not None and due <= end:
            self.now = max(due, self.now)
            self.participant.wake(self.now)
        self.now = end
        return self.after()

    def after(self) -> list[Event]:
        effects = self.participant.effects()
        self.sent += [(effect.message, effect.receiver) for effect in effects if isinstance(effect, Send)]
        return [effect.event for effect in effects if isinstance(effect, Emit)]

    @property
    def counters(self) -> dict[str, int]:
        return self.participant.counters

    def meet(self, prefix: bytes = PREFIX, address: Address = THERE) -> None:
        """Take a stranger in, with an address that has answered."""
        (event,) = self.hear(announced(prefix, address), prefix=prefix, sender=address)
        assert isinstance(event, ParticipantDiscovered)
        self.hear(
            ToParticipant(self.participant.prefix),
            Heartbeat(0, SEDP_PUBLICATIONS_WRITER, 1, 0, 1),
            Heartbeat(0, SEDP_SUBSCRIPTIONS_WRITER, 1, 0, 1),
            prefix=prefix,
            sender=address,
        )

    def matched_reader(self) -> tuple[Guid, Guid]:
        """Make a reader and match it with a stranger's writer."""
        self.meet()
        reader = self.participant.create_reader("topic", "T", RELIABLE, keyed=False, now=self.now)
        writer = Guid(PREFIX, 0x103)
        events = self.hear(endpoint(writer, 1))
        assert any(isinstance(event, EndpointMatched) for event in events)
        return reader, writer


def announced(
    prefix: bytes = PREFIX, *addresses: Address, sequence: int = 1, lease: int = 10_000_000, **more: object
) -> Data:
    locators = tuple(Locator.of(address) for address in addresses or (THERE,))
    announcement = ParticipantAnnouncement(prefix, lease, locators, locators, **{"domain_id": 0, **more})  # type: ignore[arg-type]
    return Data(SPDP_READER, SPDP_WRITER, sequence, announcement.encode())


def endpoint(guid: Guid, sequence: int, *, topic: str = "topic", **more: object) -> Data:
    announcement = EndpointAnnouncement(guid, topic, "T", RELIABLE, **more)  # type: ignore[arg-type]
    return Data(SEDP_PUBLICATIONS_READER, SEDP_PUBLICATIONS_WRITER, sequence, announcement.encode())


def reasons(events: Iterable[Event]) -> str:
    return "; ".join(event.reason for event in events if isinstance(event, MessageRejected))


def prefix_of(number: int) -> bytes:
    return b"stranger" + struct.pack(">I", number)


def test_participants_are_bounded() -> None:
    victim = Victim(participants=3)
    for number in range(3):
        victim.meet(prefix_of(number))
    for number in range(3, 5):
        events = victim.hear(announced(prefix_of(number)), prefix=prefix_of(number))
    assert len(victim.participant.peers) == 3
    assert victim.counters["participants"] == 2
    assert "the limit is 3" in reasons(events)


def test_who_answers_gets_in_beside_many_who_only_announce_themselves() -> None:
    """The table is full of claims of a day's lease: the genuine newcomer takes the place of the oldest of them."""
    victim = Victim(participants=64)
    victim.meet(b"a known one.")
    for number in range(200):
        victim.hear(announced(prefix_of(number), lease=86_400_000_000), prefix=prefix_of(number))
    assert len(victim.participant.peers) == 64
    victim.hear(announced(b"a newcomer..", OTHER), prefix=b"a newcomer..", sender=OTHER)
    assert {b"a known one.", b"a newcomer.."} <= {peer.prefix for peer in victim.participant.peers}


def test_who_never_answers_has_seconds_where_room_is_short() -> None:
    crowded, roomy = Victim(participants=32), Victim(participants=128)
    for victim in (crowded, roomy):
        victim.meet(b"a known one.")
        for number in range(31):
            victim.hear(announced(prefix_of(number), lease=86_400_000_000), prefix=prefix_of(number))
        victim.wait(5_000_000)
        assert len(victim.participant.peers) == 32
        victim.hear(announced(b"a known one.", sequence=1), prefix=b"a known one.")
        victim.wait(9_000_000)
    assert len(crowded.participant.peers) < 32 // 2 + 2
    assert b"a known one." in {peer.prefix for peer in crowded.participant.peers}
    assert len(roomy.participant.peers) == 32


def test_endpoints_are_bounded_for_one_and_for_all() -> None:
    victim = Victim(endpoints=5, endpoints_per_participant=3)
    for number in range(3):
        victim.meet(prefix_of(number))
        for index in range(1, 6):
            victim.hear(endpoint(Guid(prefix_of(number), index << 8 | 3), index), prefix=prefix_of(number))
    assert len(victim.participant.remote_endpoints) == 5
    assert victim.counters["endpoints_per_participant"] == 2
    assert victim.counters["endpoints"] == 8


@pytest.mark.parametrize(
    ("address", "counter"),
    [
        (Address("8.8.8.8", 53), "locator_network"),
        (Address("10.0.0.1", 7_400), "locator_network"),
        (Address("239.255.0.1", 7_400), "locator_network"),
        (Address("127.0.0.2", 0), "locator_port"),
        (Address("127.0.0.2", 65_536), "locator_port"),
    ],
)
def test_addresses_that_are_not_believed(address: Address, counter: str) -> None:
    victim = Victim()
    events = victim.hear(announced(PREFIX, address))
    assert "without an address" in reasons(events)
    assert victim.participant.peers == ()
    assert victim.counters[counter] == 2
    assert victim.sent == []


def test_of_many_addresses_only_a_few_allowed_ones_are_kept() -> None:
    victim = Victim(locators=2)
    allowed = [Address("127.0.0.2", port) for port in range(1, 5)]
    victim.hear(announced(PREFIX, Address("8.8.8.8", 1), *allowed))
    (peer,) = victim.participant.peers
    assert peer.metatraffic == tuple(allowed[:2])
    assert victim.counters["locators"] == 2
    # The directed answer went to an allowed address, not to the one named first.
    assert {address for _, address in victim.sent} == {allowed[0]}


def test_other_networks_can_be_allowed() -> None:
    networks = AllowedNetworks((IPv4Network("10.0.0.0/8"),))
    configuration = ParticipantConfiguration(prefix=b"victim......", unicast=HERE, networks=networks)
    victim = Victim()
    victim.participant = Participant(configuration)
    victim.hear(announced(PREFIX, Address("127.0.0.2", 1), Address("10.1.2.3", 4)))
    assert victim.participant.peers[0].metatraffic == (Address("10.1.2.3", 4),)


def test_an_address_that_has_not_answered_gets_at_most_three_octets_for_one() -> None:
    victim = Victim()
    for number in range(200):
        guid = victim.participant.create_writer(f"a topic with a long name {number}", "T", RELIABLE, keyed=False, now=0)
        assert guid
    said = encode_message(PREFIX, [announced()])
    received = len(said)
    victim.hear_octets(said)
    victim.wait(9_000_000)
    # The stranger asks for everything, from its own address, but does not know our prefix.
    for count in range(1, 50):
        everything = NumberSet(1, 200, (1 << 200) - 1)
        said = encode_message(PREFIX, [AckNack(SEDP_PUBLICATIONS_READER, SEDP_PUBLICATIONS_WRITER, everything, count)])
        received += len(said)
        victim.hear_octets(said)
    to_stranger = sum(len(octets) for octets, address in victim.sent if address == THERE)
    assert 0 < to_stranger <= 3 * received
    assert victim.counters["amplification"] > 0
    # Now it shows that it has read what we sent: our prefix.
    everything = NumberSet(1, 200, (1 << 200) - 1)
    request = AckNack(SEDP_PUBLICATIONS_READER, SEDP_PUBLICATIONS_WRITER, everything, 1_000)
    victim.sent.clear()
    victim.hear(ToParticipant(victim.participant.prefix), request)
    assert sum(len(octets) for octets, _ in victim.sent) > 3 * 100


def test_knowing_our_prefix_does_not_unlock_somebody_elses_address() -> None:
    victim = Victim()
    bystander, attacker = Address("127.0.0.9", 5), Address("127.0.0.66", 6)
    received = 0
    messages = [
        [announced(PREFIX, bystander)],
        *[
            [ToParticipant(victim.participant.prefix), Heartbeat(0, SEDP_PUBLICATIONS_WRITER, 1, 5, n)]
            for n in range(50)
        ],
    ]
    for said in messages:
        octets = encode_message(PREFIX, said)
        received += len(octets)
        victim.hear_octets(octets, sender=attacker)
    to_bystander = sum(len(octets) for octets, address in victim.sent if address == bystander)
    assert 0 < to_bystander <= 3 * received
    # Nor is the attacker's address kept: it is none of the participant's.
    assert victim.participant.peers[0].answered == {}


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (announced(b"somebodyelse"), "announced by another"),
        (replace(announced(), payload=b"\0\1\0\0"), "not a parameter list"),
        (replace(announced(), payload=b"\0\3\0\0\x50\0\x10\0" + bytes(8)), "8 octets left"),
        (replace(announced(), payload=b"\0\3\0\0\1\0\0\0"), "names no participant"),
        (
            replace(announced(), payload=(announced().payload or b"")[:-4] + b"\x01\x70\0\0\1\0\0\0"),
            "must be understood",
        ),
        (
            replace(announced(), payload=b"\0\3\0\0\x59\0\4\0\xff\xff\xff\xff\1\0\0\0"),
            "4294967295 properties claimed",
        ),
        (
            replace(announced(), payload=b"\0\3\0\0\x02\0\x08\0\xff\xff\xff\xff\0\0\0\0\1\0\0\0"),
            "a duration of -1 seconds",
        ),
    ],
)
def test_announcements_that_are_refused(said: Data, reason: str) -> None:
    victim = Victim()
    assert reason in reasons(victim.hear(said))
    assert victim.participant.peers == ()
    assert victim.counters["rejected"] == 1


def test_other_domains_are_none_of_our_business() -> None:
    victim = Victim()
    assert victim.hear(announced(domain_id=5)) == []
    assert victim.hear(announced(domain_tag="elsewhere")) == []
    assert victim.counters["other_domain"] == 2
    assert victim.participant.peers == ()


def test_endpoints_that_are_refused() -> None:
    victim = Victim(name_bytes=50)
    victim.meet()
    own, foreign = Guid(PREFIX, 0x103), Guid(b"somebodyelse", 0x103)
    assert "announced by another" in reasons(victim.hear(endpoint(foreign, 1)))
    assert "announced by another" in reasons(victim.hear(endpoint(Guid(PREFIX, 0x1C2), 2)))
    assert "a reader announced as writer" in reasons(victim.hear(endpoint(Guid(PREFIX, 0x104), 3)))
    assert "more than 50 bytes" in reasons(victim.hear(endpoint(own, 4, topic="ä" * 26)))
    assert "no reader or writer" in reasons(victim.hear(endpoint(Guid(PREFIX, 0x1FF), 5)))
    assert victim.participant.remote_endpoints == ()
    assert isinstance(victim.hear(endpoint(own, 6))[0], EndpointDiscovered)
    gone = Data(0, SEDP_PUBLICATIONS_WRITER, 7, None, inline=ended(foreign))
    assert "withdrawn by another" in reasons(victim.hear(gone))
    assert len(victim.participant.remote_endpoints) == 1
    victim.hear(Data(0, SEDP_PUBLICATIONS_WRITER, 8, None, inline=ended(own)))
    assert victim.participant.remote_endpoints == ()


def ended(guid: Guid) -> tuple[Parameter, ...]:
    return (Parameter(ParameterId.KEY_HASH, guid.octets()), Parameter(ParameterId.STATUS, b"\0\0\0\3"))


def test_goodbyes_count_only_in_ones_own_name() -> None:
    victim = Victim()
    victim.meet()
    foreign = Data(0, SPDP_WRITER, 2, None, inline=ended(Guid(PREFIX, 0x1C1)))
    assert "in another's name" in reasons(victim.hear(foreign, prefix=b"somebodyelse"))
    assert "names nobody" in reasons(victim.hear(replace(foreign, inline=foreign.inline[1:])))
    assert len(victim.participant.peers) == 1
    (event,) = victim.hear(foreign)
    assert event == ParticipantLost(PREFIX, "disposed")


def test_news_of_a_participant_needs_a_higher_number() -> None:
    victim = Victim()
    victim.meet()
    victim.hear(announced(sequence=1, name="old news"))
    assert victim.participant.peers[0].announcement.name == ""
    victim.hear(announced(sequence=2, name="news"))
    assert victim.participant.peers[0].announcement.name == "news"


def test_a_lease_ends_with_silence_and_anything_heard_renews_it() -> None:
    victim = Victim()
    victim.hear(announced(lease=2_000_000))
    assert victim.wait(1_900_000) == []
    victim.hear(ToParticipant(victim.participant.prefix), Heartbeat(0, SEDP_PUBLICATIONS_WRITER, 1, 0, 7))
    assert not [event for event in victim.wait(1_900_000) if isinstance(event, ParticipantLost)]
    events = victim.wait(200_000)
    assert ParticipantLost(PREFIX, "expired") in events


def test_no_lease_is_longer_than_the_limit() -> None:
    victim = Victim(lease=5_000_000)
    victim.hear(announced(lease=INFINITE))
    victim.wait(4_900_000)
    assert len(victim.participant.peers) == 1
    assert ParticipantLost(PREFIX, "expired") in victim.wait(200_000)


def test_a_participant_that_moves_is_met_again() -> None:
    victim = Victim()
    victim.meet()
    elsewhere = Address("127.0.0.3", 7)
    events = victim.hear(announced(PREFIX, elsewhere, sequence=2))
    assert events[0] == ParticipantLost(PREFIX, "moved")
    assert isinstance(events[1], ParticipantDiscovered)
    assert victim.participant.peers[0].metatraffic == (elsewhere,)
    assert victim.participant.peers[0].answered == {}


def test_who_comes_and_goes_in_one_breath_gets_no_answer() -> None:
    victim = Victim()
    goodbye = Data(0, SPDP_WRITER, 2, None, inline=ended(Guid(PREFIX, 0x1C1)))
    victim.hear(announced(), goodbye)
    assert victim.sent == []
    assert victim.counters["forgotten_peer"] > 0


def test_events_that_nobody_reads_stop_the_reading() -> None:
    victim = Victim(queued_events=10)
    for number in range(50):
        said = encode_message(prefix_of(number), [announced(prefix_of(number))])
        victim.participant.receive_many((said,), THERE, 0)
    assert victim.counters["queued_events"] == 40
    assert len(victim.after()) == 10
    victim.hear(announced())
    assert len(victim.participant.peers) == 11


def test_numbers_from_here_to_the_end_of_time_cost_nothing() -> None:
    victim = Victim()
    _, writer = victim.matched_reader()
    far = 1 << 62
    victim.hear(Heartbeat(0, writer.entity, 1, far, 1))
    victim.hear(Gap(0, writer.entity, 5, NumberSet(far)))
    victim.hear(Data(0, writer.entity, far, b"\0\1\0\0"))
    assert victim.counters["reorder_window"] == 1
    victim.hear(Gap(0, writer.entity, 1, NumberSet(far)))
    events = victim.hear(Data(0, writer.entity, far, b"\0\1\0\0"))
    assert [event.sequence for event in events if isinstance(event, SampleReceived)] == [far]


def test_what_waits_for_its_turn_is_bounded() -> None:
    victim = Victim(reorder_window=100, reorder_bytes=20_000)
    _, writer = victim.matched_reader()
    victim.hear(Heartbeat(0, writer.entity, 1, 0, 1))
    for number in range(2, 300):
        victim.hear(Data(0, writer.entity, number, b"\0\1\0\0" + bytes(1_000)))
    assert victim.participant.held_bytes <= 20_000
    assert victim.counters["reorder_bytes"] > 0
    assert victim.counters["reorder_window"] == 299 - 100
    events = victim.hear(Data(0, writer.entity, 1, b"\0\1\0\0"))
    assert len([event for event in events if isinstance(event, SampleReceived)]) > 10


def test_fragments_are_bounded_whatever_they_claim() -> None:
    victim = Victim(fragment_bytes=50_000, fragmented_samples=20, sample_bytes=1 << 20)
    _, writer = victim.matched_reader()
    victim.hear(Heartbeat(0, writer.entity, 1, 0, 1))

    def piece(sequence: int, first: int, size: int, sample: int) -> DataFragment:
        return DataFragment(0, writer.entity, sequence, first, 1, size, sample, bytes(size))

    assert "the limit is 1048576" in reasons(victim.hear(piece(1, 1, 100, 1 << 31)))
    assert victim.counters["sample_bytes"] == 1
    for sequence in range(1, 60):
        victim.hear(piece(sequence, 1, 100, 1 << 20))
    assert victim.counters["fragmented_samples"] == 39
    for first in range(1, 200):
        victim.hear(piece(60, first, 1_000, 1 << 20))
    assert victim.counters["fragment_bytes"] > 0
    assert victim.participant.held_bytes <= 50_000
    before = victim.participant.held_bytes
    victim.hear(piece(80, 1, 100, 1_000))
    once = victim.participant.held_bytes
    for _ in range(5):
        victim.hear(piece(80, 1, 100, 1_000))
    assert before < once == victim.participant.held_bytes
    assert victim.counters["duplicate_fragment"] == 5
    assert "disagree about its size" in reasons(
        [*victim.hear(piece(70, 1, 100, 1_000)), *victim.hear(piece(70, 2, 200, 1_000))]
    )
    # A goodbye gives everything back.
    victim.hear(Data(0, SPDP_WRITER, 2, None, inline=ended(Guid(PREFIX, 0x1C1))))
    assert victim.participant.held_bytes == 0


def test_builtin_data_in_fragments_are_refused() -> None:
    victim = Victim()
    victim.meet()
    said = DataFragment(0, SEDP_PUBLICATIONS_WRITER, 1, 1, 1, 100, 1_000, bytes(100))
    assert "builtin data in fragments" in reasons(victim.hear(said))


def test_acknowledging_the_future_is_refused() -> None:
    victim = Victim()
    victim.meet()
    said = AckNack(SEDP_PUBLICATIONS_READER, SEDP_PUBLICATIONS_WRITER, NumberSet(100), 50)
    assert "an acknowledgment up to 100" in reasons(victim.hear(said))


def test_counts_that_repeat_are_ignored() -> None:
    victim = Victim()
    victim.participant.create_writer("topic", "T", RELIABLE, keyed=False, now=0)
    victim.meet()
    request = AckNack(SEDP_PUBLICATIONS_READER, SEDP_PUBLICATIONS_WRITER, NumberSet(1, 1, 1), 5, final=True)
    victim.sent.clear()
    victim.hear(request)
    first = len(victim.sent)
    victim.hear(request)
    assert (first, len(victim.sent)) == (1, 1)
    assert victim.counters["stale_acknack"] == 1


def test_what_is_for_others_or_from_ourselves_is_not_read() -> None:
    victim = Victim()
    assert victim.hear(ToParticipant(b"somebodyelse"), announced()) == []
    assert victim.hear(announced(b"victim......"), prefix=b"victim......") == []
    assert victim.participant.peers == ()


def test_a_bridge_may_speak_for_another() -> None:
    victim = Victim()
    (event,) = victim.hear(SourceChange((2, 3), b"\1\1", PREFIX), announced(), prefix=b"bridge......")
    assert isinstance(event, ParticipantDiscovered)
    assert event.announcement.prefix == PREFIX
