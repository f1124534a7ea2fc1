"""Figure 4: what a node that joins keeps of the nine others, against the node match ratio.

Ten participants on the simulated network, five applications on each with seven writers (the seed gives no number); the
joiner reads a share of all 315 writers. What it keeps are the announcements of endpoints that reach it and the
summaries of the nine, in bytes as they came. All summaries are sized for the same rate and do not have the same: the
rate that was measured stands beside the bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.papers.figures import charts, lines
from rookery.papers.joiners import APPLICATIONS, PEERS, joined
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

PROTOCOLS = ["simple", "bloom", "tree"]
RATIOS = [0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0]
_NODES = {"peers": PEERS, "applications": APPLICATIONS, "endpoints": 7}
FULL = grid(protocol=PROTOCOLS, ratio=RATIOS, **_NODES, asked=20_000, runs=10)
QUICK = grid(protocol=PROTOCOLS, ratio=[0.1, 1.0], **{**_NODES, "endpoints": 3}, asked=5_000)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Let one node join nine, and see what it has kept five seconds later."""
    asked = parameters["asked"]
    fleet = joined(**{name: value for name, value in parameters.items() if name != "asked"}, seed=seed)
    summaries = fleet.joiner.participant.summary_bytes
    return [
        {
            "writers": len(fleet.writers),
            "due": len(fleet.readers),
            "missing": fleet.missing,
            "records": len(fleet.joiner.participant.remote_endpoints),
            "summary_bytes": summaries,
            "kept": fleet.record_bytes + summaries,
            "false_positive_rate": fleet.false_positive_rate(asked, seed),
        }
    ]


def kept(table: Table) -> dict[str, dict[float, float]]:
    """Return the mean bytes that are kept, by protocol and ratio."""
    return {
        protocol: {ratio: one.mean("kept") for ratio, one in part.by("ratio")}
        for protocol, part in table.by("protocol")
    }


def plot(table: Table) -> Any:
    """Draw what is kept, and the summaries alone."""
    figure, (left, right) = charts(
        ("node match ratio", "bytes that the joiner keeps"), ("node match ratio", "of these in summaries")
    )
    for axes, column in ((left, "kept"), (right, "summary_bytes")):
        lines(axes, table, x="ratio", y=column, by="protocol")
        axes.set_ylim(bottom=0)
    return figure


def check(table: Table) -> Judgment:
    """SDP must be flat, and above the others at every ratio; nothing may be missing."""
    loads, missing = kept(table), table.total("missing")
    simple = loads["simple"]
    least, most = min(simple.values()), max(simple.values())
    above = [ratio for ratio in simple if all(loads[name][ratio] < simple[ratio] for name in ("bloom", "tree"))]
    beyond = {name: loads[name][max(simple)] / simple[max(simple)] for name in ("bloom", "tree")}
    if missing or not above or most > 1.01 * least:
        verdict = Verdict.CONTRADICTED
    else:
        verdict = Verdict.REPRODUCED if len(above) == len(simple) else Verdict.REGIME
    return Judgment(
        verdict,
        f"SDP {least:,.0f} to {most:,.0f} B over all ratios; the largest up to NMR {max(above, default=0)}",
        f"A joiner under SDP is told of all {table.least('writers')} writers of the nine nodes, whatever matches: it "
        f"keeps {least:,.0f} to {most:,.0f} B. That is the most up to a ratio of {max(above, default=0)}; where "
        f"everything matches the others are told as many records and keep summaries on top ({beyond['bloom']:.0%} "
        f"with filters, {beyond['tree']:.0%} with trees). {missing} matches were missing.",
    )
