"""A peer that was lost and is back: what ended meanwhile is disposed of there, and what is new is announced."""

from __future__ import annotations

import pytest

from rookery.discovery import PROTOCOLS
from rookery.rtps import Guid, QualityOfService
from rookery.rtps.identity import SEDP_PUBLICATIONS_WRITER, SEDP_SUBSCRIPTIONS_WRITER
from rookery.rtps.sedp import other_side, topic_of
from rookery.simulated.domain import SimulatedNetwork, SimulatedParticipant

SECOND = 1_000_000


def test_an_endpoint_is_announced_in_the_topic_of_its_side() -> None:
    writer, reader = Guid(b"p" * 12, 0x103), Guid(b"p" * 12, 0x204)
    assert topic_of(writer) == other_side(topic_of(reader)) == SEDP_PUBLICATIONS_WRITER
    assert topic_of(reader) == other_side(topic_of(writer)) == SEDP_SUBSCRIPTIONS_WRITER


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_pending_disposals_reach_a_participant_that_never_noticed(protocol: str) -> None:
    network = SimulatedNetwork(3)
    hasty = network.join(lease=3_600 * SECOND, period=SECOND, discovery=protocol)
    patient = network.join(lease=4 * SECOND, period=SECOND, discovery=protocol)

    def topics(member: SimulatedParticipant) -> set[str]:
        return {one.announcement.topic for one in member.participant.remote_endpoints}

    def write(topic: str) -> Guid:
        guid = hasty.participant.create_writer(topic, "T", QualityOfService(), keyed=False, now=hasty.now)
        hasty.flush()
        return guid

    for topic in ("old", "lasting", "new"):
        patient.participant.create_reader(topic, "T", QualityOfService(), keyed=False, now=patient.now)
    patient.flush()
    old, _ = write("old"), write("lasting")
    network.run(3 * SECOND)
    assert topics(patient) == {"old", "lasting"}
    # Only the hasty one hears nothing, and so loses the other, whose lease is short.
    network.cut(patient, hasty, both_ways=False)
    assert network.run(20 * SECOND, until=lambda: not hasty.participant.peers)
    hasty.participant.delete_endpoint(old, hasty.now)
    write("new")
    network.run(SECOND)
    assert topics(patient) == {"old", "lasting"}
    network.mend(patient, hasty)
    assert network.run(20 * SECOND, until=lambda: topics(patient) == {"lasting", "new"})
