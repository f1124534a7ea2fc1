"""Section 2: the two phases of SDP stay as they are, only the announcement is another; so the two can be mixed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.experiments.figures import bars, chart
from rookery.experiments.fleets import discover
from rookery.experiments.sweeps import grid
from rookery.experiments.table import Row, Table
from rookery.experiments.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

MIXTURES = ["simple", "tree", "simple+tree", "simple+bloom+tree+cuckoo"]
FULL = grid(protocol=MIXTURES, participants=30, endpoints=10, ratio=0.3, runs=3)
QUICK = grid(protocol=MIXTURES, participants=8, endpoints=10, ratio=0.3, runs=1)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Let a fleet discover itself whose members speak the protocols in turn."""
    return [discover(**parameters, seed=seed)]


def plot(table: Table) -> Any:
    """Draw the octets of each mixture."""
    figure, axes = chart(f"octets sent in 10 s by {table.least('participants')} participants", "")
    shown = {protocol: part.mean("octets") for protocol, part in table.by("protocol")}
    bars(axes, shown, form="{:,.0f}")
    return figure


def check(table: Table) -> Judgment:
    """Every match must be found in every mixture."""
    due, missing = table.total("due"), table.total("missing")
    octets = {protocol: part.mean("octets") for protocol, part in table.by("protocol")}
    share = octets["simple+tree"] / octets["simple"]
    return Judgment(
        Verdict.REPRODUCED if not missing else Verdict.CONTRADICTED,
        f"{due - missing:,.0f} of {due:,} matches found, in all mixtures",
        f"Participants that announce a tree and participants that speak plain SDP find each other: {missing:.0f} of "
        f"{due:,} matches are missing over four mixtures. A summary says itself what it is, and whoever sends none is "
        f"told endpoints as in SDP. Half and half, the octets are {share:.0%} of SDP's alone.",
    )
