"""What each protocol has to carry on a topology that fits into memory, counted exactly.

The summaries are built and every key of the topology is asked of each. A record goes to each who wants it by itself, as
Rookery sends it. The central server is a model altogether: every participant sends its announcement and its endpoints
to one place, which passes each on to exactly those who need it, together with the announcement of the participant that
has it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rookery.discovery.planning.costs import Load
from rookery.discovery.planning.interests import RecordExchange, TopologyInterests
from rookery.discovery.planning.sizes import announcement_size
from rookery.discovery.planning.summaries import SUMMARIES, AnnouncedSummary, build_summary
from rookery.discovery.planning.topology import Topology

__all__ = ["PROTOCOLS", "ProtocolLoads"]

PROTOCOLS = ("simple", *SUMMARIES, "server")

#: Announcement and records to the server, the same from the server, with a question and an answer before each.
_SERVER_HALF_TRIPS = 8


class ProtocolLoads:
    """The loads of every protocol on one topology; what they share is computed once."""

    def __init__(self, topology: Topology, *, rate: float | None = None) -> None:
        """Count a topology; `rate` is that of the summaries where it is not what participants go by."""
        self.topology = topology
        self._rate = rate
        self.interests = TopologyInterests(topology)
        self._summaries: dict[str, list[AnnouncedSummary]] = {}
        self._told: dict[str, RecordExchange] = {}

    def told(self, protocol: str) -> RecordExchange:
        """Return who tells whom what under a protocol."""
        if protocol == "simple":
            return self.interests.all_told
        if protocol == "server":
            return self.interests.needed
        if protocol not in self._told:
            self._told[protocol] = self.interests.told_by([each.received for each in self._summaries_of(protocol)])
        return self._told[protocol]

    def load(self, protocol: str) -> Load:
        """Return what a protocol carries."""
        if protocol == "server":
            return self._server_load()
        interests, told, summaries = self.interests, self.told(protocol), self._summaries_of(protocol)
        count = interests.count
        plain = [announcement_size()] * count
        announced = [announcement_size(summary.announced) for summary in summaries] or plain
        repeated = [announcement_size(summary.repeated) for summary in summaries] or plain
        fetched = np.array([summary.fetched for summary in summaries] or [0] * count, dtype=np.float64)
        kept = np.array([each.payload for each in announced]) + fetched
        memory = kept.sum() - kept + told.octets.sum(axis=0)
        sizes = [summary.size for summary in summaries] or [0]
        inward, outward = told.octets.sum(axis=0), told.octets.sum(axis=1)
        moved = inward + outward
        busiest = int(np.argmax(moved))
        return Load(
            protocol=protocol,
            participants=count,
            announcements=count,
            announcement_octets=sum(each.multicast for each in announced),
            repeated_octets=sum(each.multicast for each in repeated),
            answers=count * (count - 1),
            answer_octets=(count - 1) * sum(each.directed for each in announced),
            contacts=told.contacts,
            records=float(told.records.sum()),
            record_octets=float(told.octets.sum()) + float(fetched.sum()) * (count - 1),
            flows=float((told.records > 0).sum()),
            matched_pairs=interests.matched_pairs,
            matched_directions=interests.matched_directions,
            needed_records=float(interests.needed.records.sum()),
            needed_octets=float(interests.needed.octets.sum()),
            needed_contacts=interests.needed.contacts,
            false_contacts=float(told.records.sum() - interests.needed.records.sum()),
            memory=float(memory.mean()),
            largest_memory=float(memory.max()),
            summary_octets=sum(sizes) / len(sizes),
            largest_summary=max(sizes),
            busiest_octets=float(moved[busiest]),
            busiest_records=float(told.records[:, busiest].sum()),
            busiest_contacts=float((told.records[:, busiest] > 0).sum()),
        )

    def _server_load(self) -> Load:
        interests, needed, plain = self.interests, self.interests.needed, announcement_size()
        count = interests.count
        octets, records = interests.everything
        met = _met(needed)
        memory = met * float(plain.payload) + needed.octets.sum(axis=0)
        # The server answers each participant once, and passes on the announcements of those who will talk, as it does
        # the records.
        passed_on = (count + needed.contacts) * plain.directed
        return Load(
            protocol="server",
            participants=count,
            announcements=count,
            announcement_octets=count * plain.directed,
            repeated_octets=count * plain.directed,
            answers=0.0,
            answer_octets=0.0,
            contacts=2 * count,
            records=records + float(needed.records.sum()),
            record_octets=octets + float(needed.octets.sum()) + passed_on,
            flows=count + float((needed.records.sum(axis=0) > 0).sum()),
            matched_pairs=interests.matched_pairs,
            matched_directions=interests.matched_directions,
            needed_records=float(interests.needed.records.sum()),
            needed_octets=float(interests.needed.octets.sum()),
            needed_contacts=interests.needed.contacts,
            false_contacts=0.0,
            memory=float(memory.mean()),
            largest_memory=float(memory.max()),
            summary_octets=0.0,
            largest_summary=0.0,
            busiest_octets=octets + float(needed.octets.sum()) + passed_on,
            busiest_records=records,
            busiest_contacts=count,
            half_trips=_SERVER_HALF_TRIPS,
        )

    def _summaries_of(self, protocol: str) -> list[AnnouncedSummary]:
        if protocol not in SUMMARIES:
            return []
        if protocol not in self._summaries:
            count = self.interests.count
            self._summaries[protocol] = [
                build_summary(protocol, self.interests.keys_of(row), participants=count, rate=self._rate)
                for row in range(count)
            ]
        return self._summaries[protocol]


def _met(exchange: RecordExchange) -> NDArray[np.int64]:
    """Return with how many others each participant is in contact."""
    any_way = exchange.records > 0
    return np.asarray((any_way | any_way.T).sum(axis=0), dtype=np.int64)
