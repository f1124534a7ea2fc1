"""Section 3 (3): who can delete a node that is in the network?

Twice: in one structure of ten nodes with five writers each, which is asked for what was deleted; and live, where every
node is a participant whose writers the joiner reads: the writers of some are taken away, and what these participants
announce then is asked, and whether the joiner still has a pair.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.discovery.carriage import decode_summary
from rookery.discovery.interests import interest_of
from rookery.papers.endpoints import endpoint_keys
from rookery.papers.figures import bars, chart
from rookery.papers.joiners import APPLICATIONS, PEERS, TYPE_NAME, joined
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.filters import BloomFilter, BloomTree

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

NAMES = {"simple": "SDP", "bloom": "BF_SDP", "tree": "HBF_ADA"}
FULL = grid(protocol=list(NAMES), deleted=3, runs=10)
QUICK = grid(protocol=list(NAMES), deleted=3, runs=1)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Delete some nodes from the structure and from the network; ask for them and for those that stay."""
    protocol, deleted = parameters["protocol"], parameters["deleted"]
    nodes = [endpoint_keys(APPLICATIONS, seed=seed, owner=f"node{number}-") for number in range(PEERS + 1)]
    gone, stay = ([key for node in some for key in node] for some in (nodes[:deleted], nodes[deleted:]))
    held = _structure(protocol, gone + stay)
    if hasattr(held, "remove"):
        for key in gone:
            held.remove(key)
    answered, lost = sum(key in held for key in gone), sum(key not in held for key in stay)
    fleet = joined(protocol, peers=PEERS, applications=APPLICATIONS, endpoints=1, ratio=1.0, seed=seed)
    leaving = {member.participant.configuration.prefix: member for member in fleet.peers[:deleted]}
    before = fleet.missing
    for guid in fleet.writers:
        if guid.prefix in leaving:
            leaving[guid.prefix].participant.delete_endpoint(guid, fleet.network.calendar.now)
    for member in leaving.values():
        member.flush()
    fleet.network.run(5_000_000)
    topics = {topic for guid, topic in fleet.writers.items() if guid.prefix in leaving}
    keys = [interest_of(kind="W", topic=topic, type_name=TYPE_NAME).own for topic in sorted(topics)]
    said = [decode_summary(said[-1].container) for said in map(fleet.network.of, leaving.values()) if said]
    paired = [topic for guid, topic in fleet.readers.items() if fleet.joiner.participant.matched(guid)]
    live = {
        "live_gone": len(keys),
        "live_answered": sum(any(key in summary for summary in said) for key in keys),
        "live_paired": sum(topic in topics for topic in paired),
        "live_lost": before + len(fleet.readers) - len(keys) - sum(topic not in topics for topic in paired),
    }
    return [{"gone": len(gone), "answered": answered, "lost": lost, **live}]


def _structure(protocol: str, keys: list[str]) -> Any:
    if protocol == "simple":
        return list(keys)
    made = (BloomTree if protocol == "tree" else BloomFilter).sized_for(len(keys), 0.01)
    made.add_many(keys)
    return made


def plot(table: Table) -> Any:
    """Draw what remains of the deleted nodes."""
    figure, axes = chart("share of the deleted endpoints that are still answered with yes", "")
    shown = {}
    for protocol, part in table.by("protocol"):
        shown[f"{NAMES[protocol]}, structure"] = part.total("answered") / part.total("gone")
        shown[f"{NAMES[protocol]}, live"] = part.total("live_answered") / part.total("live_gone")
    bars(axes, shown)
    return figure


def check(table: Table) -> Judgment:
    """SDP and HBF_ADA must delete and keep the rest, in the structure and live; BF_SDP must be able to in neither."""
    share = {name: part.total("answered") / part.total("gone") for name, part in table.by("protocol")}
    worse = {name: max(map(part.total, ("live_answered", "live_paired"))) for name, part in table.by("protocol")}
    live = {name: count / table.where(protocol=name).total("live_gone") for name, count in worse.items()}
    lost = table.total("lost") + table.total("live_lost")
    deletes = all(max(share[name], live[name]) < 0.1 for name in ("simple", "tree"))
    stays = [name for name, found in (("structure", share), ("live", live)) if found["bloom"] == 1]
    verdict = Verdict.REPRODUCED if len(stays) == 2 else Verdict.REGIME if stays else Verdict.CONTRADICTED
    return Judgment(
        verdict if deletes and not lost else Verdict.CONTRADICTED,
        f"still there after deletion, structure and live: SDP {share['simple']:.1%} and {live['simple']:.1%}, HBF_ADA "
        f"{share['tree']:.1%} and {live['tree']:.1%}, BF_SDP {share['bloom']:.0%} and {live['bloom']:.1%}",
        "SDP drops the records and HBF_ADA counts its counters down: what was deleted is gone, from the structure and "
        f"from the network, and {lost} of what stays are missing. A plain filter cannot delete: it answers for "
        f"{share['bloom']:.0%} of what it was to forget. Live that is no obstacle, since a participant knows its own "
        "endpoints and makes its filter anew: the next announcement answers for "
        f"{live['bloom']:.1%} of them. So BF_SDP cannot delete as a structure, and can as a protocol.",
    )
