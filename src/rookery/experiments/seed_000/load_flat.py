"""Figure 4: what a node stores of its peers against the node match ratio, under each protocol.

Two readings of what is stored after a match. *By endpoint*: the records of the endpoints that match. *By participant*:
BF_SDP cannot tell which sub-node a match is on, so one match makes it store all records of the participant; the tree
can, so HBF_ADA stores those of the matching sub-nodes alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rookery.experiments.endpoints import endpoint_keys, record_bytes
from rookery.experiments.figures import charts, lines
from rookery.experiments.sweeps import grid
from rookery.experiments.table import Row, Table
from rookery.experiments.verdicts import Judgment, Verdict
from rookery.filters import BloomFilter, BloomTree

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

RATIOS = [0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0]
#: Three groups of ten nodes with five applications each, as in section 3; seven endpoints for each application.
FULL = grid(ratio=RATIOS, peers=29, applications=5, endpoints=7, runs=10)
QUICK = grid(ratio=RATIOS, peers=29, applications=5, endpoints=7, runs=2)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Draw which endpoints match, and add up the bytes kept for all peers."""
    peers, applications, endpoints = (parameters[name] for name in ("peers", "applications", "endpoints"))
    each = applications * endpoints
    keys = endpoint_keys(each, seed=seed)
    bloom, tree = BloomFilter.sized_for(each, 0.03), BloomTree.sized_for(each, 0.03)
    for made in (bloom, tree):
        made.add_many(keys)
    matches = np.random.default_rng(seed).random((peers, applications, endpoints)) < parameters["ratio"]
    record, filters, trees = record_bytes(), peers * len(bloom.to_bytes()), peers * len(tree.to_bytes())
    matched = int(matches.sum()) * record
    return [
        {"protocol": "SDP", "by_endpoint": peers * each * record, "by_participant": peers * each * record},
        {
            "protocol": "BF_SDP",
            "by_endpoint": filters + matched,
            "by_participant": filters + int(matches.any(axis=(1, 2)).sum()) * each * record,
        },
        {
            "protocol": "HBF_ADA",
            "by_endpoint": trees + matched,
            "by_participant": trees + int(matches.any(axis=2).sum()) * endpoints * record,
        },
    ]


def plot(table: Table) -> Any:
    """Draw both readings."""
    figure, axes = charts(
        ("node match ratio", "bytes stored, by endpoint"), ("node match ratio", "bytes stored, by participant")
    )
    for one, column in zip(axes, ("by_endpoint", "by_participant"), strict=True):
        lines(one, table, x="ratio", y=column, by="protocol")
        one.set_ylim(bottom=0)
    return figure


def check(table: Table) -> Judgment:
    """SDP must be flat, and above the others at every ratio."""
    simple = table.where(protocol="SDP").values("by_endpoint")
    above = [
        ratio
        for ratio, part in table.by("ratio")
        if all(part.where(protocol=name).mean("by_endpoint") < simple[0] for name in ("BF_SDP", "HBF_ADA"))
    ]
    flat, always = len(simple) == 1, len(above) == len(table.values("ratio"))
    verdict = Verdict.CONTRADICTED if not flat else Verdict.REPRODUCED if always else Verdict.REGIME
    return Judgment(
        verdict,
        f"SDP {simple[0]:,} B at every ratio; largest up to NMR {max(above)}",
        f"SDP stores all {simple[0]:,} bytes whatever matches, so it is flat, as stated. It is also the largest up to "
        f"a ratio of {max(above)}; at 1.0 the others store every record too, and their filters on top.",
    )
