"""Which endpoints are pairs, why others are not, and how pairs end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rookery.rtps import Durability, QualityOfService, Reliability
from rookery.rtps.events import EndpointMatched, EndpointUnmatched, QualityIncompatible, SampleReceived
from rookery.simulated.domain import SimulatedNetwork, SimulatedParticipant

RELIABLE = QualityOfService(reliability=Reliability.RELIABLE, history_depth=None)
SECOND = 1_000_000


def of(member: SimulatedParticipant, kind: type) -> list[object]:
    return [event for event in member.events if isinstance(event, kind)]


@pytest.mark.parametrize(
    ("changes", "policies"),
    [
        ({"type_name": "Other"}, ("type_name",)),
        ({"keyed": True}, ("keyed",)),
        ({"qos": replace(RELIABLE, durability=Durability.TRANSIENT_LOCAL)}, ("durability",)),
        ({"qos": replace(RELIABLE, deadline=5)}, ("deadline",)),
    ],
)
def test_pairs_that_are_none_say_why_on_both_sides_and_within_one(
    changes: dict[str, object], policies: tuple[str, ...]
) -> None:
    network = SimulatedNetwork(1)
    one, other = network.join(), network.join()
    plain: dict[str, object] = {"type_name": "T", "qos": RELIABLE, "keyed": False, "now": 0}
    one.participant.create_writer("topic", **plain)  # type: ignore[arg-type]
    for member in (one, other):
        member.participant.create_reader("topic", **{**plain, **changes})  # type: ignore[arg-type]
        member.flush()
    network.run(SECOND)
    for member in (one, other):
        refused = of(member, QualityIncompatible)
        assert {event.policies for event in refused} == {policies}  # type: ignore[attr-defined]
        assert of(member, EndpointMatched) == []


def test_deleting_endpoints_of_one_participant_ends_their_pair() -> None:
    member = SimulatedNetwork(1).join()
    participant = member.participant
    writer = participant.create_writer("topic", "T", RELIABLE, keyed=False, now=0)
    reader = participant.create_reader("topic", "T", RELIABLE, keyed=False, now=0)
    assert participant.matched(reader) == (writer,)
    assert participant.matched(writer) == (reader,)
    participant.delete_endpoint(reader, 0)
    assert participant.matched(writer) == ()
    participant.write(writer, b"\0\1\0\0", now=0)
    member.flush()
    assert of(member, SampleReceived) == []


def test_a_pair_ends_with_its_remote_endpoint_and_both_ends_report_it() -> None:
    network = SimulatedNetwork(1)
    one, other = network.join(), network.join()
    writer = one.participant.create_writer("topic", "T", RELIABLE, keyed=False, now=0)
    reader = other.participant.create_reader("topic", "T", RELIABLE, keyed=False, now=0)
    for member in (one, other):
        member.flush()
    assert network.run(
        SECOND, until=lambda: bool(one.participant.matched(writer) and other.participant.matched(reader))
    )
    network.run(SECOND)
    assert one.participant.is_known(writer)
    other.participant.delete_endpoint(reader, other.now)
    other.flush()
    network.run(SECOND)
    assert of(one, EndpointUnmatched) == [EndpointUnmatched(writer, reader)]
    assert one.participant.matched(writer) == ()
