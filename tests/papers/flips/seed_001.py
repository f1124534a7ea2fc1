"""Seed 001, the compressed cuckoo filter: what flips its claims."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.papers.flips import CONTRADICTED, NOT_TESTABLE, REGIME, REPRODUCED, Flip, only

from rookery.filters.cuckoo.filter import CuckooFilter
from rookery.filters.cuckoo.table import CuckooTable
from rookery.papers.table import Row


def cuckoo(row: Row) -> bool:
    return str(row["protocol"]).startswith("cuckoo")


def patent(row: Row) -> bool:
    return row["protocol"] == "cuckoo:patent"


FLIPS: dict[str, list[Flip]] = {
    "seed-001/two-positions": [
        Flip("a fingerprint in a third place", CONTRADICTED, lambda row: {"at_first": row["at_first"] - 1}),
        Flip(
            "the second place is never used",
            CONTRADICTED,
            lambda row: {"at_first": row["at_first"] + row["at_second"], "at_second": 0},
        ),
        Flip("the other place is not found from the slot", CONTRADICTED, lambda row: {"led": row["led"] // 2}),
        Flip("both places are one", CONTRADICTED, lambda row: {"one_place": 1}),
        Flip("a key is not found", CONTRADICTED, lambda row: {"found": row["found"] - 1}),
    ],
    "seed-001/occupancy": [
        Flip("full at 70 %", CONTRADICTED, lambda row: {"occupancy": 0.7}),
        Flip(
            "small tables only reach 80 %",
            CONTRADICTED,
            only(lambda row: row["slots"] < 20, lambda row: {"occupancy": 0.8}),
        ),
    ],
    "seed-001/compressed-size": [
        Flip("longer than 9x + 4y", CONTRADICTED, lambda row: {"code_bits": row["worst_bits"] + 1}),
        Flip(
            "decodes to another table",
            CONTRADICTED,
            only(lambda row: row["load"] == 0.5, lambda row: {"same_back": False}),
        ),
    ],
    "seed-001/break-even": [
        Flip(
            "pieces of 10 and 4 bits", CONTRADICTED, lambda row: {"worst_bits": row["worst_bits"] + row["fingerprints"]}
        ),
        Flip("much is saved at 80 %", CONTRADICTED, only(lambda row: row["load"] == 0.8, lambda row: {"ratio": 0.8})),
        Flip(
            "nothing is saved at 80 %", CONTRADICTED, only(lambda row: row["load"] == 0.8, lambda row: {"ratio": 1.01})
        ),
    ],
    "seed-001/insertion-slows": [
        Flip("as fast when full", CONTRADICTED, only(lambda row: row["load"] > 0.7, lambda row: {"moved": 0.0})),
        Flip("never fails", CONTRADICTED, lambda row: {"failed": 0.0}),
        Flip("fails at once", CONTRADICTED, lambda row: {"failed": 0.5}),
    ],
    "seed-001/growth": [
        Flip("doubles at 30 %", CONTRADICTED, lambda row: {"least_load": 0.3}),
        Flip("rests at 95 %", CONTRADICTED, lambda row: {"most_load": 0.95}),
        Flip("never on the load", CONTRADICTED, lambda row: {"on_load": 0, "on_failure": row["resizes"]}),
        Flip("fourfold at times", CONTRADICTED, lambda row: {"doublings": row["doublings"] - 1}),
        Flip("never grows", CONTRADICTED, lambda row: {"doublings": 0, "resizes": 0}),
        Flip("loses an endpoint", CONTRADICTED, lambda row: {"held": row["held"] - 1}),
    ],
    "seed-001/fingerprint-transfer": [
        Flip("nothing is missing", REPRODUCED, lambda row: {"missing_moved": 0.0}),
        Flip(
            "copies take half the room",
            REPRODUCED,
            lambda row: {"load_copied": row["load_before"] / 2, "missing_copied": 0.0},
        ),
        Flip("the control misses some", NOT_TESTABLE, lambda row: {"missing_shadowed": 0.1}),
        Flip("the control gains no room", NOT_TESTABLE, lambda row: {"load_shadowed": row["load_before"]}),
    ],
    "seed-001/progressive-rehash": [
        Flip("two with each announcement", CONTRADICTED, lambda row: {"announcements": row["held"] // 2}),
        Flip("never ends", CONTRADICTED, lambda row: {"announcements": 10 * row["held"]}),
        Flip("one is missing in one announcement", CONTRADICTED, lambda row: {"missing": 1}),
    ],
    "seed-001/both-filters": [
        Flip("one is missing", CONTRADICTED, lambda row: {"missing": 1}),
        Flip("the new one would do", CONTRADICTED, lambda row: {"missing_without_old": 0.0}),
        Flip("the old one would do", CONTRADICTED, lambda row: {"missing_without_new": 0.0}),
    ],
    "seed-001/insert-during-transfer": [
        Flip("one went into the old filter", CONTRADICTED, lambda row: {"old_grew": 1}),
        Flip("one is not in the new filter", CONTRADICTED, lambda row: {"in_new": row["in_new"] - 1}),
        Flip("none came late", CONTRADICTED, lambda row: {"late": 0, "in_new": 0}),
        Flip("one is missing", CONTRADICTED, lambda row: {"missing": 1}),
    ],
    "seed-001/alternating-tables": [
        Flip("the spare is long enough", REPRODUCED, lambda row: {"retired_slots": row["needed_slots"]}),
        Flip(
            "it is at the first expansions",
            REGIME,
            only(lambda row: row["expansion"] < 4, lambda row: {"retired_slots": row["needed_slots"]}),
        ),
        Flip(
            "long enough, but each time a new one",
            REGIME,
            lambda row: {"retired_slots": row["needed_slots"], "tables": row["expansion"]},
        ),
    ],
    "seed-001/walk-through": [
        Flip("B misses T3", CONTRADICTED, lambda row: {"first_answer": "T1"}),
        Flip("B never asks for T5", CONTRADICTED, lambda row: {"second_answer": "T1 T3"}),
        Flip("B asks and is not paired", CONTRADICTED, lambda row: {"paired": 2}),
        Flip("no second filter", CONTRADICTED, lambda row: {"filters_sent": 1}),
        Flip("it does not expand at T5", CONTRADICTED, lambda row: {"grew_at_t5": False}),
    ],
    "seed-001/simple-growth": [
        Flip("linear", CONTRADICTED, lambda row: {"octets": 1_000 * row["participants"]}),
    ],
    "seed-001/traffic": [
        Flip("as many octets as SDP", CONTRADICTED, only(cuckoo, lambda row: {"octets": 10**9})),
        Flip("in the seed's setting alone", CONTRADICTED, only(patent, lambda row: {"octets": 10**9})),
        Flip(
            "where filters double alone",
            CONTRADICTED,
            only(lambda row: cuckoo(row) and row["endpoints"] == 40, lambda row: {"octets": 10**9}),
        ),
        Flip("a match is missing", CONTRADICTED, only(patent, lambda row: {"missing": 1})),
    ],
    "seed-001/memory": [
        Flip("all is kept", CONTRADICTED, only(cuckoo, lambda row: {"records": 10**6})),
        Flip(
            "all is kept at one other ratio",
            CONTRADICTED,
            only(lambda row: cuckoo(row) and row["ratio"] == 1.0, lambda row: {"records": 10**6}),
        ),
        Flip("large filters in the seed's setting", CONTRADICTED, only(patent, lambda row: {"summary_octets": 10**6})),
        Flip("less even with everything in common", REPRODUCED, only(cuckoo, lambda row: {"records": 0.0})),
        Flip("a match is missing", CONTRADICTED, only(cuckoo, lambda row: {"missing": 1})),
    ],
    "seed-001/discovery-time": [
        Flip("sooner on any link", REPRODUCED, only(cuckoo, lambda row: {"completed_ms": 1.0})),
        Flip("later on a slow one", CONTRADICTED, only(cuckoo, lambda row: {"octets": 10**9})),
        Flip("later in the seed's setting", CONTRADICTED, only(patent, lambda row: {"octets": 10**9})),
    ],
}


def saturated_at(share: float) -> Callable[[pytest.MonkeyPatch], None]:
    """Return what moves the trigger of the filter to another load."""

    def change(patch: pytest.MonkeyPatch) -> None:
        trigger = property(lambda table: table.count >= share * table.slots.size)
        patch.setattr(CuckooTable, "is_saturated", trigger)

    return change


def out_before_in(patch: pytest.MonkeyPatch) -> None:
    """Let a moving fingerprint be in no filter while it is announced."""

    def migrate(made: CuckooFilter, moves: int) -> None:
        if made._old is not None:
            made._old.clear_slot(made._old.next_occupied(0))
            made._finish_if_drained()

    patch.setattr(CuckooFilter, "migrate", migrate)


def settles(work: Callable[[CuckooFilter], bool]) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: patch.setattr(CuckooFilter, "settle", work)


def moves_two(made: CuckooFilter) -> bool:
    was = made.is_migrating
    made.migrate(2)
    return was


BROKEN: list[tuple[str, str, Callable[[pytest.MonkeyPatch], None]]] = [
    ("seed-001/growth", "the trigger at 30 %", saturated_at(0.3)),
    ("seed-001/growth", "the trigger at 95 %", saturated_at(0.95)),
    ("seed-001/growth", "no trigger", saturated_at(2.0)),
    ("seed-001/progressive-rehash", "out before in", out_before_in),
    ("seed-001/progressive-rehash", "nothing moves", settles(lambda made: False)),
    ("seed-001/progressive-rehash", "two move", settles(moves_two)),
    ("seed-001/both-filters", "out before in", out_before_in),
    ("seed-001/walk-through", "the trigger at 95 %", saturated_at(0.95)),
]
