"""What a participant announces of its cuckoo filter while it grows and shrinks: read from the octets it sends."""

from __future__ import annotations

import itertools

import pytest

from rookery.discovery import protocols
from rookery.discovery.carriage import carried_container, decode_summary
from rookery.filters import endpoint_key
from rookery.papers.announced import Announced, ListeningNetwork
from rookery.rtps import Guid, QualityOfService
from rookery.simulated.domain import SimulatedNetwork, SimulatedParticipant

SECOND = 1_000_000
QUALITY = QualityOfService()


def write(member: SimulatedParticipant, topic: str) -> Guid:
    guid = member.participant.create_writer(topic, "T", QUALITY, keyed=False, now=member.now)
    member.flush()
    return guid


def end(member: SimulatedParticipant, guid: Guid) -> None:
    member.participant.delete_endpoint(guid, member.now)
    member.flush()


def buckets(one: Announced) -> list[int]:
    return [table.bucket_count for table in one.filter.tables]


def old_counts(announced: list[Announced]) -> list[int]:
    """Return how many fingerprints the old filter of each announcement has; 0 where there is one filter."""
    return [one.filter.tables[1].count if len(one.filter.tables) == 2 else 0 for one in announced]


def holds(one: Announced, *topics: str) -> bool:
    return all(endpoint_key(kind="W", topic=topic, type_name="T") in one.filter for topic in topics)


@pytest.mark.parametrize("discovery", ["cuckoo", "cuckoo:patent"])
def test_a_transfer_ends_under_steady_churn(discovery: str) -> None:
    """A change every 2 s and a period of 3 s: the period never passes without a change."""
    network = ListeningNetwork(1)
    member = network.join(period=3 * SECOND, discovery=discovery)
    names = [f"kept{number}" for number in range(13)]
    for name in names:
        write(member, name)
    network.run(SECOND)
    assert buckets(network.of(member)[0]) == [16, 8]
    churning = write(member, "churn")
    for number in range(15):
        network.run(2 * SECOND)
        end(member, churning)
        churning = write(member, f"churn{number}")
    counts = old_counts(network.of(member))
    assert all(later < one for one, later in itertools.pairwise(counts) if one), f"not each moved one: {counts}"
    assert counts[-1] == 0, f"{counts[-1]} are in the old filter after {len(counts)} announcements"
    assert all(holds(one, *names) for one in network.of(member))


def test_without_a_change_the_transfer_goes_on_at_the_period() -> None:
    network = ListeningNetwork(2)
    member = network.join(period=3 * SECOND, discovery="cuckoo:patent")
    for number in range(13):
        write(member, f"t{number}")
    network.run(60 * SECOND)
    announced = network.of(member)
    assert old_counts(announced) == list(range(12, -1, -1))
    assert {later.at - one.at for one, later in itertools.pairwise(announced)} == {3 * SECOND}


def test_a_filter_that_doubled_is_halved_when_its_endpoints_leave() -> None:
    network = ListeningNetwork(3)
    member = network.join(period=3 * SECOND, discovery="cuckoo")
    guids = [write(member, f"t{number}") for number in range(60)]
    network.run(90 * SECOND)
    assert buckets(network.of(member)[-1]) == [64]
    large = len(network.of(member)[-1].container)
    for guid in guids[2:]:
        end(member, guid)
    network.run(300 * SECOND)
    announced = network.of(member)
    assert buckets(announced[-1]) == [8], "never below the size that it began with"
    assert [8, 16] in [buckets(one) for one in announced], "step by step, with both filters"
    assert len(announced[-1].container) < large // 2
    assert all(holds(one, "t0", "t1") for one in announced)
    network.run(300 * SECOND)
    assert len(network.of(member)) == len(announced), "nothing left to do is nothing new to say"


def test_the_patent_knows_no_halving() -> None:
    network = ListeningNetwork(4)
    member = network.join(period=3 * SECOND, discovery="cuckoo:patent")
    guids = [write(member, f"t{number}") for number in range(14)]
    network.run(60 * SECOND)
    for guid in guids[1:]:
        end(member, guid)
    network.run(300 * SECOND)
    assert buckets(network.of(member)[-1]) == [16]


def test_what_comes_during_a_transfer_goes_into_the_new_filter() -> None:
    network = ListeningNetwork(5)
    member = network.join(period=3 * SECOND, discovery="cuckoo:patent")
    for number in range(13):
        write(member, f"t{number}")
    network.run(3 * SECOND)
    write(member, "late")
    network.run(SECOND)
    last = network.of(member)[-1]
    new, old = last.filter.tables
    late = last.filter.hasher(endpoint_key(kind="W", topic="late", type_name="T"))
    assert new.contains_hash(late)
    assert not old.contains_hash(late)
    assert holds(last, "late", *(f"t{number}" for number in range(13)))


def test_a_long_summary_is_announced_whole_while_it_moves_and_by_reference_afterwards() -> None:
    network = ListeningNetwork(6)
    member = network.join(period=3 * SECOND, discovery="cuckoo")
    other = network.join(period=3 * SECOND, discovery="cuckoo")
    for number in range(103):
        write(member, f"t{number}")
    network.run(120 * SECOND)
    announced = network.of(member)
    assert len(announced[-1].container) > 128
    assert old_counts(announced)[0] > 16
    assert old_counts(announced)[-1] == 0
    kept = other.participant._contacts.directory.view(member.participant.prefix).summary
    keys = [endpoint_key(kind="W", topic=f"t{number}", type_name="T") for number in range(103)]
    assert kept.contains_many(keys).all()


def test_among_many_a_summary_is_told_more_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the next repetition, without another datagram: nobody is asked more often in vain because there are more."""
    monkeypatch.setattr(protocols, "_FEWEST_READERS", 4)
    network = SimulatedNetwork(1)
    members = []
    for number in range(10):
        member = network.join(discovery="ribbon", period=3 * SECOND, lease=60 * SECOND)
        member.participant.create_writer(f"topic{number}", "T", QualityOfService(), keyed=False, now=member.now)
        member.flush()
        members.append(member)
        network.run(SECOND // 10)

    def layers(of: SimulatedParticipant) -> int:
        (announced,) = (
            peer.announcement for peer in members[1].participant.peers if peer.prefix == of.participant.prefix
        )
        return int(decode_summary(carried_container(announced.vendor_parameters) or b"").layers)

    assert layers(members[0]) == 17
    network.run(4 * SECOND)
    assert layers(members[0]) == layers(members[9]) == 19
