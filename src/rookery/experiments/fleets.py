"""Fleets of real participants on the simulated network, for the claims about discovery traffic.

Half of a participant's endpoints write topics of its own, half read: a share of the readers, the node match ratio,
reads what the others write, the rest topics that nobody writes. Every datagram is the product's own; what is counted is
what is sent, and in how much virtual time every reader has found its writer.
"""

from __future__ import annotations

import random
from typing import Any

from rookery.network.simulated import Conditions, SimulatedNetwork
from rookery.rtps.events import EndpointMatched
from rookery.rtps.qos import QualityOfService

__all__ = ["discover"]

SECOND = 1_000_000
TYPE_NAME = "fleet::Sample"


def discover(
    protocol: str, *, participants: int, endpoints: int, ratio: float, seed: int, seconds: int = 10
) -> dict[str, Any]:
    """Let all participants begin at one moment; return what discovery cost in the first `seconds`.

    `protocol` names one, or several with a plus between them, which the participants speak in turn.
    """
    spoken = protocol.split("+")
    dice = random.Random(f"fleet {seed}")
    network = SimulatedNetwork(seed, Conditions(shortest_delay=200, longest_delay=2_000))
    members = [network.join(discovery=spoken[number % len(spoken)]) for number in range(participants)]
    half = endpoints // 2
    due = 0
    completed = 0
    left = 0

    def hear(event: Any) -> None:
        nonlocal left, completed
        if isinstance(event, EndpointMatched):
            left -= 1
            completed = network.calendar.now

    for member in members:
        member.on_event = hear
    for index, member in enumerate(members):
        quality = QualityOfService()
        for number in range(half):
            member.participant.create_writer(
                f"robot{index:03}/data{number:02}", TYPE_NAME, quality, keyed=False, now=network.calendar.now
            )
            other = dice.choice([one for one in range(participants) if one != index])
            wanted = dice.random() < ratio
            topic = f"robot{other:03}/data{number:02}" if wanted else f"robot{index:03}/nobody{number:02}"
            member.participant.create_reader(topic, TYPE_NAME, quality, keyed=False, now=network.calendar.now)
            due += wanted
        member.flush()
    left = 2 * due  # the writer and the reader hear of it
    network.run(seconds * SECOND)
    return {
        "octets": network.octets,
        "datagrams": network.datagrams,
        "records": sum(len(member.participant.remote_endpoints) for member in members) / participants,
        "due": due,
        "missing": left / 2,
        "completed_ms": completed / 1000,
    }
