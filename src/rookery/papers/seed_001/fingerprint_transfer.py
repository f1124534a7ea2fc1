"""Claim 5 says that fingerprints move to the longer filter. Seven bits and a bucket do not say where to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rookery.papers.endpoints import endpoint_keys
from rookery.papers.figures import bars, chart
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.filters.cuckoo.table import CuckooTable
from rookery.filters.hashing import KeyHasher

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(log2_buckets=[4, 7, 10], runs=10)
QUICK = grid(log2_buckets=[4, 7], runs=3)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Fill to 75 %, then move what the old filter holds to one of twice the length, and ask for every key."""
    old = CuckooTable(log2_buckets=parameters["log2_buckets"], width=8)
    keys = endpoint_keys(round(1.5 * old.bucket_count), seed=seed)
    hashes = KeyHasher(seed=0).many(keys)
    hashes = hashes[: old.insert_many(hashes)]
    # All that a slot tells is its bucket and its fingerprint. The longer index has one bit more; 0 is as good as 1.
    guessed = np.zeros(2 * old.slots.size, dtype=np.uint16)
    guessed[: old.slots.size] = old.slots
    moved = CuckooTable.received(guessed, log2_buckets=old.log2_buckets + 1, width=8)
    # Hardly any is missing if each goes to both places that it may belong to, but that takes twice the slots.
    copied = CuckooTable.received(np.tile(old.slots, 2), log2_buckets=old.log2_buckets + 1, width=8)
    shadowed = CuckooTable(log2_buckets=old.log2_buckets + 1, width=8)
    shadowed.insert_many(old.hashes())

    def missing(table: CuckooTable) -> float:
        return sum(not table.contains_hash(one) for one in hashes.tolist()) / hashes.size

    return [
        {
            "keys": int(hashes.size),
            "missing_moved": missing(moved),
            "missing_copied": missing(copied),
            "missing_shadowed": missing(shadowed),
            "load_before": old.count / old.slots.size,
            "load_copied": copied.count / copied.slots.size,
            "load_shadowed": shadowed.count / shadowed.slots.size,
        }
    ]


def plot(table: Table) -> Any:
    """Draw what is missing after the move."""
    figure, axes = chart("endpoints missing after the move", "")
    bars(
        axes,
        {
            "from fingerprints alone": table.mean("missing_moved"),
            "with the owner's 64-bit hashes": table.mean("missing_shadowed"),
        },
        form="{:.1%}",
    )
    return figure


def check(table: Table) -> Judgment:
    """Moved from the slots alone, nothing may be missing, or it must be possible with room gained."""
    lost, before, copied = (table.mean(name) for name in ("missing_moved", "load_before", "load_copied"))
    few = table.mean("missing_copied")
    if table.total("missing_shadowed") or table.mean("load_shadowed") > 0.6 * before:
        verdict = Verdict.NOT_TESTABLE  # the owner's hashes are the control: with them nothing is missing
    elif lost == 0 or (few == 0 and copied < 0.9 * before):
        verdict = Verdict.REPRODUCED
    else:
        verdict = Verdict.CONTRADICTED
    return Judgment(
        verdict,
        f"{lost:.0%} of the endpoints are missing when fingerprints alone are moved; copied to both places the load "
        f"stays {copied:.0%}",
        "The place in a table of twice the length needs one more bit of the hash, which a fingerprint does not have. "
        f"Moved by bucket and fingerprint alone, {lost:.0%} of the endpoints cannot be found any more; copied to both "
        f"places that are possible {few:.1%} are missing, but the longer table is as full as the old one, "
        f"{copied:.0%}, and nothing is gained. The owner must keep something longer; Rookery keeps the 64-bit hash "
        f"behind each slot, and then nothing is missing at a load of {table.mean('load_shadowed'):.0%}.",
    )
