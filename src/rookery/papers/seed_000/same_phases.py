"""Section 2: HBF_ADA changes the packet of a participant and nothing else; the two phases of SDP stay as they are.

One fleet of ten under plain SDP and under the tree, every datagram read as it is sent: which built-in writers speak
(SPDP's and SEDP's), what the announcement of a participant has more under the tree, and whether what is said of an
endpoint has the same octets. And fleets in which some speak plain SDP and others announce a tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.discovery.carriage import SUMMARY, carried_container, summary_name
from rookery.papers.figures import bars, chart
from rookery.papers.fleets import discover
from rookery.papers.joiners import PEERS
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.rtps.announcements import read_payload
from rookery.rtps.identity import SEDP_PUBLICATIONS_WRITER, SEDP_SUBSCRIPTIONS_WRITER, SPDP_WRITER
from rookery.rtps.locators import Address
from rookery.rtps.messages import decode_message
from rookery.rtps.submessages import Data
from rookery.simulated.domain import SimulatedNetwork, SimulatedParticipant

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

MIXTURES = ["simple", "tree", "simple+tree", "simple+bloom+tree+cuckoo"]
FULL = grid(protocol=MIXTURES, participants=PEERS + 1, endpoints=10, ratio=0.3, seconds=10, runs=5)
QUICK = grid(protocol=MIXTURES, participants=PEERS + 1, endpoints=6, ratio=0.5, seconds=2, runs=1)
SEDP = (SEDP_PUBLICATIONS_WRITER, SEDP_SUBSCRIPTIONS_WRITER)


class _Reading(SimulatedNetwork):
    """The simulated network, which reads what passes; a sender's GUID prefix is left out of what is compared."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.on_datagram = self._read
        self.speaking: set[int] = set()
        self.records: set[tuple[Address, bytes]] = set()
        self.parameters: set[tuple[Address, int, bytes]] = set()
        self.summaries: set[str] = set()

    def _read(self, sender: SimulatedParticipant, datagram: bytes, to: Address) -> None:
        prefix = sender.participant.configuration.prefix
        for message in decode_message(datagram).submessages:
            if isinstance(message, Data):
                self.speaking.add(message.writer)
                if message.payload and message.writer in SEDP:
                    self.records.add((sender.address, message.payload.replace(prefix, b"")))
                elif message.payload and message.writer == SPDP_WRITER:
                    parameters, _ = read_payload(message.payload)
                    self.parameters |= {(sender.address, p.id, p.value.replace(prefix, b"")) for p in parameters}
                    container = carried_container(parameters)
                    self.summaries |= {summary_name(container)} if container else set()


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Let a fleet discover itself whose members speak the protocols in turn, and the same under plain SDP."""
    plain, mixed = _Reading(seed), _Reading(seed)
    discover(**{**parameters, "protocol": "simple"}, seed=seed, network=plain)
    found = discover(**parameters, seed=seed, network=mixed)
    more = {identity for _, identity, _ in mixed.parameters - plain.parameters}
    return [
        {
            **{name: found[name] for name in ("octets", "due", "missing")},
            "other_writers": len(mixed.speaking - {SPDP_WRITER, *SEDP}),
            "other_parameters": len(more - {SUMMARY}) + len(plain.parameters - mixed.parameters),
            "summaries": "+".join(sorted(mixed.summaries)),
            "plain_records": len(plain.records),
            "records": len(mixed.records),
            "other_records": len(mixed.records - plain.records),
        }
    ]


def plot(table: Table) -> Any:
    """Draw the octets of each mixture."""
    figure, axes = chart(f"octets sent in {table.least('seconds')} s by {PEERS + 1} participants", "")
    bars(axes, {protocol: part.mean("octets") for protocol, part in table.by("protocol")}, form="{:,.0f}")
    return figure


def check(table: Table) -> Judgment:
    """No other writer, no other parameter, no other record; trees are sent and decide; every match is found."""
    due, missing, tree = table.total("due"), table.total("missing"), table.where(protocol="tree")
    other = {name: table.total(f"other_{name}") for name in ("writers", "parameters", "records")}
    sent = set(tree.list("summaries")) == {"tree"} and tree.total("records") < tree.total("plain_records")
    return Judgment(
        Verdict.REPRODUCED if sent and not missing and not any(other.values()) else Verdict.CONTRADICTED,
        f"one parameter more, {sum(other.values())} other things; {due - missing:,} of {due:,} matches in all mixtures",
        f"Under the tree the announcement of a participant has one parameter more, the tree; {other['parameters']} "
        f"others differ, {other['writers']} writers speak that are not SPDP's or SEDP's, and {other['records']} "
        f"announcements of endpoints have other octets, of which {tree.mean('records'):.0f} are sent instead of "
        f"{tree.mean('plain_records'):.0f}. Fleets that mix plain SDP and trees find each other too: {missing} of "
        f"{due:,} matches are missing. (A tree too large to be repeated is fetched by an exchange of its own, which "
        "the seed does not have; none was needed here.)",
    )
