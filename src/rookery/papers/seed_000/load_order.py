"""Figure 4: is HBF_ADA's load below that of BF_SDP?"""

from __future__ import annotations

from rookery.papers.seed_000.load_flat import FULL, QUICK, kept, plot, run
from rookery.papers.table import Table
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]


def check(table: Table) -> Judgment:
    """A node must keep less with trees than with filters at every ratio above 0, and find everything."""
    loads, missing = kept(table), table.total("missing")
    bloom, tree = loads["bloom"], loads["tree"]
    ratios = [ratio for ratio in tree if ratio > 0]
    below = [ratio for ratio in ratios if tree[ratio] < bloom[ratio]]
    if missing or not below:
        verdict = Verdict.CONTRADICTED
    else:
        verdict = Verdict.REPRODUCED if below == ratios else Verdict.REGIME
    shown, words = 0.1, []
    for name, label in (("tree", "HBF_ADA"), ("bloom", "BF_SDP")):
        part = table.where(protocol=name)
        rate = part.mean("false_positive_rate")
        words.append(f"{label} {part.mean('summary_bytes'):,.0f} B of summaries at a measured rate of {rate:.3%}")
    records = {name: table.where(protocol=name, ratio=shown).mean("records") for name in ("bloom", "tree")}
    return Judgment(
        verdict,
        f"at NMR {shown}: {tree[shown]:,.0f} B against {bloom[shown]:,.0f} B; below at {len(below)} of {len(ratios)} "
        "ratios",
        "Under both protocols a node is told of the endpoints that match and of no others: at a ratio of "
        f"{shown} {records['tree']:.1f} records with trees and {records['bloom']:.1f} with filters. What differs is "
        f"the summaries: {' and '.join(words)}, both sized for 0.049 %. So the load under HBF_ADA is below at "
        f"{len(below)} of {len(ratios)} ratios, and the difference does not depend on the ratio. {missing} matches "
        "were missing.",
    )
