"""Section III-C and the proof of Proposition 2: half of the bits of an identity are set, so a join takes d/2 steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.papers.figures import charts, lines, reference
from rookery.papers.overlays import configured, joined
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(peers=[64, 128, 256], bits=1024, runs=2)
QUICK = grid(peers=[64, 128], bits=1024, runs=1)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Let peers with evenly drawn interests join as printed; count the ones and the answers."""
    overlay, _, _ = joined(parameters["peers"], seed, configuration=configured("paper"))
    assert overlay.space.bit_count == parameters["bits"]
    ones = [peer.descriptor.bits.bit_count() for peer in overlay]
    return [
        {
            "ones": sum(ones) / len(ones),
            "most_ones": max(ones),
            "share": sum(ones) / len(ones) / parameters["bits"],
            "steps": overlay.messages["JoinReply"] / parameters["peers"],
        }
    ]


def plot(table: Table) -> Any:
    """Draw the ones and the steps."""
    figure, (left, right) = charts(("N, nodes", "share of the bits that are set"), ("N, nodes", "steps of a join"))
    sizes = table.values("peers")
    lines(left, table, x="peers", y="share", label="identities of 1024 bits")
    reference(left, sizes, [0.5 for _ in sizes], "stated: ½")
    lines(right, table, x="peers", y="steps", label="joining by the metric", first=1)
    reference(right, sizes, [table.least("bits") / 2 for _ in sizes], "stated: d/2 = 512")
    left.set_ylim(0, 0.6)
    right.set_yscale("log")
    for axes in (left, right):
        axes.set_xscale("log", base=2)
    return figure


def check(table: Table) -> Judgment:
    """Half of the bits, and about d/2 steps."""
    bits, share, steps = table.least("bits"), table.mean("share"), table.where(peers=table.most("peers")).mean("steps")
    holds = abs(share - 0.5) < 0.1 and 0.5 < steps / (bits / 2) < 2
    return Judgment(
        Verdict.REPRODUCED if holds else Verdict.CONTRADICTED,
        f"{share:.1%} of the bits are set, {steps:.1f} steps for a join at N = {table.most('peers')}",
        f"With evenly drawn interests {share:.1%} of the {bits} bits are set ({table.most('most_ones')} at most): how "
        "many depends on how much a node wants, not on how evenly. Half of them would take a node that wants some 180 "
        f"of the 1,024 cells with four bits each. A join by the metric takes {steps:.1f} steps at N = "
        f"{table.most('peers')}, not {bits // 2}: one answer brings many cells, and a joiner makes do after twenty "
        "answers that bring nothing new, which are most of these steps.",
    )
