"""Who needs to hear of what, and who would be told: both as matrices, participant by participant.

`needed[i, j]` counts the endpoints of participant i for which j has a counterpart, by exact comparison of the keys.
`told[i, j]` counts those for which j's summary says yes. A summary never says no wrongly, so told ≥ needed everywhere;
what is above is told in vain. The exact matrices come from one product of counts and wants, the told ones from asking
every summary for every key that somebody has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rookery.discovery.planning.sizes import record_size
from rookery.discovery.planning.topology import Topology
from rookery.errors import TopologyError

__all__ = ["LARGEST_MATRIX", "RecordExchange", "TopologyInterests"]

#: Participants times different keys; above it the work belongs on Spark (`rookery.spark.discover`).
LARGEST_MATRIX = 200_000_000

_Counts = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RecordExchange:
    """Records from row to column: how many, of how many octets."""

    records: _Counts
    octets: _Counts

    @property
    def contacts(self) -> int:
        """Pairs of participants, in one direction each, between which anything is told either way."""
        any_way = self.records > 0
        return int((any_way | any_way.T).sum())


class TopologyInterests:
    """The keys of a topology and who has them."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        participants = topology.participants
        keys: dict[str, int] = {}
        sought: list[str] = []
        for _, endpoint in topology.endpoints():
            interest = endpoint.interest
            if interest.own not in keys:
                keys[interest.own] = len(keys)
                sought.append(interest.sought)
        if len(participants) * len(keys) > LARGEST_MATRIX:
            raise TopologyError(
                f"{len(participants):,} participants with {len(keys):,} different endpoints are too many for one "
                "machine's memory; give --master, and Spark counts them"
            )
        self.keys = list(keys)
        self.count = len(participants)
        shape = (self.count, len(keys))
        self._counts: _Counts = np.zeros(shape)
        self._octets: _Counts = np.zeros(shape)
        for row, participant in enumerate(participants):
            for endpoint in participant.endpoints:
                column = keys[endpoint.interest.own]
                self._counts[row, column] += 1
                self._octets[row, column] += record_size(endpoint)
        self._sought = sought
        self._column = keys

    def keys_of(self, row: int) -> list[str]:
        """Return the different keys of one participant."""
        return [self.keys[column] for column in np.flatnonzero(self._counts[row])]

    @cached_property
    def everything(self) -> tuple[float, float]:
        """Octets and number of all records, each counted once."""
        return float(self._octets.sum()), float(self._counts.sum())

    @cached_property
    def all_told(self) -> RecordExchange:
        """Everyone tells everyone everything."""
        return self._exchange(np.ones((self.count, len(self.keys)), dtype=np.bool_))

    @cached_property
    def needed(self) -> RecordExchange:
        """Everyone tells exactly those who have a counterpart."""
        return self._exchange(self._wanted)

    @cached_property
    def _wanted(self) -> NDArray[np.bool_]:
        """For each participant and key: whether the participant has the counterpart of the key."""
        columns = np.array([self._column.get(key, -1) for key in self._sought], dtype=np.int64)
        has = self._counts > 0
        return np.where(columns >= 0, has[:, columns], False) if columns.size else has

    @cached_property
    def pair_gated(self) -> RecordExchange:
        """Two participants with anything in common tell each other everything; the others nothing."""
        in_common = self.needed.records > 0
        gate = in_common | in_common.T
        every = self.all_told
        return RecordExchange(every.records * gate, every.octets * gate)

    @cached_property
    def matched_pairs(self) -> int:
        """Pairs of a writer and a reader in different participants that will talk."""
        everywhere: Counter[tuple[str, str, str]] = Counter()
        inside = 0
        for participant in self._topology.participants:
            own = Counter((end.kind, end.topic, end.type_name) for end in participant.endpoints)
            inside += sum(count * own["R", topic, name] for (kind, topic, name), count in own.items() if kind == "W")
            everywhere.update(own)
        joined = (
            count * everywhere["R", topic, name] for (kind, topic, name), count in everywhere.items() if kind == "W"
        )
        return sum(joined) - inside

    @cached_property
    def matched_directions(self) -> int:
        """Ordered pairs of participants such that a writer of the first feeds a reader of the second."""
        writers = np.array([key.startswith("W") for key in self.keys], dtype=np.bool_)
        fed = (self._counts * writers) @ self._wanted.T.astype(np.float64) if self.keys else np.zeros((0, 0))
        np.fill_diagonal(fed, 0)
        return int((fed > 0).sum())

    def told_by(self, summaries: Sequence[Any]) -> RecordExchange:
        """Everyone tells those whose summary says yes; `summaries` are in the order of the participants."""
        if not self.keys:
            return self.needed
        return self._exchange(np.array([summary.contains_many(self._sought) for summary in summaries]))

    def _exchange(self, wants: NDArray[np.bool_]) -> RecordExchange:
        asked = wants.T.astype(np.float64)
        records, octets = self._counts @ asked, self._octets @ asked
        np.fill_diagonal(records, 0)
        np.fill_diagonal(octets, 0)
        return RecordExchange(records, octets)
