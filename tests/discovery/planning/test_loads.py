"""What each protocol carries: the matrices agree with plain loops, the sizes with what participants really send."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.discovery.planning import PlannedEndpoint, PlannedParticipant, Topology, make_plan, read_graph
from rookery.discovery.planning.interests import TopologyInterests
from rookery.discovery.planning.loads import PROTOCOLS, ProtocolLoads
from rookery.discovery.planning.sizes import announcement_size, record_size
from rookery.discovery.planning.summaries import SUMMARIES, build_summary
from rookery.errors import TopologyError
from rookery.rtps import QualityOfService, Reliability
from rookery.rtps.messages import decode_message
from rookery.rtps.submessages import Data
from rookery.simulated.domain import SimulatedNetwork

from .systems import random_topology, ros_graph

RELIABLE = QualityOfService(reliability=Reliability.RELIABLE)


def matches(one: PlannedEndpoint, other: PlannedEndpoint) -> bool:
    return one.kind != other.kind and (one.topic, one.type_name) == (other.topic, other.type_name)


def needed_by_loops(system: Topology) -> list[list[int]]:
    """Count endpoint by endpoint: it is needed where its counterpart is, or where its service's other half is."""

    def wanted(one: PlannedEndpoint, other: PlannedParticipant) -> bool:
        partners = {one}
        if one.topic.startswith("rr/"):
            request = "rq/" + one.topic[3:].removesuffix("Reply") + "Request"
            kind = "R" if one.kind == "W" else "W"
            partners = {PlannedEndpoint(kind, request, one.type_name.replace("_Response_", "_Request_"))}
        return any(matches(partner, each) for partner in partners for each in other.endpoints)

    return [
        [0 if one is other else sum(wanted(end, other) for end in one.endpoints) for other in system.participants]
        for one in system.participants
    ]


@given(st.integers(0, 10**6))
@settings(max_examples=40)
def test_what_is_needed_is_what_loops_find(seed: int) -> None:
    system = random_topology(seed)
    counted = TopologyInterests(system)
    assert counted.needed.records.tolist() == needed_by_loops(system)
    sizes = [sum(map(record_size, each.endpoints)) for each in system.participants]
    assert counted.all_told.octets.sum() == (len(sizes) - 1) * sum(sizes)
    pairs = [
        (one.name, other.name)
        for one, end in system.endpoints()
        for other, each in system.endpoints()
        if one is not other and end.kind == "W" and matches(end, each)
    ]
    assert counted.matched_pairs == len(pairs)


@given(st.integers(0, 10**6))
@settings(max_examples=15)
def test_no_summary_leaves_out_what_is_needed(seed: int) -> None:
    counting = ProtocolLoads(random_topology(seed, participants=5))
    needed = counting.interests.needed.records
    for protocol in SUMMARIES:
        told = counting.told(protocol).records
        assert (told >= needed).all()
        assert (told <= counting.interests.all_told.records).all()
        assert counting.load(protocol).false_contacts == told.sum() - needed.sum()


def test_both_halves_of_a_service_are_told_or_neither() -> None:
    system = random_topology(3, participants=12)
    for protocol in ("ribbon", "cuckoo"):
        counting = ProtocolLoads(system)
        for row, who in enumerate(system.participants):
            summary = build_summary(protocol, counting.interests.keys_of(row)).received
            for _, end in system.endpoints():
                if end.topic.startswith("rq/"):
                    reply = next(
                        e
                        for _, e in system.endpoints()
                        if e.topic == "rr/" + end.topic[3:-7] + "Reply" and e.kind != end.kind
                    )
                    assert (end.interest.sought in summary) == (reply.interest.sought in summary), who.name


@pytest.mark.parametrize("protocol", SUMMARIES)
def test_sizes_are_those_on_the_wire(protocol: str) -> None:
    """Two participants really meet: their announcements and records have the sizes that the planner encodes."""
    network = SimulatedNetwork(1)
    sent: list[bytes] = []
    network.on_datagram = lambda _, datagram, to: sent.append(datagram)
    ends = [PlannedEndpoint("W", f"rt/topic_{number}", "some::Type_") for number in range(7)]
    for kind in "WR":
        member = network.join(discovery=protocol)
        for end in ends:
            make = member.participant.create_writer if kind == "W" else member.participant.create_reader
            make(end.topic, type_name=end.type_name, qos=RELIABLE, keyed=False, now=member.now)
        member.flush()
    network.run(2_000_000)
    messages = [(len(datagram), decode_message(datagram).submessages) for datagram in sent]
    announced = {size for size, found in messages if any(isinstance(s, Data) and s.writer == 0x000100C2 for s in found)}
    summary = build_summary(protocol, [end.interest.own for end in ends])
    assert announcement_size(summary.announced).multicast in announced
    records = {
        len(s.encode()) for _, found in messages for s in found if isinstance(s, Data) and s.writer == 0x000003C2
    }
    assert records == {record_size(end) - 12 for end in ends}  # the INFO_TS is a submessage of its own


def test_a_generated_robot_is_like_a_real_one() -> None:
    """Every pair is in contact through ROS 2 itself, so sparing pairs is worthless and filtering endpoints is not."""
    plan = make_plan(read_graph(json.dumps(ros_graph(40))))
    gating = plan.views["unicast"].gating
    assert gating.pairs_in_contact == gating.pairs
    assert gating.pair_gating_saves == 0
    assert gating.endpoint_filtering_saves > 90
    assert plan.views["unicast_without_infrastructure"].gating.pairs_in_contact < gating.pairs / 4
    assert plan.verdict.protocol in SUMMARIES
    assert "Sparing whole pairs would save 0.0 % of the records" in plan.verdict.text


def test_a_large_summary_is_announced_by_reference_except_a_ribbon() -> None:
    keys = [f"W\x1frt/topic_{number}\x1fT" for number in range(1_500)]
    cut, listed = build_summary("ribbon", keys), build_summary("hashes", keys)
    assert len(cut.announced) <= 1_200
    assert cut.fetched == 0
    assert (len(listed.announced), listed.fetched) == (20, 16 + 4 * 1_500)
    for summary in (cut, listed):
        assert summary.received.contains_many(keys).all()


def test_a_server_sends_what_is_needed() -> None:
    counting = ProtocolLoads(random_topology(11))
    everything = counting.interests.everything
    assert counting.load("server").records == everything[1] + counting.interests.needed.records.sum()
    for protocol in PROTOCOLS:
        load = counting.load(protocol)
        assert load.needed_records == counting.interests.needed.records.sum()
        assert load.repeated_octets <= load.announcement_octets


def test_wrong_use_is_refused() -> None:
    system = random_topology(1)
    with pytest.raises(TopologyError, match="choose from simple, bloom"):
        make_plan(system, protocols=["gossip"])
    with pytest.raises(TopologyError, match="no participants"):
        make_plan(Topology("nobody", ()))
    with pytest.raises(TopologyError, match="choose from bloom"):
        build_summary("simple", [])
    big = Topology(
        "big", tuple(PlannedParticipant(str(n), (PlannedEndpoint("W", f"t{n}", "T"),)) for n in range(15_000))
    )
    with pytest.raises(TopologyError, match="give --master"):
        TopologyInterests(big)
