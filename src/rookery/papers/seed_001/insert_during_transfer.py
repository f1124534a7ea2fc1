"""Embodiment: an endpoint that appears while fingerprints are being moved goes into the new filter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.papers.announced import PERIOD, ListeningNetwork, read, write
from rookery.papers.endpoints import endpoint_keys, endpoint_names
from rookery.papers.figures import chart, lines, reference
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.filters import CuckooFilter

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(log2_buckets=[4, 6, 8], every=4, runs=5)
QUICK = grid(log2_buckets=[3, 5], every=4, runs=2)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Begin a transfer; give the participant an endpoint after every few announcements, and read where it is."""
    names = endpoint_names(4 << parameters["log2_buckets"], seed=seed)
    keys = endpoint_keys(len(names), seed=seed)
    twin, added = CuckooFilter.patent(log2_buckets=parameters["log2_buckets"]), 0
    while not twin.is_migrating:
        twin.add(keys[added])
        added += 1
    network, options = ListeningNetwork(seed), {"period": PERIOD, "datagram_bytes": 4_000}
    sender = network.join(discovery=f"cuckoo:patent,buckets={1 << parameters['log2_buckets']}", **options)
    reader = network.join(discovery="cuckoo:patent", **options)
    for name in names[:added]:
        write(sender, *name)
    before, in_new, old_grew, missing, heard = added, 0, 0, 0, 0
    wanted = []
    while not heard or len(network.of(sender)[-1].filter.tables) == 2:
        late = heard % parameters["every"] == parameters["every"] - 1
        held = network.of(sender)[-1].filter.tables[1].count if heard else 0
        if late:  # its change is announced at once, under the next number
            wanted.append(read(reader, *names[added]))
            write(sender, *names[added])
            added += 1
        heard += 1
        network.run(2 * PERIOD, until=lambda: len(network.of(sender)) >= heard)  # noqa: B023
        received = network.of(sender)[-1].filter
        missing += added - int(received.contains_many(keys[:added]).sum())
        if late:
            in_new += received.tables[0].contains_hash(received.hasher(keys[added - 1]))
            old_grew += len(received.tables) == 2 and received.tables[1].count > held
    network.run(PERIOD)
    missing += sum(not reader.participant.matched(guid) for guid in wanted)
    return [
        {
            "held": before,
            "late": added - before,
            "in_new": in_new,
            "old_grew": old_grew,
            "announcements": heard,
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
