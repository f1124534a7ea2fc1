"""Abstract: the memory that a node needs for discovery falls. What participants keep, at every match ratio."""

from __future__ import annotations

from typing import Any

from rookery.papers.endpoints import record_bytes
from rookery.papers.figures import chart, lines
from rookery.papers.seed_001 import traffic
from rookery.papers.seed_001.traffic import CUCKOO, PROTOCOLS, run
from rookery.papers.sweeps import Sweep, grid
from rookery.papers.table import Table
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

#: Everyone writes and reads the same topics: nothing is told in vain.
_COMMON = grid(protocol=PROTOCOLS, participants=16, endpoints=10, ratio=1.0, common=True)
_QUICK_COMMON = grid(protocol=PROTOCOLS, participants=8, endpoints=10, ratio=1.0, common=True)
FULL = Sweep(traffic.FULL.configurations + _COMMON.configurations, runs=traffic.FULL.runs)
QUICK = Sweep(traffic.QUICK.configurations + _QUICK_COMMON.configurations, runs=traffic.QUICK.runs)


def _bytes(table: Table) -> Table:
    """Add what a node keeps: the records that it was told of, and the summaries of the others."""
    return Table([{**row, "kept": row["records"] * record_bytes() + row["summary_octets"]} for row in table])


def _shares(table: Table) -> dict[str, float]:
    """Return what the worse of the two settings keeps, as a share of SDP, by case."""
    kept: dict[str, dict[str, list[float]]] = {}
    for row in _bytes(table):
        case = "everything in common" if row.get("common") else f"ratio {row['ratio']:g}, {row['endpoints']} endpoints"
        name = f"{row['participants']} participants, {case}"
        kept.setdefault(name, {}).setdefault(row["protocol"], []).append(row["kept"])
    means = {name: {one: sum(some) / len(some) for one, some in part.items()} for name, part in kept.items()}
    return {name: max(part[one] for one in CUCKOO) / part["simple"] for name, part in means.items()}


def plot(table: Table) -> Any:
    """Draw the bytes."""
    figure, axes = chart("participants, 10 endpoints each", "bytes that a node keeps of the others")
    lines(axes, _bytes(table.where(ratio=0.1, endpoints=10)), x="participants", y="kept", by="protocol")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    return figure


def check(table: Table) -> Judgment:
    """With filters a node must keep less in every case, or the cases are named in which it does not."""
    shares = _shares(table)
    common = {name: share for name, share in shares.items() if name.endswith("in common")}
    others = {name: share for name, share in shares.items() if name not in common}
    few = _bytes(table.where(ratio=0.1, endpoints=10))
    most = few.where(participants=few.most("participants"))
    kept = {name: part.mean("kept") for name, part in most.by("protocol")}
    worst, missing = max(others, key=others.__getitem__), table.total("missing")
    if missing or not others or max(others.values()) >= 1:
        verdict = Verdict.CONTRADICTED
    elif common and max(common.values()) < 1:
        verdict = Verdict.REPRODUCED
    else:
        verdict = Verdict.REGIME
    return Judgment(
        verdict,
        f"{most.most('participants')} participants: {kept['cuckoo']:,.0f} B, {kept['cuckoo:patent']:,.0f} B in the "
        f"seed's own setting, {kept['simple']:,.0f} B under SDP; with everything in common "
        f"{max(common.values(), default=0):.0%} of SDP",
        f"A node keeps the records that it was told of and a filter of each peer. In the {len(others)} cases in which "
        f"participants share only some topics that is at most {others[worst]:.0%} of what it keeps under SDP "
        f"({worst}), in both settings. Where all write and read the same topics every record is kept and the filters "
        f"come on top: {max(common.values(), default=0):.0%}.",
    )
