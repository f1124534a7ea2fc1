"""Abstract: discovery is accelerated."""

from __future__ import annotations

from typing import Any

from rookery.experiments.figures import charts, lines
from rookery.experiments.seed_001.traffic import FULL, QUICK, run
from rookery.experiments.table import Table
from rookery.experiments.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

#: A slow link, in bits a second, for the time that the octets themselves take.
SLOW = 1_000_000


def _with_slow(table: Table) -> Table:
    return Table(
        [{**row, "slow_ms": row["completed_ms"] + 8000 * row["octets"] / SLOW} for row in table.where(ratio=0.1)]
    )


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
    """Cuckoo must be faster than SDP: on a link without limit, or on a slow one."""
    most = _with_slow(table).where(participants=table.where(ratio=0.1).most("participants"))
    times = {name: (part.mean("completed_ms"), part.mean("slow_ms")) for name, part in most.by("protocol")}
    free = times["cuckoo"][0] < 0.9 * times["simple"][0]
    slow = times["cuckoo"][1] < 0.9 * times["simple"][1]
    return Judgment(
        Verdict.REPRODUCED if free else Verdict.REGIME if slow else Verdict.CONTRADICTED,
        f"{times['cuckoo'][0]:.0f} ms against {times['simple'][0]:.0f} ms under SDP; on 1 Mbit/s "
        f"{times['cuckoo'][1]:,.0f} against {times['simple'][1]:,.0f} ms",
        "Where the link takes whatever is sent, all have met at the same moment under every protocol, since what "
        f"decides is when announcements come: {times['cuckoo'][0]:.0f} ms against {times['simple'][0]:.0f} ms. Where "
        f"the link is the bottleneck fewer octets are less time: on a shared 1 Mbit/s {times['cuckoo'][1]:,.0f} ms "
        f"against {times['simple'][1]:,.0f} ms. The second is the virtual time plus the octets over the rate, not a "
        "simulation of queues.",
    )
