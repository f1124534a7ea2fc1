"""Seed 001, claims 2 to 6: a filter of twice the length, and how fingerprints get there."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from rookery.filters import CuckooFilter
from rookery.filters.cuckoo.table import CuckooTable
from rookery.filters.hashing import KeyHasher
from rookery.papers.announced import PERIOD, ListeningNetwork, read, write
from rookery.papers.endpoints import endpoint_keys, endpoint_names
from rookery.papers.experiments import Experiment, Parameters, grid
from rookery.papers.figures import Bars, Formula, Lines, chart, most
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict, judge

__all__ = ["CLAIMS"]

CLAIMS: dict[str, Experiment] = {}
TRIGGER = 0.8


def growth(parameters: Parameters, seed: int) -> list[Row]:
    """Add endpoints one by one, with announcements in between; note at which load each doubling began."""
    made = CuckooFilter.patent(log2_buckets=parameters["log2_buckets"])
    keys, rows = endpoint_keys(parameters["keys"], seed=seed), []
    grown = {"resizes": 0, "doublings": 0, "on_failure": 0, "on_load": 0}
    least, most = 1.0, 0.0

    def watch(act: Callable[[], object], *, refused: bool) -> None:
        nonlocal least, most
        length = made.tables[0].log2_buckets
        act()
        by = made.tables[0].log2_buckets - length
        load = len(made) / (2 << length)
        if by:
            grown["resizes"] += 1
            grown["doublings"] += by == 1
            grown["on_failure" if refused else "on_load"] += 1
            least = least if refused else min(least, load)
        elif not made.is_migrating:
            most = max(most, load)

    for number, key in enumerate(keys, start=1):
        twin = copy.deepcopy(made.tables[0])  # whether an insertion fails is asked of a copy, not of the filter
        watch(partial(made.add, key), refused=not twin.insert(made.hasher(key)))
        for _ in range(parameters["every"]):
            watch(made.announce, refused=False)
        if number % max(1, parameters["keys"] // 50) == 0:
            held = sum(1 for one in keys[:number] if one in made)
            slots = sum(t.slots.size for t in made.tables)
            rows.append({"endpoints": number, "wire_bytes": len(made.to_bytes()), "slots": slots, "held": held})
    return [{**row, **grown, "least_load": least, "most_load": most} for row in rows]


def check_growth(table: Table) -> Judgment:
    """Each change of length a doubling, begun at 80 % or by a failure; no filter rests above 80 %; nothing missing."""
    last = table.where(endpoints=table.most("endpoints"))
    resizes, doublings = last.total("resizes"), last.total("doublings")
    early, loads = last.total("on_failure"), last.total("on_load")
    missing = sum(row["endpoints"] - row["held"] for row in table)
    at_trigger = loads > 0 and last.least("least_load") >= TRIGGER > last.most("most_load")
    return judge(
        resizes == doublings > 0 and at_trigger and not missing,
        f"{doublings} of {resizes} changes of length are doublings: {loads} at a load of "
        f"{last.least('least_load'):.0%} or more, {early} when an insertion failed",
        f"Each of the {resizes} times that a filter changed its length it became twice as long, {early} of them "
        f"because an insertion failed and {loads} at a load of at least {last.least('least_load'):.1%}; none rested "
        f"above {last.most('most_load'):.1%}. After every announcement all endpoints were found; {missing} were "
        "missing.",
    )


CLAIMS["growth"] = Experiment(
    rows=growth,
    full=grid(keys=800, log2_buckets=[1, 3], every=4, runs=10),
    quick=grid(keys=200, log2_buckets=[1, 3], every=4, runs=1),
    check=check_growth,
    figure=(
        chart(
            "endpoints",
            "slots of the filter(s)",
            Lines("endpoints", "slots", "both tables while two exist", of=most("log2_buckets")),
        ),
        chart(
            "endpoints",
            "bytes announced",
            Lines("endpoints", "wire_bytes", "measured", first=1, of=most("log2_buckets")),
        ),
    ),
)


def fingerprint_transfer(parameters: Parameters, seed: int) -> Row:
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

    return {
        "keys": int(hashes.size),
        "missing_moved": missing(moved),
        "missing_copied": missing(copied),
        "missing_shadowed": missing(shadowed),
        "load_before": old.count / old.slots.size,
        "load_copied": copied.count / copied.slots.size,
        "load_shadowed": shadowed.count / shadowed.slots.size,
    }


def check_fingerprint_transfer(table: Table) -> Judgment:
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


CLAIMS["fingerprint-transfer"] = Experiment(
    rows=fingerprint_transfer,
    full=grid(log2_buckets=[4, 7, 10], runs=10),
    quick=grid(log2_buckets=[4, 7], runs=3),
    check=check_fingerprint_transfer,
    figure=chart(
        "endpoints missing after the move",
        "",
        Bars(
            {"from fingerprints alone": "missing_moved", "with the owner's 64-bit hashes": "missing_shadowed"}, "{:.1%}"
        ),
    ),
)


def progressive_rehash(parameters: Parameters, seed: int) -> Row:
    """Give a participant as many endpoints as pass the trigger, and read every announcement of the transfer."""
    names = endpoint_names(parameters["keys"] + 64, seed=seed)
    keys = endpoint_keys(len(names), seed=seed)
    first = max(1, (parameters["keys"] * 5 // 8).bit_length() - 1)
    twin, added = CuckooFilter.patent(log2_buckets=first), 0
    while not twin.is_migrating:
        twin.add(keys[added])
        added += 1
    network = ListeningNetwork(seed)
    # One datagram for the largest of these filters: what is announced by reference is fetched, not read off here.
    options = {"period": PERIOD, "datagram_bytes": 4_000}
    sender = network.join(discovery=f"cuckoo:patent,buckets={1 << first}", **options)
    reader = network.join(discovery="cuckoo:patent", **options)
    for topic, type_name in names[:added]:
        write(sender, topic, type_name)
    wanted = [read(reader, *one) for one in names[: added : max(1, added // 8)]]
    network.run(PERIOD)
    network.run((added + 2) * PERIOD, until=lambda: len(network.of(sender)[-1].filter.tables) == 1)
    missing = new_only = old_only = both = 0
    for one in network.of(sender):
        received = one.filter
        missing += added - int(received.contains_many(keys[:added]).sum())
        if len(received.tables) == 2:
            both += 1
            new, old = received.tables
            hashes = [received.hasher(key) for key in keys[:added]]
            new_only += sum(not old.contains_hash(value) for value in hashes)
            old_only += sum(not new.contains_hash(value) for value in hashes)
    return {
        "held": added,
        "announcements": len(network.of(sender)),
        "with_both": both,
        "missing": missing + sum(not reader.participant.matched(guid) for guid in wanted),
        "missing_without_new": new_only / max(1, both * added),
        "missing_without_old": old_only / max(1, both * added),
        "largest_bytes": max(len(one.container) for one in network.of(sender)),
        "final_bytes": len(network.of(sender)[-1].container),
    }


def check_progressive_rehash(table: Table) -> Judgment:
    """As many announcements as fingerprints, and no endpoint missing in any of them."""
    steps = all(abs(row["announcements"] - row["held"]) <= 1 for row in table)
    most = table.where(keys=table.most("keys"))
    minutes = most.mean("announcements") * 3 / 60
    growth = most.mean("largest_bytes") / most.mean("final_bytes") - 1
    return judge(
        steps and not table.total("missing"),
        f"{most.mean('announcements'):.0f} announcements for {most.mean('held'):.0f} endpoints; "
        f"{table.total('missing')} missing in any of them",
        "On the wire the transfer ends after as many announcements as there are fingerprints, and a receiver that "
        "looks at both filters misses nothing in any of them. The price is time: "
        f"{most.mean('held'):.0f} endpoints take {minutes:.0f} minutes at one announcement every three seconds. In "
        f"bytes it costs little: the largest announcement is {growth:.0%} above the final one. Rookery moves a "
        "sixteenth at a time.",
    )


CLAIMS["progressive-rehash"] = Experiment(
    rows=progressive_rehash,
    full=grid(keys=[13, 52, 205, 820], runs=3),
    quick=grid(keys=[13, 52, 205], runs=1),
    check=check_progressive_rehash,
    figure=(
        chart("endpoints held", "announcements until done", Lines("held", "announcements", "one fingerprint each")),
        chart(
            "endpoints held",
            "bytes announced",
            Lines("held", "largest_bytes", "largest, with both filters"),
            Lines("held", "final_bytes", "after the transfer", first=1),
        ),
    ),
)


def check_both_filters(table: Table) -> Judgment:
    """Both together must miss nothing; each alone must miss something, or sending both would be needless."""
    new, old = table.mean("missing_without_old"), table.mean("missing_without_new")
    holds = not table.total("missing") and min(new, old) > 0.1
    return judge(
        holds,
        f"missed: 0 with both, {new:.0%} with the new one alone, {old:.0%} with the old one alone",
        f"A receiver that asks both filters misses nothing. One that asked the new filter alone would miss {new:.0%} "
        f"of the endpoints on average over a transfer, and {old:.0%} with the old one alone: both must be sent.",
    )


def _missed(table: Table) -> dict[str, float]:
    return {
        "both filters": table.total("missing") / table.total("held"),
        "the new one alone": table.mean("missing_without_old"),
        "the old one alone": table.mean("missing_without_new"),
    }


CLAIMS["both-filters"] = replace(
    CLAIMS["progressive-rehash"],
    check=check_both_filters,
    figure=chart("endpoints missed, mean over all announcements of a transfer", "", Bars(_missed, "{:.1%}")),
)


def insert_during_transfer(parameters: Parameters, seed: int) -> Row:
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
    return {
        "held": before,
        "late": added - before,
        "in_new": in_new,
        "old_grew": old_grew,
        "announcements": heard,
        "missing": missing,
    }


def check_insert_during_transfer(table: Table) -> Judgment:
    """All late ones in the new filter, none in the old, nothing missing in any announcement."""
    late, in_new, old = table.total("late"), table.total("in_new"), table.total("old_grew")
    missing = table.total("missing")
    return judge(
        late == in_new > 0 and not old + missing,
        f"{in_new} of {late} late endpoints are in the new filter; {missing} missing in any announcement",
        f"Each of the {late} endpoints that appeared during a transfer went into the new filter and {old} into the old "
        f"one, so the transfer is not prolonged, and a receiver that asks both filters missed {missing} of all "
        "endpoints in any announcement.",
    )


CLAIMS["insert-during-transfer"] = Experiment(
    rows=insert_during_transfer,
    full=grid(log2_buckets=[4, 6, 8], every=4, runs=5),
    quick=grid(log2_buckets=[3, 5], every=4, runs=2),
    check=check_insert_during_transfer,
    figure=chart(
        "fingerprints in the old filter",
        "announcements until all have moved",
        Lines("held", "announcements", "with a new endpoint every 4"),
        Formula("held", float, "one for each fingerprint"),
    ),
)


def alternating_tables(parameters: Parameters, seed: int) -> list[Row]:
    """Grow a filter; at each expansion compare the length that was retired before with the one that is needed."""
    made = CuckooFilter.patent(log2_buckets=1)
    rows: list[Row] = []
    seen = [made.tables[0]]
    retired, current = 0, made.tables[0].slots.size
    for key in endpoint_keys(parameters["keys"], seed=seed):
        made.add(key)
        while made.is_migrating:
            made.migrate(64)
        table = made.tables[0]
        if table.slots.size != current:
            seen += [] if any(table is one for one in seen) else [table]
            if retired:
                lengths = {"retired_slots": retired, "needed_slots": table.slots.size}
                rows.append({"expansion": len(rows) + 2, **lengths, "tables": len(seen)})
            retired, current = current, table.slots.size
    return rows


def check_alternating_tables(table: Table) -> Judgment:
    """The spare should be long enough, and two tables should do for all expansions."""
    fits = sum(row["retired_slots"] >= row["needed_slots"] for row in table)
    share = max((row["retired_slots"] / row["needed_slots"] for row in table), default=0.0)
    tables = max(table.list("tables"), default=0)
    if len(table) < 2:
        verdict = Verdict.NOT_TESTABLE
    elif fits == len(table) and tables == 2:
        verdict = Verdict.REPRODUCED
    else:
        verdict = Verdict.REGIME if fits else Verdict.CONTRADICTED
    return Judgment(
        verdict,
        f"long enough in {fits} of {len(table)} expansions; at most a share of {share:.2f} of what is needed",
        "When filters double, the one that was retired has half the length of the present one and a quarter of what "
        f"the next expansion needs, in all {len(table)} of them: that follows from doubling alone. The two can take "
        f"turns only if the spare is made longer first, which is what Rookery does ({tables} tables for all "
        "expansions); as it is it serves for halving.",
    )


CLAIMS["alternating-tables"] = Experiment(
    rows=alternating_tables,
    full=grid(keys=3000, runs=10),
    quick=grid(keys=400, runs=1),
    check=check_alternating_tables,
    figure=chart(
        "expansion",
        "slots",
        Lines("expansion", "needed_slots", "needed"),
        Lines("expansion", "retired_slots", "of the spare", first=1),
        y_log=2,
    ),
)
