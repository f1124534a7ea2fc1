"""A plan: what every protocol and every stack would cost on a topology, in two views, and a plain verdict.

The views are the protocols as Rookery speaks them, records to each by itself, with and without the topics that connect
every pair of ROS 2 nodes. Beside them stands what other stacks send for their own plain discovery (`stacks`), and where
there is a capture, what was sent indeed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rookery.discovery.planning.constants import Network, constants_of
from rookery.discovery.planning.costs import Cost, Load, price
from rookery.discovery.planning.interests import TopologyInterests
from rookery.discovery.planning.loads import PROTOCOLS, ProtocolLoads
from rookery.discovery.planning.observed import Observation
from rookery.discovery.planning.stacks import CHECKED, STACKS, VENDORS, Stack, StackCost, stack_cost, stack_of
from rookery.discovery.planning.topology import Topology
from rookery.discovery.planning.verdict import PlanVerdict, judge
from rookery.errors import TopologyError
from rookery.rtps.identity import VENDOR

__all__ = [
    "VIEWS",
    "DiscoveryPlan",
    "Gating",
    "PlanView",
    "beyond_checked",
    "make_plan",
    "named_stack",
    "priced",
    "stack_costs",
    "with_simple",
]

#: Each view's name, and whether infrastructure topics are there.
VIEWS = (("unicast", True), ("unicast_without_infrastructure", False))


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
    stacks: dict[str, StackCost]
    stack: Stack | None = None
    """Whose nodes they are, by the capture or as its owner says."""
    notes: tuple[str, ...] = ()
    topology: Topology | None = None

    def document(self) -> dict[str, Any]:
        """Return the plan as plain data: `protocols` and `verdict`, and everything else beside them."""
        return {
            "protocols": _protocols(self.views["unicast"]),
            "verdict": self.verdict.text,
            "recommended": self.verdict.protocol,
            "apply": list(self.verdict.apply),
            "stack": None if self.stack is None else self.stack.name,
            "stacks": {
                name: {"title": cost.stack.title, "bytes": cost.octets, "bytes_per_minute": cost.octets_per_minute}
                for name, cost in self.stacks.items()
            },
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
    topology: Topology,
    *,
    network: Network | None = None,
    protocols: Iterable[str] = PROTOCOLS,
    stack: str | None = None,
    observation: Observation | None = None,
) -> DiscoveryPlan:
    """Work out every view of a topology; what an `observation` of the running system saw decides the verdict.

    `stack` says whose nodes they are; an observation says it itself, unless it is told otherwise.
    """
    if not topology.participants:
        raise TopologyError(f"{topology.name} has no participants, so there is nothing to plan")
    chosen = with_simple(protocols)
    countings = {True: ProtocolLoads(topology), False: ProtocolLoads(topology.without_infrastructure())}
    views = {}
    for name, infrastructure in VIEWS:
        counting = countings[infrastructure]
        loads = {protocol: counting.load(protocol) for protocol in chosen}
        views[name] = priced(name, loads, _gate(counting.interests), network or Network())
    known, foreign, observed = named_stack(stack), None, None
    if observation is not None:
        observed = observation.start_bytes
        if stack is None:
            known, foreign = _seen_stack(observation)
    plain = countings[True].load("simple")
    costs = stack_costs(plain)
    return DiscoveryPlan(
        name=topology.name,
        participants=len(topology.participants),
        endpoints=topology.endpoint_count,
        topics=topology.topic_count,
        views=views,
        verdict=judge(
            views,
            participants=len(topology.participants),
            stack=known,
            stacks=costs,
            observed=observed,
            foreign=foreign,
        ),
        stacks=costs,
        stack=known,
        notes=(*topology.notes, *beyond_checked(plain)),
        topology=topology,
    )


def with_simple(protocols: Iterable[str]) -> tuple[str, ...]:
    """Return the protocols to plan for, each once, the plain one first: it is what the others are compared with."""
    chosen = dict.fromkeys(("simple", *protocols))
    unknown = [name for name in chosen if name not in PROTOCOLS]
    if unknown:
        raise TopologyError(f"no protocol is called {unknown[0]!r}; choose from {', '.join(PROTOCOLS)}")
    return tuple(chosen)


def named_stack(name: str | None) -> Stack | None:
    """Return a stack by its name; None for Rookery's own nodes."""
    if name is None or name == "rookery":
        return None
    if name not in STACKS:
        raise TopologyError(f"no stack is called {name!r}; choose from rookery, {', '.join(STACKS)}")
    return STACKS[name]


def beyond_checked(load: Load) -> tuple[str, ...]:
    """Return a note where a system is larger than any on which other stacks were compared with a capture."""
    if load.records <= CHECKED:
        return ()
    return (
        f"{load.records:,.0f} tellings are more than the {CHECKED:,} up to which the figures of other stacks were "
        "compared with captures: they are extrapolated",
    )


def stack_costs(load: Load) -> dict[str, StackCost]:
    """Return what every stack would send, from the load of the plain protocol."""
    return {name: stack_cost(stack, load) for name, stack in STACKS.items()}


def _seen_stack(observation: Observation) -> tuple[Stack | None, str | None]:
    """Return the stack that was heard, or the name of one that was never measured; neither for Rookery."""
    vendor = observation.vendor
    if vendor is None or vendor == VENDOR:
        return None, None
    stack = stack_of(vendor, multicast=observation.by_multicast)
    return stack, None if stack else VENDORS.get(vendor, f"vendor {vendor.hex('.')}")


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
            "bytes_per_minute": cost.octets_per_minute,
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
