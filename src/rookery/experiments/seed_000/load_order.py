"""Figure 4: is HBF_ADA's load below that of BF_SDP?"""

from __future__ import annotations

from typing import Any

from rookery.experiments.seed_000.load_flat import FULL, QUICK, plot, run
from rookery.experiments.table import Table
from rookery.experiments.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]


def check(table: Table) -> Judgment:
    """It depends on the reading, and on the ratio."""
    below: dict[str, list[Any]] = {
        column: [
            ratio
            for ratio, part in table.by("ratio")
            if part.where(protocol="HBF_ADA").mean(column) < part.where(protocol="BF_SDP").mean(column)
        ]
        for column in ("by_endpoint", "by_participant")
    }
    small = table.where(ratio=0.05)
    loads = {name: small.where(protocol=name).mean("by_participant") for name in ("BF_SDP", "HBF_ADA")}
    by_endpoint, by_participant = below["by_endpoint"], below["by_participant"]
    verdict = Verdict.REGIME if by_participant and not by_endpoint else Verdict.CONTRADICTED
    return Judgment(
        verdict,
        f"at NMR 0.05: {loads['HBF_ADA']:,.0f} B against {loads['BF_SDP']:,.0f} B, if a match is kept by sub-node",
        "If a node keeps the records of the endpoints that match, HBF_ADA is above BF_SDP at every ratio, since its "
        "tree is larger than one filter of the same rate. If BF_SDP, which cannot tell sub-nodes apart, must keep a "
        "participant's records whole while HBF_ADA keeps those of the matching sub-nodes, HBF_ADA is below at ratios "
        f"from {min(by_participant)} to {max(by_participant)}, and the two meet where everything matches.",
    )
