"""Section 2.3, step 5: what changes is entered into the tree and sent again; others hear of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.papers.figures import bars, chart
from rookery.papers.joiners import APPLICATIONS, PEERS
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.rtps.events import EndpointMatched, EndpointUnmatched
from rookery.rtps.qos import QualityOfService
from rookery.simulated.domain import SimulatedNetwork, conditions_between

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

PROTOCOLS = ["simple", "bloom", "tree", "cuckoo"]
FULL = grid(protocol=PROTOCOLS, readers=PEERS, changes=APPLICATIONS, runs=5)
QUICK = grid(protocol=PROTOCOLS, readers=PEERS, changes=2, runs=1)
SECOND = 1_000_000


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Everybody reads all topics of one node; then it takes some writers away and makes others."""
    network = SimulatedNetwork(seed, conditions_between(200, 2_000))
    sender, *readers = (network.join(discovery=parameters["protocol"]) for _ in range(parameters["readers"] + 1))
    quality, changes = QualityOfService(), parameters["changes"]

    def write(name: str) -> Any:
        return sender.participant.create_writer(name, "Sample", quality, keyed=False, now=network.calendar.now)

    early = [write(f"early {number}") for number in range(changes)]
    for member in readers:
        for number in range(changes):
            for name in ("early", "late"):
                member.participant.create_reader(
                    f"{name} {number}", "Sample", quality, keyed=False, now=network.calendar.now
                )
    for member in (sender, *readers):
        member.flush()
    network.run(10 * SECOND)
    met = sum(isinstance(event, EndpointMatched) for member in readers for event in member.events)
    for guid in early:
        sender.participant.delete_endpoint(guid, network.calendar.now)
    late = {write(f"late {number}") for number in range(changes)}
    sender.flush()
    network.run(10 * SECOND)
    heard = [event for member in readers for event in member.events]
    return [
        {
            "due": changes * parameters["readers"],
            "met_before": met,
            "found": sum(isinstance(event, EndpointMatched) and event.remote in late for event in heard),
            "gone": sum(isinstance(event, EndpointUnmatched) and event.remote in set(early) for event in heard),
        }
    ]


def plot(table: Table) -> Any:
    """Draw what was heard of."""
    figure, axes = chart("share of the changes that every reader heard of", "")
    shown = {
        f"{protocol}: {label}": part.total(column) / part.total("due")
        for protocol, part in table.by("protocol")
        for label, column in (("new", "found"), ("gone", "gone"))
    }
    bars(axes, shown, form="{:.0%}")
    return figure


def check(table: Table) -> Judgment:
    """Under the tree every reader must hear of every change."""
    tree = table.where(protocol="tree")
    due, found, gone = tree.total("due"), tree.total("found"), tree.total("gone")
    everywhere = table.total("found") == table.total("gone") == table.total("met_before") == table.total("due")
    return Judgment(
        Verdict.REPRODUCED if found == gone == due == tree.total("met_before") else Verdict.CONTRADICTED,
        f"with the tree {found} of {due} new writers are found and {gone} of {due} removed ones let go",
        f"Of the writers that appear after everybody has met, {found} of {due} are found by their readers within ten "
        f"seconds, and {gone} of {due} that disappear are let go. "
        + (
            "So it is under the other protocols too."
            if everywhere
            else "Under some other protocol something was missed."
        ),
    )
