"""Abstract: the network load of discovery falls. Real participants on the simulated network, every octet counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.papers.figures import charts, lines
from rookery.papers.fleets import discover
from rookery.papers.sweeps import Sweep, grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

CUCKOO = ["cuckoo", "cuckoo:patent"]
PROTOCOLS = ["simple", "bloom", "tree", *CUCKOO]
#: As many endpoints as make the filters of both settings double.
CROWD = 40
_SIZES = grid(protocol=PROTOCOLS, participants=[4, 8, 16, 32, 64], endpoints=10, ratio=0.1)
_RATIOS = grid(protocol=PROTOCOLS, participants=16, endpoints=10, ratio=[0.0, 0.3, 0.6, 1.0])
_CROWDED = grid(protocol=PROTOCOLS, participants=16, endpoints=CROWD, ratio=0.1)
_QUICK = grid(protocol=PROTOCOLS, participants=[4, 8, 16], endpoints=10, ratio=0.1)
_QUICK_RATIOS = grid(protocol=PROTOCOLS, participants=16, endpoints=10, ratio=1.0)
_QUICK_CROWDED = grid(protocol=PROTOCOLS, participants=8, endpoints=CROWD, ratio=0.1)
FULL = Sweep(_SIZES.configurations + _RATIOS.configurations + _CROWDED.configurations, runs=5)
QUICK = Sweep(_QUICK.configurations + _QUICK_RATIOS.configurations + _QUICK_CROWDED.configurations)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Let a fleet discover itself."""
    return [discover(parameters["protocol"], **{k: v for k, v in parameters.items() if k != "protocol"}, seed=seed)]


def plot(table: Table) -> Any:
    """Draw octets over participants, and over the match ratio."""
    figure, (left, right) = charts(
        ("participants, 10 endpoints each", "octets sent in 10 s"),
        ("node match ratio (16 participants)", "octets sent"),
    )
    few = table.where(endpoints=10)
    lines(left, few.where(ratio=0.1), x="participants", y="octets", by="protocol")
    lines(right, few.where(participants=16), x="ratio", y="octets", by="protocol")
    left.set_xscale("log", base=2)
    for axes in (left, right):
        axes.set_yscale("log")
    return figure


def share(table: Table, protocol: str, column: str, *, endpoints: int = 10) -> dict[tuple[int, float], float]:
    """Return a protocol's share of what SDP takes, by participants and ratio."""
    return {
        (count, ratio): one.where(protocol=protocol).mean(column) / one.where(protocol="simple").mean(column)
        for count, part in table.where(endpoints=endpoints).by("participants")
        for ratio, one in part.by("ratio")
    }


def check(table: Table) -> Judgment:
    """In both settings the octets must be below SDP's everywhere, and no match may be missing."""
    now, patent = (share(table, name, "octets") for name in CUCKOO)
    crowded = [max(share(table, name, "octets", endpoints=CROWD).values()) for name in CUCKOO]
    most, dense = max(cell for cell in now if cell[1] == 0.1), (16, 1.0)
    bloom = share(table, "bloom", "octets")[most]
    holds = max(*now.values(), *patent.values(), *crowded) < 0.7 and not table.total("missing")
    return Judgment(
        Verdict.REPRODUCED if holds else Verdict.CONTRADICTED,
        f"{now[most]:.1%} of SDP's octets with {most[0]} participants, {patent[most]:.1%} in the seed's own setting; "
        f"{now[dense]:.1%} and {patent[dense]:.1%} with 16 where every reader matches",
        f"With {most[0]} participants of which a tenth of the readers match, discovery by cuckoo filters takes "
        f"{now[most]:.1%} of the octets of SDP and {patent[most]:.1%} with entries of 8 bits as the seed has them, "
        f"whose false matches cost more than the bits save; with {CROWD} endpoints each, where the filters double, "
        f"{crowded[0]:.1%} and {crowded[1]:.1%}; with 16 whose readers all match {now[dense]:.1%} and "
        f"{patent[dense]:.1%}. Every match was found. It is the summary that saves, not this kind of it: a plain "
        f"Bloom filter takes {bloom:.1%}.",
    )
