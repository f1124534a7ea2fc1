"""Fleets of real participants on the simulated network, for the claims about discovery traffic.

Half of a participant's endpoints write topics of its own, half read: a share of the readers, the node match ratio,
reads what the others write, the rest topics that nobody writes; in a fleet with everything in common all write and read
the same topics. Every datagram is the product's own; what is counted is
what is sent, and in how much virtual time every reader has found its writer.
"""

from __future__ import annotations

import random
from typing import Any

from rookery.rtps.events import EndpointMatched
from rookery.rtps.identity import Guid
from rookery.rtps.qos import QualityOfService
from rookery.simulated.domain import SimulatedNetwork, SimulatedParticipant, conditions_between

__all__ = ["discover"]

SECOND = 1_000_000
TYPE_NAME = "fleet::Sample"


def discover(
    protocol: str,
    *,
    participants: int,
    endpoints: int,
    ratio: float,
    seed: int,
    seconds: int = 10,
    common: bool = False,
    network: SimulatedNetwork | None = None,
) -> dict[str, Any]:
    """Let all participants begin at one moment; return what discovery cost in the first `seconds`.

    `protocol` names one, or several with a plus between them, which the participants speak in turn.
    """
    spoken = protocol.split("+")
    dice = random.Random(f"fleet {seed}")
    network = network or SimulatedNetwork(seed, conditions_between(200, 2_000))
    members = [network.join(discovery=spoken[number % len(spoken)]) for number in range(participants)]
    half = endpoints // 2
    completed = 0
    wanted: list[tuple[SimulatedParticipant, Guid, int]] = []

    def hear(event: Any) -> None:
        nonlocal completed
        if isinstance(event, EndpointMatched):
            completed = network.calendar.now

    for member in members:
        member.on_event = hear
    for index, member in enumerate(members):
        quality = QualityOfService()
        for number in range(half):
            own, now = "all" if common else f"robot{index:03}", network.calendar.now
            member.participant.create_writer(f"{own}/data{number:02}", TYPE_NAME, quality, keyed=False, now=now)
            other = dice.choice([one for one in range(participants) if one != index])
            matches = dice.random() < ratio
            topic = f"robot{other:03}/data{number:02}" if matches else f"robot{index:03}/nobody{number:02}"
            topic = f"{own}/data{number:02}" if common else topic
            guid = member.participant.create_reader(topic, TYPE_NAME, quality, keyed=False, now=now)
            wanted.append((member, guid, participants if common else int(matches)))
        member.flush()
    network.run(seconds * SECOND)
    return {
        "octets": network.bytes_sent,
        "datagrams": network.datagrams,
        "records": sum(len(member.participant.remote_endpoints) for member in members) / participants,
        "summary_octets": sum(member.participant.summary_bytes for member in members) / participants,
        "due": sum(count for _, _, count in wanted),
        "missing": sum(count - len(member.participant.matched(guid)) for member, guid, count in wanted),
        "completed_ms": completed / 1000,
    }
