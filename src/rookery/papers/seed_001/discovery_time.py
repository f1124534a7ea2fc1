"""Abstract: discovery is accelerated."""

from __future__ import annotations

from typing import Any

from rookery.papers.figures import charts, lines
from rookery.papers.seed_001.traffic import CUCKOO, FULL, QUICK, run
from rookery.papers.table import Table
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

#: A slow link, in bits a second, for the time that the octets themselves take.
SLOW = 1_000_000


def _with_slow(table: Table) -> Table:
    few = table.where(ratio=0.1, endpoints=10)
    return Table([{**row, "slow_ms": row["completed_ms"] + 8000 * row["octets"] / SLOW} for row in few])


def plot(table: Table) -> Any:
    """Draw the time until every reader has its writer."""
    figure, (left, right) = charts(
        ("participants", "ms until all have met"), ("participants", "ms, with all octets on 1 Mbit/s")
    )
    lines(left, _with_slow(table), x="participants", y="completed_ms", by="protocol")
    lines(right, _with_slow(table), x="participants", y="slow_ms", by="protocol")
    left.set_ylim(bottom=0)
    right.set_yscale("log")
    for axes in (left, right):
        axes.set_xscale("log", base=2)
    return figure


def check(table: Table) -> Judgment:
    """In both settings it must be faster than SDP: on a link without limit, or on a slow one."""
    few = _with_slow(table)
    most = few.where(participants=few.most("participants"))
    times = {name: (part.mean("completed_ms"), part.mean("slow_ms")) for name, part in most.by("protocol")}
    free, slow = (all(times[name][place] < 0.9 * times["simple"][place] for name in CUCKOO) for place in (0, 1))
    one, other, simple = (times[name] for name in (*CUCKOO, "simple"))
    return Judgment(
        Verdict.REPRODUCED if free else Verdict.REGIME if slow else Verdict.CONTRADICTED,
        f"{one[0]:.0f} ms, {other[0]:.0f} in the seed's own setting, {simple[0]:.0f} under SDP; on 1 Mbit/s "
        f"{one[1]:,.0f}, {other[1]:,.0f} and {simple[1]:,.0f} ms",
        "Where the link takes whatever is sent, all have met at the same moment under every protocol, since what "
        f"decides is when announcements come: {one[0]:.0f} ms, {other[0]:.0f} ms in the seed's own setting, and "
        f"{simple[0]:.0f} ms under SDP. Where the link is the bottleneck fewer octets are less time: on a shared "
        f"1 Mbit/s {one[1]:,.0f}, {other[1]:,.0f} and {simple[1]:,.0f} ms. The second is the virtual time plus the "
        "octets over the rate, not a simulation of queues.",
    )
