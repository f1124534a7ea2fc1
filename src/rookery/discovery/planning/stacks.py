"""Other stacks: what Cyclone DDS and Fast DDS send for discovery, fitted on live runs of each.

A stack is known by the vendor in the header of its messages, and Cyclone by where it sends its records too. What it
sends in the first ten seconds, and in a minute after them, is a sum of terms, each an amount of the topology times a
coefficient of the stack:

    participants    N                       its own announcements
    pairs           N(N−1)                  announcements to each other, heartbeats, acknowledgments, liveliness
    triples         N(N−1)²                 announcements to all for each one that is new
    once            octets of all records   a record to the group
    each            the same times N−1      a record to each participant
    tellings        endpoints times N−1     what a stack sends for each record and participant: heartbeats, acknacks
    crowded         tellings²               the same again, where so much is told at once that participants fall
                                            behind, and are asked and answered anew
    matched         pairs of endpoints      heartbeats and acknacks of a writer and a reader that will talk

The octets of a record are Rookery's, encoded with the endpoint's own names, and what the stack's records have beyond
(type information, its own parameters). Each part of the traffic is fitted on the terms that cause it, by non-negative
least squares on errors relative to the part (to the mean of part and fit: an error relative to the part alone would
take half for better than double, and lean low); the runs are in `tests/cases/discovery/stacks.json`, made by
`python -m benchmarks stacks`, and a test fits them again. None of the systems that were played is one that the
documentation shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from rookery.discovery.planning.costs import Load
from rookery.discovery.planning.traffic import non_negative_least_squares

__all__ = [
    "CAUSES",
    "CHECKED",
    "STACKS",
    "VENDORS",
    "Stack",
    "StackCost",
    "StackTerms",
    "fit_stack",
    "stack_cost",
    "stack_of",
    "terms_of",
]


@dataclass(frozen=True, slots=True)
class StackTerms:
    """Amounts of a topology, or a stack's coefficients of them."""

    participants: float = 0.0
    pairs: float = 0.0
    triples: float = 0.0
    once: float = 0.0
    each: float = 0.0
    tellings: float = 0.0
    crowded: float = 0.0
    matched: float = 0.0

    def row(self) -> list[float]:
        """Return the terms in order."""
        return [getattr(self, name) for name in TERMS]

    def total(self, amounts: StackTerms) -> float:
        """Return the sum of the amounts, each times its coefficient."""
        return float(np.dot(self.row(), amounts.row()))


TERMS = tuple(field.name for field in fields(StackTerms))
#: The parts of the traffic, and the terms that cause each; the parts are those of `traffic`, announcements and answers
#: together, since stacks differ in which of the two they use.
CAUSES = {
    "announcements": ("participants", "pairs", "triples"),
    "contacts": ("participants", "pairs", "tellings", "crowded"),
    "records": ("once", "each", "crowded"),
    "matches": ("matched",),
    "per_minute": ("participants", "pairs", "tellings"),
}


@dataclass(frozen=True, slots=True)
class Stack:
    """One way in which a DDS implementation does its plain discovery."""

    name: str
    title: str
    vendor: bytes
    surplus: float
    """Octets of a record beyond Rookery's of the same endpoint."""
    start: StackTerms
    per_minute: StackTerms
    served: bool = False
    """Whether a server passes on what is needed: then pairs, records and tellings are those that are."""


@dataclass(frozen=True, slots=True)
class StackCost:
    """What a stack's discovery sends: octets of UDP payload."""

    stack: Stack
    octets: int
    octets_per_minute: int


#: Tellings, and other participants, of the largest system on which predictions were compared with a capture. Beyond it
#: nobody has seen what grows faster than the system, and each telling is taken to cost what it costs there.
CHECKED, _CHECKED_OTHERS = 20_450, 25
#: The weights of a fit follow the fit before; a few rounds are enough to settle.
_ROUNDS = 10
_CYCLONE, _FAST = b"\x01\x10", b"\x01\x0f"

#: As fitted; `tests/discovery/planning/test_stacks.py` fits again.
STACKS: dict[str, Stack] = {
    stack.name: stack
    for stack in (
        Stack(
            "cyclone_unicast",
            "Cyclone DDS, records by unicast",
            _CYCLONE,
            114,
            StackTerms(3416, 2531, 9.986, 0.0388, 1.024, 0, 0.0009013, 181.1),
            StackTerms(0, 3809, 0, 0, 0, 174.6, 0, 0),
        ),
        Stack(
            "cyclone",
            "Cyclone DDS, records by multicast",
            _CYCLONE,
            114,
            StackTerms(1035, 2055, 0, 1.022, 0, 0, 0.0004709, 159.2),
            StackTerms(4909, 482.9, 0, 0, 0, 3.528, 0, 0),
        ),
        Stack(
            "fastdds",
            "Fast DDS",
            _FAST,
            236,
            StackTerms(5784, 4980, 222.5, 0.05319, 1.019, 0, 0.07235, 416.1),
            StackTerms(1.009e04, 8824, 0, 0, 0, 0, 0, 0),
        ),
        Stack(
            "fastdds_server",
            "Fast DDS, with its discovery server",
            _FAST,
            268,
            StackTerms(1.448e04, 1566, 0, 1.069, 1.274, 0, 0.112, 347.7),
            StackTerms(2.253e04, 0, 0, 0, 0, 11.35, 0, 0),
            served=True,
        ),
    )
}

#: Vendors that are known by name alone (from the list that the OMG keeps).
VENDORS = {
    b"\x01\x01": "RTI Connext",
    b"\x01\x02": "OpenSplice",
    b"\x01\x03": "OpenDDS",
    b"\x01\x06": "CoreDX",
    b"\x01\x12": "RustDDS",
    b"\x01\x14": "Dust DDS",
}


def stack_of(vendor: bytes | None, *, multicast: bool) -> Stack | None:
    """Return the stack of a vendor that sends its records so; None for one that was never measured."""
    alike = [stack for stack in STACKS.values() if stack.vendor == vendor]
    if vendor == _CYCLONE:
        return STACKS["cyclone" if multicast else "cyclone_unicast"]
    return alike[0] if alike else None


def terms_of(load: Load, surplus: float, *, served: bool = False) -> StackTerms:
    """Return the amounts of a topology from the load of the plain protocol on it, every record told to everyone."""
    others = max(1, load.participants - 1)
    octets = load.record_octets + surplus * load.records
    needed = load.needed_octets + surplus * load.needed_records
    tellings = load.needed_records if served else load.records
    return StackTerms(
        participants=load.participants,
        pairs=load.needed_contacts if served else load.participants * (load.participants - 1),
        triples=0.0 if served else load.participants * others * min(others, _CHECKED_OTHERS),
        once=octets / others,
        each=needed if served else octets,
        tellings=tellings,
        crowded=tellings * min(tellings, CHECKED),
        matched=load.matched_pairs,
    )


def stack_cost(stack: Stack, load: Load) -> StackCost:
    """Return what a stack sends for a topology, from the load of the plain protocol on it."""
    if load.participants < 2:
        return StackCost(stack, 0, 0)
    amounts = terms_of(load, stack.surplus, served=stack.served)
    return StackCost(stack, round(stack.start.total(amounts)), round(stack.per_minute.total(amounts)))


def fit_stack(runs: Sequence[tuple[StackTerms, dict[str, float]]]) -> tuple[StackTerms, StackTerms]:
    """Return the coefficients of the start and of the steady state, from amounts and what was measured by part."""
    found = {part: dict.fromkeys(TERMS, 0.0) for part in CAUSES}
    for part, causes in CAUSES.items():
        known = [(amounts, measured[part]) for amounts, measured in runs if measured[part] > 0]
        if not known:
            continue
        rows = np.array([[getattr(amounts, name) for name in causes] for amounts, _ in known], dtype=np.float64)
        measured_octets = np.array([value for _, value in known], dtype=np.float64)
        weights = measured_octets
        for _ in range(_ROUNDS):
            weighted, target = rows / weights[:, None], measured_octets / weights
            scale = np.maximum(np.abs(weighted).max(axis=0), 1e-12)
            solved = non_negative_least_squares(weighted / scale, target) / scale
            weights = np.sqrt(measured_octets * np.maximum(rows @ solved, 1e-9))
        found[part] = dict(zip(TERMS, [0.0] * len(TERMS), strict=True)) | dict(zip(causes, solved, strict=True))
    start = {name: sum(found[part][name] for part in CAUSES if part != "per_minute") for name in TERMS}
    return StackTerms(**start), StackTerms(**found["per_minute"])
