"""Embodiment: an endpoint that appears while fingerprints are being moved goes into the new filter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.experiments.endpoints import endpoint_keys
from rookery.experiments.figures import chart, lines, reference
from rookery.experiments.sweeps import grid
from rookery.experiments.table import Row, Table
from rookery.experiments.verdicts import Judgment, Verdict
from rookery.filters import CuckooFilter

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(log2_buckets=[4, 6, 8], every=4, runs=5)
QUICK = grid(log2_buckets=[3, 5], every=4, runs=2)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Begin a transfer; add an endpoint after every few announcements, and look where it is."""
    made = CuckooFilter.patent(log2_buckets=parameters["log2_buckets"])
    keys = endpoint_keys(4 << parameters["log2_buckets"], seed=seed)
    added = 0
    while not made.is_migrating:
        made.add(keys[added])
        added += 1
    before, announcements, in_new, old_grew, missing = added, 0, 0, 0, 0
    while made.is_migrating:
        wire = made.announce()
        announcements += 1
        received = CuckooFilter.from_bytes(wire)
        missing += sum(key not in received for key in keys[:added])
        if announcements % parameters["every"] == 0 and made.is_migrating:
            new, old = made.tables
            held = old.count
            made.add(keys[added])
            in_new += new.contains_hash(made.hasher(keys[added]))
            old_grew += old.count > held
            added += 1
    return [
        {
            "held": before,
            "late": added - before,
            "in_new": in_new,
            "old_grew": old_grew,
            "announcements": announcements,
            "missing": missing,
        }
    ]


def plot(table: Table) -> Any:
    """Draw the length of the transfer, which late endpoints do not prolong."""
    figure, axes = chart("fingerprints in the old filter", "announcements until all have moved")
    lines(axes, table, x="held", y="announcements", label=f"with a new endpoint every {table.least('every')}")
    sizes = sorted(table.values("held"))
    reference(axes, sizes, sizes, "one for each fingerprint")
    return figure


def check(table: Table) -> Judgment:
    """All late ones in the new filter, none in the old, nothing missing in any announcement."""
    late, in_new, old = table.total("late"), table.total("in_new"), table.total("old_grew")
    missing = table.total("missing")
    return Judgment(
        Verdict.REPRODUCED if late == in_new > 0 and not old + missing else Verdict.CONTRADICTED,
        f"{in_new} of {late} late endpoints are in the new filter; {missing} missing in any announcement",
        f"Each of the {late} endpoints that appeared during a transfer went into the new filter and {old} into the old "
        f"one, so the transfer is not prolonged, and a receiver that asks both filters missed {missing} of all "
        "endpoints in any announcement.",
    )
