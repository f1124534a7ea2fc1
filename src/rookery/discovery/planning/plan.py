"""A plan: what every protocol would cost on a topology, in four views, and a plain verdict.

The views are the two ways to send records (to each by itself, or once to the group) with and without the topics that
connect every pair of ROS 2 nodes. The first view, unicast with everything, is the one whose figures stand alone: it is
what happens on a network without multicast, which is where discovery hurts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rookery.discovery.planning.constants import Network, constants_of
from rookery.discovery.planning.costs import Cost, Load, price
from rookery.discovery.planning.interests import TopologyInterests
from rookery.discovery.planning.loads import PROTOCOLS, ProtocolLoads
from rookery.discovery.planning.topology import Topology
from rookery.discovery.planning.verdict import PlanVerdict, judge
from rookery.errors import TopologyError

__all__ = ["VIEWS", "DiscoveryPlan", "Gating", "PlanView", "make_plan", "priced", "with_simple"]

#: Each view's name, whether records go by multicast, and whether infrastructure topics are there.
VIEWS = (
    ("unicast", False, True),
    ("multicast", True, True),
    ("unicast_without_infrastructure", False, False),
    ("multicast_without_infrastructure", True, False),
)


@dataclass(frozen=True, slots=True)
class Gating:
    """Records of a topology, and what could be saved of them at all: by whole pairs, and by single endpoints."""

    records: int
    needed: int
    pairs: int
    pairs_in_contact: int
    pair_gating_saves: float
    """Percent of the records that are saved if only pairs without anything in common are spared."""
    endpoint_filtering_saves: float
    """Percent of the records that are saved if each endpoint is told only to those who have a counterpart."""


@dataclass(frozen=True, slots=True)
class PlanView:
    """The costs of one way of sending, on one reading of the topology."""

    name: str
    costs: dict[str, Cost]
    gating: Gating

    def saved_percent(self, protocol: str) -> float:
        """Return how much less a protocol sends than the plain one, in percent of octets."""
        plain = self.costs["simple"].octets
        return 100.0 * (1 - self.costs[protocol].octets / plain) if plain else 0.0

    def false_percent(self, protocol: str) -> float:
        """Return how many of the records that nobody needs are told all the same, in percent: the real rate."""
        needless = self.gating.records - self.gating.needed
        return 100.0 * self.costs[protocol].false_contacts / needless if needless else 0.0


@dataclass(frozen=True, slots=True)
class DiscoveryPlan:
    """All views of one system, and what follows; `topology` is there if it fits into memory."""

    name: str
    participants: int
    endpoints: int
    topics: int
    views: dict[str, PlanView]
    verdict: PlanVerdict
    notes: tuple[str, ...] = ()
    topology: Topology | None = None

    def document(self) -> dict[str, Any]:
        """Return the plan as plain data: `protocols` and `verdict`, and everything else beside them."""
        return {
            "protocols": _protocols(self.views["unicast"]),
            "verdict": self.verdict.text,
            "recommended": self.verdict.protocol,
            "topology": {
                "name": self.name,
                "participants": self.participants,
                "endpoints": self.endpoints,
                "topics": self.topics,
            },
            "views": {
                name: {"protocols": _protocols(view), "gating": _gating(view.gating)}
                for name, view in self.views.items()
            },
            "notes": list(self.notes),
        }


def make_plan(
    topology: Topology, *, network: Network | None = None, protocols: Iterable[str] = PROTOCOLS
) -> DiscoveryPlan:
    """Work out every view of a topology."""
    if not topology.participants:
        raise TopologyError(f"{topology.name} has no participants, so there is nothing to plan")
    chosen = with_simple(protocols)
    countings = {True: ProtocolLoads(topology), False: ProtocolLoads(topology.without_infrastructure())}
    views = {}
    for name, multicast, infrastructure in VIEWS:
        counting = countings[infrastructure]
        loads = {protocol: counting.load(protocol, multicast=multicast) for protocol in chosen}
        views[name] = priced(name, loads, _gate(counting.interests), network or Network())
    return DiscoveryPlan(
        name=topology.name,
        participants=len(topology.participants),
        endpoints=topology.endpoint_count,
        topics=topology.topic_count,
        views=views,
        verdict=judge(views, participants=len(topology.participants)),
        notes=topology.notes,
        topology=topology,
    )


def with_simple(protocols: Iterable[str]) -> tuple[str, ...]:
    """Return the protocols to plan for, each once, the plain one first: it is what the others are compared with."""
    chosen = dict.fromkeys(("simple", *protocols))
    unknown = [name for name in chosen if name not in PROTOCOLS]
    if unknown:
        raise TopologyError(f"no protocol is called {unknown[0]!r}; choose from {', '.join(PROTOCOLS)}")
    return tuple(chosen)


def priced(name: str, loads: Mapping[str, Load], gating: Gating, network: Network) -> PlanView:
    """Return one view of loads that were counted, here or elsewhere."""
    costs = {protocol: price(load, constants_of(protocol), network) for protocol, load in loads.items()}
    return PlanView(name, costs, gating)


def _gate(interests: TopologyInterests) -> Gating:
    every = float(interests.all_told.records.sum())
    needed, gated = float(interests.needed.records.sum()), float(interests.pair_gated.records.sum())
    count = interests.count
    return Gating(
        records=int(every),
        needed=int(needed),
        pairs=count * (count - 1) // 2,
        pairs_in_contact=interests.needed.contacts // 2,
        pair_gating_saves=100 * (1 - gated / every) if every else 0.0,
        endpoint_filtering_saves=100 * (1 - needed / every) if every else 0.0,
    )


def _protocols(view: PlanView) -> dict[str, dict[str, Any]]:
    return {
        name: {
            "packets": cost.packets,
            "bytes": cost.octets,
            "memory_per_node": cost.memory_per_node,
            "seconds": round(cost.seconds, 6),
            "false_contacts": cost.false_contacts,
            "false_percent": round(view.false_percent(name), 4),
            "saved_percent": round(view.saved_percent(name), 2),
            "records": cost.records,
            "contacts": cost.contacts,
            "summary_bytes": round(cost.summary_octets, 1),
            "largest_summary": cost.largest_summary,
            "largest_memory": cost.largest_memory,
        }
        for name, cost in view.costs.items()
    }


def _gating(gating: Gating) -> dict[str, Any]:
    return {
        "records": gating.records,
        "needed": gating.needed,
        "pairs": gating.pairs,
        "pairs_in_contact": gating.pairs_in_contact,
        "pair_gating_saves_percent": round(gating.pair_gating_saves, 2),
        "endpoint_filtering_saves_percent": round(gating.endpoint_filtering_saves, 2),
    }
