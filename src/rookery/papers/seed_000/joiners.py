"""The set-up of seed 000, section 3: ten nodes with five applications each, nine of which are there when one joins.

The document has three experiments of that size (delay, load, deletion). Every node is a participant of the product on
the simulated network; an application has as many writers as the experiment says, and the joiner reads a share of all
writers, the node match ratio. What a node keeps are the announcements of the endpoints that it was told of and the
summaries of the others, both as they came.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from rookery.discovery.carriage import decode_summary
from rookery.papers.announced import PERIOD, ListeningNetwork, read, write
from rookery.papers.endpoints import absent_keys
from rookery.rtps.identity import Guid
from rookery.simulated.domain import SimulatedParticipant, conditions_between

__all__ = ["APPLICATIONS", "PEERS", "SENDS", "Joined", "joined"]

#: Nodes that are there, applications of each, and how often each sends to the joiner.
PEERS, APPLICATIONS, SENDS = 9, 5, 100
TYPE_NAME = "maintenance::Part"


@dataclass(frozen=True, slots=True)
class Joined:
    """Nine nodes and the tenth, after they have met."""

    network: ListeningNetwork
    peers: tuple[SimulatedParticipant, ...]
    joiner: SimulatedParticipant
    writers: dict[Guid, str]
    """The topics of all writers of the nine, by GUID."""
    readers: dict[Guid, str]
    """The topics that the joiner reads."""

    @property
    def record_bytes(self) -> int:
        """Bytes of the announcements that the joiner keeps of single endpoints."""
        return sum(len(known.announcement.encode()) for known in self.joiner.participant.remote_endpoints)

    @property
    def missing(self) -> int:
        """Readers of the joiner that have not found their writer."""
        return sum(not self.joiner.participant.matched(guid) for guid in self.readers)

    def containers(self) -> list[bytes]:
        """Return the last summary of each of the nine, as it was sent."""
        return [said[-1].container for said in map(self.network.of, self.peers) if said]

    def false_positive_rate(self, asked: int, seed: int) -> float:
        """Return how many of the keys that nobody has are in the summaries of the nine; 1 where nobody sends one."""
        containers, keys = self.containers(), absent_keys(asked, seed=seed)
        answers = [decode_summary(container).contains_many(keys).mean() for container in containers]
        return float(np.mean(answers)) if answers else 1.0


def joined(
    protocol: str, *, peers: int, applications: int, endpoints: int, ratio: float, seed: int, seconds: int = 5
) -> Joined:
    """Let nine nodes meet, then let one more join that reads a share of what they write."""
    network = ListeningNetwork(seed, conditions_between(200, 2_000))
    there = tuple(network.join(discovery=protocol) for _ in range(peers))
    writers = {
        write(node, topic, TYPE_NAME): topic
        for number, node in enumerate(there)
        for topic in _topics(number, applications, endpoints)
    }
    network.run(PERIOD)
    joiner = network.join(discovery=protocol)
    chosen = random.Random(seed).sample(list(writers.values()), round(ratio * len(writers)))
    readers = {read(joiner, topic, TYPE_NAME): topic for topic in chosen}
    network.run(1_000_000 * seconds)
    return Joined(network, there, joiner, writers, readers)


def _topics(node: int, applications: int, endpoints: int) -> Iterable[str]:
    for application in range(applications):
        for endpoint in range(endpoints):
            yield f"rt/node{node}/application{application}/topic{endpoint}"
